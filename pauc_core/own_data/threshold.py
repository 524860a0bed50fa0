"""Where a score becomes a yes, from the scores of held-out rows."""

from __future__ import annotations

import numpy as np

from pauc_core.metrics import threshold_at_fpr

Weights = np.ndarray | None


def at_fpr(positive: np.ndarray, scores: np.ndarray, fpr: float, weights: Weights) -> float:
    """A threshold above which at most the share ``fpr`` of these negatives lies."""
    mine = None if weights is None else weights[~positive]
    return _between(scores, threshold_at_fpr(scores[~positive], fpr, sample_weight=mine))


def at_tpr(positive: np.ndarray, scores: np.ndarray, tpr: float, weights: Weights) -> float:
    """A threshold above which at least the share ``tpr`` of these positives lies."""
    return -at_fpr(~positive, -scores, 1.0 - tpr, weights)


def at_least_cost(
    positive: np.ndarray, scores: np.ndarray, costs: tuple[float, float], weights: Weights = None
) -> float:
    """The threshold of least total cost; ``costs`` are of a wrong negative and a wrong positive."""
    order = np.argsort(-scores, kind="stable")
    falling, change = scores[order], np.where(positive[order], -costs[1], costs[0])
    if weights is not None:
        change = change * weights[order]
    # The cost of a yes for the first k rows, beside a no for all; ties are answered together.
    beside = np.append(0.0, np.cumsum(change))
    whole = np.append(np.append(True, falling[1:] < falling[:-1]), True)
    k = int(np.argmin(np.where(whole, beside, np.inf)))
    return _between(scores, falling[k - 1] if k else np.nextafter(falling[0], np.inf))


def _between(scores: np.ndarray, threshold: float) -> float:
    """The middle of the gap between held-out scores in which the threshold lies.

    Any place in the gap has the same rates on the held-out rows; the middle is the safest one.
    """
    above, below = scores[scores >= threshold], scores[scores < threshold]
    if not len(above):
        return float(threshold)
    if not len(below):
        return float(above.min() - 1.0)
    return float((above.min() + below.max()) / 2)
