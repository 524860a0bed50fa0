"""Slow and obvious versions of what the package does fast. One section per room."""

import itertools
import math

import numpy as np

from pauc_core.objective.losses import get_loss

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


def delong_standard_error(y, scores):
    """DeLong's standard error of the whole AUC, from the placements of every pair."""
    gaps = scores[y][:, None] - scores[~y][None, :]
    won = (gaps > 0) + 0.5 * (gaps == 0)
    by_pos, by_neg = won.mean(axis=1), won.mean(axis=0)
    return np.sqrt(by_pos.var(ddof=1) / by_pos.size + by_neg.var(ddof=1) / by_neg.size)


def influence_by_leaving_out(y, scores, low, high):
    """Each row's influence on the pAUC: -(n - 1) times the area without it, centred by class."""
    rows = np.zeros(y.size)
    for members in (y, ~y):
        if members.sum() > 1:
            for i in np.flatnonzero(members):
                kept = np.arange(y.size) != i
                area = pauc_by_trapezoids(y[kept], scores[kept], low, high)
                rows[i] = -(members.sum() - 1) * area / (high - low)
            rows[members] -= rows[members].mean()
    return rows


def influence_of_a_mean_row(y, scores, weights, low, high, step=1e-6):
    """Importance-weighted influence by changing weights a little, for rows without ties.

    A row's share of its class times the slope of the pAUC by that share, centred.
    """
    rows = np.zeros(y.size)

    def area(w):
        ends = np.cumsum(w[~y][np.argsort(-scores[~y])])
        total, ranks = ends[-1], np.append(0.0, ends)
        above = ranks[[(scores[~y] > s).sum() for s in scores[y]]]
        inside = np.clip(high * total - above, 0.0, (high - low) * total)
        return np.average(inside, weights=w[y]) / (total * (high - low))

    for i in range(y.size):
        up, down = weights.copy(), weights.copy()
        up[i] += step
        down[i] -= step
        rows[i] = (area(up) - area(down)) / (2 * step) * weights[i]
    for members in (y, ~y):
        rows[members] *= members.sum()
    return rows


def influence_winsorised(y, scores, low, high):
    """What the influence tends to: shares of the band below, and S at scores kept within it."""
    ends = np.quantile(scores[~y], [1 - high, 1 - low])
    rows = np.empty(y.size)
    band = scores[~y & (scores >= ends[0]) & (scores <= ends[1])]
    rows[y] = [(band < p).mean() for p in scores[y]]
    rows[~y] = [(scores[y] > np.clip(q, *ends)).mean() / (high - low) for q in scores[~y]]
    for members in (y, ~y):
        rows[members] -= rows[members].mean()
    return rows


def redrawn(y, statistic, rng, times, groups=None):
    """A statistic of row numbers over redraws of rows within classes, or of whole groups."""
    classes = [np.flatnonzero(y), np.flatnonzero(~y)]
    named = [] if groups is None else [np.flatnonzero(groups == g) for g in np.unique(groups)]

    def redraw():
        if named:
            return np.concatenate([named[g] for g in rng.integers(len(named), size=len(named))])
        return np.concatenate([rows[rng.integers(len(rows), size=len(rows))] for rows in classes])

    return np.array([statistic(redraw()) for _ in range(times)])


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


def weighted_loss_by_pairs(p, q, a, b, m, n, loss):
    """Weighted (3), pair by pair: each negative counts with its weight between m and n."""
    inside, passed = np.zeros(q.size), 0.0
    for j in np.argsort(-q, kind="stable"):
        inside[j] = max(0.0, min(passed + b[j], n) - max(passed, m))
        passed += b[j]
    losses = get_loss(loss).value(p[:, None] - q[None, :]).astype(np.longdouble)
    return float(a @ losses @ inside / (a.sum() * (n - m)))


def central_difference(function, x, step=1e-6):
    """Gradient of a function of one vector, coordinate by coordinate."""
    gradient = np.empty(x.size)
    for i in range(x.size):
        up, down = x.copy(), x.copy()
        up[i] += step
        down[i] -= step
        gradient[i] = (function(up) - function(down)) / (2 * step)
    return gradient


# --- SVM_pAUC-tight and DCA ---------------------------------------------------------------------


def slack_by_ranks(p, q, a, b):
    """The largest violation at given scores, trying every rank r of every positive."""
    jb = int(np.ceil(b))
    r = np.arange(jb + 1)
    lost = np.maximum(0.0, np.minimum(r, b) - a)
    above = np.append(0.0, np.cumsum(np.sort(q)[::-1][:jb]))
    return (lost - r * p[:, None] + above).max(axis=1).sum() / (len(p) * (b - a))


