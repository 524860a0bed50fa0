import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pauc_core.influence import influence, row_standard_error
from pauc_core.metrics import pauc
from pauc_core.repeats import folds_interval, holm, seeds_interval, smallest_detectable

DIFFERENCES = [0.01, 0.03, 0.02, 0.04]  # mean 0.025, variance 1/6000, so 1/24000 over 4 seeds


# ---- by hand -------------------------------------------------------------------------------------
def test_seeds_and_rows_add_up():
    rows = math.sqrt(1 / 8000)
    found = seeds_interval(DIFFERENCES, rows)
    # 1/24000 + 3/24000 = 1/6000; df = (4/24000)^2 / ((1/24000)^2 / 3) = 48; t = 2.0106.
    assert found.value == pytest.approx(0.025)
    assert found.standard_error == pytest.approx(math.sqrt(1 / 6000))
    assert found.df == pytest.approx(48.0)
    assert (found.seeds_share, found.rows_share) == pytest.approx((0.25, 0.75))
    assert found.high - 0.025 == pytest.approx(2.0106 * 0.0129099, rel=1e-4)
    assert found.low == pytest.approx(0.05 - found.high)
    assert found.p_value == pytest.approx(2 * stats.t.sf(0.025 / found.standard_error, 48))
    assert found.doubt == ""


def test_seeds_alone_are_a_t_test():
    found = seeds_interval(DIFFERENCES, 0.0, level=0.9)
    expected = stats.ttest_1samp(DIFFERENCES, 0.0)
    assert found.p_value == pytest.approx(expected.pvalue)
    ends = expected.confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high))
    assert (found.df, found.seeds_share) == (3.0, 1.0)


def test_rows_alone_are_a_normal_test():
    found = seeds_interval([0.02, 0.02, 0.02], 0.01)
    assert found.df == math.inf
    assert found.p_value == pytest.approx(2 * stats.norm.sf(2.0))
    assert found.low == pytest.approx(0.02 - 1.959964 * 0.01)
    assert (found.seeds_share, found.rows_share) == (0.0, 1.0)


def test_folds_take_the_larger_variance():
    # Between folds 1/6000; the rows' 0.01^2 is smaller, 0.02^2 larger.
    for error, variance in ((0.01, 1 / 6000), (0.02, 0.0004)):
        found = folds_interval(DIFFERENCES, [error] * 4)
        assert found.standard_error == pytest.approx(math.sqrt(variance / 4))
        assert found.df == 3.0
        assert found.high == pytest.approx(0.025 + 3.182446 * found.standard_error)
        assert math.isnan(found.seeds_share)
        assert math.isnan(found.rows_share)


@pytest.mark.parametrize(
    ("found", "doubt"),
    [
        (seeds_interval([0.3], 0.01), "one seed"),
        (folds_interval([0.3], [0.01]), "one fold"),
        (seeds_interval([0.3, 0.3], 0.0), "all seeds and rows are alike"),
        (folds_interval([0.3, 0.3], [0.0, 0.0]), "all folds and rows are alike"),
        (seeds_interval([0.3, 0.1 + 0.2], 0.0), "all seeds and rows are alike"),
        (seeds_interval([0.3, 0.4], math.inf), "single test row or group"),
        (folds_interval([0.3, 0.4], [0.1, math.inf]), "single test row or group"),
    ],
)
def test_what_shows_no_spread_gives_no_interval_and_says_so(found, doubt):
    assert found.doubt.startswith(doubt) or doubt in found.doubt
    assert found.value == pytest.approx(0.3, abs=0.06)
    assert (found.low, found.high, found.p_value) == (-math.inf, math.inf, 1.0)
    assert smallest_detectable(found.standard_error, found.df) == math.inf


@given(
    d=st.lists(st.floats(-1, 1), min_size=2, max_size=8),
    rows=st.floats(0, 1),
    level=st.sampled_from([0.8, 0.95]),
)
def test_interval_and_p_value_agree_about_0(d, rows, level):
    for found in (seeds_interval(d, rows, level), folds_interval(d, [rows] * len(d), level)):
        assert found.low < found.high
        holds = found.low <= 0.0 <= found.high
        assert holds == (found.p_value >= 1 - level) or found.p_value == pytest.approx(1 - level)


