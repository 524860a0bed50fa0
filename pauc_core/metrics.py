"""The one definition of the partial AUC, and the ROC curve it is the area under."""

import math

import numpy as np
from numpy.typing import ArrayLike

from pauc_core.bands import Weights, check_band, fpr_band
from pauc_core.labelled import check_weights, checked_scores, positive_mask, split_scores

__all__ = [
    "auc",
    "pauc",
    "pauc_pairs",
    "positive_mask",
    "ranks",
    "roc_curve_points",
    "threshold_at_fpr",
    "tpr_at_fpr",
]

SCALES = ("width", "raw", "mcclish")


def ranks(n_neg: int, fpr_low: float, fpr_high: float) -> tuple[int, int]:
    """Whole ranks m = N- alpha and n = N- beta of a band, rounded to the nearest."""
    check_band(fpr_low, fpr_high)
    m, n = math.floor(n_neg * fpr_low + 0.5), math.floor(n_neg * fpr_high + 0.5)
    if m >= n:
        raise ValueError(
            f"The band [{fpr_low}, {fpr_high}] holds none of the {n_neg} negatives "
            f"(ranks {m} to {n}): widen the band or bring more negatives."
        )
    return m, n


def pauc(
    y_true: ArrayLike,
    scores: ArrayLike,
    *,
    fpr_low: float = 0.0,
    fpr_high: float = 1.0,
    tpr_low: float | None = None,
    tpr_high: float | None = None,
    scale: str = "width",
    sample_weight: ArrayLike | None = None,
    pos_label: object = None,
) -> float:
    """Area under the linearly interpolated ROC curve between two false positive rates.

    With `tpr_low` or `tpr_high` it is the area between two true positive rates and to the right
    of the curve: that in FPR [1 - d, 1 - c] for TPR [c, d] once the classes change places and the
    scores their sign.

    Parameters
    ----------
    y_true : array of shape (n,)
        Labels; see `positive_mask`.
    scores : array of shape (n,)
        Larger means more positive. Infinities are allowed, NaN is not.
    fpr_low, fpr_high : float
        The band, 0 <= fpr_low < fpr_high <= 1; it may end between two negatives.
    tpr_low, tpr_high : float, optional
        The band by true positive rates instead, 0 <= tpr_low < tpr_high <= 1.
    scale : {"width", "raw", "mcclish"}
        Area divided by the band's width (the paper's scale, equation (2)), the bare area, or
        McClish's, where chance is 0.5 and a perfect ranking 1.
    sample_weight : array of shape (n,), optional
        Weights of 0 or more. Rates are then shares of weight: a weight of 2 is the row twice, 0
        is the row left out, and a band may end inside a row.
    pos_label : optional
        The positive label where labels are not booleans, {0, 1} or {-1, 1}.
    """
    band = fpr_band(fpr_low, fpr_high, tpr_low, tpr_high)
    check_scale(scale)
    parts = split_scores(y_true, scores, pos_label, sample_weight)
    pos, neg, pos_weights, neg_weights = band.classes(*parts)
    total: float = neg.size
    if neg_weights is None:
        above, tied = negatives_above(np.sort(pos), neg, math.ceil(band.high * neg.size))
    else:
        _, _, above, tied, total = weight_above(pos, neg, neg_weights)
    areas = area_in_band(above, tied, band.low * total, band.high * total)
    area = mean_area(areas, total, band.high - band.low, pos_weights)
    return rescale(area, band.low, band.high, scale)


def auc(
    y_true: ArrayLike,
    scores: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: object = None,
) -> float:
    """Area under the whole ROC curve; a tied pair counts one half."""
    return pauc(y_true, scores, sample_weight=sample_weight, pos_label=pos_label)


def pauc_pairs(
    y_true: ArrayLike,
    scores: ArrayLike,
    *,
    fpr_low: float,
    fpr_high: float,
    pos_label: object = None,
) -> float:
    """Equation (2) literally: the share of pairs in the band that are strictly in order."""
    pos, neg, _, _ = split_scores(y_true, scores, pos_label)
    m, n = ranks(neg.size, fpr_low, fpr_high)
    band = np.sort(neg)[neg.size - n : neg.size - m]
    below = np.searchsorted(band, np.sort(pos), side="left")
    return float(below.sum() / (pos.size * (n - m)))


