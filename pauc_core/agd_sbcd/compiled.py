"""The hot inner loop of Algorithms 1 and 3 for linear models: compiled.

Everything is in normalised units: G is the mean over the sampled pairs, and the steps are
eta' = eta N+N-, theta' = theta N-, mu' = mu N+N-.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from pauc_core.agd_sbcd.pairs import PairRows

LOGISTIC, SIGMOID, SQUARED_HINGE = 0, 1, 2
CODES = {"logistic": LOGISTIC, "sigmoid": SIGMOID, "squared_hinge": SQUARED_HINGE}

# Up to this spread of scores the product of two terms 1 + exp(p_i - q_j) is below the largest
# float64; past it the stable branch takes over.
SPREAD = 350.0

# Sums may be reordered; infinities and NaN must keep their meaning, so no full fastmath.
FAST = {"reassoc", "contract", "nsz"}


@dataclass(kw_only=True)
class Calls:
    """Running quantities of calls of Algorithm 1 that share their samples, one row a call.

    ``v_sum`` is the sum of v^(0) .. v^(t-1). ``drift`` is the sum of (t+1) times the change of
    lam at step t, so that the average of lam^(0) .. lam^(T-1) is lam - drift / T although a step
    touches only I coordinates.
    """

    v: np.ndarray
    v_sum: np.ndarray
    lam: np.ndarray
    drift: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Steps:
    """Step sizes eta', theta' and the proximal mu' of one call, in normalised units."""

    eta: float
    theta: float
    mu: float


def sbcd_block(
    rows: PairRows,
    calls: Calls,
    w: np.ndarray,
    share: np.ndarray,
    steps: Steps,
    pos_draws: np.ndarray,
    neg_draws: np.ndarray,
    *,
    t: int,
    loss: str = "logistic",
    device: str | None = None,
) -> None:
    """Run len(pos_draws) inner iterations from iteration ``t`` on, changing ``calls`` in place.

    ``share`` is l / N- of each call. Without a device the compiled loop runs on the CPU; with one
    ('cpu', 'cuda', ...) torch does the same work there.
    """
    if device is not None:
        from pauc_core.agd_sbcd.on_device import torch_block  # only now: importing torch is slow

        torch_block(rows, calls, w, share, steps, pos_draws, neg_draws, t, loss, device)
        return
    x = np.asarray(rows.x).view()
    x.flags.writeable = False  # memory-mapped or not: one compiled version for each number type
    _block(
        x,
        rows.pos_rows,
        rows.neg_rows,
        rows.signs,
        rows.center,
        rows.scale,
        w,
        calls.v,
        calls.v_sum,
        calls.lam,
        calls.drift,
        share,
        pos_draws,
        neg_draws,
        t,
        steps.eta,
        steps.theta,
        steps.mu,
        CODES[loss],
        np.zeros((2, calls.v.shape[1]), dtype=rows.kind),
    )


@njit(cache=True)
def _gap_at(lam: float, code: int) -> float:
    """The gap z below which l(z) > lam: the compiled twin of ``Loss.gap_at``."""
    if code == SQUARED_HINGE:
        return np.inf if lam < 0.0 else 1.0 - np.sqrt(lam)
    if lam <= 0.0:
        return np.inf
    if code == SIGMOID:
        return -np.inf if lam >= 1.0 else np.log1p(-lam) - np.log(lam)
    return -(lam + np.log(-np.expm1(-lam)))


@njit(cache=True)
def _descent(z: float, code: int) -> float:
    """-l'(z) for gaps of any size."""
    if code == SQUARED_HINGE:
        return 2.0 * max(1.0 - z, 0.0)
    small = np.exp(-abs(z))
    if code == SIGMOID:
        return small / (1.0 + small) ** 2
    return (small if z >= 0.0 else 1.0) / (1.0 + small)


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _pair_sums(
    p: np.ndarray,
    q: np.ndarray,
    lam: np.ndarray,
    drawn: np.ndarray,
    code: int,
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
    fast = code != SQUARED_HINGE and high - low <= SPREAD
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
                if code == SIGMOID:
                    first *= 1.0 - first
                    second *= 1.0 - second
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
                    slope = _descent(p[i] - q[j], code)
                    count += 1.0
                    total += slope
                    down[j] += slope
        else:
            for j in range(len(q)):
                if q[j] > threshold:
                    slope = _descent(p[i] - q[j], code)
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


@njit(cache=True, error_model="numpy")
def _block(
    x: np.ndarray,
    pos_rows: np.ndarray,
    neg_rows: np.ndarray,
    signs: np.ndarray,
    center: np.ndarray,
    scale: np.ndarray,
    w: np.ndarray,
    v: np.ndarray,
    v_sum: np.ndarray,
    lam: np.ndarray,
    drift: np.ndarray,
    share: np.ndarray,
    pos_draws: np.ndarray,
    neg_draws: np.ndarray,
    first: int,
    eta: float,
    theta: float,
    mu: float,
    code: int,
    folded: np.ndarray,
) -> None:
    calls, width = v.shape
    count_i, count_j = pos_draws.shape[1], neg_draws.shape[1]
    head = count_i if len(pos_rows) else 0  # sampled rows of positives; none for SoRR
    rows = np.empty(head + count_j, dtype=np.int64)
    # Room for two calls always: a lone call costs no more, its rows are what takes time.
    raw = np.empty((2, len(rows)), dtype=folded.dtype)
    coef = np.zeros((2, len(rows)), dtype=folded.dtype)
    pulled = np.empty((2, width), dtype=folded.dtype)
    offset = np.empty(calls)
    p, up, above = np.zeros(count_i), np.empty(count_i), np.empty(count_i)
    q, down, shrunk = np.empty(count_j), np.empty(count_j), np.empty(count_j)
    mean = 1.0 / (count_i * count_j)
    keep, stay, move = mu / (mu + eta), eta / (mu + eta), eta * mu / (mu + eta)
    for step in range(len(pos_draws)):
        for k in range(head):
            rows[k] = pos_rows[pos_draws[step, k]]
        for k in range(count_j):
            rows[head + k] = neg_rows[neg_draws[step, k]]
        for s in range(calls):
            offset[s] = _fold(v[s], v_sum[s], scale, center, folded[s])
        _products(x, rows, folded, raw)
        for s in range(calls):
            for k in range(head):
                p[k] = raw[s, k] - offset[s]
            for k in range(count_j):
                q[k] = signs[neg_draws[step, k]] * (raw[s, head + k] - offset[s])
            _pair_sums(p, q, lam[s], pos_draws[step], code, up, down, shrunk, above)
            total = 0.0
            for k in range(head):
                coef[s, k] = -mean * up[k]
                total -= mean * up[k]
            for k in range(count_j):
                slope = mean * down[k] * signs[neg_draws[step, k]]
                coef[s, head + k] = slope
                total += slope
            offset[s] = total
            for k in range(count_i):  # Alg. 1 lines 7 and 8
                change = -theta * (share[s] - above[k] / count_j)
                lam[s, pos_draws[step, k]] += change
                drift[s, pos_draws[step, k]] += (first + step + 1) * change
        _pull(x, rows, coef, pulled)  # Alg. 1 line 5
        for s in range(calls):
            for f in range(width):  # Alg. 1 line 6, (v/eta + w/mu - G) / (1/eta + 1/mu)
                slope = (pulled[s, f] - offset[s] * center[f]) / scale[f]
                v[s, f] = keep * v[s, f] + stay * w[f] - move * slope
