"""Probabilities from scores: a rising curve learned on held-out rows."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit
from sklearn.isotonic import isotonic_regression

LEAST = 1e-6  # slope beyond the last knots, where the held-out rows show none


def calibrate(
    positive: np.ndarray, scores: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Knots of a curve from scores to log-odds that rises everywhere, so that the ranking stays.

    Isotonic regression pools neighbours into blocks; a knot lies at a block's mean score, and one
    more row of the mean kind in each block keeps the log-odds finite.
    """
    mass = np.ones(len(scores)) if weights is None else weights / weights.mean()
    knots, place = np.unique(scores, return_inverse=True)
    hits, mass = np.bincount(place, mass * positive), np.bincount(place, mass)
    share = hits.sum() / mass.sum()
    for prior in (0.0, 1.0):
        level = isotonic_regression((hits + prior * share) / (mass + prior), sample_weight=mass)
        block = np.append(0, np.cumsum(np.diff(level) > 0))
        knots = np.bincount(block, mass * knots) / np.bincount(block, mass)
        hits, mass = np.bincount(block, hits), np.bincount(block, mass)
    return knots, logit(level[np.unique(block, return_index=True)[1]])


def probabilities(scores: np.ndarray, knots: np.ndarray, log_odds: np.ndarray) -> np.ndarray:
    """Two columns that add up to 1, the second for the positive class."""
    beyond = scores - np.clip(scores, knots[0], knots[-1])
    found = np.interp(scores, knots, log_odds) + LEAST * beyond
    return np.column_stack([expit(-found), expit(found)])
