"""A promised false positive rate: which rows place the threshold, and where it lies."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import binom


def promise_rows(
    negatives: np.ndarray,
    fpr: float,
    confidence: float,
    fraction: float,
    random: np.random.RandomState,
) -> np.ndarray:
    """Some of these row numbers, drawn: a ``fraction``, more where the promise needs more."""
    if not 0.0 < fpr < 1.0:
        raise ValueError(
            f"confidence={confidence} promises a false positive rate between 0 and 1: set "
            "predict_fpr, and leave out predict_tpr and class_weight."
        )
    need = needed(fpr, confidence)
    if 2 * need > len(negatives):
        raise ValueError(
            f"A false positive rate of {fpr:g} promised with confidence {confidence:g} needs "
            f"{need} negatives set apart, more than half of the {len(negatives)} that there are: "
            f"bring {2 * need}, raise predict_fpr or leave out confidence."
        )
    size = max(need, round(fraction * len(negatives)))
    return np.sort(random.permutation(negatives)[:size])


def needed(fpr: float, confidence: float) -> int:
    """How many negatives it takes to promise ``fpr``: the least n with (1 - fpr)^n <= 1 - c."""
    return math.ceil(math.log(1.0 - confidence) / math.log1p(-fpr) - 1e-9)


def promised(negatives: np.ndarray, fpr: float, confidence: float) -> float:
    """A threshold that more than the share ``fpr`` of all negatives exceeds with chance 1 - c.

    At most: the true rate above the r-th highest of n exchangeable negatives exceeds ``fpr`` with
    the chance that fewer than r of n do when each does with chance ``fpr``; r is the largest for
    which that is at most 1 - c.
    """
    size = len(negatives)
    r = int(binom.ppf(1.0 - confidence, size, fpr))  # the least k with P(X <= k) >= 1 - c
    if binom.cdf(r, size, fpr) <= 1.0 - confidence:
        r += 1
    return float(np.sort(negatives)[size - max(r, 1)])
