"""The metric for scikit-learn's searches: ``scoring=pauc_scorer(0.0, 0.05)``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pauc_core.metrics import pauc
from pauc_core.own_data.settings import USUAL, named_rates


@dataclass(frozen=True)
class PAUCScorer:
    """Scores a fitted classifier; made by `pauc_scorer`."""

    rates: tuple[tuple[str, float], ...]

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        if hasattr(estimator, "decision_function"):
            scores = estimator.decision_function(X)
        else:
            scores = estimator.predict_proba(X)[:, 1]
        positive = which_positive(y, estimator.classes_)
        band: dict[str, Any] = dict(self.rates)
        return pauc(positive, scores, sample_weight=sample_weight, **band)


def which_positive(y: Any, classes: Any) -> np.ndarray:
    """Whether each label is the second of a classifier's two classes; it must be one of them."""
    labels, known = np.asarray(y), np.asarray(classes).tolist()
    if len(known) != 2:
        raise ValueError(f"The classifier knows {len(known)} classes: expected two.")
    strange = ~np.isin(labels, known)
    if strange.any():
        raise ValueError(
            f"The label {labels[strange].tolist()[0]!r} is none of the classifier's {known}: "
            "expected these."
        )
    return np.asarray(labels == known[1])


def pauc_scorer(
    fpr_low: float = USUAL[0],
    fpr_high: float = USUAL[1],
    *,
    tpr_low: float | None = None,
    tpr_high: float | None = None,
) -> PAUCScorer:
    """A scorer for `GridSearchCV` and `cross_val_score`: the area in the band over its width.

    Any classifier of two classes will do that has `decision_function` or `predict_proba`. With
    `tpr_low` or `tpr_high` the band is one of true positive rates.
    """
    return PAUCScorer(tuple(named_rates(fpr_low, fpr_high, tpr_low, tpr_high).items()))