def slack_by_orderings(p, q, a, b):
    """The same, trying every choice and every ordering of ceil(b) negatives."""
    jb = int(np.ceil(b))
    r = np.arange(jb + 1)
    lost = np.maximum(0.0, np.minimum(r, b) - a)
    orders = np.array(list(itertools.permutations(q, jb)))
    above = np.hstack([np.zeros((len(orders), 1)), np.cumsum(orders, axis=1)])
    values = lost - r * p[:, None, None] + above
    return values.max(axis=2).sum(axis=0).max() / (len(p) * (b - a))


def dca_inner_as_printed(x, y, w, lam, xi, n, steps, draws, centre, L, loss):
    """Algorithm 4 for the pAUC on dense pairs in the paper's units; L/2 |w - centre|^2 beside it.

    ``xi`` and ``L`` belong to the unnormalised sum; ``steps`` is (eta, theta).
    """
    pos, neg = x[y], x[~y]
    loss, (eta, theta) = get_loss(loss), steps
    w, lam = w.copy(), lam.copy()
    for i, j in zip(*draws, strict=True):
        gaps = (pos[i] @ w)[:, None] - (neg[j] @ w)[None, :]
        active = loss.value(gaps) > lam[i, None]
        slope = loss.slope(gaps) * active * len(pos) * len(neg) / active.size
        gradient = slope.sum(axis=1) @ pos[i] - slope.sum(axis=0) @ neg[j] - xi
        w = (w / eta + L * centre - gradient) / (1 / eta + L)
        lam[i] -= theta * (n - len(neg) / len(j) * active.sum(axis=1))
    return w, lam


def dca_as_released(x, y, x_valid, y_valid, w, m, n, outer, inner, step_size):
    """Full-batch DCA for SoRR with an intercept column, logistic loss; all weights passed."""
    x, x_valid = np.c_[x, np.ones(len(x))], np.c_[x_valid, np.ones(len(x_valid))]

    def top_gradient(w, top):
        prob = 1 / (1 + np.exp(-x @ w))
        losses = -np.where(y, np.log(prob), np.log(1 - prob))
        errors = np.where(losses >= np.sort(losses)[::-1][top - 1], prob - y, 0.0)
        return errors @ x / len(x)

    passed = []
    for _ in range(outer):
        xi, w, best = top_gradient(w, m), np.zeros(x.shape[1]), 0.0
        for _ in range(inner):
            w = w - step_size * (top_gradient(w, n) - xi)
            passed.append(w)
            accuracy = np.mean((x_valid @ w > 0) == y_valid)
            if accuracy >= best:
                best, kept = accuracy, w
        w = passed[-1] = kept
    return passed


# --- Algorithm 1 --------------------------------------------------------------------------------


def sbcd_as_printed(x_pos, x_neg, w, lam, l, mu, eta, theta, draws, loss="logistic"):
    """Algorithm 1 pair by pair in the paper's units; (vbar, lambar, v, lam) after all draws."""
    value, slope = get_loss(loss).value, get_loss(loss).slope
    n_pos, n_neg = len(x_pos), len(x_neg)
    v, lam = np.array(w), np.array(lam)
    v_bar, lam_bar = np.zeros_like(v), np.zeros_like(lam)
    for drawn_pos, drawn_neg in draws:
        v_bar += v / len(draws)
        lam_bar += lam / len(draws)
        grad_v = np.zeros_like(v)
        grad_lam = {i: float(l) for i in drawn_pos}
        for i in drawn_pos:
            for j in drawn_neg:
                gap = v @ x_pos[i] - v @ x_neg[j]
                if value(gap) > lam[i]:
                    grad_v += slope(gap) * (x_pos[i] - x_neg[j])
                    grad_lam[i] -= n_neg / len(drawn_neg)
        grad_v *= n_pos * n_neg / (len(drawn_pos) * len(drawn_neg))
        v = (v / eta + w / mu - grad_v) / (1 / eta + 1 / mu)
        for i, change in grad_lam.items():
            lam[i] -= theta * change
    return v_bar, lam_bar, v, lam


def sgd_sorr_as_printed(x, y, w, lam, l, mu, eta, theta, draws, loss="logistic"):
    """Algorithm 3 row by row in the paper's units; lam is one number."""
    value, slope = get_loss(loss).value, get_loss(loss).slope
    v, n = np.array(w), len(x)
    v_bar, lam_bar = np.zeros_like(v), 0.0
    for drawn in draws:
        v_bar += v / len(draws)
        lam_bar += lam / len(draws)
        grad_v, grad_lam = np.zeros_like(v), float(l)
        for j in drawn:
            sign = 1.0 if y[j] else -1.0
            gap = sign * (v @ x[j])
            if value(gap) > lam:
                grad_v += n / len(drawn) * slope(gap) * sign * x[j]
                grad_lam -= n / len(drawn)
        v = (v / eta + w / mu - grad_v) / (1 / eta + 1 / mu)
        lam -= theta * grad_lam
    return v_bar, lam_bar, v, lam


