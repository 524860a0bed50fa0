import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import pauc_core
from pauc_core.influence import influence, row_standard_error
from pauc_core.intervals import bootstrap_interval, compare_pauc, pauc_interval
from pauc_core.metrics import pauc
from tests.interval_coverage import PAIRS_WITHIN, WITHIN, cover
from tests.oracles import (
    delong_standard_error,
    influence_by_leaving_out,
    influence_winsorised,
    redrawn,
)
from tests.test_metrics import bands, scored

BANDS = [(0.0, 1.0), (0.05, 0.5), (0.0, 0.1), (0.2, 0.3)]


def drawn(n_pos, n_neg, seed=0, shift=1.2, grid=None, models=1):
    """Labels and one column of scores a model; the models' scores correlate."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_pos + n_neg) < n_pos
    common = rng.normal(size=y.size)
    scores = [common + 0.7 * rng.normal(size=y.size) + shift * y for _ in range(models)]
    if grid:
        scores = [grid * np.round(s / grid) for s in scores]
    return (y, *scores)


def as_band(band):
    return {"fpr_low": band[0], "fpr_high": band[1]}


# ---- influence and standard error ----------------------------------------------------------------
@given(data=scored(), band=bands())
def test_influence_is_what_leaving_a_row_out_shows(data, band):
    y, s = data
    expected = influence_by_leaving_out(y, s, *band)
    np.testing.assert_allclose(
        influence(y, s, **as_band(band)), expected, atol=1e-9 / (band[1] - band[0])
    )


@pytest.mark.parametrize("band", BANDS)
def test_influence_tends_to_the_winsorised_share_of_positives_above(band):
    y, s = drawn(2000, 4000)
    expected = influence_winsorised(y, s, *band)
    found = influence(y, s, **as_band(band))
    assert np.abs(found - expected).max() < 0.02 * np.ptp(expected)


@given(data=scored())
def test_on_the_whole_band_the_standard_error_is_delongs(data):
    y, s = data
    if min(y.sum(), (~y).sum()) > 1:
        found = pauc_interval(y, s).standard_error
        assert found == pytest.approx(delong_standard_error(y, s), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("grid", [None, 0.5])
@pytest.mark.parametrize(
    ("rows", "band"),
    [
        ((100, 100), (0.0, 1.0)),
        ((100, 100), (0.05, 0.5)),
        ((100, 1000), (0.0, 0.1)),
        ((100, 1000), (0.2, 0.3)),
    ],
)
def test_standard_error_is_the_deviation_of_redraws(rows, band, grid):
    # 100 positives and, in all but the second, 100 negatives in the band.
    y, s = drawn(*rows, seed=1, grid=grid)
    rng = np.random.default_rng(2)
    values = redrawn(y, lambda r: pauc(y[r], s[r], **as_band(band)), rng, 10_000)
    found = pauc_interval(y, s, **as_band(band)).standard_error
    assert found == pytest.approx(values.std(), rel=0.05)


def test_standard_error_of_a_difference_is_the_deviation_of_redraws():
    y, a, b = drawn(150, 600, models=2)
    args = as_band((0.05, 0.5))

    def difference(rows):
        return pauc(y[rows], a[rows], **args) - pauc(y[rows], b[rows], **args)

    values = redrawn(y, difference, np.random.default_rng(0), 2000)
    assert compare_pauc(y, a, b, **args).standard_error == pytest.approx(values.std(), rel=0.06)


@pytest.mark.parametrize("band", BANDS)
def test_standard_error_comes_from_the_influence(band):
    y, a, b = drawn(60, 200, grid=0.25, models=2)
    one, two = (influence(y, s, **as_band(band)) for s in (a, b))
    v, u = one[y], one[~y]
    expected = math.sqrt(v.var(ddof=1) / v.size + u.var(ddof=1) / u.size)
    assert pauc_interval(y, a, **as_band(band)).standard_error == pytest.approx(expected)
    assert row_standard_error(y, one) == pytest.approx(expected)
    found = compare_pauc(y, a, b, **as_band(band))
    assert found.standard_error == pytest.approx(row_standard_error(y, one - two))


@pytest.mark.parametrize("band", BANDS)
def test_the_ends_follow_from_satterthwaites_degrees_of_freedom(band):
    y, a, b = drawn(25, 60, models=2)
    one, two = (influence(y, s, **as_band(band)) for s in (a, b))

    def moments(values):
        """Squared standard error of a mean, and the variance of that square."""
        n = values.size
        square = values.var(ddof=1) / n
        fourth = ((values / n * math.sqrt(n / (n - 1))) ** 4).sum()
        return square, max(fourth - square**2 / n, 0.0), 2 * square**2 / (n - 1)

    def quantile(square, noise):
        return stats.t.ppf(0.975, 2 * square**2 / noise)

    (pos, _, usual), (neg, noise, _) = moments(one[y]), moments(one[~y])
    t = quantile(pos + neg, usual + max(2 * noise, 4 * neg**2 / (60 * (band[1] - band[0]))))
    found = pauc_interval(y, a, **as_band(band))
    reach = t * math.sqrt(pos + neg) / (found.value * (1 - found.value))
    odds = found.value / (1 - found.value)
    for end, sign in ((found.low, -1), (found.high, 1)):
        assert end / (1 - end) == pytest.approx(odds * math.exp(sign * reach))

    parts = [moments((one - two)[members]) for members in (y, ~y)]
    square = sum(part for part, _, _ in parts)
    t = quantile(square, sum(max(noise, usual) for _, noise, usual in parts))
    told = compare_pauc(y, a, b, **as_band(band))
    assert told.high - told.difference == pytest.approx(t * math.sqrt(square))


# ---- groups --------------------------------------------------------------------------------------
@pytest.mark.parametrize("band", BANDS)
def test_groups_of_one_row_change_nothing(band):
    y, a, b = drawn(40, 150, grid=0.5, models=2)
    names = np.random.default_rng(0).permutation(y.size)
    for call, scores in ((pauc_interval, (a,)), (compare_pauc, (a, b))):
        alone = vars(call(y, *scores, **as_band(band)))
        grouped = vars(call(y, *scores, groups=[f"p{n}" for n in names], **as_band(band)))
        assert alone.pop("doubt") == grouped.pop("doubt")
        assert list(alone.values()) == pytest.approx(list(grouped.values()), rel=1e-12)


@pytest.mark.parametrize("band", [(0.0, 1.0), (0.05, 0.5)])
def test_groups_of_rows_are_redrawn_together(band):
    rng = np.random.default_rng(0)
    patients = rng.integers(200, size=1200)
    # Patients differ in how many of their films are ill and in how all of them score.
    y = rng.random(1200) < rng.beta(1, 3, size=200)[patients]
    s = rng.normal(size=1200) + rng.normal(size=200)[patients] + 1.5 * y
    values = redrawn(y, lambda r: pauc(y[r], s[r], **as_band(band)), rng, 2000, groups=patients)
    grouped = pauc_interval(y, s, groups=patients, **as_band(band))
    assert grouped.standard_error == pytest.approx(values.std(), rel=0.07)
    alone = pauc_interval(y, s, **as_band(band))
    assert grouped.standard_error > 1.15 * alone.standard_error, "the test must see the groups"
    assert grouped.low < alone.low < alone.high < grouped.high
    twice = np.concatenate([patients, patients])
    doubled = pauc_interval(np.tile(y, 2), np.tile(s, 2), groups=twice, **as_band(band))
    assert doubled.standard_error == pytest.approx(grouped.standard_error, rel=1e-2)


def test_a_class_within_one_group_shows_no_spread():
    y, s = drawn(10, 90)
    found = pauc_interval(y, s, groups=np.where(y, 0, np.arange(100)))
    assert found.standard_error == math.inf
    assert (found.low, found.high) == (0.0, 1.0)
    assert "single row or group" in found.doubt


# ---- scales and invariance -----------------------------------------------------------------------
@given(data=scored(), band=bands())
def test_scales_are_one_interval(data, band):
    y, s = data
    width, chance = band[1] - band[0], (band[0] + band[1]) / 2
    of = {k: pauc_interval(y, s, scale=k, **as_band(band)) for k in ("width", "raw", "mcclish")}
    one = of["width"]
    for scale in of:
        assert of[scale].value == pauc(y, s, scale=scale, **as_band(band))
    if math.isfinite(one.standard_error):
        assert of["raw"].standard_error == pytest.approx(width * one.standard_error)
        assert of["mcclish"].standard_error == pytest.approx(
            one.standard_error / (2 * (1 - chance))
        )
    for end in ("low", "high"):
        plain = getattr(one, end)
        assert getattr(of["raw"], end) == pytest.approx(width * plain)
        assert getattr(of["mcclish"], end) == pytest.approx(
            0.5 * (1 + (plain - chance) / (1 - chance))
        )


@pytest.mark.parametrize("band", BANDS)
def test_a_comparison_on_another_scale_is_the_same_one(band):
    y, a, b = drawn(60, 200, models=2)
    one, raw, mcclish = (
        compare_pauc(y, a, b, scale=scale, **as_band(band)) for scale in ("width", "raw", "mcclish")
    )
    slopes = (band[1] - band[0], 0.5 / (1 - (band[0] + band[1]) / 2))
    for other, slope in zip((raw, mcclish), slopes, strict=True):
        assert other.p_value == one.p_value
        for name in ("difference", "standard_error", "low", "high"):
            assert getattr(other, name) == pytest.approx(slope * getattr(one, name))


@given(data=scored(), band=bands())
def test_increasing_maps_and_the_order_of_rows_do_not_matter(data, band):
    y, s = data
    found = pauc_interval(y, s, **as_band(band))
    assert pauc_interval(y, np.exp(3 * s) - 7, **as_band(band)) == found
    back = vars(pauc_interval(y[::-1], s[::-1], **as_band(band)))
    for name in ("value", "standard_error", "low", "high"):
        assert back[name] == pytest.approx(getattr(found, name), abs=1e-9)


@given(data=scored(), band=bands(), level=st.floats(0.01, 0.99))
def test_an_interval_lies_within_the_range_and_is_never_a_point(data, band, level):
    y, s = data
    found = pauc_interval(y, s, level=level, **as_band(band))
    assert 0.0 <= found.low <= found.value + 1e-12
    assert found.value <= found.high + 1e-12 <= 1.0 + 2e-12
    assert found.low < found.high


def test_a_higher_level_is_a_wider_interval():
    y, a, b = drawn(50, 200, models=2)
    widths = [
        (one.high - one.low, two.high - two.low)
        for one, two in (
            (pauc_interval(y, a, level=level), compare_pauc(y, a, b, level=level))
            for level in (0.5, 0.9, 0.99)
        )
    ]
    assert widths == sorted(widths)


# ---- no spread, and what is decided --------------------------------------------------------------
@pytest.mark.parametrize(("n", "low"), [(5, 0.478), (30, 0.884), (300, 0.988)])
def test_a_perfect_ranking_is_not_certain(n, low):
    y = np.arange(4 * n) < n
    found = pauc_interval(y, y.astype(float), fpr_high=0.5)
    assert (found.value, found.standard_error, found.high) == (1.0, 0.0, 1.0)
    assert found.low == pytest.approx(low, abs=1e-3)
    # Few negatives in the band say as little as few positives.
    few = pauc_interval(~y, -y.astype(float), fpr_high=1.0)
    assert few.low == pytest.approx(low, abs=1e-3)
    assert "less than 10" in found.doubt or n == 5


def test_rows_that_all_tie_are_not_certain():
    y = np.arange(40) < 20
    found = pauc_interval(y, np.zeros(40))
    alike = 0.025 ** (1 / 20)
    assert (found.value, found.standard_error) == (0.5, 0.0)
    assert (found.low, found.high) == pytest.approx((0.5 * alike, 1 - 0.5 * alike))


def test_identical_scores_do_not_differ():
    y, s = drawn(30, 70, grid=0.5)
    for other in (s, np.exp(s)):
        found = compare_pauc(y, s, other, fpr_high=0.37)
        assert (found.difference, found.standard_error, found.p_value) == (0.0, 0.0, 1.0)
        assert found.low < 0.0 < found.high


def test_without_a_spread_nothing_is_decided():
    y = np.arange(2000) < 1000
    found = compare_pauc(y, y.astype(float), np.zeros(2000))
    assert (found.difference, found.standard_error, found.p_value) == (0.5, 0.0, 1.0)
    assert found.low <= 0.0 < 0.5 < found.high


@given(data=scored(), band=bands(), level=st.sampled_from([0.5, 0.8, 0.95]))
def test_interval_and_p_value_agree_about_0(data, band, level):
    y, s = data
    other = np.roll(s, 1)
    found = compare_pauc(y, s, other, level=level, **as_band(band))
    assert found.low <= found.difference <= found.high
    assert found.low < found.high
    holds = found.low <= 0.0 <= found.high
    assert holds == (found.p_value >= 1 - level) or found.p_value == pytest.approx(1 - level)
    back = compare_pauc(y, other, s, level=level, **as_band(band))
    assert back.difference == -found.difference
    assert back.p_value == pytest.approx(found.p_value)
    assert (back.low, back.high) == pytest.approx((-found.high, -found.low))


def test_a_clear_difference_is_found_and_noise_is_not():
    y, a, b = drawn(300, 3000, models=2)
    assert compare_pauc(y, a, b - y, **as_band((0.05, 0.5))).p_value < 1e-6
    assert compare_pauc(y, a, b, **as_band((0.05, 0.5))).p_value > 0.05


@pytest.mark.parametrize(
    ("rows", "band", "shift", "doubt"),
    [
        ((200, 50), (0.0, 0.1), 1.0, "the band holds 5 negatives, fewer than 10"),
        ((40, 500), (0.05, 0.5), 4.0, "less than 10"),
        ((1, 500), (0.05, 0.5), 1.0, "single row or group"),
        ((200, 100), (0.2, 0.3), 1.0, ""),
    ],
)
def test_what_is_not_to_be_relied_on_says_so(rows, band, shift, doubt):
    y, a, b = drawn(*rows, shift=shift, models=2)
    for found in (pauc_interval(y, a, **as_band(band)), compare_pauc(y, a, b, **as_band(band))):
        assert doubt in found.doubt
        assert found.reliable == (not doubt)


# ---- bad input -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": [1.0, 2.0]}, "2 entries and y_true 4"),
        ({"scores": [1.0, np.nan, 2.0, 3.0]}, "scores holds NaN"),
        ({"y": [0, 0, 0, 0]}, "no positive"),
        ({"y": [1, 1, 1, 1]}, "no negative"),
        ({"y": [1, 2, 1, 2]}, "label 2"),
        ({"level": 1.0}, "level is 1.0: expected a share"),
        ({"level": 0.0}, "level is 0.0: expected a share"),
        ({"level": math.nan}, "level is nan"),
        ({"fpr_low": 0.5, "fpr_high": 0.5}, "0 <= fpr_low < fpr_high <= 1"),
        ({"scale": "percent"}, "Unknown scale 'percent'"),
        ({"groups": [1, 2]}, "groups has shape .2,. and y_true 4 rows"),
        ({"groups": [7, 7, 7, 7]}, "a single group: expected at least two"),
        ({"groups": [1.0, np.nan, 2.0, 3.0]}, "missing name"),
        ({"groups": ["a", None, "b", "c"]}, "missing name"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(change, message):
    y = change.pop("y", [0, 1, 0, 1])
    scores = change.pop("scores", [0.0, 1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=message):
        pauc_interval(y, scores, **change)
    with pytest.raises(ValueError, match=message):
        compare_pauc(y, scores, scores, **change)


def test_values_of_other_rows_are_refused():
    with pytest.raises(ValueError, match="rows has shape"):
        row_standard_error([0, 1, 0], [0.1, 0.2])


def test_the_package_offers_both():
    y, a, b = drawn(20, 20, models=2)
    words = np.where(y, "ill", "well")
    assert pauc_core.pauc_interval(words, a, pos_label="ill") == pauc_interval(y, a)
    assert pauc_core.compare_pauc(words, a, b, pos_label="ill") == compare_pauc(y, a, b)


# ---- the slow twin -------------------------------------------------------------------------------
def test_bootstrap_covers_redraws_made_the_slow_way():
    rng = np.random.default_rng(3)
    y = rng.random(300) < 0.3
    s = np.round(rng.normal(size=300) + y, 1)
    args = {"fpr_low": 0.05, "fpr_high": 0.5}
    low, high = bootstrap_interval(y, s, rng=1, repeats=2000, **args)
    slow = []
    for _ in range(2000):
        rows = np.concatenate([rng.choice(np.flatnonzero(c), c.sum()) for c in (y, ~y)])
        slow.append(pauc(y[rows], s[rows], **args))
    np.testing.assert_allclose([low, high], np.quantile(slow, [0.025, 0.975]), atol=0.015)
    assert low < pauc(y, s, **args) < high


def test_bootstrap_is_settled_by_its_seed():
    y, s = np.array([1, 1, 0, 0, 0, 1]), np.array([3.0, 1, 2, 0, 1, 2])
    assert bootstrap_interval(y, s, rng=5) == bootstrap_interval(y, s, rng=np.random.default_rng(5))
    assert bootstrap_interval(y, s, rng=5) != bootstrap_interval(y, s, rng=6, level=0.5)
    with pytest.raises(ValueError, match=r"level 1\.5"):
        bootstrap_interval(y, s, rng=5, level=1.5)


@pytest.mark.parametrize("grid", [None, 0.5])
def test_the_interval_is_near_the_bootstraps(grid):
    y, s = drawn(300, 3000, grid=grid)
    args = as_band((0.05, 0.5))
    found = pauc_interval(y, s, **args)
    expected = bootstrap_interval(y, s, rng=0, repeats=4000, **args)
    np.testing.assert_allclose([found.low, found.high], expected, atol=0.2 * found.standard_error)


# ---- coverage ------------------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.parametrize("setting", [*WITHIN, *PAIRS_WITHIN], ids=str)
def test_the_interval_holds_the_truth_as_often_as_it_says(setting):
    assert 0.93 <= cover(setting).held <= 0.97