def test_holm_by_hand():
    found = holm([0.01, 0.04, 0.03, 0.005])
    np.testing.assert_allclose(found, [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm([0.5, 0.9]), [1.0, 1.0])
    assert holm([]).shape == (0,)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_lies_between_the_plain_and_bonferronis(p):
    found = holm(p)
    assert (found >= p).all()
    assert (found <= np.minimum(np.array(p) * len(p), 1.0)).all()
    assert found.min() == min(min(p) * len(p), 1.0)


def test_the_smallest_detectable_difference_is_detected_as_often_as_asked():
    rng = np.random.default_rng(0)
    true = smallest_detectable(0.5, 19, power=0.8)
    assert true == pytest.approx((2.093024 + 0.860951) * 0.5, rel=1e-5)
    draws = rng.normal(true, 0.5 * math.sqrt(20), size=(4000, 20))
    detected = [seeds_interval(d, 0.0).low > 0 for d in draws]
    assert np.mean(detected) == pytest.approx(0.8, abs=0.02)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: seeds_interval([], 0.1), "differences has shape"),
        (lambda: seeds_interval([[0.1, 0.2]], 0.1), "differences has shape"),
        (lambda: seeds_interval([0.1, math.nan], 0.1), "finite numbers"),
        (lambda: seeds_interval([0.1, 0.2], -0.1), "row_standard_error is -0.1"),
        (lambda: seeds_interval([0.1, 0.2], math.nan), "row_standard_error is nan"),
        (lambda: seeds_interval([0.1, 0.2], 0.1, level=95), "level is 95"),
        (lambda: folds_interval([0.1, 0.2], [0.1]), "standard_errors has shape"),
        (lambda: folds_interval([0.1, 0.2], [0.1, -0.1]), "all 0 or more"),
        (lambda: holm([0.1, 1.2]), "between 0 and 1"),
        (lambda: holm([0.1, math.nan]), "between 0 and 1"),
        (lambda: smallest_detectable(0.1, 5, power=1.0), "power is 1.0"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# ---- by simulation -------------------------------------------------------------------------------
def two_methods(rng, seeds, wobble):
    """Scores of two equally good linear methods on the same rows, one line a seed.

    Each leans on another column of noise, so that they rank rows differently and neither is
    better; each seed's weights differ from its method's by `wobble`, as other training rows would
    make them.
    """
    y = np.arange(400) < 100
    x = rng.normal(size=(y.size, 4)) + np.outer(y, [1.0, 1.0, 0.0, 0.0])
    leanings = ([1.0, 1.0, 0.7, 0.0], [1.0, 1.0, 0.0, 0.7])
    return y, [(np.array(w) + wobble * rng.normal(size=(seeds, 4))) @ x.T for w in leanings]


@pytest.mark.slow
@pytest.mark.parametrize(("seeds", "wobble"), [(3, 0.5), (5, 0.1), (5, 0.5)])
def test_intervals_over_seeds_and_rows_hold_the_truth(seeds, wobble):
    rng = np.random.default_rng(0)
    band = {"fpr_low": 0.05, "fpr_high": 0.5}
    held = 0
    for _ in range(2000):
        y, (a, b) = two_methods(rng, seeds, wobble)
        d = [pauc(y, s, **band) - pauc(y, t, **band) for s, t in zip(a, b, strict=True)]
        rows = sum(
            influence(y, s, **band) - influence(y, t, **band) for s, t in zip(a, b, strict=True)
        )
        found = seeds_interval(d, row_standard_error(y, rows / seeds))
        held += found.low <= 0.0 <= found.high
    # What a seed does to single rows is counted with the seeds and with the rows: a little wide.
    assert 0.93 <= held / 2000 <= 0.985


@pytest.mark.slow
@pytest.mark.parametrize("rows", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("seeds", [5, 20])
def test_random_effects_are_held_as_often_as_said(seeds, rows):
    # The rows move all seeds together, training each alone: what seeds_interval assumes.
    rng = np.random.default_rng(1)
    moved = rows * rng.normal(size=(8000, 1)) + rng.normal(size=(8000, seeds))
    held = [(f := seeds_interval(d, rows)).low <= 0.0 <= f.high for d in moved]
    assert 0.93 <= np.mean(held) <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("training", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("folds", [3, 5, 10])
def test_intervals_over_folds_hold_the_truth(folds, training):
    # Each fold has test rows (deviation 1) and a training part of its own.
    rng = np.random.default_rng(2)
    moved = math.hypot(training, 1.0) * rng.normal(size=(8000, folds))
    held = [(f := folds_interval(d, np.ones(folds))).low <= 0.0 <= f.high for d in moved]
    # The larger of two variances is too large where both estimate the same.
    assert 0.93 <= np.mean(held) <= (0.975 if training == 3.0 else 1.0)
