import subprocess
import sys

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score, roc_curve

from pauc_core.metrics import (
    auc,
    pauc,
    pauc_pairs,
    positive_mask,
    ranks,
    roc_curve_points,
    threshold_at_fpr,
    tpr_at_fpr,
)
from tests.oracles import pauc_by_pairs, pauc_by_trapezoids


@st.composite
def scored(draw, tied=True):
    """Labels of both classes with scores that tie often, or never."""
    y = np.array([True, False, *draw(st.lists(st.booleans(), max_size=25))])
    if tied:
        scores = draw(st.lists(st.integers(-4, 4), min_size=y.size, max_size=y.size))
    else:
        scores = draw(st.permutations(range(y.size)))
    order = draw(st.permutations(range(y.size)))
    return y[order], np.array(scores, dtype=float)


rates = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.05, 0.25, 0.5, 1.0]))


@st.composite
def bands(draw):
    low, high = sorted([draw(rates), draw(rates)])
    assume(high - low > 1e-3)
    return low, high


@given(data=scored(), band=bands())
def test_area_equals_trapezoids(data, band):
    y, s = data
    expected = pauc_by_trapezoids(y, s, *band)
    assert pauc(y, s, fpr_low=band[0], fpr_high=band[1], scale="raw") == pytest.approx(
        expected, abs=1e-12
    )
    assert pauc(y, s, fpr_low=band[0], fpr_high=band[1]) == pytest.approx(
        expected / (band[1] - band[0]), abs=1e-12
    )


@given(data=scored(), band=bands(), seed=st.integers(0, 99))
def test_order_of_rows_does_not_matter(data, band, seed):
    y, s = data
    order = np.random.default_rng(seed).permutation(y.size)
    args = {"fpr_low": band[0], "fpr_high": band[1]}
    assert pauc(y[order], s[order], **args) == pytest.approx(pauc(y, s, **args), abs=1e-13)


@given(data=scored(), band=bands())
def test_increasing_maps_do_not_matter(data, band):
    y, s = data
    args = {"fpr_low": band[0], "fpr_high": band[1]}
    assert pauc(y, np.exp(3 * s) - 7, **args) == pauc(y, s, **args)


@given(data=scored(), cuts=st.tuples(rates, rates, rates).map(sorted))
def test_adjacent_bands_add_up(data, cuts):
    y, s = data
    low, middle, high = cuts
    assume(low < middle < high)
    parts = pauc(y, s, fpr_low=low, fpr_high=middle, scale="raw") + pauc(
        y, s, fpr_low=middle, fpr_high=high, scale="raw"
    )
    assert parts == pytest.approx(pauc(y, s, fpr_low=low, fpr_high=high, scale="raw"), abs=1e-12)


@given(data=scored())
def test_whole_band_is_the_auc(data):
    y, s = data
    expected = pytest.approx(roc_auc_score(y, s), abs=1e-12)
    assert auc(y, s) == expected
    for scale in ("width", "raw", "mcclish"):
        assert pauc(y, s, scale=scale) == expected


@given(data=scored(), high=st.floats(0.01, 1.0))
def test_mcclish_from_zero_is_scikit_learns(data, high):
    y, s = data
    assert pauc(y, s, fpr_high=high, scale="mcclish") == pytest.approx(
        roc_auc_score(y, s, max_fpr=high), abs=1e-10
    )


@given(band=bands())
def test_mcclish_maps_chance_and_perfection(band):
    y = np.repeat([True, False], 40)
    args = {"fpr_low": band[0], "fpr_high": band[1], "scale": "mcclish"}
    assert pauc(y, np.zeros(80), **args) == pytest.approx(0.5, abs=1e-9)
    assert pauc(y, y.astype(float), **args) == pytest.approx(1.0, abs=1e-9)


@given(data=scored(tied=False), cut=st.tuples(st.floats(0, 1), st.floats(0, 1)))
def test_equals_equation_2_without_ties_at_whole_ranks(data, cut):
    y, s = data
    n_neg = int((~y).sum())
    m, n = sorted(round(c * n_neg) for c in cut)
    assume(m < n)
    args = {"fpr_low": m / n_neg, "fpr_high": n / n_neg}
    expected = pauc_by_pairs(y, s, m, n)
    assert pauc_pairs(y, s, **args) == pytest.approx(expected, abs=1e-12)
    assert pauc(y, s, **args) == pytest.approx(expected, abs=1e-12)


@given(data=scored(), band=bands())
def test_pairs_compare_strictly(data, band):
    y, s = data
    m, n = (int(np.floor((~y).sum() * rate + 0.5)) for rate in band)
    assume(m < n)
    expected = pauc_by_pairs(y, s, m, n)
    assert pauc_pairs(y, s, fpr_low=band[0], fpr_high=band[1]) == pytest.approx(expected)


