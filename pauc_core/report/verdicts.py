"""Three answers to a claim, from an interval and never from the sign of a mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from pauc_core.repeats import holm, smallest_detectable

SUPPORTED, CONTRADICTED, UNDECIDED = "supported", "contradicted", "undecided"
NOT_RUN, ANSWERED = "not run", "answered"
LEVEL, POWER = 0.95, 0.8


@dataclass(frozen=True)
class Estimate:
    """A mean gain over a claim's limit; without a standard error it decides nothing."""

    value: float
    standard_error: float
    df: float
    seeds_share: float = math.nan
    rows_share: float = math.nan

    @property
    def known(self) -> bool:
        """Whether there is a spread to judge by: one seed has none, equal seeds show none."""
        return 0.0 < self.standard_error < math.inf and self.df > 0.0

    def __neg__(self) -> Estimate:
        return replace(self, value=-self.value)

    @property
    def reach(self) -> float:
        """Half of the interval."""
        return float(stats.t.ppf((1 + LEVEL) / 2, self.df)) * self.standard_error

    @property
    def smallest(self) -> float:
        """The smallest true gain or loss that these data would have shown four times in five."""
        if not self.known:
            return math.nan
        return smallest_detectable(self.standard_error, self.df, LEVEL, POWER)

    @property
    def low(self) -> float:
        return self.value - self.reach if self.known else -math.inf

    @property
    def high(self) -> float:
        return self.value + self.reach if self.known else math.inf

    @property
    def p_value(self) -> float:
        """Two-sided, of a mean gain of 0; NaN where nothing can be judged."""
        if not self.known:
            return math.nan
        if math.isinf(self.value):
            return 0.0
        return float(2.0 * stats.t.sf(abs(self.value) / self.standard_error, self.df))


def over_seeds(gains: np.ndarray, resolution: np.ndarray | float = 0.0) -> Estimate:
    """The mean of the seeds' gains with their own spread.

    ``resolution`` is how far apart the looks lie between which a gain was seen: a value spread
    evenly between two looks has a variance of a twelfth of its square, which seeds that cross
    between the same looks do not show. Meant for the lower end: a gain of plus infinity (there
    from the start) counts as the largest of the finite ones, one of minus infinity (never there)
    leaves nothing to judge by, unless all are.
    """
    gains = np.asarray(gains, dtype=float)
    if len(gains) < 2:
        value = float(gains[0]) if len(gains) else math.nan
        return Estimate(value, math.nan, math.nan)
    if np.isinf(gains).all() and len(set(gains)) == 1:
        return Estimate(float(gains[0]), 1.0, 1.0, 1.0, 0.0)
    if np.isneginf(gains).any():
        return Estimate(-math.inf, math.nan, math.nan)
    gains = np.minimum(gains, gains[np.isfinite(gains)].max())
    steps = np.nan_to_num(np.broadcast_to(resolution, gains.shape), nan=0.0, posinf=0.0)
    variance = gains.var(ddof=1) + float(np.mean(steps**2)) / 12.0
    count = len(gains)
    return Estimate(float(gains.mean()), math.sqrt(variance / count), count - 1.0, 1.0, 0.0)


def judge(low: float, high: float, *, inclusive: bool) -> str:
    """On which side of 0 the interval of a gain lies; ``inclusive``: a gain of 0 is enough.

    "At least 12 %" and "within one epoch" are met at the limit itself; "higher" is not.
    """
    if low > 0.0 or (inclusive and low == 0.0):
        return SUPPORTED
    if high < 0.0 or (not inclusive and high == 0.0):
        return CONTRADICTED
    return UNDECIDED


def after_failures(verdict: str, *, ours: int, theirs: int) -> str:
    """A failed run counts against its method: it then wins nothing by the runs that went well."""
    if (verdict == SUPPORTED and ours) or (verdict == CONTRADICTED and theirs):
        return UNDECIDED
    return verdict


def on_all(verdicts: Sequence[str], contradicting: Sequence[float]) -> str:
    """A claim on all of several tasks and rivals.

    It is supported if each of them supports it, which needs no adjustment: all must be wrong
    together. It is contradicted if one contradicts it after Holm's adjustment over all;
    ``contradicting`` are their p-values, 1 where the gain is not negative. What was not run
    outranks what supports: nobody knows what it would have shown.
    """
    adjusted = holm(contradicting) if len(contradicting) else np.ones(0)
    for verdict, p in zip(verdicts, adjusted, strict=True):
        if verdict == CONTRADICTED and p <= 1 - LEVEL:
            return CONTRADICTED
    left = {UNDECIDED if verdict == CONTRADICTED else verdict for verdict in verdicts}
    for verdict in (UNDECIDED, NOT_RUN, SUPPORTED, ANSWERED):
        if verdict in left:
            return verdict
    return NOT_RUN