def proximal_point(x_pos, x_neg, w, l, mu, rounds=20_000):
    """argmin_v f^l(v)/(N+N-) + |v - w|^2 / (2 mu') by a long deterministic subgradient method."""
    pairs = len(x_pos) * len(x_neg)
    v, mean = np.array(w), np.array(w)
    for t in range(rounds):
        q, p = x_neg @ v, x_pos @ v
        top = np.argsort(-q, kind="stable")[:l]
        down = 1 / (1 + np.exp(p[:, None] - q[top][None, :])) / pairs
        grad = x_neg[top].T @ down.sum(0) - x_pos.T @ down.sum(1) + (v - w) / mu
        mean += (v - mean) * 2 / (t + 2)  # weights that grow with t
        v = v - 2 * mu / (t + 2) * grad
    return mean


def same_convolution(x: np.ndarray, weight: np.ndarray, stride: int, groups: int) -> np.ndarray:
    """A convolution with as many outputs as stride steps begin in the picture, pixel by pixel.

    The window of output (i, j) begins at (i, j) * stride less half of what is missing in all,
    rounded down; outside the picture there are zeros.
    """
    rows, _, height, width = x.shape
    channels, per_group, kernel, _ = weight.shape
    out = np.zeros((rows, channels, math.ceil(height / stride), math.ceil(width / stride)))
    missing = [
        max((math.ceil(side / stride) - 1) * stride + kernel - side, 0) for side in (height, width)
    ]
    for r, c, i, j in np.ndindex(out.shape):
        first = (c // (channels // groups)) * per_group
        for k, a, b in np.ndindex(per_group, kernel, kernel):
            y, z = i * stride - missing[0] // 2 + a, j * stride - missing[1] // 2 + b
            if 0 <= y < height and 0 <= z < width:
                out[r, c, i, j] += weight[c, k, a, b] * x[r, first + k, y, z]
    return out


# --- rivals after the paper ---------------------------------------------------------------------


def adam_as_printed(w, gradients, lrs):
    """Kingma and Ba's Algorithm 1 over gradients that are functions of w."""
    first, second = np.zeros_like(w), np.zeros_like(w)
    for t, (gradient, lr) in enumerate(zip(gradients, lrs, strict=True), start=1):
        g = gradient(w)
        first, second = 0.9 * first + 0.1 * g, 0.999 * second + 0.001 * g**2
        w = w - lr * (first / (1 - 0.9**t)) / (np.sqrt(second / (1 - 0.999**t)) + 1e-8)
    return w


def sopa_gradient(x, w, s, pos, neg, eta_s, b, loss):
    """One step of SOPA pair by pair: the gradient, with s (by row number) renewed in place."""
    loss, gradient = get_loss(loss), np.zeros_like(w)
    for i in pos:
        active = [j for j in neg if loss.value(x[i] @ w - x[j] @ w) > s[i]]
        for j in active:
            slope = loss.slope(x[i] @ w - x[j] @ w)
            gradient += slope * (x[i] - x[j]) / (b * len(pos) * len(neg))
        s[i] -= eta_s * (1 - len(active) / (b * len(neg)))
    return gradient


def sopa_s_gradient(x, w, u, pos, neg, Lambda, g, loss):
    """One step of SOPA-s pair by pair: the gradient, with u (by row number) renewed in place."""
    loss, gradient = get_loss(loss), np.zeros_like(w)
    for i in pos:
        gaps = np.array([x[i] @ w - x[j] @ w for j in neg])
        u[i] = (1 - g) * u[i] + g * np.mean(np.exp(loss.value(gaps) / Lambda))
        for j, gap in zip(neg, gaps, strict=True):
            weight = np.exp(loss.value(gap) / Lambda) / u[i]
            gradient += weight * loss.slope(gap) * (x[i] - x[j]) / (len(pos) * len(neg))
    return gradient


def pauci_value(pos, neg, a, b_, s, lam, g, b, kappa):
    """PAUCI's saddle on scores in [0, 1], as printed."""
    soft = np.log1p(np.exp(kappa * ((neg - b_) ** 2 + 2 * (1 + g) * neg - s))) / kappa
    first = np.mean((pos - a) ** 2 - 2 * (1 + g) * pos)
    return first + s + np.mean(soft) / b - g**2 - lam * (b_ - 1 - g)