@given(data=scored())
def test_roc_curve_is_scikit_learns(data):
    y, s = data
    for ours, theirs in zip(
        roc_curve_points(y, s), roc_curve(y, s, drop_intermediate=False), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


@given(data=scored(), fpr=st.floats(0, 1))
def test_height_of_the_curve(data, fpr):
    y, s = data
    x, height, _ = roc_curve_points(y, s)
    # At a jump numpy takes the last of equal abscissae: the upper end, as we do.
    assume(np.abs(x - fpr).min() > 1e-9 or fpr in (0.0, 1.0))
    assert tpr_at_fpr(y, s, fpr) == pytest.approx(np.interp(fpr, x, height), abs=1e-9)


@given(data=scored(), fpr=st.floats(0, 1))
def test_threshold_keeps_the_rate_and_is_the_lowest(data, fpr):
    neg = data[1][~data[0]]
    threshold = threshold_at_fpr(neg, fpr)
    assert (neg >= threshold).mean() <= fpr + 1e-9
    if np.isfinite(threshold):
        assert (neg >= np.nextafter(threshold, -np.inf)).mean() > fpr


def test_threshold_survives_rounding_of_the_rate():
    assert (np.arange(100.0) >= threshold_at_fpr(np.arange(100.0), 0.29)).sum() == 29


def test_labels_of_every_kind_agree():
    y = np.array([1, 0, 0, 1, 0, 1])
    s = np.array([0.3, 0.1, 0.4, 0.9, 0.2, 0.2])
    expected = auc(y, s)
    assert auc(y.astype(bool), s) == expected
    assert auc(2 * y - 1, s) == expected
    assert auc(y.astype(np.float32), s.tolist()) == expected
    assert auc(y.astype(np.uint8), s) == expected
    assert auc(np.where(y == 1, "ill", "well"), s, pos_label="ill") == expected
    assert auc(np.where(y == 1, "ill", "well").astype(object), s, pos_label="ill") == expected
    assert auc(y + 1, s, pos_label=2) == expected
    assert auc(1 - y, s, pos_label=0) == expected


@pytest.mark.parametrize(
    ("y", "pos_label", "message"),
    [
        (["ill", "well"], None, "pos_label"),
        (["ill", "well"], "sick", "'sick' does not occur"),
        ([1, 2], None, "label 2"),
        ([-1, 0, 1], None, "both 0 and -1"),
        ([1.0, np.nan], None, "label nan"),
        ([[0, 1]], None, r"shape \(1, 2\)"),
        ([0, 1], "1", "does not occur"),
    ],
)
def test_strange_labels_are_refused(y, pos_label, message):
    with pytest.raises(ValueError, match=message):
        positive_mask(np.array(y), pos_label=pos_label)


@pytest.mark.parametrize(
    ("y", "s", "message"),
    [
        ([0, 0, 0], [1, 2, 3], "no positive"),
        ([1, 1, 1], [1, 2, 3], "no negative"),
        ([-1, -1, -1], [1, 2, 3], "no positive"),
        ([0, 1, 0], [1, np.nan, 3], "NaN"),
        ([0, 1, 0], [np.inf, np.nan, -np.inf], "NaN"),
        ([0, 1], [1, 2, 3], "3 entries and y_true 2"),
        ([0, 1], [[1, 2]], r"shape \(1, 2\)"),
        ([], [], "expected one score"),
    ],
)
def test_bad_scores_are_refused(y, s, message):
    for call in (pauc, auc, roc_curve_points):
        with pytest.raises(ValueError, match=message):
            call(np.array(y), np.array(s))


@pytest.mark.parametrize("band", [(0.5, 0.5), (0.6, 0.5), (-0.1, 0.5), (0.0, 1.1), (np.nan, 1.0)])
def test_bands_that_are_none_are_refused(band):
    for call in (pauc, pauc_pairs):
        with pytest.raises(ValueError, match="0 <= fpr_low < fpr_high <= 1"):
            call([0, 1], [0.0, 1.0], fpr_low=band[0], fpr_high=band[1])


def test_unknown_scale_is_refused():
    with pytest.raises(ValueError, match="Unknown scale 'percent'"):
        pauc([0, 1], [0.0, 1.0], scale="percent")


def test_infinite_scores_rank_like_any_other():
    assert pauc([0, 1, 0, 1], [-np.inf, np.inf, 0.0, 1.0]) == 1.0


def test_band_between_two_negatives_still_has_an_area():
    y, s = np.array([1, 0, 0, 1]), np.array([3.0, 2.0, 1.0, 0.0])
    assert pauc(y, s, fpr_low=0.6, fpr_high=0.7) == pytest.approx(0.5)
    with pytest.raises(ValueError, match="holds none of the 2 negatives"):
        pauc_pairs(y, s, fpr_low=0.6, fpr_high=0.7)


def test_ranks_are_whole_and_nearest():
    assert ranks(200_000, 0.05, 0.5) == (10_000, 100_000)
    assert ranks(10, 0.0, 1.0) == (0, 10)
    assert ranks(10, 0.04, 0.26) == (0, 3)


def test_importing_the_metric_is_light():
    code = (
        "import sys, pauc_core.metrics; print(*{'torch', 'sklearn', 'pandas'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@given(st.integers(1, 40), st.integers(2, 40), st.floats(0, 0.6), st.floats(0.3, 0.4))
def test_a_perfect_ranking_is_never_above_one(n_pos, n_neg, low, width):
    labels = np.arange(n_pos + n_neg) < n_pos
    assert pauc(labels, labels.astype(float), fpr_low=low, fpr_high=low + width) <= 1.0
