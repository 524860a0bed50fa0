"""Sums of a loss over all pairs of positives and negatives, in near-linear time.

The real line is cut into cells of width 2. Within a cell every
sum over the other class is a smooth function of one variable, so a cell is known by its Chebyshev
moments, sum of T_r(t) over its points, with t in [-1, 1] the place within the cell. Cells at most
two apart act on each other through small matrices. Further apart the gap is at least 4 and the
loss is linear, constant or nothing plus a short series in exp(-|gap|), which separates: one sweep
over the occupied cells from each side takes all of it, whatever the spread of the scores. No term
is dropped, so the tails keep their relative accuracy.

A loss without such tails, as the squared hinge, brings sums of its own.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numba import njit
from numpy.polynomial import chebyshev

from pauc_core.bands import Weights
from pauc_core.objective.losses import Loss, Tail

__all__ = ["pair_sum", "pair_sum_grad"]

# The kernels have their nearest poles at +-i pi, so on cells of half-width 1 Chebyshev
# coefficients fall like 6.4^-r: 20 of them reach rounding error.
_ORDER = 20
_NEAR = 2
# exp(-4 * 10) = 4e-18 is beside the first term of the series, exp(-4), rounding error.
_SERIES = 9
# T_r(-t) = (-1)^r T_r(t)
_SIGNS = (-1.0) ** np.arange(_ORDER)
_NODES = chebyshev.chebpts1(_ORDER)
# From values at the nodes to coefficients: discrete orthogonality, halved for r = 0.
_TO_COEFFICIENTS = chebyshev.chebvander(_NODES, _ORDER - 1).T * (2.0 / _ORDER)
_TO_COEFFICIENTS[0] /= 2.0


@dataclass(frozen=True)
class _Kernel:
    """Tables of one function of u = target - source."""

    near: np.ndarray  # (2 * _NEAR + 1, _ORDER, _ORDER), by cell distance, source rows
    right: np.ndarray  # (2 + _SERIES, _ORDER): far sources on the left, u > 0
    left: np.ndarray  # the same for u < 0, in mirrored coordinates


def pair_sum(
    p: np.ndarray, q: np.ndarray, loss: Loss, a: Weights = None, b: Weights = None
) -> float:
    """Sum of l(p_i - q_j) over all pairs, of a_i b_j l(p_i - q_j) where weights are given."""
    if loss.sums is not None:
        return loss.sums(p, q, a, b)[0]
    return _Grid(p, q, a, b).total(_kernel(loss, "value", False))


def pair_sum_grad(
    p: np.ndarray, q: np.ndarray, loss: Loss, a: Weights = None, b: Weights = None
) -> tuple[float, np.ndarray, np.ndarray]:
    """`pair_sum` and its derivatives by p and by q."""
    if loss.sums is not None:
        return loss.sums(p, q, a, b)
    grid = _Grid(p, q, a, b)
    by_p = grid.sums_at_p(_kernel(loss, "slope", False))
    by_q = -grid.sums_at_q(_kernel(loss, "slope", True))
    if a is not None:
        by_p *= a
    if b is not None:
        by_q *= b
    return grid.total(_kernel(loss, "value", False)), by_p, by_q


class _Grid:
    """The occupied cells of two sets of scores, with the Chebyshev moments of each set."""

    def __init__(self, p: np.ndarray, q: np.ndarray, a: Weights, b: Weights) -> None:
        self.p, self.q = p, q
        # Cell numbers stay floats: exact for any finite score, where integers would overflow.
        numbers = np.floor(0.5 * np.concatenate([p, q]))
        self.ids, cells = _occupied(numbers)
        self.cell_p, self.cell_q = cells[: p.size], cells[p.size :]
        # Distances past _NEAR are all alike to the near field: whole numbers, safe for outliers.
        steps = np.minimum(np.diff(self.ids), _NEAR + 1.0).astype(np.int64)
        self.places = np.concatenate([np.zeros(1, np.int64), np.cumsum(steps)])
        self.moments_p = _moments(p, self.cell_p, self.ids, a)
        self.moments_q = _moments(q, self.cell_q, self.ids, b)

    def total(self, kernel: _Kernel) -> float:
        local = self._local(kernel, self.moments_p, self.moments_q)
        return float(np.vdot(self.moments_p, local))

    def sums_at_p(self, kernel: _Kernel) -> np.ndarray:
        local = self._local(kernel, self.moments_p, self.moments_q)
        return _evaluate(self.p, self.cell_p, self.ids, local)

    def sums_at_q(self, kernel: _Kernel) -> np.ndarray:
        local = self._local(kernel, self.moments_q, self.moments_p)
        return _evaluate(self.q, self.cell_q, self.ids, local)

    def _local(self, kernel: _Kernel, targets: np.ndarray, sources: np.ndarray) -> np.ndarray:
        """Chebyshev coefficients, cell by cell, of the sum of the kernel over the sources."""
        local = _far_field(self.ids, self.places, sources) @ kernel.right
        mirrored = _far_field(
            -self.ids[::-1], self.places[-1] - self.places[::-1], (sources * _SIGNS)[::-1]
        )
        local += (mirrored @ kernel.left)[::-1] * _SIGNS
        _add_near_field(local, self.places, targets, sources, kernel.near)
        return local


def _occupied(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct cell numbers in rising order, and the place of each point's cell among them."""
    first = numbers.min()
    span = numbers.max() - first
    if span > 4.0 * numbers.size + 1024.0:
        ids, cells = np.unique(numbers, return_inverse=True)
        return ids, cells
    offsets = (numbers - first).astype(np.int64)
    taken = np.zeros(int(span) + 1, dtype=bool)
    taken[offsets] = True
    return first + np.flatnonzero(taken), (np.cumsum(taken) - 1)[offsets]


