"""How sure a partial AUC is: its interval, and the comparison of two models on the same rows.

Both come from one sort, by the influence of each row; `bootstrap_interval` is their slow twin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit, stdtr, stdtrit

from pauc_core.bands import Band, fpr_band
from pauc_core.influence import ROUNDING, Spread, group_codes, influenced, scale_slope, spread
from pauc_core.labelled import check_weights, positive_mask, rows_of_band, split_scores
from pauc_core.metrics import area_in_band, check_scale, rescale, sorted_above

__all__ = ["Comparison", "Interval", "bootstrap_interval", "compare_pauc", "pauc_interval"]

ENOUGH = 10  # rows below which an interval is not to be relied on


@dataclass(frozen=True)
class Interval:
    """A pAUC with its interval; `doubt` says why it is not to be relied on, or is empty."""

    value: float
    standard_error: float
    low: float
    high: float
    doubt: str

    @property
    def reliable(self) -> bool:
        """Whether there is nothing to doubt."""
        return not self.doubt


@dataclass(frozen=True)
class Comparison:
    """The pAUC of one model less that of another; `doubt` as in `Interval`."""

    difference: float
    standard_error: float
    low: float
    high: float
    p_value: float
    doubt: str

    @property
    def reliable(self) -> bool:
        """Whether there is nothing to doubt."""
        return not self.doubt


def pauc_interval(
    y_true: ArrayLike,
    scores: ArrayLike,
    *,
    fpr_low: float = 0.0,
    fpr_high: float = 1.0,
    tpr_low: float | None = None,
    tpr_high: float | None = None,
    scale: str = "width",
    level: float = 0.95,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: object = None,
) -> Interval:
    """Interval of `pauc` over redraws of the rows, on the log-odds scale.

    A standard error of 0 says that the rows are too few to show a spread: the interval is then
    the exact one for rows that were all alike. Where a class has a single row or group the
    standard error is infinite and the interval the whole range.

    Parameters
    ----------
    y_true, scores, fpr_low, fpr_high, tpr_low, tpr_high, scale, pos_label
        As for `pauc`.
    level : float
        How often the interval should hold the true value.
    groups : array of shape (n,), optional
        Which rows belong together (the films of one patient) and are redrawn together.
    sample_weight : array of shape (n,), optional
        Importance weights: a row of weight 2 is one row that counts twice. Two equal rows say
        more, and have a smaller standard error.
    """
    mask, tail = positive_mask(y_true, pos_label=pos_label), _tail(level)
    band, codes = fpr_band(fpr_low, fpr_high, tpr_low, tpr_high), group_codes(groups, mask.size)
    slope, width = scale_slope(band, scale), band.high - band.low
    weights = check_weights(sample_weight, mask.size)
    mask, scores = rows_of_band(band, mask, scores, weights)
    area, rows = influenced(mask, scores, band, weights)
    seen = spread(mask, rows, codes, weights)
    share, error, in_band = area / width, seen.standard_error, seen.neg.n * width
    low, high = 0.0, 1.0
    if math.isfinite(error) and error > 0.0 and 0.0 < share < 1.0:
        # Log-odds make up for the skewness of v. The noise of u's part counts twice, once for
        # the negatives drawn and once for u, a step between neighbours that are drawn too.
        noise = 2.0 * seen.pos.part**2 / (seen.pos.n - 1)
        noise += max(2.0 * seen.neg.noise, 4.0 * seen.neg.part**2 / in_band)
        reach = _quantile(error, noise, tail) * error / (share * (1.0 - share))
        low, high = expit(logit(share) - reach), expit(logit(share) + reach)
    elif math.isfinite(error):
        alike = _alike(tail, seen.pos.n, in_band)
        low, high = share * alike, 1.0 - (1.0 - share) * alike
    value, low, high = (
        rescale(float(end), band.low, band.high, scale) for end in (area, width * low, width * high)
    )
    return Interval(value, slope * error, low, high, _doubt(seen, share, in_band, band))


def compare_pauc(
    y_true: ArrayLike,
    scores_a: ArrayLike,
    scores_b: ArrayLike,
    *,
    fpr_low: float = 0.0,
    fpr_high: float = 1.0,
    tpr_low: float | None = None,
    tpr_high: float | None = None,
    scale: str = "width",
    level: float = 0.95,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: object = None,
) -> Comparison:
    """`pauc` of `scores_a` less that of `scores_b`, paired row by row.

    The parameters are those of `pauc_interval`. The p-value lies below 1 - `level` where the
    interval leaves 0 out. A standard error of 0 decides nothing: the interval then holds 0 and
    the p-value is 1.
    """
    mask, tail = positive_mask(y_true, pos_label=pos_label), _tail(level)
    band, codes = fpr_band(fpr_low, fpr_high, tpr_low, tpr_high), group_codes(groups, mask.size)
    slope, width = scale_slope(band, scale), band.high - band.low
    weights = check_weights(sample_weight, mask.size)
    (area_a, rows_a), (area_b, rows_b) = (
        influenced(*rows_of_band(band, mask, scores, weights), band, weights)
        for scores in (scores_a, scores_b)
    )
    rows = rows_a - rows_b
    rows[np.abs(rows) <= ROUNDING * np.abs(rows_a).max()] = 0.0
    seen = spread(mask ^ band.exchanged, rows, codes, weights)
    difference, error = (area_a - area_b) / width, seen.standard_error
    in_band = seen.neg.n * width
    low, high, p_value = -1.0, 1.0, 1.0
    if math.isfinite(error) and error > 0.0:
        noise = max(seen.pos.noise, 2.0 * seen.pos.part**2 / (seen.pos.n - 1))
        noise += max(seen.neg.noise, 2.0 * seen.neg.part**2 / (seen.neg.n - 1))
        reach = _quantile(error, noise, tail) * error
        low, high = max(difference - reach, -1.0), min(difference + reach, 1.0)
        p_value = 2.0 * float(stdtr(_freedom(error, noise), -abs(difference) / error))
    elif math.isfinite(error):
        alike = _alike(tail, seen.pos.n, in_band)
        low = min(difference * alike - (1.0 - alike), 0.0)
        high = max(difference * alike + (1.0 - alike), 0.0)
    difference, error, low, high = (slope * x for x in (difference, error, low, high))
    doubt = _doubt(seen, max(area_a, area_b) / width, in_band, band)
    return Comparison(difference, error, low, high, p_value, doubt)


def bootstrap_interval(
    y_true: ArrayLike,
    scores: ArrayLike,
    *,
    rng: np.random.Generator | int,
    fpr_low: float = 0.0,
    fpr_high: float = 1.0,
    tpr_low: float | None = None,
    tpr_high: float | None = None,
    scale: str = "width",
    level: float = 0.95,
    repeats: int = 1000,
    pos_label: object = None,
) -> tuple[float, float]:
    """Percentile interval of `pauc` when positives and negatives are redrawn, each on its own.

    The scores are sorted once: a redraw only changes how often each of them counts.
    """
    band = fpr_band(fpr_low, fpr_high, tpr_low, tpr_high)
    check_scale(scale)
    if not 0 < level < 1 or repeats < 1:
        raise ValueError(
            f"level {level} and repeats {repeats}: expected 0 < level < 1 and at least one repeat."
        )
    rng = np.random.default_rng(rng)
    pos, neg, _, _ = band.classes(*split_scores(y_true, scores, pos_label))
    above, tied = sorted_above(np.sort(pos), np.sort(neg))
    areas = np.empty(repeats)
    cumulated = np.zeros(neg.size + 1)
    for r in range(repeats):
        drawn = np.bincount(rng.integers(neg.size, size=neg.size), minlength=neg.size)
        np.cumsum(drawn, out=cumulated[1:])
        chosen = rng.integers(pos.size, size=pos.size)
        above_r = cumulated[above[chosen]]
        tied_r = cumulated[above[chosen] + tied[chosen]] - above_r
        area = area_in_band(above_r, tied_r, band.low * neg.size, band.high * neg.size).sum()
        areas[r] = rescale(area / (pos.size * neg.size), band.low, band.high, scale)
    low, high = np.quantile(areas, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _freedom(error: float, noise: float) -> float:
    """Satterthwaite's degrees of freedom of a squared standard error with variance `noise`."""
    return max(2.0 * error**4 / noise, 1.0)


