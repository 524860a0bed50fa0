"""Compiled loops: equal to the printed algorithms, to torch twins and to plain numpy."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pauc_core.agd_sbcd.active_pairs import active_slopes
from pauc_core.agd_sbcd.compiled import CODES, Calls, Draws, Steps, sbcd_block
from pauc_core.agd_sbcd.pairs import PairRows
from pauc_core.models.linear import LinearModel
from pauc_core.models.sampled_rows import SampledRows
from pauc_core.objective.losses import get_loss
from pauc_core.solver import Part
from pauc_core.solver.samples import draw
from tests.oracles import sbcd_as_printed, sgd_sorr_as_printed

NO_ROWS = np.zeros(0, dtype=np.int64)


def make(
    *,
    sorr: bool = False,
    dtype: type = np.float64,
    scaled: bool = True,
    n: int = 90,
    width: int = 7,
) -> tuple[PairRows, Calls, np.ndarray]:
    rng = np.random.default_rng(5)
    x = (3 * rng.standard_normal((n, width))).astype(dtype)
    y = rng.random(n) < 0.3
    center = rng.standard_normal(width) if scaled else np.zeros(width)
    scale = rng.uniform(0.5, 2.0, width) if scaled else np.ones(width)
    rows = PairRows(
        x=x,
        pos_rows=NO_ROWS if sorr else np.flatnonzero(y),
        neg_rows=np.arange(n) if sorr else np.flatnonzero(~y),
        signs=np.where(y, -1.0, 1.0) if sorr else np.ones(int((~y).sum())),
        center=center,
        scale=scale,
    )
    v = 0.3 * rng.standard_normal((2, width))
    lam = rng.normal(0.3, 0.4, (2, rows.n_pos))
    calls = Calls(v=v, v_sum=np.zeros_like(v), lam=lam, drift=np.zeros_like(lam))
    return rows, calls, rng.standard_normal(width)


def draws_of(rows: PairRows, count: int, i: int = 9, j: int = 14) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(8)
    return draw(rng, rows.n_pos, min(i, rows.n_pos), count), draw(rng, rows.n_neg, j, count)


@pytest.mark.parametrize("loss", list(CODES))
@pytest.mark.parametrize("sorr", [False, True])
@pytest.mark.parametrize(
    ("dtype", "close"), [(np.float64, 1e-12), (np.float32, 1e-5), (np.int64, 1e-12)]
)
def test_compiled_equals_torch(loss: str, sorr: bool, dtype: type, close: float) -> None:
    rows, ours, w = make(sorr=sorr, dtype=dtype)
    theirs = copy.deepcopy(ours)
    pos, neg = draws_of(rows, 40)
    steps, share = Steps(eta=0.005, theta=0.2, mu=2.0), np.array([0.1, 0.6])
    sbcd_block(rows, ours, w, share, steps, Draws(pos, neg), t=3, loss=loss)
    sbcd_block(rows, theirs, w, share, steps, Draws(pos, neg), t=3, loss=loss, device="cpu")
    for name in ("v", "v_sum", "lam", "drift"):
        np.testing.assert_allclose(
            getattr(ours, name), getattr(theirs, name), rtol=close, atol=close, err_msg=name
        )


@pytest.mark.parametrize("loss", list(CODES))
def test_normalised_updates_are_the_printed_ones(loss: str) -> None:
    rows, calls, _ = make(scaled=False)
    w = calls.v[0].copy()
    calls.v[1] = w
    first = calls.lam.copy()
    pos, neg = draws_of(rows, 25)
    pairs = rows.n_pos * rows.n_neg
    steps = Steps(eta=0.05, theta=0.2, mu=2.0)
    ranks = (5, 31)
    share = np.array(ranks) / rows.n_neg
    # In two pieces: what a cut in the middle of an inner loop does.
    sbcd_block(rows, calls, w, share, steps, Draws(pos[:10], neg[:10]), t=0, loss=loss)
    sbcd_block(rows, calls, w, share, steps, Draws(pos[10:], neg[10:]), t=10, loss=loss)
    for call, rank in enumerate(ranks):
        v_bar, lam_bar, v, lam = sbcd_as_printed(
            rows.x[rows.pos_rows],
            rows.x[rows.neg_rows],
            w,
            first[call],
            rank,
            steps.mu / pairs,
            steps.eta / pairs,
            steps.theta / rows.n_neg,
            list(zip(pos, neg, strict=True)),
            loss,
        )
        np.testing.assert_allclose(calls.v[call], v, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(calls.lam[call], lam, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(calls.v_sum[call] / 25, v_bar, rtol=1e-12, atol=1e-13)
        lazily = calls.lam[call] - calls.drift[call] / 25
        np.testing.assert_allclose(lazily, lam_bar, rtol=1e-12, atol=1e-13)


def test_sorr_is_algorithm_3() -> None:
    rows, calls, _ = make(sorr=True, scaled=False)
    w = calls.v[0].copy()
    calls.v[1] = w
    first = calls.lam.copy()
    pos, neg = draws_of(rows, 25)
    steps = Steps(eta=0.1, theta=0.2, mu=2.0)
    ranks = (5, 41)
    sbcd_block(rows, calls, w, np.array(ranks) / 90, steps, Draws(pos, neg), t=0)
    for call, rank in enumerate(ranks):
        v_bar, lam_bar, v, lam = sgd_sorr_as_printed(
            rows.x,
            rows.signs < 0,
            w,
            float(first[call, 0]),
            rank,
            steps.mu / 90,
            steps.eta / 90,
            steps.theta / 90,
            neg,
        )
        np.testing.assert_allclose(calls.v[call], v, rtol=1e-12)
        np.testing.assert_allclose(calls.lam[call, 0], lam, rtol=1e-12)
        np.testing.assert_allclose(calls.v_sum[call] / 25, v_bar, rtol=1e-12)
        np.testing.assert_allclose((calls.lam - calls.drift / 25)[call, 0], lam_bar, rtol=1e-12)


def test_scaling_is_folded_into_the_weights() -> None:
    for sorr in (False, True):
        rows, folded, w = make(sorr=sorr)
        plain = copy.deepcopy(folded)
        whole = PairRows(
            x=(rows.x - rows.center) / rows.scale,
            pos_rows=rows.pos_rows,
            neg_rows=rows.neg_rows,
            signs=rows.signs,
            center=np.zeros(7),
            scale=np.ones(7),
        )
        pos, neg = draws_of(rows, 20)
        steps, share = Steps(eta=0.3, theta=0.2, mu=2.0), np.array([0.1, 0.6])
        sbcd_block(rows, folded, w, share, steps, Draws(pos, neg), t=0)
        sbcd_block(whole, plain, w, share, steps, Draws(pos, neg), t=0)
        np.testing.assert_allclose(folded.v, plain.v, rtol=1e-10)
        np.testing.assert_allclose(folded.lam, plain.lam, rtol=1e-12)


def test_one_call_alone_equals_its_half_of_two() -> None:
    rows, both, w = make()
    alone = Calls(**{name: value[1:].copy() for name, value in both._asdict().items()})
    pos, neg = draws_of(rows, 20)
    steps, share = Steps(eta=0.3, theta=0.2, mu=2.0), np.array([0.1, 0.6])
    sbcd_block(rows, both, w, share, steps, Draws(pos, neg), t=0)
    sbcd_block(rows, alone, w, share[1:], steps, Draws(pos, neg), t=0)
    for name, value in alone._asdict().items():
        np.testing.assert_array_equal(value, getattr(both, name)[1:], err_msg=name)


@pytest.mark.parametrize("loss", list(CODES))
@pytest.mark.parametrize("size", [1.0, 300.0, 1e4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_scores_and_negative_lam(loss: str, size: float, dtype: type) -> None:
    rows, calls, _ = make(scaled=False, dtype=dtype)
    calls.v[:] *= size / np.abs(rows.x @ calls.v.T).max()
    calls.lam[:, ::3] = -1.0
    calls.lam[:, 1::3] = 0.0
    calls.lam[:, 2::3] = size / 2
    w, before = calls.v[1].copy(), copy.deepcopy(calls)
    pos, neg = draws_of(rows, 1, i=rows.n_pos)
    steps, share = Steps(eta=0.3, theta=0.2, mu=2.0), np.array([0.1, 0.6])
    sbcd_block(rows, calls, w, share, steps, Draws(pos, neg), t=0, loss=loss)
    wanted = get_loss(loss)
    for call in range(2):
        v = before.v[call]
        p, q = rows.x[rows.pos_rows[pos[0]]] @ v, rows.x[rows.neg_rows[neg[0]]] @ v
        gaps = p[:, None] - q[None, :]
        # Which pairs are active may hinge on the rounding of a float32 score, so that rows with
        # a loss within that rounding of lam are left out there.
        near = np.abs(wanted.value(gaps) - before.lam[call][pos[0]][:, None])
        clear = (near > 1e-5 * max(size, 1.0) ** (2 if loss == "squared_hinge" else 1)).all(1)
        clear |= (before.lam[call][pos[0]] < 0) | (dtype is np.float64)
        active = wanted.value(gaps) > before.lam[call][pos[0]][:, None]
        if loss != "squared_hinge":  # never 0, even where its value is too small for a float
            active |= (before.lam[call][pos[0]] == 0.0)[:, None]
        lam = before.lam[call][pos[0]] - 0.2 * (share[call] - active.mean(1))
        np.testing.assert_allclose(calls.lam[call][pos[0]][clear], lam[clear], rtol=1e-12)
        slopes = wanted.slope(gaps) * active / gaps.size
        there = rows.x.astype(np.float64)
        grad = slopes.sum(1) @ there[rows.pos_rows[pos[0]]]
        grad -= slopes.sum(0) @ there[rows.neg_rows[neg[0]]]
        v_next = (v / 0.3 + w / 2.0 - grad) / (1 / 0.3 + 1 / 2.0)
        assert np.isfinite(calls.v).all()
        if clear.all():
            close = 1e-12 if dtype is np.float64 else 2e-5
            np.testing.assert_allclose(calls.v[call], v_next, rtol=close, atol=close * size)


@pytest.mark.parametrize("loss", list(CODES))
@pytest.mark.parametrize("size", [170.0, 180.0, 350.0, 390.0, 420.0])
def test_scores_at_both_ends_of_the_fast_path(loss: str, size: float) -> None:
    """Gaps of up to twice the size: products of exponentials overflow past 709."""
    x = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    rows = PairRows(
        x=x,
        pos_rows=np.arange(2),
        neg_rows=np.arange(2, 4),
        signs=np.ones(2),
        center=np.zeros(1),
        scale=np.ones(1),
    )
    v, lam = np.full((1, 1), size), np.full((1, 2), -1.0)  # every pair is active
    calls = Calls(v=v, v_sum=np.zeros_like(v), lam=lam, drift=np.zeros_like(lam))
    draws = Draws(np.arange(2)[None], np.arange(2)[None])
    steps = Steps(eta=0.3, theta=0.2, mu=2.0)
    sbcd_block(rows, calls, np.zeros(1), np.array([0.5]), steps, draws, t=0, loss=loss)
    p, q = size * x[:2, 0], size * x[2:, 0]
    slopes = get_loss(loss).slope(p[:, None] - q) / 4
    gradient = slopes.sum(1) @ x[:2, 0] - slopes.sum(0) @ x[2:, 0]
    assert calls.v[0, 0] == pytest.approx((size / 0.3 - gradient) / (1 / 0.3 + 1 / 2.0), rel=1e-12)


def test_nan_weights_stay_nan_and_end() -> None:
    rows, calls, w = make()
    calls.v[0, 0] = np.nan
    pos, neg = draws_of(rows, 5)
    steps, share = Steps(eta=0.3, theta=0.2, mu=2.0), np.array([0.1, 0.6])
    sbcd_block(rows, calls, w, share, steps, Draws(pos, neg), t=0)
    assert np.isnan(calls.v[0, 0])
    assert np.isfinite(calls.v[1]).all()


@pytest.mark.parametrize("form", ["mapped", pytest.param("strided", marks=pytest.mark.slow)])
def test_memory_mapped_and_strided_rows(tmp_path: Path, form: str) -> None:
    rows, calls, w = make()
    np.save(tmp_path / "x.npy", rows.x)
    pos, neg = draws_of(rows, 10)
    steps, share = Steps(eta=0.3, theta=0.2, mu=2.0), np.array([0.1, 0.6])
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    other = replace(rows, x=mapped if form == "mapped" else np.asfortranarray(rows.x))
    theirs = copy.deepcopy(calls)
    sbcd_block(rows, calls, w, share, steps, Draws(pos, neg), t=0)
    sbcd_block(other, theirs, w, share, steps, Draws(pos, neg), t=0)
    np.testing.assert_allclose(calls.v, theirs.v, rtol=0 if form == "mapped" else 1e-12)


def test_draws_are_subsets_of_the_right_size() -> None:
    for total, size in ((10, 3), (10, 10), (1, 1), (5000, 100)):
        drawn = draw(np.random.default_rng(0), total, size, 50)
        assert drawn.shape == (50, size)
        assert drawn.min() >= 0
        assert drawn.max() < total
        assert all(len(set(row)) == size for row in drawn.tolist())


def test_draws_are_uniform() -> None:
    count, total, size = 60_000, 6, 3
    drawn = draw(np.random.default_rng(1), total, size, count)
    subsets = np.sort(drawn, axis=1) @ np.array([36, 6, 1])
    _, seen = np.unique(subsets, return_counts=True)
    assert len(seen) == 20
    expected = count / 20
    assert ((seen - expected) ** 2 / expected).sum() < 43.8  # 0.999 quantile, 19 degrees
    single = draw(np.random.default_rng(2), 7, 1, 70_000).ravel()
    seen = np.bincount(single, minlength=7)
    assert ((seen - 10_000) ** 2 / 10_000).sum() < 22.5  # 0.999 quantile, 6 degrees


def test_draws_depend_on_the_generator_alone() -> None:
    one, two = np.random.default_rng(4), np.random.default_rng(4)
    np.testing.assert_array_equal(draw(one, 50, 5, 9), draw(two, 50, 5, 9))
    assert not np.array_equal(draw(one, 50, 5, 9), draw(one, 50, 5, 9))
    with pytest.raises(ValueError, match="without replacement"):
        draw(one, 4, 5, 1)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("dtype", "close"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_sampled_rows_score_and_pull_like_copies_of_them(
    dtype: type, close: float, intercept: bool
) -> None:
    rows, calls, _ = make(dtype=dtype)
    model = LinearModel(rows.center, rows.scale)
    everyone = Part(rows.x, np.arange(len(rows.x)) < 30, np.arange(len(rows.x)))
    chosen = np.array([71, 3, 3, 40, 12])
    copies = Part(rows.x[chosen], everyone.y[chosen], np.arange(5))
    w = np.append(calls.v[0], 0.7) if intercept else calls.v[0]
    slopes = np.array([0.3, -1.0, 0.2, 0.0, 0.9])
    sampled = SampledRows(model, everyone, chosen)
    np.testing.assert_allclose(sampled.scores(w), model.scores(w, copies), rtol=close, atol=close)
    pulled = sampled.pull(slopes, len(w))
    np.testing.assert_allclose(pulled[:7], model.pull(copies, slopes), rtol=close, atol=close)
    np.testing.assert_allclose(pulled[7:], [0.4] * intercept)
    assert model.work.rows == 4 * 5


@pytest.mark.parametrize("loss", list(CODES))
@pytest.mark.parametrize("far", [1.0, 500.0])  # beyond SPREAD the stable branch takes over
def test_slopes_of_active_pairs_are_those_of_single_pairs(loss: str, far: float) -> None:
    rng = np.random.default_rng(3)
    p, q, lam = far * rng.normal(0.5, 1, 6), far * rng.normal(0, 1, 9), rng.normal(0.5, 0.5, 6)
    by_p, by_q, counts = active_slopes(p, q, lam, loss)
    kind, wanted = get_loss(loss), np.zeros((6, 9))
    for i, j in np.ndindex(6, 9):
        if kind.value(p[i] - q[j]) > lam[i]:
            wanted[i, j] = kind.slope(p[i] - q[j])
            counts[i] -= 1
    assert not counts.any()
    np.testing.assert_allclose(by_p, wanted.sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(by_q, wanted.sum(axis=0), rtol=1e-12)
