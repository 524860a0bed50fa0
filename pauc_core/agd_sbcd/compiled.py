"""The hot inner loop of Algorithms 1 and 3 for linear models: compiled.

Everything is in normalised units: G is the mean over the sampled pairs, and the steps are
eta' = eta N+N-, theta' = theta N-, mu' = mu N+N-.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from pauc_core.agd_sbcd.pairs import PairRows
from pauc_core.objective.losses import LOSSES

CODES = {name: code for code, name in enumerate(LOSSES)}
NO_FAST_PATH = (0.0, 0.0)

# Up to this spread of scores the product of two terms 1 + exp(p_i - q_j) is below the largest
# float64; past it the stable branch takes over.
SPREAD = 350.0

# Sums may be reordered; infinities and NaN must keep their meaning, so no full fastmath.
FAST = {"reassoc", "contract", "nsz"}


class Calls(NamedTuple):
    """Running quantities of calls of Algorithm 1 that share their samples, one row a call.

    ``v_sum`` is the sum of v^(0) .. v^(t-1). ``drift`` is the sum of (t+1) times the change of
    lam at step t, so that the average of lam^(0) .. lam^(T-1) is lam - drift / T although a step
    touches only I coordinates.
    """

    v: np.ndarray
    v_sum: np.ndarray
    lam: np.ndarray
    drift: np.ndarray


class Steps(NamedTuple):
    """Step sizes eta', theta' and the proximal mu' of one call, in normalised units."""

    eta: float
    theta: float
    mu: float


class Draws(NamedTuple):
    """Sampled places among the positives and among the negatives, one row an iteration."""

    pos: np.ndarray
    neg: np.ndarray


def sbcd_block(
    rows: PairRows,
    calls: Calls,
    w: np.ndarray,
    share: np.ndarray,
    steps: Steps,
    draws: Draws,
    *,
    t: int,
    loss: str = "logistic",
    device: str | None = None,
) -> None:
    """Run len(draws.pos) inner iterations from iteration ``t`` on, changing ``calls`` in place.

    ``share`` is l / N- of each call. Without a device the compiled loop runs on the CPU; with one
    ('cpu', 'cuda', ...) torch does the same work there.
    """
    rows.count(draws.pos.shape, draws.neg.shape, calls=len(calls.v))
    if device is not None:
        from pauc_core.agd_sbcd.on_device import torch_block  # only now: importing torch is slow

        torch_block(rows, calls, w, share, steps, draws, t, loss, device)
        return
    folded = np.zeros((2, calls.v.shape[1]), dtype=rows.kind)
    steps = Steps(*map(float, steps))
    of_sigma = LOSSES[loss].of_sigma or NO_FAST_PATH
    _cached_block(rows.arrays, calls, w, share, steps, draws, t, folded, CODES[loss], of_sigma)


@njit
def _pick(condition: bool, yes: float, no: float) -> float:
    return yes if condition else no  # numpy's where makes arrays of scalars, which takes longer


def _one_of(functions: Sequence[Callable[[Any], Any]]) -> Callable[[float, int], float]:
    """A compiled choice among scalar functions by their place in the list."""
    first = njit(functions[0])
    if len(functions) == 1:
        return njit(lambda x, code: first(x))
    others = _one_of(functions[1:])
    return njit(lambda x, code: first(x) if code == 0 else others(x, code - 1))


