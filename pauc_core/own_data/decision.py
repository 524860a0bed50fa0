"""From weights to decisions: where the threshold lies, and what a decision's probability is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pauc_core.models.scaled_rows import ScaledRows, exact_product
from pauc_core.own_data.calibration import calibrate
from pauc_core.own_data.promise import promised
from pauc_core.own_data.search import Found
from pauc_core.own_data.threshold import at_fpr, at_least_cost, at_tpr


@dataclass(frozen=True)
class Aim:
    """What `predict` is to keep: a rate, promised or not, or else the least cost."""

    fpr: float
    tpr: float
    costs: tuple[float, float]
    confidence: float | None


@dataclass(frozen=True)
class HeldOut:
    """Labels, weights and scores of held-out rows, in units of each model's own spread.

    ``spread`` is that of the last model, over all rows; where nothing was held out its own scores
    are seen.
    """

    positive: np.ndarray
    scores: np.ndarray
    weights: np.ndarray | None
    spread: float

    @classmethod
    def of(
        cls,
        rows: ScaledRows,
        positive: np.ndarray,
        weights: np.ndarray | None,
        masks: Sequence[np.ndarray],
        found: Found,
    ) -> HeldOut:
        spread = float(np.std(rows.scores(found.weights))) or 1.0
        if not masks:
            return cls(positive, rows.scores(found.weights) / spread, weights, spread)
        pooled = []
        for w, held in zip(found.fold_weights, masks, strict=True):
            scores = rows.scores(w)
            pooled.append(scores[held] / (np.std(scores) or 1.0))
        truth = np.concatenate([positive[held] for held in masks])
        mine = None if weights is None else np.concatenate([weights[held] for held in masks])
        return cls(truth, np.concatenate(pooled), mine, spread)

    def threshold(self, aim: Aim) -> float:
        if not math.isnan(aim.fpr):
            return at_fpr(self.positive, self.scores, aim.fpr, self.weights)
        if not math.isnan(aim.tpr):
            return at_tpr(self.positive, self.scores, aim.tpr, self.weights)
        return at_least_cost(self.positive, self.scores, aim.costs, self.weights)


def decide(
    rows: ScaledRows, found: Found, seen: HeldOut, aim: Aim, apart: Any, n_neg: int
) -> tuple[np.ndarray, float, np.ndarray]:
    """Coefficients, intercept (the decision is 0 at the threshold) and knots of probabilities.

    ``apart`` are the negatives set apart for a promise, beside ``n_neg`` others.
    """
    coef, offset = rows.unscaled(found.weights)
    shares = seen.weights
    if aim.confidence is None:
        intercept = offset - seen.threshold(aim) * seen.spread
    else:
        intercept = -promised(exact_product(apart, coef), aim.fpr, aim.confidence)
        # Negatives that are missing here are none the fewer.
        shares = np.where(seen.positive, 1.0, 1.0 + apart.shape[0] / n_neg)
    knots, log_odds = calibrate(seen.positive, seen.scores, shares)
    return coef, intercept, np.stack([knots * seen.spread + intercept - offset, log_odds])