def _far_field(ids: np.ndarray, places: np.ndarray, moments: np.ndarray) -> np.ndarray:
    return _sweep(ids, np.ascontiguousarray(places), moments @ _outgoing())


@njit(cache=True)
def _moments(x: np.ndarray, cell: np.ndarray, ids: np.ndarray, weights: Weights) -> np.ndarray:
    moments = np.zeros((ids.size, _ORDER))
    for i in range(x.size):
        c = cell[i]
        t = (x[i] - 2.0 * ids[c]) - 1.0
        before, now = 1.0, t
        if weights is not None:  # decided when this is compiled
            # The recurrence is linear: begun at the weight it yields weighted polynomials.
            before, now = weights[i], weights[i] * t
        moments[c, 0] += before
        for r in range(1, _ORDER):
            moments[c, r] += now
            before, now = now, 2.0 * t * now - before
    return moments


@njit(cache=True)
def _evaluate(x: np.ndarray, cell: np.ndarray, ids: np.ndarray, local: np.ndarray) -> np.ndarray:
    values = np.empty(x.size)
    for i in range(x.size):
        c = cell[i]
        t = (x[i] - 2.0 * ids[c]) - 1.0
        before, now = 1.0, t
        total = local[c, 0]
        for r in range(1, _ORDER):
            total += local[c, r] * now
            before, now = now, 2.0 * t * now - before
        values[i] = total
    return values


@njit(cache=True)
def _add_near_field(
    local: np.ndarray,
    places: np.ndarray,
    targets: np.ndarray,
    sources: np.ndarray,
    tables: np.ndarray,
) -> None:
    start = 0
    for c in range(places.size):
        while places[c] - places[start] > _NEAR:
            start += 1
        if targets[c, 0] == 0.0:
            continue
        for s in range(start, places.size):
            distance = places[c] - places[s]
            if distance < -_NEAR:
                break
            if sources[s, 0] == 0.0:
                continue
            for r in range(_ORDER):
                weight = sources[s, r]
                for k in range(_ORDER):
                    local[c, k] += weight * tables[distance + _NEAR, r, k]


@njit(cache=True)
def _sweep(ids: np.ndarray, places: np.ndarray, outgoing: np.ndarray) -> np.ndarray:
    """What each cell receives from all cells more than two places to its left.

    Columns: the count of sources, the sum of their distances to the cell's centre c, and the sums
    of exp(-k (c - source)) for k = 1, 2, ...
    """
    cells, columns = outgoing.shape
    incoming = np.zeros((cells, columns))
    state = np.zeros(columns)
    waiting = 0
    for c in range(cells):
        if c > 0:
            step = 2.0 * (ids[c] - ids[c - 1])
            decay, power = np.exp(-step), 1.0
            state[1] += step * state[0]
            for k in range(2, columns):
                power *= decay
                state[k] *= power
        while places[c] - places[waiting] > _NEAR:
            gap = 2.0 * (ids[c] - ids[waiting])
            decay, power = np.exp(-gap), 1.0
            state[0] += outgoing[waiting, 0]
            state[1] += gap * outgoing[waiting, 0] - outgoing[waiting, 1]
            for k in range(2, columns):
                power *= decay
                state[k] += power * outgoing[waiting, k]
            waiting += 1
        incoming[c] = state
    return incoming


@cache
def _outgoing() -> np.ndarray:
    """Moments to count, sum of t and sums of exp(k t)."""
    table = np.zeros((_ORDER, 2 + _SERIES))
    table[0, 0] = table[1, 1] = 1.0
    for k in range(1, _SERIES + 1):
        table[:, 1 + k] = _TO_COEFFICIENTS @ np.exp(k * _NODES)
    return table


@cache
def _kernel(loss: Loss, part: str, reflected: bool) -> _Kernel:
    """Tables of l or l' as a function of u = p - q, or of u = q - p where reflected."""
    if loss.tails is None:
        raise ValueError(f"The loss {loss.name!r} has neither tails nor sums: give it one of them.")
    right, left = (_far_table(tail, part, side) for tail, side in zip(loss.tails, (1.0, -1.0)))
    function = getattr(loss, part)
    sign = 1.0
    if reflected:
        right, left, sign = left, right, -1.0
    within = _NODES[None, :] - _NODES[:, None]
    near = np.stack(
        [
            _TO_COEFFICIENTS @ function(sign * (2.0 * distance + within)) @ _TO_COEFFICIENTS.T
            for distance in range(-_NEAR, _NEAR + 1)
        ]
    )
    return _Kernel(near, right, left)


def _far_table(tail: Tail, part: str, side: float) -> np.ndarray:
    """From what `_sweep` hands a cell to Chebyshev coefficients within it.

    On the side z > 0 (side 1) or z < 0 (side -1), |z| = side z, so l'(z) = side (linear -
    sum over k of k series(k) exp(-k|z|)).
    """
    k = np.arange(1, _SERIES + 1)
    constant, linear, series = tail.constant, tail.linear, tail.series(k)
    if part == "slope":
        constant, linear, series = side * linear, 0.0, -side * k * series
    table = np.zeros((2 + _SERIES, _ORDER))
    table[0, 0], table[0, 1], table[1, 0] = constant, linear, linear
    for power, weight in zip(k, series):
        table[1 + power] = weight * (_TO_COEFFICIENTS @ np.exp(-power * _NODES))
    return table
