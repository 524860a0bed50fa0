"""Choosing one of several models by their partial AUC on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pauc_core.influence import influence
from pauc_core.metrics import pauc

TIE = 0.25  # paired standard errors below the best one that still count as equal to it


@dataclass(frozen=True)
class Seen:
    """The pAUC of one model on held-out rows and how much each row moves it, by class."""

    value: float
    positives: np.ndarray
    negatives: np.ndarray

    @property
    def standard_error(self) -> float:
        return _error(self.positives, self.negatives)


def look_at(
    positive: np.ndarray,
    scores: np.ndarray,
    low: float,
    high: float,
    weights: np.ndarray | None = None,
) -> Seen:
    """See a model by its scores."""
    rows = influence(positive, scores, fpr_low=low, fpr_high=high, sample_weight=weights)
    value = pauc(positive, scores, fpr_low=low, fpr_high=high, sample_weight=weights)
    return Seen(value, rows[positive], rows[~positive])


def pool(folds: Sequence[Seen]) -> Seen:
    """One kind of model on several folds, each ranked alone: the mean pAUC of all positives."""
    return Seen(
        float(np.average([f.value for f in folds], weights=[len(f.positives) for f in folds])),
        np.concatenate([f.positives for f in folds]),
        np.concatenate([f.negatives for f in folds]),
    )


def gap(better: Seen, other: Seen) -> tuple[float, float]:
    """How far ``other`` lies below ``better``, and the paired standard error of that."""
    error = _error(better.positives - other.positives, better.negatives - other.negatives)
    return better.value - other.value, error


def choose(seen: Sequence[Seen], penalties: Sequence[float]) -> int:
    """The best pAUC; among those within a quarter of its paired standard error, most penalty."""
    best = max(seen, key=lambda one: one.value)
    tied = []
    for place, one in enumerate(seen):
        difference, error = gap(best, one)
        if difference <= TIE * error:
            tied.append(place)
    return max(tied, key=lambda place: (penalties[place], seen[place].value))


def _error(positives: np.ndarray, negatives: np.ndarray) -> float:
    """SE^2 = var(v) / N+ + var(u) / N-."""
    parts = [np.var(part) / max(len(part) - 1, 1) for part in (positives, negatives)]
    return float(np.sqrt(sum(parts)))
