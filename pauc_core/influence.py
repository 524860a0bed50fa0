"""How much each row moves a partial AUC, and the standard error that follows."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pauc_core.metrics import (
    area_in_band,
    check_band,
    check_scale,
    mean_area,
    positive_mask,
    rescale,
    sorted_above,
    split_scores,
)

__all__ = ["influence", "row_standard_error"]

ROUNDING = 1e-12  # relative size below which a difference is none


def influence(
    y_true: ArrayLike,
    scores: ArrayLike,
    *,
    fpr_low: float = 0.0,
    fpr_high: float = 1.0,
    scale: str = "width",
    pos_label: object = None,
) -> np.ndarray:
    """How much each row moves the pAUC: shape (n,), with mean 0 over each class.

    For positive i it is v_i, the share of the band that lies below it; for negative j it is
    u_j = -(N- - 1) times the pAUC without j, which tends to S(clip(q_j, t_b, t_a)) / (b - a): the
    share S of positives above it, winsorised at the scores t_a, t_b where the band [a, b] ends.
    On [0, 1] these are DeLong's placements. Values of several models on the same rows may be
    averaged or subtracted row by row; `row_standard_error` makes a standard error of them.
    """
    mask = positive_mask(y_true, pos_label=pos_label)
    return scale_slope(fpr_low, fpr_high, scale) * influenced(mask, scores, fpr_low, fpr_high)[1]


def row_standard_error(
    y_true: ArrayLike,
    rows: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    pos_label: object = None,
) -> float:
    """Standard error over redraws of the rows, from `influence` values or sums of such.

    SE^2 = var(v) / N+ + var(u) / N-; over groups the squares of their sums of v_i / N+ and
    u_j / N-, times k / (k - 1) for the k groups of a class: groups of one row change nothing.
    Infinite where a class has a single row or group.
    """
    mask, values = positive_mask(y_true, pos_label=pos_label), np.asarray(rows, dtype=float)
    if values.shape != mask.shape:
        raise ValueError(
            f"rows has shape {values.shape} and y_true {mask.shape}: expected one value a row."
        )
    return spread(mask, values, group_codes(groups, mask.size)).standard_error


def influenced(
    mask: np.ndarray, scores: ArrayLike, low: float, high: float
) -> tuple[float, np.ndarray]:
    """The raw area, and every row's influence on the pAUC on the width scale."""
    check_band(low, high)
    pos, neg = split_scores(mask, scores, None)
    n_neg, width = neg.size, high - low
    pos_order, neg_order = np.argsort(pos), np.argsort(neg)
    above, tied = sorted_above(pos[pos_order], neg[neg_order])
    v = area_in_band(above, tied, low * n_neg, high * n_neg)

    # Without negative j a positive has one fewer above it, one fewer beside it, or neither.
    ends = low * (n_neg - 1), high * (n_neg - 1)
    neither = area_in_band(above, tied, *ends)
    above_gain = area_in_band(above - 1, tied, *ends) - neither
    beside_gain = area_in_band(above, np.maximum(tied - 1, 0), *ends) - neither
    # By falling rank r: sums over positives with r < above, and with above <= r < above + tied.
    higher, start, end = (
        np.bincount(at, weights=gain, minlength=n_neg + 1)
        for at, gain in ((above, above_gain), (above, beside_gain), (above + tied, beside_gain))
    )
    u = -higher[::-1].cumsum()[::-1][1:] - (start - end).cumsum()[:-1]

    rows = np.empty(mask.size)
    rows[np.flatnonzero(mask)[pos_order]] = _centred(v) / (n_neg * width)
    rows[np.flatnonzero(~mask)[neg_order[::-1]]] = _centred(u) / (pos.size * width)
    return mean_area(v, n_neg, width), rows


class ClassSpread(NamedTuple):
    """What one class adds to the squared standard error.

    `n` is the number of its rows, or of groups that hold one of them, and `sums` has their
    contributions; `part` is the sum of squares and `noise` its variance, from fourth powers.
    """

    n: int
    sums: np.ndarray
    part: float
    noise: float


class Spread(NamedTuple):
    """What both classes add to it, and the standard error itself."""

    pos: ClassSpread
    neg: ClassSpread
    standard_error: float


def spread(mask: np.ndarray, rows: np.ndarray, codes: np.ndarray | None) -> Spread:
    """What the rows, or groups of rows, say of the standard error."""
    pos, neg = (_class_spread(members, rows, codes) for members in (mask, ~mask))
    # A group with rows of both classes adds twice their product.
    both = 0.0 if codes is None else 2.0 * float((pos.sums * neg.sums).sum())
    square = max(pos.part + neg.part + both, 0.0)
    return Spread(pos, neg, math.sqrt(square) if min(pos.n, neg.n) > 1 else math.inf)


def _class_spread(members: np.ndarray, rows: np.ndarray, codes: np.ndarray | None) -> ClassSpread:
    size = int(np.count_nonzero(members))
    if codes is None:
        n, sums = size, rows[members] / size
    else:
        n = int(np.unique(codes[members]).size)
        sums = np.bincount(codes, weights=np.where(members, rows, 0.0)) / size
    sums *= math.sqrt(n / max(n - 1, 1))
    squares = sums * sums
    part = float(squares.sum())
    return ClassSpread(n, sums, part, max(float((squares * squares).sum()) - part**2 / n, 0.0))


def scale_slope(low: float, high: float, scale: str) -> float:
    """What a difference on the width scale is multiplied with to be one on `scale`."""
    check_band(low, high)
    check_scale(scale)
    return rescale(high - low, low, high, scale) - rescale(0.0, low, high, scale)


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


def _centred(values: np.ndarray) -> np.ndarray:
    """Deviations from the mean; sums that differ in their last bits alone do not differ."""
    if np.ptp(values) <= ROUNDING * np.abs(values).max():
        return np.zeros(values.size)
    return values - values.mean()
