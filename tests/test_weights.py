"""Weights of rows and bands of true positive rates, in metric, interval and objective."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import auc as area_under
from sklearn.metrics import roc_auc_score, roc_curve

from pauc_core.influence import influence, row_standard_error
from pauc_core.intervals import bootstrap_interval, compare_pauc, pauc_interval
from pauc_core.metrics import auc, pauc, roc_curve_points, threshold_at_fpr, tpr_at_fpr
from pauc_core.objective import LOSSES, pauc_loss, pauc_loss_grad
from tests.oracles import central_difference, influence_of_a_mean_row, weighted_loss_by_pairs
from tests.test_metrics import bands, scored

BANDS = [(0.0, 1.0), (0.05, 0.5), (0.0, 0.1), (0.2, 0.3)]


@st.composite
def repeated(draw):
    """Labels, scores and whole weights, some of them 0, so that both classes stay."""
    y, scores = draw(scored())
    weights = np.array(draw(st.lists(st.integers(0, 3), min_size=y.size, max_size=y.size)))
    weights[np.flatnonzero(y)[0]] += 1
    weights[np.flatnonzero(~y)[0]] += 1
    return y, scores, weights


# ---- metric --------------------------------------------------------------------------------------
@given(data=repeated(), band=bands(), rate=st.floats(0, 1), unit=st.sampled_from([1.0, 0.3, 7e8]))
def test_a_weight_is_the_row_so_many_times(data, band, rate, unit):
    y, s, times = data
    w = unit * times
    many_y, many_s = np.repeat(y, times), np.repeat(s, times)
    ends = {"fpr_low": band[0], "fpr_high": band[1]}
    for scale in ("width", "raw", "mcclish"):
        expected = pauc(many_y, many_s, scale=scale, **ends)
        found = pauc(y, s, scale=scale, sample_weight=w, **ends)
        assert found == pytest.approx(expected, abs=1e-9)
    assert auc(y, s, sample_weight=w) == pytest.approx(auc(many_y, many_s), abs=1e-12)
    for ours, theirs in zip(
        roc_curve_points(y, s, sample_weight=w), roc_curve_points(many_y, many_s), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
    # Away from jumps of the curve, where rounding decides which end is meant.
    jumps = np.arange(np.sum(times[~y]) + 1) / np.sum(times[~y])
    if np.abs(jumps - rate).min() > 1e-9:
        assert tpr_at_fpr(y, s, rate, sample_weight=w) == pytest.approx(
            tpr_at_fpr(many_y, many_s, rate), abs=1e-9
        )
        assert threshold_at_fpr(s[~y], rate, sample_weight=w[~y]) == threshold_at_fpr(
            many_s[~many_y], rate
        )


def test_weighted_areas_and_curves_are_scikit_learns():
    rng = np.random.default_rng(0)
    y, s, w = rng.random(400) < 0.3, rng.normal(size=400).round(1), rng.exponential(size=400)
    assert auc(y, s, sample_weight=w) == pytest.approx(roc_auc_score(y, s, sample_weight=w))
    for high in (0.01, 0.3):
        assert pauc(y, s, fpr_high=high, scale="mcclish", sample_weight=w) == pytest.approx(
            roc_auc_score(y, s, max_fpr=high, sample_weight=w)
        )
    theirs = roc_curve(y, s, sample_weight=w, drop_intermediate=False)
    for ours, expected in zip(roc_curve_points(y, s, sample_weight=w), theirs, strict=True):
        np.testing.assert_allclose(ours, expected, atol=1e-12)


def test_a_band_may_end_inside_a_row():
    # One negative of weight 3 above the positive of weight 1, one of weight 1 below.
    y, s, w = np.array([False, True, False]), np.array([3.0, 2.0, 1.0]), [3.0, 1.0, 1.0]
    assert pauc(y, s, fpr_high=0.8, scale="raw", sample_weight=w) == pytest.approx(0.05)
    # The weight of negatives at or above the threshold may be a quarter: only the lighter fits.
    assert threshold_at_fpr(s[~y], 0.75, sample_weight=[3.0, 1.0]) == np.nextafter(1.0, 2.0)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, -1.0, 1.0], "holds a number below 0: expected finite weights of 0 or more"),
        ([0.0, 0.0, 0.0], "holds no weight but zero"),
        ([1.0, 1.0], r"shape \(2,\): expected one weight a row, shape \(3,\)"),
        ([[1.0], [1.0], [1.0]], r"shape \(3, 1\)"),
        ([1.0, np.nan, 1.0], "NaN or infinite"),
        ([1.0, np.inf, 1.0], "NaN or infinite"),
        ([1.0, 0.0, 1.0], "no positive with a weight above 0"),
    ],
)
def test_bad_weights_are_refused(weights, message):
    y, s = [0, 1, 0], [1.0, 2.0, 3.0]
    for call in (pauc, auc, roc_curve_points, influence, pauc_interval):
        with pytest.raises(ValueError, match=message):
            call(y, s, sample_weight=weights)
    with pytest.raises(ValueError, match=message):
        compare_pauc(y, s, s, sample_weight=weights, tpr_low=0.5)


# ---- standard error ------------------------------------------------------------------------------
@pytest.mark.parametrize("band", BANDS)
@pytest.mark.parametrize("grid", [None, 0.5])
def test_equal_weights_change_nothing(band, grid):
    rng = np.random.default_rng(1)
    y = rng.random(300) < 0.3
    s = rng.normal(size=300) + y
    if grid:
        s = grid * np.round(s / grid)
    ends = {"fpr_low": band[0], "fpr_high": band[1]}
    for weight in (1.0, 0.3, 1e9):
        w = np.full(300, weight)
        plain, weighted = influence(y, s, **ends), influence(y, s, sample_weight=w, **ends)
        np.testing.assert_allclose(weighted, plain, atol=1e-10)
        a, b = pauc_interval(y, s, **ends), pauc_interval(y, s, sample_weight=w, **ends)
        assert (a.value, a.standard_error, a.low, a.high) == pytest.approx(
            (b.value, b.standard_error, b.low, b.high), rel=1e-9
        )


@pytest.mark.parametrize("band", BANDS)
def test_weighted_influence_is_the_slope_by_each_weight(band):
    rng = np.random.default_rng(2)
    y = rng.random(400) < 0.4
    s, w = rng.normal(size=400) + y, rng.uniform(0.5, 2.0, size=400)
    found = influence(y, s, fpr_low=band[0], fpr_high=band[1], sample_weight=w)
    expected = influence_of_a_mean_row(y, s, w, *band)
    assert found[y].mean() == pytest.approx(0.0, abs=1e-12)
    assert found[~y].mean() == pytest.approx(0.0, abs=1e-12)
    # A mean row is left out and not an infinitesimal one: 1 / N apart.
    assert np.linalg.norm(found - expected) < 0.1 * np.linalg.norm(expected)


def test_a_row_of_weight_zero_is_left_out_of_the_interval():
    rng = np.random.default_rng(3)
    y, w = rng.random(300) < 0.4, rng.uniform(0.5, 2.0, size=300)
    s, t = rng.normal(size=300) + y, rng.normal(size=300) + y
    w[:60], s[:3] = 0.0, np.nan
    groups = rng.integers(40, size=300)
    kept = w > 0
    band = {"fpr_low": 0.05, "fpr_high": 0.5}
    found = pauc_interval(y, s, sample_weight=w, **band)
    expected = pauc_interval(y[kept], s[kept], sample_weight=w[kept], **band)
    assert found.standard_error == pytest.approx(expected.standard_error)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    rows = influence(y, s, sample_weight=w, **band)
    assert (rows[:60] == 0).all()
    assert row_standard_error(y, rows, sample_weight=w) == pytest.approx(found.standard_error)
    one = compare_pauc(y, s, t, sample_weight=w, groups=groups, **band)
    two = compare_pauc(
        y[kept], s[kept], t[kept], sample_weight=w[kept], groups=groups[kept], **band
    )
    assert (one.standard_error, one.p_value) == pytest.approx((two.standard_error, two.p_value))


@pytest.mark.parametrize("band", [(0.0, 1.0), (0.05, 0.5), (0.0, 0.1)])
def test_importance_weights_have_their_own_standard_error(band):
    """Over redraws of rows and weights; as if rows were repeated it would be far too small."""
    rng = np.random.default_rng(4)
    y = np.arange(600) < 150
    ends = {"fpr_low": band[0], "fpr_high": band[1]}
    areas, errors, repeats = [], [], []
    for _ in range(400):
        s, w = rng.normal(size=600) + y, rng.exponential(size=600) ** 2
        areas.append(pauc(y, s, sample_weight=w, **ends))
        errors.append(pauc_interval(y, s, sample_weight=w, **ends).standard_error)
        repeats.append(pauc_interval(y, s, **ends).standard_error)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(areas), rel=0.15)
    assert np.mean(repeats) < 0.6 * np.std(areas)


# ---- objective -----------------------------------------------------------------------------------
@st.composite
def weighted_problems(draw):
    element = st.one_of(st.integers(-4, 4).map(float), st.floats(-30, 30))
    p = np.array(draw(st.lists(element, min_size=1, max_size=10)))
    q = np.array(draw(st.lists(element, min_size=1, max_size=20)))
    weight = st.one_of(st.integers(0, 3).map(float), st.floats(0.01, 5.0))
    a = np.array(draw(st.lists(weight, min_size=p.size, max_size=p.size)))
    b = np.array(draw(st.lists(weight, min_size=q.size, max_size=q.size)))
    a[0] += 1.0
    b[-1] += 1.0
    low, high = sorted([draw(st.floats(0, 1)), draw(st.floats(0, 1))])
    return p, q, a, b, min(low, 0.9), max(high, low + 0.05, 0.05)


@settings(max_examples=60)
@given(problem=weighted_problems(), loss=st.sampled_from(sorted(LOSSES)))
def test_weighted_objective_is_the_sum_over_pairs(problem, loss):
    p, q, a, b, low, high = problem
    high = min(high, 1.0)
    expected = weighted_loss_by_pairs(p, q, a, b, low * b.sum(), high * b.sum(), loss)
    given_as = {"weights_pos": a, "weights_neg": b, "loss": loss}
    for ends in (
        {"fpr_low": low, "fpr_high": high},
        {"m": low * b.sum(), "n": high * b.sum()},
    ):
        found = pauc_loss(p, q, **ends, **given_as)
        assert found == pytest.approx(expected, rel=1e-10, abs=1e-15)
        assert pauc_loss_grad(p, q, **ends, **given_as)[0] == pytest.approx(found, rel=1e-12)


@pytest.mark.parametrize("loss", sorted(LOSSES))
@pytest.mark.parametrize("rates", ["fpr", "tpr"])
def test_weighted_gradient_is_the_slope(loss, rates):
    rng = np.random.default_rng(5)
    p, q = 2 * rng.normal(size=9) + 1, 2 * rng.normal(size=21)
    settings_ = {
        "weights_pos": rng.uniform(0, 2, size=9),
        "weights_neg": rng.uniform(0, 2, size=21),
        f"{rates}_low": 0.13,
        f"{rates}_high": 0.71,
        "loss": loss,
    }
    _, by_p, by_q = pauc_loss_grad(p, q, **settings_)
    expected = central_difference(
        lambda z: pauc_loss(z[:9], z[9:], **settings_), np.concatenate([p, q])
    )
    np.testing.assert_allclose(np.concatenate([by_p, by_q]), expected, atol=1e-7)


@settings(max_examples=60)
@given(data=repeated(), loss=st.sampled_from(sorted(LOSSES)), draw=st.data())
def test_a_weight_is_the_row_so_many_times_in_the_objective(data, loss, draw):
    y, s, times = data
    total = int(times[~y].sum())
    m = draw.draw(st.integers(0, total - 1))
    n = draw.draw(st.integers(m + 1, total))
    many_y, many_s = np.repeat(y, times), np.repeat(s, times)
    expected = pauc_loss_grad(many_s[many_y], many_s[~many_y], m=m, n=n, loss=loss)
    # Either as weight passed or as rates: whole ranks of the repeated rows need no rounding.
    for ends in ({"m": m, "n": n}, {"fpr_low": m / total, "fpr_high": n / total}):
        found = pauc_loss_grad(
            s[y], s[~y], weights_pos=times[y], weights_neg=times[~y], loss=loss, **ends
        )
        assert found[0] == pytest.approx(expected[0], rel=1e-10, abs=1e-15)
        for k, members in ((1, y), (2, ~y)):
            copies = np.repeat(np.arange(members.sum()), times[members])
            summed = np.bincount(copies, weights=expected[k], minlength=members.sum())
            np.testing.assert_allclose(found[k], summed, rtol=1e-9, atol=1e-12)


def test_weights_of_one_class_alone():
    p, q = np.array([1.0, -1.0]), np.array([0.5, 0.0, -0.5])
    ends = {"m": 1, "n": 3}
    one = pauc_loss(p, q, weights_pos=[1.0, 1.0], **ends)
    two = pauc_loss(p, q, weights_neg=np.ones(3), **ends)
    assert one == pytest.approx(pauc_loss(p, q, **ends)) == pytest.approx(two)
    with pytest.raises(ValueError, match="weights_neg holds a number below 0"):
        pauc_loss(p, q, weights_neg=[1.0, -1.0, 1.0], **ends)
    with pytest.raises(ValueError, match="no range of the negatives' weight"):
        pauc_loss(p, q, weights_neg=np.ones(3), m=1, n=3.5)


# ---- true positive rates -------------------------------------------------------------------------
def test_the_area_above_a_true_positive_rate_is_isics():
    """ISIC 2024: the area under the curve and above TPR 0.8, at most 0.2."""
    rng = np.random.default_rng(6)
    y = rng.random(500) < 0.2
    s = (rng.normal(size=500) + y).round(1)
    fpr, tpr, _ = roc_curve(y, s)
    corner = np.interp(0.8, tpr, fpr)
    kept = tpr > 0.8
    x, height = np.append(corner, fpr[kept]), np.append(0.8, tpr[kept])
    expected = area_under(x, height) - 0.8 * (1.0 - corner)
    found = pauc(y, s, tpr_low=0.8, scale="raw")
    assert found == pytest.approx(expected, abs=1e-12)
    assert found == pauc(y, s, tpr_low=0.8, tpr_high=1.0, scale="raw")
    assert found == pauc(~y, -s, fpr_high=1 - 0.8, scale="raw")
    assert pauc(y, y.astype(float), tpr_low=0.8, scale="raw") == pytest.approx(0.2)


@given(data=scored(), cut=st.floats(0.05, 0.95))
def test_bands_of_true_positive_rates_add_up(data, cut):
    y, s = data
    low, high = pauc(y, s, tpr_high=cut, scale="raw"), pauc(y, s, tpr_low=cut, scale="raw")
    assert low + high == pytest.approx(auc(y, s), abs=1e-12)


def test_intervals_and_losses_exchange_the_classes_too():
    rng = np.random.default_rng(7)
    y, w = rng.random(400) < 0.3, rng.uniform(0, 2, size=400)
    s, t = rng.normal(size=400) + y, rng.normal(size=400) + y
    ours, theirs = {"tpr_low": 0.7, "tpr_high": 0.95}, {"fpr_low": 1 - 0.95, "fpr_high": 1 - 0.7}
    for weights in (None, w):
        of = {"sample_weight": weights}
        assert pauc(y, s, **ours, **of) == pauc(~y, -s, **theirs, **of)
        assert pauc_interval(y, s, **ours, **of) == pauc_interval(~y, -s, **theirs, **of)
        assert compare_pauc(y, s, t, **ours, **of) == compare_pauc(~y, -s, -t, **theirs, **of)
        np.testing.assert_array_equal(
            influence(y, s, **ours, **of), influence(~y, -s, **theirs, **of)
        )
    assert bootstrap_interval(y, s, rng=0, repeats=9, **ours) == bootstrap_interval(
        ~y, -s, rng=0, repeats=9, **theirs
    )
    p, q = s[y], s[~y]
    for a, b in ((None, None), (w[y], w[~y])):
        value, by_p, by_q = pauc_loss_grad(p, q, weights_pos=a, weights_neg=b, **ours)
        other = pauc_loss_grad(-q, -p, weights_pos=b, weights_neg=a, **theirs)
        assert value == other[0]
        assert value == pytest.approx(pauc_loss(p, q, weights_pos=a, weights_neg=b, **ours))
        np.testing.assert_array_equal(by_p, -other[2])
        np.testing.assert_array_equal(by_q, -other[1])


def test_doubts_and_errors_name_the_classes_as_given():
    y, s = np.arange(300) < 50, np.linspace(1, 0, 300)
    assert "positives" in pauc_interval(y, s, tpr_low=0.9).doubt
    with pytest.raises(ValueError, match="no positive"):
        pauc_interval(np.zeros(5), np.arange(5), tpr_low=0.9)
    with pytest.raises(ValueError, match="0 <= tpr_low < tpr_high <= 1"):
        pauc(y, s, tpr_low=0.9, tpr_high=0.8)
    with pytest.raises(ValueError, match="given twice"):
        pauc(y, s, tpr_low=0.9, fpr_high=0.8)
    for ends in ({}, {"fpr_low": 0.1}, {"tpr_low": 0.1, "m": 1, "n": 2}, {"m": 1}):
        with pytest.raises(ValueError, match="The band is unclear"):
            pauc_loss(s[y], s[~y], **ends)
