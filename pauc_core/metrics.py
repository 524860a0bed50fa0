"""The one definition of the partial AUC, and the ROC curve it is the area under."""

import math

import numpy as np
from numpy.typing import ArrayLike

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


def positive_mask(y_true: ArrayLike, *, pos_label: object = None) -> np.ndarray:
    """Turn labels into a boolean array, True for the positives.

    Booleans, {0, 1} and {-1, 1} are understood; anything else (strings, {1, 2}) needs `pos_label`,
    and then every other label counts as negative.
    """
    y = np.asarray(y_true)
    if y.ndim != 1:
        raise ValueError(f"y_true has shape {y.shape}: expected one label per score, shape (n,).")
    if pos_label is not None:
        mask = np.asarray(y == pos_label, dtype=bool)
        if mask.shape != y.shape or not mask.any():
            raise ValueError(
                f"pos_label {pos_label!r} does not occur in y_true: pass a label that does."
            )
        return mask
    if y.dtype.kind == "b":
        return y
    if y.dtype.kind not in "iuf":
        raise ValueError(
            f"y_true holds labels of type {y.dtype}: say which one is positive with pos_label."
        )
    mask = y == 1
    rest = y[~mask]
    if rest.size and not ((rest == 0).all() or (rest == -1).all()):
        strange = rest[(rest != 0) & (rest != -1)]
        held = f"the label {strange[0]}" if strange.size else "both 0 and -1"
        raise ValueError(
            f"y_true holds {held}: expected booleans, {{0, 1}} or {{-1, 1}}, or a pos_label."
        )
    return mask


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
    scale: str = "width",
    pos_label: object = None,
) -> float:
    """Area under the linearly interpolated ROC curve between two false positive rates.

    Parameters
    ----------
    y_true : array of shape (n,)
        Labels; see `positive_mask`.
    scores : array of shape (n,)
        Larger means more positive. Infinities are allowed, NaN is not.
    fpr_low, fpr_high : float
        The band, 0 <= fpr_low < fpr_high <= 1; it may end between two negatives.
    scale : {"width", "raw", "mcclish"}
        Area divided by the band's width (the paper's scale, equation (2)), the bare area, or
        McClish's, where chance is 0.5 and a perfect ranking 1.
    pos_label : optional
        The positive label where labels are not booleans, {0, 1} or {-1, 1}.
    """
    check_band(fpr_low, fpr_high)
    check_scale(scale)
    pos, neg = split_scores(y_true, scores, pos_label)
    above, tied = negatives_above(np.sort(pos), neg, math.ceil(fpr_high * neg.size))
    areas = area_in_band(above, tied, fpr_low * neg.size, fpr_high * neg.size)
    return rescale(mean_area(areas, neg.size, fpr_high - fpr_low), fpr_low, fpr_high, scale)


def auc(y_true: ArrayLike, scores: ArrayLike, *, pos_label: object = None) -> float:
    """Area under the whole ROC curve; a tied pair counts one half."""
    return pauc(y_true, scores, pos_label=pos_label)


def pauc_pairs(
    y_true: ArrayLike,
    scores: ArrayLike,
    *,
    fpr_low: float,
    fpr_high: float,
    pos_label: object = None,
) -> float:
    """Equation (2) literally: the share of pairs in the band that are strictly in order."""
    pos, neg = split_scores(y_true, scores, pos_label)
    m, n = ranks(neg.size, fpr_low, fpr_high)
    band = np.sort(neg)[neg.size - n : neg.size - m]
    below = np.searchsorted(band, np.sort(pos), side="left")
    return float(below.sum() / (pos.size * (n - m)))


