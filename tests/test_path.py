"""The path of fits: what each one minimises, how they are seen, and which is chosen."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from pauc_core import pauc, pauc_loss, pauc_loss_grad
from pauc_core.intervals import pauc_interval
from pauc_core.models.scaled_rows import ScaledRows, exact_product
from pauc_core.solver.choice import Seen, choose, gap, look_at, pool
from pauc_core.solver.path import Training, fit_band, fit_logistic, follow
from tests.test_estimator import BAND, two_kinds


def training(x, y: np.ndarray, train: np.ndarray | None = None) -> Training:
    train = np.ones(len(y), dtype=bool) if train is None else train
    return Training(ScaledRows.fit(x), y, train, **BAND)


def start_of(given: Training) -> np.ndarray:
    return fit_logistic(given, (1.0, 1.0), np.zeros(given.rows.width + 1), 500)[0][:-1]


@pytest.mark.parametrize("weights", [None, "balanced"])
def test_the_start_is_scikit_learns_logistic_regression(weights):
    x, y = two_kinds(3, rows=1500)
    train = np.arange(len(y)) % 3 > 0
    given = training(x, y, train)
    share = y[train].mean()
    pair = (1.0, 1.0) if weights is None else (0.5 / (1 - share), 0.5 / share)
    found, _ = fit_logistic(given, pair, np.zeros(7), 500)
    scaled = StandardScaler().fit_transform(x)
    expected = LogisticRegression(tol=1e-6, class_weight=weights).fit(scaled[train], y[train])
    np.testing.assert_allclose(found[:-1], expected.coef_[0], atol=2e-3)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, lambda a: a.astype(np.float32)])
def test_rows_are_scaled_without_being_made(form):
    x, _ = two_kinds(3, rows=700)
    x[np.abs(x) < 4] = 0.0
    rows, rng = ScaledRows.fit(form(x)), np.random.default_rng(0)
    scaled, w, slopes = StandardScaler().fit_transform(x), rng.normal(size=6), rng.normal(size=700)
    atol = 1e-4 if form(x).dtype == np.float32 else 1e-10
    np.testing.assert_allclose(rows.scores(w), scaled @ w, atol=atol)
    np.testing.assert_allclose(rows.pull(slopes), scaled.T @ slopes, atol=100 * atol)
    coef, offset = rows.unscaled(w)
    np.testing.assert_allclose(exact_product(form(x), coef) + offset, scaled @ w, atol=atol)


def test_single_precision_far_from_zero_is_promoted():
    x = np.random.default_rng(0).normal(size=(500, 2)).astype(np.float32)
    assert ScaledRows.fit(x).x.dtype == np.float32
    x[:, 1] += 30000
    rows = ScaledRows.fit(x)
    assert rows.x.dtype == np.float64
    scaled = StandardScaler().fit_transform(x.astype(np.float64))
    np.testing.assert_allclose(rows.scores(np.ones(2)), scaled @ np.ones(2), atol=1e-9)


def test_a_fit_ends_where_the_penalised_objective_is_flat():
    x, y = two_kinds(19, rows=800)
    given = training(x, y)
    start = start_of(given)

    def slope(w: np.ndarray) -> float:
        scores, slopes = given.rows.scores(w), np.empty(len(y))
        _, slopes[y], slopes[~y] = pauc_loss_grad(scores[y], scores[~y], **BAND)
        return float(np.linalg.norm(given.rows.pull(slopes) + 20.0 / y.sum() * w))

    found, steps = fit_band(given, start, loss="logistic", penalty=20.0, max_iter=200, tol=0.0)
    assert steps > 5
    assert slope(found) < 0.02 * slope(start)


def test_a_short_first_step_does_not_end_a_fit():
    """From the end of one penalty the first step towards the next one is short."""
    x, y = two_kinds(19, rows=800)
    given = training(x, y)
    settings = {"loss": "logistic", "max_iter": 50, "tol": 1e-5}
    first, _ = fit_band(given, start_of(given), penalty=0.1, **settings)
    _, steps = fit_band(given, first, penalty=0.1, **settings)
    assert steps >= 5


def test_held_out_rows_do_not_train():
    x, y = two_kinds(20, rows=900)
    train = np.arange(len(y)) % 3 > 0
    found = []
    for seed in (0, 1):
        # The held-out rows change their labels alone: the scaling stays.
        labels = y.copy()
        labels[~train] = np.random.default_rng(seed).permutation(y[~train])
        given = training(x, labels, train)
        settings = {"loss": "sigmoid", "max_iter": 30, "tol": 1e-6}
        path = follow(given, start_of(given), penalties=[1.0], **settings)
        found.append(next(path)[0])
    np.testing.assert_array_equal(found[0], found[1])


def test_the_path_rises_and_shrinks():
    x, y = two_kinds(17, rows=800)
    given = training(x, y)
    penalties = (10.0, 0.1, 1.0)
    found = list(
        follow(given, start_of(given), loss="sigmoid", penalties=penalties, max_iter=50, tol=1e-6)
    )
    sizes = [np.linalg.norm(w) for w, _ in found]
    assert sizes == sorted(sizes, reverse=True)
    alone, _ = fit_band(given, found[1][0], loss="sigmoid", penalty=10.0, max_iter=50, tol=1e-6)
    np.testing.assert_array_equal(alone, found[2][0])

    def value(w: np.ndarray) -> float:
        scores = given.rows.scores(w)
        loss = pauc_loss(scores[y], scores[~y], **BAND, loss="sigmoid")
        return loss + 10.0 / y.sum() * (w @ w) / 2

    assert value(found[2][0]) < value(found[1][0])


@pytest.mark.parametrize("band", [(0.05, 0.5), (0.0, 0.1), (0.0, 1.0), (0.301, 0.309)])
def test_a_look_is_the_metric_and_its_standard_error(band):
    rng = np.random.default_rng(1)
    y = rng.random(300) < 0.3
    scores = (rng.normal(size=300) + y).round(1 if band == (0.0, 1.0) else 9)
    seen = look_at(y, scores, *band)
    assert seen.value == pauc(y, scores, fpr_low=band[0], fpr_high=band[1])
    found = pauc_interval(y, scores, fpr_low=band[0], fpr_high=band[1])
    assert seen.standard_error == pytest.approx(found.standard_error)


def test_the_standard_error_is_the_spread_over_new_rows():
    rng = np.random.default_rng(0)
    y = np.arange(1100) < 100
    draws = [look_at(y, rng.normal(size=1100) + y, 0.05, 0.5) for _ in range(400)]
    true = np.std([one.value for one in draws])
    assert np.mean([one.standard_error for one in draws]) == pytest.approx(true, rel=0.12)


def seen(value: float, noise: np.ndarray) -> Seen:
    return Seen(value, noise - noise.mean(), np.zeros(50))


def test_ties_go_to_the_larger_penalty_and_the_best_wins_otherwise():
    rng = np.random.default_rng(0)
    base, other = rng.normal(size=(2, 400))
    error = gap(seen(0.0, base), seen(0.0, other))[1]
    best = seen(0.9, base)
    near, far = seen(0.9 - 0.24 * error, other), seen(0.9 - 0.26 * error, other)
    assert choose([best, near, far], [1.0, 10.0, 100.0]) == 1
    assert choose([best, near, far], [1.0, 0.1, 100.0]) == 0
    # The very same rows moved in the very same way: a difference of any size is one.
    assert choose([best, seen(0.9 - 1e-9, base)], [1.0, 10.0]) == 0


def test_folds_are_pooled_by_their_positives():
    rng = np.random.default_rng(0)
    one, two = Seen(0.8, rng.normal(size=30), np.ones(5)), Seen(0.5, np.ones(10), np.ones(5))
    assert pool([one, two]).value == pytest.approx((30 * 0.8 + 10 * 0.5) / 40)
    assert len(pool([one, two]).positives) == 40
