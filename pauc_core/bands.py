"""Bands of rates, and the one place where true positive rates become false ones."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["Band", "check_band", "fpr_band"]

Weights = np.ndarray | None


class Band(NamedTuple):
    """A band of false positive rates: of the problem as it is, or of the exchanged one.

    In the exchanged problem the classes have changed places and the scores their sign, so that a
    positive that scores low is a false alarm: its false positive rates are 1 - TPR of ours.
    """

    low: float
    high: float
    exchanged: bool = False

    def rows(self, mask: np.ndarray, scores: ArrayLike) -> tuple[np.ndarray, ArrayLike]:
        """Who is positive and all scores, for the problem that the band belongs to."""
        if not self.exchanged:
            return mask, scores
        return ~mask, -np.asarray(scores, dtype=np.float64)

    def classes(
        self, pos: np.ndarray, neg: np.ndarray, pos_weights: Weights, neg_weights: Weights
    ) -> tuple[np.ndarray, np.ndarray, Weights, Weights]:
        """The same with scores and weights given by class."""
        if not self.exchanged:
            return pos, neg, pos_weights, neg_weights
        return -neg, -pos, neg_weights, pos_weights


def fpr_band(
    fpr_low: float = 0.0,
    fpr_high: float = 1.0,
    tpr_low: float | None = None,
    tpr_high: float | None = None,
) -> Band:
    """The band that was given; TPR [c, d] is FPR [1 - d, 1 - c] of the exchanged problem.

    An end of the true positive rates that is left out is 0 or 1.
    """
    if tpr_low is None and tpr_high is None:
        check_band(fpr_low, fpr_high)
        return Band(fpr_low, fpr_high)
    if (fpr_low, fpr_high) != (0.0, 1.0):
        raise ValueError(
            f"The band is given twice, by false positive rates [{fpr_low}, {fpr_high}] and by true "
            f"ones [{tpr_low}, {tpr_high}]: leave out one of them."
        )
    low, high = 0.0 if tpr_low is None else tpr_low, 1.0 if tpr_high is None else tpr_high
    check_band(low, high, "tpr")
    return Band(1.0 - high, 1.0 - low, exchanged=True)


def check_band(low: float, high: float, rate: str = "fpr") -> None:
    """Refuse what is no band."""
    if not 0.0 <= low < high <= 1.0:
        raise ValueError(
            f"The band [{low}, {high}] is not one: expected 0 <= {rate}_low < {rate}_high <= 1."
        )
