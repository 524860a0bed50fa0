"""Labels, scores and weights as they are given: checked, and parted by class."""

import math

import numpy as np
from numpy.typing import ArrayLike

from pauc_core.bands import Band, Weights

__all__ = ["check_weights", "checked_scores", "positive_mask", "rows_of_band", "split_scores"]


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


def split_scores(
    y_true: ArrayLike,
    scores: ArrayLike,
    pos_label: object,
    sample_weight: ArrayLike | None = None,
) -> tuple[np.ndarray, np.ndarray, Weights, Weights]:
    """Scores of the positives and of the negatives, and their weights; a weight of 0 is no row."""
    mask = positive_mask(y_true, pos_label=pos_label)
    values = np.asarray(scores, dtype=np.float64)
    weights = check_weights(sample_weight, mask.size)
    if weights is not None and values.shape == mask.shape:
        kept = weights > 0
        mask, values, weights = mask[kept], values[kept], weights[kept]
    values = checked_scores(values, "scores")
    if values.shape != mask.shape:
        raise ValueError(
            f"scores has {values.size} entries and y_true {mask.size}: expected as many of each."
        )
    pos, neg = values[mask], values[~mask]
    _check_classes(pos.size, neg.size, weights)
    if weights is None:
        return pos, neg, None, None
    return pos, neg, weights[mask], weights[~mask]


def rows_of_band(
    band: Band, mask: np.ndarray, scores: ArrayLike, weights: Weights
) -> tuple[np.ndarray, ArrayLike]:
    """Who is positive and the scores, exchanged where the band is one of true positive rates."""
    # A missing class must be called by the name that it has outside.
    if band.exchanged and mask.size:
        kept = mask if weights is None else mask[weights > 0]
        _check_classes(int(kept.sum()), int((~kept).sum()), weights)
    return band.rows(mask, scores)


def _check_classes(n_pos: int, n_neg: int, weights: Weights) -> None:
    if not n_pos or not n_neg:
        missing = "negative" if n_pos else "positive"
        weighted = "" if weights is None else " with a weight above 0"
        raise ValueError(f"y_true holds no {missing}{weighted}: the ROC curve needs both classes.")


def check_weights(
    sample_weight: ArrayLike | None, rows: int, name: str = "sample_weight"
) -> Weights:
    """Weights as an array: one for each of the rows, none below 0, not all 0; or none at all."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (rows,):
        raise ValueError(
            f"{name} has shape {weights.shape}: expected one weight a row, shape ({rows},)."
        )
    total = weights.sum()
    if not np.isfinite(total) or weights.min() < 0.0:
        wrong = "a number below 0" if np.isfinite(total) else "NaN or infinite values"
        raise ValueError(f"{name} holds {wrong}: expected finite weights of 0 or more.")
    if total == 0.0:
        raise ValueError(f"{name} holds no weight but zero: expected one above 0.")
    return weights


def checked_scores(scores: ArrayLike, name: str) -> np.ndarray:
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1 or not values.size:
        raise ValueError(
            f"{name} has shape {values.shape}: expected one score per row, shape (n,)."
        )
    # The minimum carries a NaN through, in one pass.
    if math.isnan(values.min()):
        raise ValueError(f"{name} holds NaN: drop those rows or mend the model that scored them.")
    return values
