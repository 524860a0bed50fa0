"""Seed-paired comparison: the exact sign-flip test, and what it can and cannot say."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

EXACT_UP_TO = 16  # pairs; 65,536 sign patterns


def paired_p(differences: np.ndarray) -> float:
    """Two-sided p-value of paired differences under random signs; NaN below two pairs.

    Exact up to 16 pairs, Student's t above. An infinite difference (never there) counts as the
    largest of the finite ones.
    """
    d = np.asarray(differences, dtype=float)
    d = d[~np.isnan(d)]
    largest = np.abs(d[np.isfinite(d)]).max(initial=0.0) or 1.0
    d = np.clip(d, -largest, largest)
    if len(d) < 2:
        return math.nan
    if not np.any(d):
        return 1.0
    if len(d) > EXACT_UP_TO:
        return float(stats.ttest_1samp(d, 0.0).pvalue)
    signs = 1 - 2 * ((np.arange(2 ** len(d))[:, None] >> np.arange(len(d))) & 1)
    sums = np.abs(signs @ d)
    # Sums in another order differ in the last bits: ties must still count.
    return float(np.mean(sums >= abs(d.sum()) * (1 - 1e-12)))


def limits(pairs: int) -> str:
    """What a p-value from this many seeds is worth, in one sentence."""
    if pairs < 2:
        return "fewer than two paired seeds: no test"
    if pairs > EXACT_UP_TO:
        return f"{pairs} seeds, t-test; seeds repeat the draws, not the data"
    floor = 2.0 ** (1 - pairs)
    reach = "" if floor < 0.05 else ", so 0.05 cannot be reached"
    return (
        f"{pairs} seeds: the smallest p possible is {floor:.3g}{reach}; "
        "seeds repeat the draws, not the data"
    )
