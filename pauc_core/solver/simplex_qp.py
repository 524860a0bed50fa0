"""A small convex quadratic program over the simplex, solved to rounding by an active-set method."""

from __future__ import annotations

import numpy as np

_RIDGE = 1e-14  # of the largest diagonal entry: dependent vertices stay solvable
_SLACK = 1e-13  # of the largest linear entry: what counts as optimal


def minimise_on_simplex(quadratic: np.ndarray, linear: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Minimise u'Qu/2 - c'u over u >= 0, sum(u) = 1, from a feasible start.

    The value never rises on the way: on the free entries the minimiser of the equality-constrained
    problem is taken, or the way to it as far as the first entry that reaches zero, which is then
    no longer free; at a minimiser the entry with the most negative reduced gradient becomes free.
    """
    size = max(1e-300, float(np.diag(quadratic).max()))
    quadratic, linear = quadratic / size, linear / size
    u = start.astype(np.float64)
    free = u > 0
    entering = -1
    for _ in range(50 * len(u)):
        target = _on_face(quadratic, linear, free)
        leaving = free & (target <= 0)
        if leaving.any():
            room = np.where(leaving, u / np.maximum(u - target, np.finfo(float).tiny), np.inf)
            out = int(np.argmin(room))
            if out == entering and room[out] <= 0:
                return u / u.sum()  # rounding alone made it look worth entering
            u = np.where(free, u + room[out] * (target - u), 0.0)
            u[out], free[out] = 0.0, False
            continue
        u = target
        gradient = quadratic @ u - linear
        reduced = gradient - gradient @ u
        entering = int(np.argmin(np.where(free, np.inf, reduced)))
        if free[entering] or reduced[entering] >= -_SLACK * np.abs(linear).max():
            return u / u.sum()
        free[entering] = True
    return u / u.sum()


def _on_face(quadratic: np.ndarray, linear: np.ndarray, free: np.ndarray) -> np.ndarray:
    """The minimiser with sum 1 over the free entries, signs ignored."""
    k = int(free.sum())
    system = np.ones((k + 1, k + 1))
    system[:k, :k] = quadratic[np.ix_(free, free)]
    system[range(k), range(k)] += _RIDGE
    system[k, k] = 0.0
    solution = np.linalg.solve(system, np.append(linear[free], 1.0))
    target = np.zeros(len(linear))
    target[free] = solution[:k]
    return target