def roc_curve_points(
    y_true: ArrayLike,
    scores: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: object = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Corners of the ROC curve.

    Returns
    -------
    fpr, tpr, thresholds : arrays
        Shares of negatives and of positives with score >= threshold, one entry per distinct score
        in falling order, after the corner (0, 0) at threshold +inf.
    """
    pos, neg, pos_weights, neg_weights = split_scores(y_true, scores, pos_label, sample_weight)
    levels = np.unique(np.concatenate([pos, neg]))[::-1]
    fpr, tpr = _share_from(levels, neg, neg_weights), _share_from(levels, pos, pos_weights)
    return np.append(0.0, fpr), np.append(0.0, tpr), np.append(np.inf, levels)


def _share_from(levels: np.ndarray, values: np.ndarray, weights: Weights) -> np.ndarray:
    """The share of the values that is at or above each level."""
    if weights is None:
        return 1.0 - np.searchsorted(np.sort(values), levels, side="left") / values.size
    order = np.argsort(values)
    passed = _passed(weights[order])
    from_level = values.size - np.searchsorted(values[order], levels, side="left")
    return passed[from_level] / passed[-1]


def tpr_at_fpr(
    y_true: ArrayLike,
    scores: ArrayLike,
    fpr: float,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: object = None,
) -> float:
    """Height of the linearly interpolated ROC curve at `fpr` (its upper end at a jump)."""
    _check_rate(fpr, "fpr")
    pos, neg, pos_weights, neg_weights = split_scores(y_true, scores, pos_label, sample_weight)
    total: float = neg.size
    if neg_weights is None:
        above, tied = negatives_above(np.sort(pos), neg, neg.size)
    else:
        _, _, above, tied, total = weight_above(pos, neg, neg_weights)
    beyond = fpr * total - above
    share = np.where(tied > 0, np.clip(beyond / _ramp(tied), 0.0, 1.0), beyond >= 0)
    return float(share.mean() if pos_weights is None else np.average(share, weights=pos_weights))


def threshold_at_fpr(
    scores_neg: ArrayLike, fpr: float, *, sample_weight: ArrayLike | None = None
) -> float:
    """Lowest threshold at which at most the share `fpr` of negatives has score >= threshold."""
    _check_rate(fpr, "fpr")
    neg = checked_scores(scores_neg, "scores_neg")
    # The small term keeps 0.29 * 100 at 29 negatives.
    weights = check_weights(sample_weight, neg.size)
    if weights is None:
        allowed = math.floor(fpr * neg.size + 1e-9)
    else:
        neg, weights = neg[weights > 0], weights[weights > 0]
        passed = _passed(weights[np.argsort(neg)])
        allowed = int(np.searchsorted(passed, (fpr + 1e-12) * passed[-1], side="right")) - 1
    if allowed >= neg.size:
        return -math.inf
    first_refused = np.partition(neg, neg.size - 1 - allowed)[neg.size - 1 - allowed]
    return float(np.nextafter(first_refused, np.inf))


def negatives_above(pos: np.ndarray, neg: np.ndarray, enough: int) -> tuple[np.ndarray, np.ndarray]:
    """How many negatives score above, and how many equal to, each of the sorted positives.

    Only the `enough` highest negatives are sorted; a positive below them all is told at
    least `enough`, where the band has ended.
    """
    if enough < neg.size:
        # All that tie with the last one stay: a ramp may reach across the band's end.
        cut = neg.size - enough
        edge = np.partition(neg, cut)[cut]
        neg = neg[neg >= edge]
    return sorted_above(pos, np.sort(neg))


def sorted_above(pos: np.ndarray, neg: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many of the sorted negatives score above, and how many equal to, each positive."""
    above = neg.size - np.searchsorted(neg, pos, side="right")
    tied = neg.size - np.searchsorted(neg, pos, side="left") - above
    return above, tied


def weight_above(
    pos: np.ndarray, neg: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]:
    """`sorted_above` for negatives in any order, then as weights, then the weight of all."""
    order = np.argsort(neg)
    above, tied = sorted_above(pos, neg[order])
    passed = _passed(weights[order])
    return above, tied, passed[above], passed[above + tied] - passed[above], float(passed[-1])


def _passed(weights: np.ndarray) -> np.ndarray:
    """The weight of the k highest rows for k = 0, 1, ..., from weights by rising score."""
    return np.append(0.0, np.cumsum(weights[::-1]))


def _ramp(tied: np.ndarray) -> np.ndarray:
    """Lengths to divide by: where nothing is tied there is no ramp, and anything will do."""
    return np.where(tied > 0, tied, 1)


def area_in_band(above: np.ndarray, tied: np.ndarray, low: float, high: float) -> np.ndarray:
    """Each positive's area over the ranks `low` to `high` of the negatives, as real numbers.

    Ranks are counts of negatives or sums of their weights. A positive enters the ROC curve at rank
    `above`, along a ramp of length `tied`.
    """
    flat = np.maximum(high - np.maximum(low, above + tied), 0.0)
    ramp_low = np.clip(low - above, 0.0, tied)
    ramp_high = np.clip(high - above, 0.0, tied)
    ramp = (ramp_high - ramp_low) * (ramp_high + ramp_low) / (2.0 * _ramp(tied))
    return flat + ramp


def mean_area(areas: np.ndarray, total: float, width: float, weights: Weights = None) -> float:
    """Raw area under the curve from each positive's, in shares instead of ranks."""
    if weights is None:
        area = float(areas.sum()) / (areas.size * total)
    else:
        area = float(np.average(areas, weights=weights)) / total
    # Rounding must not carry a perfect ranking past the band's width.
    return min(area, width)


def rescale(area: float, low: float, high: float, scale: str) -> float:
    if scale == "raw":
        return area
    share = area / (high - low)
    if scale == "width":
        return share
    # McClish: the area under the diagonal becomes 0.5, the whole strip 1.
    chance = (high + low) / 2.0
    if chance == 1.0:
        raise ValueError("The band has no room above the diagonal: lower fpr_low.")
    return 0.5 * (1.0 + (share - chance) / (1.0 - chance))


def _check_rate(rate: float, name: str) -> None:
    if not 0.0 <= rate <= 1.0:
        raise ValueError(f"{name} is {rate}: expected a rate between 0 and 1.")


def check_scale(scale: str) -> None:
    if scale not in SCALES:
        raise ValueError(f"Unknown scale {scale!r}: choose one of {', '.join(SCALES)}.")
