"""The metric for scikit-learn's searches: ``scoring=pauc_scorer(0.0, 0.05)``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pauc_core.metrics import pauc


@dataclass(frozen=True)
class PAUCScorer:
    """Scores a fitted classifier; made by `pauc_scorer`."""

    fpr_low: float
    fpr_high: float

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        if hasattr(estimator, "decision_function"):
            scores = estimator.decision_function(X)
        else:
            scores = estimator.predict_proba(X)[:, 1]
        positive = np.asarray(y) == estimator.classes_[1]
        return pauc(positive, scores, fpr_low=self.fpr_low, fpr_high=self.fpr_high)


def pauc_scorer(fpr_low: float = 0.05, fpr_high: float = 0.5) -> PAUCScorer:
    """A scorer for `GridSearchCV` and `cross_val_score`: the area in the band over its width.

    Any classifier of two classes will do that has `decision_function` or `predict_proba`.
    """
    return PAUCScorer(fpr_low, fpr_high)