_slope = _one_of([loss.define(np, _pick).slope for loss in LOSSES.values()])
_gap_at = _one_of([loss.define(np, _pick).gap_at for loss in LOSSES.values()])


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _pair_sums(
    p: np.ndarray,
    q: np.ndarray,
    lam: np.ndarray,
    drawn: np.ndarray,
    code: int,
    of_sigma: tuple[float, float],
    up: np.ndarray,
    down: np.ndarray,
    shrunk: np.ndarray,
    above: np.ndarray,
) -> None:
    """Sums of -l'(p_i - q_j) 1(s_ij > lam_i) over j (``up``), over i (``down``), and the counts.

    s_ij > lam_i is q_j > p_i - gap_at(lam_i): a comparison, no logarithm for a pair.
    """
    low = min(p.min(), q.min())
    high = max(p.max(), q.max())
    a, b = of_sigma
    bent = a != 1.0 or b != 0.0  # known before the loop: two loops are made of it
    fast = a != 0.0 and high - low <= SPREAD
    middle, half = 0.5 * (low + high), len(q) // 2
    down[:] = 0.0
    if fast:
        for j in range(len(q)):
            shrunk[j] = np.exp(middle - q[j])
    for i in range(len(p)):
        above[i] = lam[drawn[i]]  # all at once: scattered reads overlap, between pairs they wait
    for i in range(len(p)):
        threshold = p[i] - _gap_at(above[i], code)
        total = 0.0
        count = 0.0
        if fast:
            # sigma(q_j - p_i) = 1 / (1 + exp(p_i) exp(-q_j)): exp for a row, not for a pair.
            grown = np.exp(p[i] - middle)
            for j in range(half):
                # One division serves two pairs: divisions are what this loop waits for.
                one = 1.0 + grown * shrunk[j]
                two = 1.0 + grown * shrunk[half + j]
                inverse = 1.0 / (one * two)
                first, second = inverse * two, inverse * one
                if bent:
                    first *= a + b * first
                    second *= a + b * second
                on = 1.0 if q[j] > threshold else 0.0
                also = 1.0 if q[half + j] > threshold else 0.0
                first *= on
                second *= also
                count += on + also
                total += first + second
                down[j] += first
                down[half + j] += second
            for j in range(2 * half, len(q)):
                if q[j] > threshold:
                    slope = -_slope(p[i] - q[j], code)
                    count += 1.0
                    total += slope
                    down[j] += slope
        else:
            for j in range(len(q)):
                if q[j] > threshold:
                    slope = -_slope(p[i] - q[j], code)
                    count += 1.0
                    total += slope
                    down[j] += slope
        up[i] = total
        above[i] = count


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _products(x: np.ndarray, rows: np.ndarray, weights: np.ndarray, out: np.ndarray) -> None:
    """Products of sampled rows with both weights: four rows at a time hide each other's wait."""
    one, two = weights[0], weights[1]
    zero = weights.dtype.type(0)
    whole = len(rows) - len(rows) % 4
    for k in range(0, whole, 4):
        a, b, c, d = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
        a1, b1, c1, d1 = zero, zero, zero, zero
        a2, b2, c2, d2 = zero, zero, zero, zero
        for f in range(x.shape[1]):
            a1 += x[a, f] * one[f]
            b1 += x[b, f] * one[f]
            c1 += x[c, f] * one[f]
            d1 += x[d, f] * one[f]
            a2 += x[a, f] * two[f]
            b2 += x[b, f] * two[f]
            c2 += x[c, f] * two[f]
            d2 += x[d, f] * two[f]
        out[0, k], out[0, k + 1], out[0, k + 2], out[0, k + 3] = a1, b1, c1, d1
        out[1, k], out[1, k + 1], out[1, k + 2], out[1, k + 3] = a2, b2, c2, d2
    for k in range(whole, len(rows)):
        a1, a2 = zero, zero
        for f in range(x.shape[1]):
            a1 += x[rows[k], f] * one[f]
            a2 += x[rows[k], f] * two[f]
        out[0, k], out[1, k] = a1, a2


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _pull(x: np.ndarray, rows: np.ndarray, coef: np.ndarray, out: np.ndarray) -> None:
    """Sums of sampled rows times their coefficients, last rows first: those are still in cache."""
    one, two = out[0], out[1]
    out[:] = 0
    whole = len(rows) - len(rows) % 4
    for k in range(whole, len(rows)):
        for f in range(x.shape[1]):
            one[f] += coef[0, k] * x[rows[k], f]
            two[f] += coef[1, k] * x[rows[k], f]
    for k in range(whole - 4, -1, -4):
        a, b, c, d = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
        a1, b1, c1, d1 = coef[0, k], coef[0, k + 1], coef[0, k + 2], coef[0, k + 3]
        a2, b2, c2, d2 = coef[1, k], coef[1, k + 1], coef[1, k + 2], coef[1, k + 3]
        for f in range(x.shape[1]):
            one[f] += a1 * x[a, f] + b1 * x[b, f] + c1 * x[c, f] + d1 * x[d, f]
            two[f] += a2 * x[a, f] + b2 * x[b, f] + c2 * x[c, f] + d2 * x[d, f]


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _fold(
    v: np.ndarray, v_sum: np.ndarray, scale: np.ndarray, center: np.ndarray, folded: np.ndarray
) -> float:
    """Add v to its sum, fold the scaling into it, and return the score of the center."""
    offset = 0.0
    for f in range(len(v)):
        v_sum[f] += v[f]
        folded[f] = v[f] / scale[f]
        offset += folded[f] * center[f]
    return offset


