"""Generated sets are honest test beds: chance is chance, nothing is perfect, methods differ."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from pauc_core.data.generated import STYLES, libsvm_rows
from pauc_core.data.generated_features import load_features
from pauc_core.metrics import pauc
from pauc_core.objective import pauc_loss_grad
from pauc_core.solver.streams import stream

BAND = {"fpr_low": 0.05, "fpr_high": 0.5}
CHANCE = 0.275  # mean of the diagonal over the band
CATALOGUE = yaml.safe_load(
    (Path(__file__).parents[1] / "config/datasets.yaml").read_text(encoding="utf-8")
)


def fit_pauc(x: np.ndarray, y: np.ndarray, iterations: int) -> np.ndarray:
    """The paper's surrogate (3), minimised by L-BFGS with a little shrinkage."""

    def value(w: np.ndarray) -> tuple[float, np.ndarray]:
        s = x @ w.astype(x.dtype)
        slope = np.empty_like(s)
        loss, slope[y], slope[~y] = pauc_loss_grad(s[y], s[~y], **BAND)
        return loss + 5e-4 * w @ w, x.T @ slope + 1e-3 * w

    return minimize(value, np.zeros(x.shape[1]), jac=True, options={"maxiter": iterations}).x


@pytest.mark.parametrize("style", STYLES)
def test_generated_libsvm_sets_tell_methods_apart(style):
    rows, test_rows = (CATALOGUE[f"gen-{style}"]["generate"]["rows"] + [4000])[:2]
    x, y = libsvm_rows(STYLES[style], rows, 0, f"gen-{style}")
    xt, yt = libsvm_rows(STYLES[style], test_rows, 0, f"gen-{style}.t")
    mean, spread = x.mean(axis=0), np.maximum(x.std(axis=0), 1e-9)
    x, xt = (x - mean) / spread, (xt - mean) / spread
    random = stream(0, "test").random(len(yt))
    assert abs(pauc(yt, random, **BAND) - CHANCE) < 0.05
    centres = x[y].mean(axis=0) - x[~y].mean(axis=0)
    found = {
        "plain": pauc(yt, xt @ LogisticRegression(max_iter=200).fit(x, y).coef_[0], **BAND),
        "centres": pauc(yt, xt @ centres, **BAND),
        "pauc": pauc(yt, xt @ fit_pauc(x, y, 30), **BAND),
    }
    assert max(found.values()) < 0.98
    assert min(found.values()) > CHANCE + 0.2
    assert found["pauc"] > max(found.values()) - 0.015
    assert max(found.values()) - min(found.values()) > 0.025


def test_generated_features_are_the_same_by_block_and_by_row():
    entry = {"generate": {**CATALOGUE["gen-features"]["generate"], "rows": 9000}}
    found = load_features("f", entry, Path())
    whole = found.rows(np.arange(found.shape[0]))
    some = np.array([0, 5, 4095, 4096, 8999, 9000, found.shape[0] - 1])
    np.testing.assert_array_equal(found.rows(some), whole[some])
    assert found.y[:9000].sum() == 1100


@pytest.mark.slow
def test_the_paper_size_set_is_as_hard_as_chexpert():
    entry = CATALOGUE["gen-features-220k"]
    found = load_features("gen-features-220k", entry, Path())
    assert found.shape == (240_000, 1024)
    assert found.y[:220_000].sum() == 20_000
    x = found.rows(np.arange(220_000))
    y = found.y[:220_000] == 1
    w = fit_pauc(x, y, 15).astype(np.float32)
    assert 0.6 < pauc(y, x @ w, **BAND) < 0.8
