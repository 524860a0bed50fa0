"""Sums of the squared hinge over all pairs by one sweep over the sorted scores.

The sweep needs the count, the sum and the sum of squares of the active margins. Only non-negative
numbers are added, so nothing cancels.
"""

import numpy as np
from numba import njit

from pauc_core.bands import Weights

__all__ = ["squared_hinge_sums"]


def squared_hinge_sums(
    p: np.ndarray, q: np.ndarray, a: Weights, b: Weights
) -> tuple[float, np.ndarray, np.ndarray]:
    """Sum of u^2 over all pairs, u = max(0, 1 - (p_i - q_j)), and its derivatives by p and q.

    With weights a pair counts a_i b_j times.
    """
    by_p, squares = _margins(p, q, b)
    by_q, _ = _margins(-q, -p, a)
    if a is not None:
        by_p, squares = a * by_p, a * squares
    if b is not None:
        by_q = b * by_q
    return float(squares.sum()), -2.0 * by_p, 2.0 * by_q


def _margins(p: np.ndarray, q: np.ndarray, b: Weights) -> tuple[np.ndarray, np.ndarray]:
    """Sums over j of b_j u and of b_j u^2 for each i, where u = max(0, 1 - (p_i - q_j))."""
    order = np.argsort(p)[::-1]
    if b is None:
        first, second = _sweep(p[order], np.sort(q)[::-1], None)
    else:
        falling = np.argsort(q)[::-1]
        first, second = _sweep(p[order], q[falling], b[falling])
    sums = np.empty((2, p.size))
    sums[0, order], sums[1, order] = first, second
    return sums[0], sums[1]


@njit(cache=True)
def _sweep(p: np.ndarray, q: np.ndarray, b: Weights) -> tuple[np.ndarray, np.ndarray]:
    """Both falling: as p falls, margins only grow and negatives only join."""
    firsts, seconds = np.empty(p.size), np.empty(p.size)
    first, second, mass = 0.0, 0.0, 0.0
    active = 0
    for i in range(p.size):
        if i > 0:
            step = p[i - 1] - p[i]
            second += step * (2.0 * first + step * mass)
            first += step * mass
        while active < q.size:
            margin = 1.0 - (p[i] - q[active])
            if margin <= 0.0:
                break
            weight = 1.0
            if b is not None:  # decided when this is compiled
                weight = b[active]
            first += weight * margin
            second += weight * margin * margin
            mass += weight
            active += 1
        firsts[i], seconds[i] = first, second
    return firsts, seconds