@njit(error_model="numpy")
def _block(rows, calls, w, share, steps, draws, first, folded, code, of_sigma):  # type: ignore[no-untyped-def]
    count, width = calls.v.shape
    count_i, count_j = draws.pos.shape[1], draws.neg.shape[1]
    head = count_i if len(rows.pos_rows) else 0  # sampled rows of positives; none for SoRR
    chosen = np.empty(head + count_j, dtype=np.int64)
    # Room for two calls always: a lone call costs no more, its rows are what takes time.
    raw = np.empty((2, len(chosen)), dtype=folded.dtype)
    coef = np.zeros((2, len(chosen)), dtype=folded.dtype)
    pulled = np.empty((2, width), dtype=folded.dtype)
    offset = np.empty(count)
    p, up, above = np.zeros(count_i), np.empty(count_i), np.empty(count_i)
    q, down, shrunk = np.empty(count_j), np.empty(count_j), np.empty(count_j)
    mean = 1.0 / (count_i * count_j)
    both = steps.mu + steps.eta
    keep, stay, move = steps.mu / both, steps.eta / both, steps.eta * steps.mu / both
    for step in range(len(draws.pos)):
        pos, neg = draws.pos[step], draws.neg[step]
        for k in range(head):
            chosen[k] = rows.pos_rows[pos[k]]
        for k in range(count_j):
            chosen[head + k] = rows.neg_rows[neg[k]]
        for s in range(count):
            offset[s] = _fold(calls.v[s], calls.v_sum[s], rows.scale, rows.center, folded[s])
        _products(rows.x, chosen, folded, raw)
        for s in range(count):
            lam, drift = calls.lam[s], calls.drift[s]
            for k in range(head):
                p[k] = raw[s, k] - offset[s]
            for k in range(count_j):
                q[k] = rows.signs[neg[k]] * (raw[s, head + k] - offset[s])
            _pair_sums(p, q, lam, pos, code, of_sigma, up, down, shrunk, above)
            total = 0.0
            for k in range(head):
                coef[s, k] = -mean * up[k]
                total -= mean * up[k]
            for k in range(count_j):
                slope = mean * down[k] * rows.signs[neg[k]]
                coef[s, head + k] = slope
                total += slope
            offset[s] = total
            for k in range(count_i):  # Alg. 1 lines 7 and 8
                change = -steps.theta * (share[s] - above[k] / count_j)
                lam[pos[k]] += change
                drift[pos[k]] += (first + step + 1) * change
        _pull(rows.x, chosen, coef, pulled)  # Alg. 1 line 5
        for s in range(count):
            v = calls.v[s]
            for f in range(width):  # Alg. 1 line 6, (v/eta + w/mu - G) / (1/eta + 1/mu)
                slope = (pulled[s, f] - offset[s] * rows.center[f]) / rows.scale[f]
                v[f] = keep * v[f] + stay * w[f] - move * slope


def _stamp(code: CodeType) -> str:
    """A digest of a function's instructions and constants, those within it included."""
    inner = [_stamp(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    text = repr((code.co_code, code.co_names, inner))
    return hashlib.sha256(text.encode()).hexdigest()


def _cached(stamps: str) -> Callable[..., None]:
    """The inner loop, kept on disk.

    Numba knows what it has kept by the age of the function's own file and by what it closes over.
    The losses lie in another file, so their stamps are closed over: an edited loss is compiled
    anew.
    """

    @njit(cache=True, error_model="numpy")
    def block(rows, calls, w, share, steps, draws, first, folded, code, of_sigma):  # type: ignore[no-untyped-def]
        _ = stamps
        _block(rows, calls, w, share, steps, draws, first, folded, code, of_sigma)

    return block


_cached_block = _cached(" ".join(_stamp(loss.define.__code__) for loss in LOSSES.values()))