def roc_curve_points(
    y_true: ArrayLike, scores: ArrayLike, *, pos_label: object = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Corners of the ROC curve.

    Returns
    -------
    fpr, tpr, thresholds : arrays
        Shares of negatives and of positives with score >= threshold, one entry per distinct score
        in falling order, after the corner (0, 0) at threshold +inf.
    """
    pos, neg = split_scores(y_true, scores, pos_label)
    levels = np.unique(np.concatenate([pos, neg]))[::-1]
    fpr = 1.0 - np.searchsorted(np.sort(neg), levels, side="left") / neg.size
    tpr = 1.0 - np.searchsorted(np.sort(pos), levels, side="left") / pos.size
    return np.append(0.0, fpr), np.append(0.0, tpr), np.append(np.inf, levels)


def tpr_at_fpr(
    y_true: ArrayLike, scores: ArrayLike, fpr: float, *, pos_label: object = None
) -> float:
    """Height of the linearly interpolated ROC curve at `fpr` (its upper end at a jump)."""
    _check_rate(fpr, "fpr")
    pos, neg = split_scores(y_true, scores, pos_label)
    above, tied = negatives_above(np.sort(pos), neg, neg.size)
    beyond = fpr * neg.size - above
    share = np.where(tied > 0, np.clip(beyond / np.maximum(tied, 1), 0.0, 1.0), beyond >= 0)
    return float(share.mean())


def threshold_at_fpr(scores_neg: ArrayLike, fpr: float) -> float:
    """Lowest threshold at which at most the share `fpr` of negatives has score >= threshold."""
    _check_rate(fpr, "fpr")
    neg = _scores(scores_neg, "scores_neg")
    # The small term keeps 0.29 * 100 at 29 negatives.
    allowed = math.floor(fpr * neg.size + 1e-9)
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


def area_in_band(above: np.ndarray, tied: np.ndarray, low: float, high: float) -> np.ndarray:
    """Each positive's area over the ranks `low` to `high` of the negatives, as real numbers.

    A positive enters the ROC curve at rank `above`, along a ramp of length `tied`.
    """
    flat = np.maximum(high - np.maximum(low, above + tied), 0.0)
    ramp_low = np.clip(low - above, 0.0, tied)
    ramp_high = np.clip(high - above, 0.0, tied)
    ramp = (ramp_high - ramp_low) * (ramp_high + ramp_low) / (2.0 * np.maximum(tied, 1))
    return flat + ramp


def mean_area(areas: np.ndarray, n_neg: int, width: float) -> float:
    """Raw area under the curve from each positive's, in shares instead of ranks."""
    # Rounding must not carry a perfect ranking past the band's width.
    return min(float(areas.sum()) / (areas.size * n_neg), width)


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


def split_scores(
    y_true: ArrayLike, scores: ArrayLike, pos_label: object
) -> tuple[np.ndarray, np.ndarray]:
    mask = positive_mask(y_true, pos_label=pos_label)
    values = _scores(scores, "scores")
    if values.shape != mask.shape:
        raise ValueError(
            f"scores has {values.size} entries and y_true {mask.size}: expected as many of each."
        )
    pos, neg = values[mask], values[~mask]
    if not pos.size or not neg.size:
        missing = "negative" if pos.size else "positive"
        raise ValueError(f"y_true holds no {missing}: the ROC curve needs both classes.")
    return pos, neg


def _scores(scores: ArrayLike, name: str) -> np.ndarray:
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1 or not values.size:
        raise ValueError(
            f"{name} has shape {values.shape}: expected one score per row, shape (n,)."
        )
    # The minimum carries a NaN through, in one pass.
    if math.isnan(values.min()):
        raise ValueError(f"{name} holds NaN: drop those rows or mend the model that scored them.")
    return values


def check_band(fpr_low: float, fpr_high: float) -> None:
    if not 0.0 <= fpr_low < fpr_high <= 1.0:
        raise ValueError(
            f"The band [{fpr_low}, {fpr_high}] is not one: expected 0 <= fpr_low < fpr_high <= 1."
        )


def _check_rate(rate: float, name: str) -> None:
    if not 0.0 <= rate <= 1.0:
        raise ValueError(f"{name} is {rate}: expected a rate between 0 and 1.")


def check_scale(scale: str) -> None:
    if scale not in SCALES:
        raise ValueError(f"Unknown scale {scale!r}: choose one of {', '.join(SCALES)}.")
