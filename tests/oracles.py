"""Slow and obvious versions of what the package does fast. One section per room."""

import itertools

import numpy as np

from pauc_core.losses import get_loss

# --- metric and objective ---------------------------------------------------------------------


def roc_by_counting(y, scores):
    """Corners of the ROC curve, one threshold at a time."""
    corners = [(0.0, 0.0)]
    for threshold in sorted(set(scores), reverse=True):
        called = scores >= threshold
        corners.append((called[~y].mean(), called[y].mean()))
    return corners


def pauc_by_trapezoids(y, scores, low, high):
    """Raw area under the ROC curve between two rates: each segment cut to the band."""
    area = 0.0
    corners = roc_by_counting(y, scores)
    for (x0, y0), (x1, y1) in itertools.pairwise(corners):
        a, b = max(x0, low), min(x1, high)
        if a < b:
            heights = [y0 + (y1 - y0) * (x - x0) / (x1 - x0) for x in (a, b)]
            area += (b - a) * sum(heights) / 2
    return area


def pauc_by_pairs(y, scores, m, n):
    """Equation (2), pair by pair."""
    band = np.sort(scores[~y])[::-1][m:n]
    return sum(float(p > q) for p in scores[y] for q in band) / (y.sum() * (n - m))


def pauc_loss_by_pairs(p, q, m, n, loss):
    """Equation (3) over every pair, summed in extended precision."""
    band = np.sort(q)[::-1][m:n]
    losses = get_loss(loss).value(p[:, None] - band[None, :])
    return float(losses.astype(np.longdouble).mean())


def pauc_loss_grad_by_pairs(p, q, m, n, loss):
    """Derivatives of (3) over every pair; among equal negatives the first ranks higher."""
    band = np.argsort(-q, kind="stable")[m:n]
    slopes = get_loss(loss).slope(p[:, None] - q[band][None, :]) / (p.size * (n - m))
    by_q = np.zeros(q.size)
    by_q[band] = -slopes.sum(axis=0)
    return slopes.sum(axis=1), by_q


def central_difference(function, x, step=1e-6):
    """Gradient of a function of one vector, coordinate by coordinate."""
    gradient = np.empty(x.size)
    for i in range(x.size):
        up, down = x.copy(), x.copy()
        up[i] += step
        down[i] -= step
        gradient[i] = (function(up) - function(down)) / (2 * step)
    return gradient