def _quantile(error: float, noise: float, tail: float) -> float:
    return -float(stdtrit(_freedom(error, noise), tail))


def _alike(tail: float, n_pos: float, in_band: float) -> float:
    """The least share of all rows that can be alike when all n that were seen are: tail^(1/n).

    Were it less, n rows alike would have a chance below `tail`. The other rows may be anything
    within the range. n is N+ or the number of negatives in the band, the smaller of them.
    """
    return float(tail ** (1.0 / min(n_pos, in_band)))


def _doubt(seen: Spread, share: float, in_band: float, band: Band) -> str:
    below, above = ("positives", "N-") if band.exchanged else ("negatives", "N+")
    if min(seen.pos.n, seen.neg.n) < 2:
        return "a class has a single row or group, which shows no spread"
    lost = seen.pos.n * (1.0 - share)
    # 100 (0.3 - 0.2) is 10.
    if in_band < ENOUGH - 1e-9:
        return f"the band holds {in_band:.3g} {below}, fewer than {ENOUGH}"
    if lost < ENOUGH - 1e-9:
        return f"{above} (1 - pAUC) is {lost:.3g}, less than {ENOUGH}"
    return ""


def _tail(level: float) -> float:
    if not 0.0 < level < 1.0:
        raise ValueError(f"level is {level}: expected a share between 0 and 1, such as 0.95.")
    return (1.0 - level) / 2.0
