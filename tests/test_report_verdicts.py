"""Rules of the verdicts: each with a case for each of its answers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from pauc_core.report.compare import equivalent
from pauc_core.report.ranks import critical_difference, friedman, letters, wilson
from pauc_core.report.verdicts import (
    CONTRADICTED,
    NOT_RUN,
    SUPPORTED,
    UNDECIDED,
    Estimate,
    after_failures,
    judge,
    on_all,
    over_seeds,
)


@pytest.mark.parametrize(
    ("low", "high", "met_at_the_limit", "above_it"),
    [
        (0.1, 0.2, SUPPORTED, SUPPORTED),
        (0.0, 0.2, SUPPORTED, UNDECIDED),
        (-0.1, 0.2, UNDECIDED, UNDECIDED),
        (-0.2, 0.0, UNDECIDED, CONTRADICTED),
        (-0.2, -0.1, CONTRADICTED, CONTRADICTED),
        (-math.inf, math.inf, UNDECIDED, UNDECIDED),
    ],
)
def test_an_interval_decides_on_one_side_of_the_limit(
    low: float, high: float, met_at_the_limit: str, above_it: str
) -> None:
    assert judge(low, high, inclusive=True) == met_at_the_limit
    assert judge(low, high, inclusive=False) == above_it


def test_the_interval_over_seeds_is_students() -> None:
    gains = np.array([0.3, 0.1, 0.2, 0.4, 0.2])
    found = over_seeds(gains)
    low, high = stats.t.interval(0.95, 4, gains.mean(), stats.sem(gains))
    assert (found.low, found.high) == pytest.approx((low, high))
    assert found.p_value == pytest.approx(stats.ttest_1samp(gains, 0.0).pvalue)
    assert found.reach == pytest.approx((high - low) / 2)


@pytest.mark.parametrize("gains", [[0.5], [0.5, 0.5, 0.5], []])
def test_one_seed_and_seeds_that_do_not_differ_decide_nothing(gains: list[float]) -> None:
    found = over_seeds(np.array(gains))
    assert judge(found.low, found.high, inclusive=True) == UNDECIDED
    assert math.isnan(found.p_value)


@pytest.mark.parametrize("error", [0.0, math.inf, math.nan])
def test_an_estimate_without_a_spread_is_unbounded(error: float) -> None:
    found = Estimate(0.5, error, 0.0 if math.isinf(error) else 5.0)
    assert _ends(found) == (-math.inf, math.inf)
    assert math.isnan(found.smallest)


def test_between_looks_the_distance_of_the_looks_is_a_spread() -> None:
    same = np.full(5, 0.25)
    found = over_seeds(same, np.full(5, 0.25))
    assert found.standard_error == pytest.approx(0.25 / math.sqrt(12 * 5))
    assert judge(found.low, found.high, inclusive=True) == SUPPORTED
    assert judge(*_ends(over_seeds(same, np.full(5, 10.0))), inclusive=True) == UNDECIDED


def _ends(found: Estimate) -> tuple[float, float]:
    return found.low, found.high


def test_what_is_never_there_leaves_no_lower_end_and_what_is_there_at_once_no_upper() -> None:
    some = over_seeds(np.array([1.0, 1.2, -math.inf]))
    assert _ends(some) == (-math.inf, math.inf)
    assert over_seeds(np.full(3, -math.inf)).high == -math.inf
    assert over_seeds(np.full(3, math.inf)).low == math.inf
    at_once = over_seeds(np.array([1.0, 1.1, math.inf]))
    assert 0 < at_once.low < 1.1


def test_on_all_tasks_needs_every_task() -> None:
    assert on_all([SUPPORTED, SUPPORTED], [1.0, 1.0]) == SUPPORTED
    assert on_all([SUPPORTED, UNDECIDED], [1.0, 1.0]) == UNDECIDED
    assert on_all([SUPPORTED, CONTRADICTED], [1.0, 0.001]) == CONTRADICTED


def test_one_contradiction_of_many_needs_holms_adjustment() -> None:
    lone = [CONTRADICTED, *[SUPPORTED] * 9]
    assert on_all(lone, [0.0049, *[1.0] * 9]) == CONTRADICTED
    assert on_all(lone, [0.0051, *[1.0] * 9]) == UNDECIDED


def test_what_was_not_run_outranks_what_supports_and_nothing_else() -> None:
    assert on_all([SUPPORTED, NOT_RUN], [1.0, 1.0]) == NOT_RUN
    assert on_all([NOT_RUN, NOT_RUN], [1.0, 1.0]) == NOT_RUN
    assert on_all([UNDECIDED, NOT_RUN], [1.0, 1.0]) == UNDECIDED
    assert on_all([CONTRADICTED, NOT_RUN], [0.001, 1.0]) == CONTRADICTED


@pytest.mark.parametrize(
    ("verdict", "ours", "theirs", "left"),
    [
        (SUPPORTED, 0, 2, SUPPORTED),
        (SUPPORTED, 1, 0, UNDECIDED),
        (CONTRADICTED, 2, 0, CONTRADICTED),
        (CONTRADICTED, 0, 1, UNDECIDED),
        (UNDECIDED, 1, 1, UNDECIDED),
    ],
)
def test_a_failed_run_counts_against_its_method(
    verdict: str, ours: int, theirs: int, left: str
) -> None:
    assert after_failures(verdict, ours=ours, theirs=theirs) == left


@pytest.mark.parametrize(
    ("gap", "error", "verdict"),
    [
        (0.001, 0.003, "agrees"),
        (0.001, 0.006, "undecided"),  # no difference seen, and none ruled out
        (0.02, 0.003, "differs"),
        (-0.02, 0.003, "differs"),
        (0.02, 0.008, "undecided"),
        (0.0, math.nan, "undecided"),
    ],
)
def test_to_agree_needs_evidence(gap: float, error: float, verdict: str) -> None:
    assert equivalent(Estimate(gap, error, 1000.0), 0.01) == verdict


def test_friedman_and_nemenyi_against_known_values() -> None:
    ranks = np.array([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0], [1.0, 2.0, 3.0], [2.0, 1.0, 3.0]])
    expected = stats.friedmanchisquare(*ranks.T).pvalue
    assert friedman(ranks) == pytest.approx(expected)
    tied = np.array([[1.5, 1.5, 3.0], [1.0, 2.5, 2.5], [1.0, 2.0, 3.0]])
    assert friedman(tied) == pytest.approx(stats.friedmanchisquare(*tied.T).pvalue)
    # Demsar (2006), table 5: q = 2.343 for two-tailed 0.05 and three methods.
    assert critical_difference(3, 10) == pytest.approx(2.343 * math.sqrt(3 * 4 / 60), abs=1e-3)
    assert friedman(np.ones((1, 3))) == 1.0


def test_letters_are_shared_by_methods_that_are_not_told_apart() -> None:
    ranks = np.array([1.0, 1.5, 2.6, 4.0])
    assert letters(ranks, 0.3) == ["a", "b", "c", "d"]
    assert letters(ranks, 1.2) == ["a", "ab", "b", "c"]
    assert letters(ranks, math.inf) == ["a"] * 4


def test_a_probability_of_improvement_has_an_interval_even_where_every_task_agrees() -> None:
    low, high = wilson([1.0] * 10)
    assert (low, high) == pytest.approx((0.7225, 1.0), abs=1e-4)
    assert wilson([0.5] * 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert all(math.isnan(end) for end in wilson([]))
