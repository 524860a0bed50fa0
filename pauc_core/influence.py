"""How much each row moves a partial AUC, and the standard error that follows."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pauc_core.bands import Band, Weights, fpr_band
from pauc_core.labelled import check_weights, positive_mask, rows_of_band, split_scores
from pauc_core.metrics import (
    area_in_band,
    check_scale,
    mean_area,
    rescale,
    sorted_above,
    weight_above,
)

__all__ = ["influence", "row_standard_error"]

ROUNDING = 1e-12  # relative size below which a difference is none


def influence(
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
) -> np.ndarray:
    """How much each row moves the pAUC: shape (n,), with mean 0 over each class.

    For positive i it is v_i, the share of the band that lies below it; for negative j it is
    u_j = -(N- - 1) times the pAUC without j, which tends to S(clip(q_j, t_b, t_a)) / (b - a): the
    share S of positives above it, winsorised at the scores t_a, t_b where the band [a, b] ends.
    On [0, 1] these are DeLong's placements. Values of several models on the same rows may be
    averaged or subtracted row by row; `row_standard_error` makes a standard error of them.

    Weights are importance weights: a row of weight 2 is one row that counts twice, not two rows.
    Its value is multiplied by its weight over the class's mean weight, and what is left out is
    not the row but the weight of a mean one.
    """
    mask = positive_mask(y_true, pos_label=pos_label)
    band = fpr_band(fpr_low, fpr_high, tpr_low, tpr_high)
    slope, weights = scale_slope(band, scale), check_weights(sample_weight, mask.size)
    return slope * influenced(*rows_of_band(band, mask, scores, weights), band, weights)[1]


def row_standard_error(
    y_true: ArrayLike,
    rows: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: object = None,
) -> float:
    """Standard error over redraws of the rows, from `influence` values or sums of such.

    SE^2 = var(v) / N+ + var(u) / N-; over groups the squares of their sums of v_i / N+ and
    u_j / N-, times k / (k - 1) for the k groups of a class: groups of one row change nothing.
    With importance weights k is (sum of weights)^2 / (sum of their squares). Infinite where a
    class has a single row or group.
    """
    mask, values = positive_mask(y_true, pos_label=pos_label), np.asarray(rows, dtype=float)
    if values.shape != mask.shape:
        raise ValueError(
            f"rows has shape {values.shape} and y_true {mask.shape}: expected one value a row."
        )
    weights = check_weights(sample_weight, mask.size)
    return spread(mask, values, group_codes(groups, mask.size), weights).standard_error


def influenced(
    mask: np.ndarray, scores: ArrayLike, band: Band, weights: Weights
) -> tuple[float, np.ndarray]:
    """The raw area, and every row's influence on the pAUC on the width scale.

    Of rows that `rows_of_band` has exchanged where need be.
    """
    low, high = band.low, band.high
    pos, neg, pos_weights, neg_weights = split_scores(mask, scores, None, weights)
    n_neg, width = neg.size, high - low
    pos_order, neg_order = np.argsort(pos), np.argsort(neg)
    n_above, n_tied = sorted_above(pos[pos_order], neg[neg_order])
    above, tied, total, unit = n_above, n_tied, float(n_neg), 1.0
    if pos_weights is not None and neg_weights is not None:
        *_, above, tied, total = weight_above(pos[pos_order], neg, neg_weights)
        unit = total / n_neg
        pos_weights, neg_weights = pos_weights[pos_order], neg_weights[neg_order[::-1]]
    v = area_in_band(above, tied, low * total, high * total)

    # Without negative j a positive has one fewer above it, one fewer beside it, or neither.
    ends = low * (total - unit), high * (total - unit)
    neither = area_in_band(above, tied, *ends)
    fewer_above, fewer_tied = np.minimum(above, unit), np.minimum(tied, unit)
    above_gain = area_in_band(above - fewer_above, tied, *ends) - neither
    beside_gain = area_in_band(above, tied - fewer_tied, *ends) - neither
    if pos_weights is not None:
        # Where there is less than a mean row to leave out, its gain is scaled up.
        above_gain *= pos_weights * unit / np.where(fewer_above > 0, fewer_above, unit)
        beside_gain *= pos_weights * unit / np.where(fewer_tied > 0, fewer_tied, unit)
    # By falling rank r: sums over positives with r < above, and with above <= r < above + tied.
    higher, start, end = (
        np.bincount(at, weights=gain, minlength=n_neg + 1)
        for at, gain in (
            (n_above, above_gain),
            (n_above, beside_gain),
            (n_above + n_tied, beside_gain),
        )
    )
    u = -higher[::-1].cumsum()[::-1][1:] - (start - end).cumsum()[:-1]

    v_rows, u_rows = _centred(v, pos_weights), _centred(u, neg_weights)
    pos_at, neg_at = np.flatnonzero(mask), np.flatnonzero(~mask)
    rows = np.zeros(mask.size)
    if weights is None or pos_weights is None or neg_weights is None:
        v_rows, u_rows = v_rows / (total * width), u_rows / (pos.size * width)
    else:
        # Rows of weight 0 stay 0 and count: sums of rows are divided by the class's size.
        v_rows *= pos_weights / pos_weights.mean() * pos_at.size / pos.size / (total * width)
        u_rows *= neg_weights / unit**2 * neg_at.size / n_neg / (pos_weights.sum() * width)
        pos_at, neg_at = pos_at[weights[pos_at] > 0], neg_at[weights[neg_at] > 0]
    rows[pos_at[pos_order]], rows[neg_at[neg_order[::-1]]] = v_rows, u_rows
    return mean_area(v, total, width, pos_weights), rows


class ClassSpread(NamedTuple):
    """What one class adds to the squared standard error.

    `n` is the number of its rows, or of groups that hold one of them (with weights the number of
    equal ones that say as much), and `sums` has their contributions; `part` is the sum of squares
    and `noise` its variance, from fourth powers.
    """

    n: float
    sums: np.ndarray
    part: float
    noise: float


class Spread(NamedTuple):
    """What both classes add to it, and the standard error itself."""

    pos: ClassSpread
    neg: ClassSpread
    standard_error: float


def spread(
    mask: np.ndarray, rows: np.ndarray, codes: np.ndarray | None, weights: Weights = None
) -> Spread:
    """What the rows, or groups of rows, say of the standard error."""
    pos, neg = (_class_spread(members, rows, codes, weights) for members in (mask, ~mask))
    # A group with rows of both classes adds twice their product.
    both = 0.0 if codes is None else 2.0 * float((pos.sums * neg.sums).sum())
    square = max(pos.part + neg.part + both, 0.0)
    return Spread(pos, neg, math.sqrt(square) if min(pos.n, neg.n) > 1 else math.inf)


def _class_spread(
    members: np.ndarray, rows: np.ndarray, codes: np.ndarray | None, weights: Weights
) -> ClassSpread:
    size = int(np.count_nonzero(members))
    n: float
    if codes is None:
        n, sums = size, rows[members] / size
    else:
        n = int(np.unique(codes[members]).size)
        sums = np.bincount(codes, weights=np.where(members, rows, 0.0)) / size
    if weights is not None:
        mine = weights[members] / weights[members].max()
        heavy = mine if codes is None else np.bincount(codes[members], weights=mine)
        # Rounding must not make more of a single row than one.
        n = round(float(heavy.sum() ** 2 / (heavy**2).sum()), 9)
    sums *= math.sqrt(n / max(n - 1, 1))
    squares = sums * sums
    part = float(squares.sum())
    return ClassSpread(n, sums, part, max(float((squares * squares).sum()) - part**2 / n, 0.0))


def scale_slope(band: Band, scale: str) -> float:
    """What a difference on the width scale is multiplied with to be one on `scale`."""
    check_scale(scale)
    ends = band.low, band.high, scale
    return rescale(band.high - band.low, *ends) - rescale(0.0, *ends)


def group_codes(groups: ArrayLike | None, rows: int) -> np.ndarray | None:
    """Groups as whole numbers from 0."""
    if groups is None:
        return None
    names = np.asarray(groups)
    if names.shape != (rows,):
        raise ValueError(
            f"groups has shape {names.shape} and y_true {rows} rows: expected one name a row."
        )
    if any(name is None or name != name for name in names.tolist()):
        raise ValueError("groups holds a missing name: give every row a group, or drop the row.")
    found, codes = np.unique(names.astype(str), return_inverse=True)
    if found.size < 2:
        raise ValueError("groups names a single group: expected at least two, or groups=None.")
    return codes


def _centred(values: np.ndarray, weights: Weights) -> np.ndarray:
    """Deviations from the mean; sums that differ in their last bits alone do not differ."""
    if np.ptp(values) <= ROUNDING * np.abs(values).max():
        return np.zeros(values.size)
    return values - np.average(values, weights=weights)
