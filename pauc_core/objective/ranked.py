"""The exact objective (3), its parts f^l and g^l, the SoRR loss, and their (sub)gradients.

Everything is a function of the scores h_w(x), computed in float64. Where scores tie on the edge of
a band, the negatives that come first in the array count as the higher ones: one valid subgradient,
and the same one on every machine.
"""

import numpy as np
from numpy.typing import ArrayLike

from pauc_core.bands import Band, Weights, fpr_band
from pauc_core.labelled import check_weights
from pauc_core.metrics import ranks
from pauc_core.objective.losses import Loss, get_loss
from pauc_core.objective.pair_sums import pair_sum, pair_sum_grad

__all__ = [
    "exact_lam",
    "f_l",
    "f_l_grad",
    "g_l",
    "moreau_gradient",
    "pauc_loss",
    "pauc_loss_grad",
    "ranks",
    "sorr_loss",
    "sorr_loss_grad",
]

_BLOCK_PAIRS = 1 << 21
ALL = Band(0.0, 1.0)


def pauc_loss(
    scores_pos: ArrayLike,
    scores_neg: ArrayLike,
    *,
    fpr_low: float | None = None,
    fpr_high: float | None = None,
    tpr_low: float | None = None,
    tpr_high: float | None = None,
    m: float | None = None,
    n: float | None = None,
    weights_pos: ArrayLike | None = None,
    weights_neg: ArrayLike | None = None,
    loss: str | Loss = "logistic",
) -> float:
    """Equation (3): the mean loss over the pairs in the band.

    Parameters
    ----------
    scores_pos, scores_neg : arrays of shape (N+,) and (N-,)
        Scores of the positives and of the negatives.
    fpr_low, fpr_high : float, optional
        The band as rates, rounded to whole ranks.
    tpr_low, tpr_high : float, optional
        The band as true positive rates instead: the mean over all negatives and the positives
        ranked in FPR [1 - tpr_high, 1 - tpr_low] of the problem with classes and signs exchanged.
    m, n : int, optional
        The band as ranks: the negatives ranked m + 1 to n. Give rates or ranks, not both.
    weights_pos, weights_neg : arrays of shape (N+,) and (N-,), optional
        Weights of 0 or more; one of them left out is 1 for every row. The band is then a range of
        the negatives' weight: nothing is rounded, m and n are any numbers, and an end may fall
        inside a row. A weight of 2 is the row twice, 0 the row left out.
    loss : str or Loss
        "logistic", "sigmoid" or "squared_hinge".
    """
    p, q = _scores(scores_pos, "scores_pos"), _scores(scores_neg, "scores_neg")
    a, b = _weights(weights_pos, weights_neg, p.size, q.size)
    band = _rates(fpr_low, fpr_high, tpr_low, tpr_high, m, n)
    p, q, a, b = band.classes(p, q, a, b)
    if a is not None and b is not None:
        p_in, q_in, a, b = _weighted_range(a, q, b, band, m, n)
        return pair_sum(p[p_in], q[q_in], get_loss(loss), a, b)
    first, last = _ranks(q.size, band, m, n)
    inside = np.partition(q, [q.size - last, q.size - first - 1])[q.size - last : q.size - first]
    return pair_sum(p, inside, get_loss(loss)) / (p.size * (last - first))


def pauc_loss_grad(
    scores_pos: ArrayLike,
    scores_neg: ArrayLike,
    *,
    fpr_low: float | None = None,
    fpr_high: float | None = None,
    tpr_low: float | None = None,
    tpr_high: float | None = None,
    m: float | None = None,
    n: float | None = None,
    weights_pos: ArrayLike | None = None,
    weights_neg: ArrayLike | None = None,
    loss: str | Loss = "logistic",
) -> tuple[float, np.ndarray, np.ndarray]:
    """Equation (3) and a subgradient of it by each score; arguments as for `pauc_loss`.

    Returns
    -------
    value, grad_pos, grad_neg : float, array of shape (N+,), array of shape (N-,)
    """
    p, q = _scores(scores_pos, "scores_pos"), _scores(scores_neg, "scores_neg")
    a, b = _weights(weights_pos, weights_neg, p.size, q.size)
    band = _rates(fpr_low, fpr_high, tpr_low, tpr_high, m, n)
    p, q, a, b = band.classes(p, q, a, b)
    if a is not None and b is not None:
        p_in, q_in, a, b = _weighted_range(a, q, b, band, m, n)
        grad_pos, grad_neg = np.zeros(p.size), np.zeros(q.size)
        value, grad_pos[p_in], grad_neg[q_in] = pair_sum_grad(
            p[p_in], q[q_in], get_loss(loss), a, b
        )
    else:
        first, last = _ranks(q.size, band, m, n)
        total, grad_pos, grad_neg = _range_grad(p, q, first, last, get_loss(loss))
        pairs = p.size * (last - first)
        value, grad_pos, grad_neg = total / pairs, grad_pos / pairs, grad_neg / pairs
    # Slopes are exchanged like the scores that they belong to.
    grad_pos, grad_neg, _, _ = band.classes(grad_pos, grad_neg, None, None)
    return value, grad_pos, grad_neg


def f_l(
    scores_pos: ArrayLike, scores_neg: ArrayLike, l: int, *, loss: str | Loss = "logistic"
) -> float:
    """Equation (6): the sum over positives of the l largest losses, not normalised."""
    p, q = _scores(scores_pos, "scores_pos"), _scores(scores_neg, "scores_neg")
    _check_rank(l, q.size)
    if l == 0:
        return 0.0
    return pair_sum(p, np.partition(q, q.size - l)[q.size - l :], get_loss(loss))


def f_l_grad(
    scores_pos: ArrayLike, scores_neg: ArrayLike, l: int, *, loss: str | Loss = "logistic"
) -> tuple[float, np.ndarray, np.ndarray]:
    """Equation (6) and a subgradient of it by each score."""
    p, q = _scores(scores_pos, "scores_pos"), _scores(scores_neg, "scores_neg")
    _check_rank(l, q.size)
    if l == 0:
        return 0.0, np.zeros(p.size), np.zeros(q.size)
    return _range_grad(p, q, 0, l, get_loss(loss))


def g_l(
    scores_pos: ArrayLike,
    scores_neg: ArrayLike,
    lam: ArrayLike,
    l: int,
    *,
    loss: str | Loss = "logistic",
) -> float:
    """Equation (12): l sum(lam) + sum over pairs of [s_ij - lam_i]_+, by looking at every pair."""
    p, q = _scores(scores_pos, "scores_pos"), _scores(scores_neg, "scores_neg")
    _check_rank(l, q.size)
    lam = np.broadcast_to(np.asarray(lam, dtype=np.float64), p.shape)
    value = get_loss(loss).value
    rows = max(1, _BLOCK_PAIRS // q.size)
    excess = 0.0
    for start in range(0, p.size, rows):
        block = slice(start, start + rows)
        losses = value(p[block, None] - q)
        excess += float(np.maximum(losses - lam[block, None], 0.0).sum())
    return l * float(lam.sum()) + excess


def exact_lam(
    scores_pos: ArrayLike, scores_neg: ArrayLike, l: int, *, loss: str | Loss = "logistic"
) -> np.ndarray:
    """A minimiser of (12) over lam: each positive's l-th largest loss (the largest for l = 0)."""
    p, q = _scores(scores_pos, "scores_pos"), _scores(scores_neg, "scores_neg")
    _check_rank(l, q.size)
    place = q.size - max(l, 1)
    return get_loss(loss).value(p - np.partition(q, place)[place])


def moreau_gradient(v_m: np.ndarray, v_n: np.ndarray, mu: float) -> np.ndarray:
    """Lemma 2: the gradient of F^mu at w, from the proximal points of f^m and f^n at w."""
    return (v_m - v_n) / mu


def sorr_loss(losses: ArrayLike, m: int, n: int) -> float:
    """Mean of the losses ranked m + 1 to n: (phi_n - phi_m) / (n - m), equations (4) and (7)."""
    s = _scores(losses, "losses")
    m, n = _check_ranks(s.size, m, n)
    return float(np.partition(s, [s.size - n, s.size - m - 1])[s.size - n : s.size - m].mean())


def sorr_loss_grad(losses: ArrayLike, m: int, n: int) -> tuple[float, np.ndarray]:
    """`sorr_loss` and a subgradient of it by each loss."""
    s = _scores(losses, "losses")
    m, n = _check_ranks(s.size, m, n)
    inside = _in_range(s, m, n)
    weights = np.zeros(s.size)
    weights[inside] = 1.0 / (n - m)
    return float(s[inside].mean()), weights


def _range_grad(
    p: np.ndarray, q: np.ndarray, m: int, n: int, loss: Loss
) -> tuple[float, np.ndarray, np.ndarray]:
    inside = _in_range(q, m, n)
    value, grad_pos, grad_band = pair_sum_grad(p, q[inside], loss)
    grad_neg = np.zeros(q.size)
    grad_neg[inside] = grad_band
    return value, grad_pos, grad_neg


def _in_range(values: np.ndarray, m: int, n: int) -> np.ndarray:
    """Indices of the values ranked m + 1 to n, the largest being ranked first."""
    size = values.size
    upper, lower = np.partition(values, [size - n, size - m - 1])[[size - m - 1, size - n]]
    inside = (values < upper) & (values > lower)
    # Ties on an edge: the first in the array rank higher.
    ties = np.flatnonzero(values == upper)
    skipped = m - np.count_nonzero(values > upper)
    if upper == lower:
        return ties[skipped : skipped + n - m]
    inside[ties[skipped:]] = True
    ties = np.flatnonzero(values == lower)
    inside[ties[: n - np.count_nonzero(values > lower)]] = True
    return np.flatnonzero(inside)


def _rates(
    fpr_low: float | None,
    fpr_high: float | None,
    tpr_low: float | None,
    tpr_high: float | None,
    m: float | None,
    n: float | None,
) -> Band:
    """The band as rates; all of them where it is given by ranks."""
    by_tpr = tpr_low is not None or tpr_high is not None
    if m is None and n is None:
        if by_tpr and fpr_low is None and fpr_high is None:
            return fpr_band(tpr_low=tpr_low, tpr_high=tpr_high)
        if not by_tpr and fpr_low is not None and fpr_high is not None:
            return fpr_band(fpr_low, fpr_high)
    elif not (m is None or n is None or by_tpr or fpr_low is not None or fpr_high is not None):
        return ALL
    raise ValueError(
        "The band is unclear: give either fpr_low and fpr_high, or m and n, or tpr_low and "
        "tpr_high."
    )


def _ranks(n_neg: int, band: Band, m: float | None, n: float | None) -> tuple[int, int]:
    """The band as whole ranks."""
    if m is None or n is None:
        return ranks(n_neg, band.low, band.high)
    return _check_ranks(n_neg, m, n)


def _check_ranks(n_neg: int, m: float, n: float) -> tuple[int, int]:
    if int(m) != m or int(n) != n or not 0 <= m < n <= n_neg:
        raise ValueError(
            f"The ranks m = {m}, n = {n} are no range of {n_neg} values: "
            f"expected whole numbers with 0 <= m < n <= {n_neg}."
        )
    return int(m), int(n)


def _weights(
    weights_pos: ArrayLike | None, weights_neg: ArrayLike | None, n_pos: int, n_neg: int
) -> tuple[Weights, Weights]:
    """Weights of both classes, or of none."""
    a = check_weights(weights_pos, n_pos, "weights_pos")
    b = check_weights(weights_neg, n_neg, "weights_neg")
    if a is None and b is None:
        return None, None
    return np.ones(n_pos) if a is None else a, np.ones(n_neg) if b is None else b


def _weighted_range(
    a: np.ndarray, q: np.ndarray, b: np.ndarray, band: Band, m: float | None, n: float | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Which positives and negatives have pairs in the band, and their shares of these pairs."""
    order = np.argsort(-q, kind="stable")  # ties on an edge: the first in the array rank higher
    passed = np.append(0.0, np.cumsum(b[order]))
    if m is None or n is None:
        m, n = band.low * passed[-1], band.high * passed[-1]
    elif not 0 <= m < n <= passed[-1] * (1 + 1e-12):
        raise ValueError(
            f"m = {m}, n = {n} are no range of the negatives' weight: "
            f"expected 0 <= m < n <= {passed[-1]}."
        )
    shares = np.empty(q.size)
    shares[order] = np.minimum(passed[1:], n) - np.maximum(passed[:-1], m)
    p_in, q_in = np.flatnonzero(a > 0), np.flatnonzero(shares > 0)
    return p_in, q_in, a[p_in] / a.sum(), shares[q_in] / shares[q_in].sum()


def _check_rank(l: int, n_neg: int) -> None:
    if int(l) != l or not 0 <= l <= n_neg:
        raise ValueError(f"The rank l = {l} is not a whole number between 0 and N- = {n_neg}.")


def _scores(values: ArrayLike, name: str) -> np.ndarray:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not array.size:
        raise ValueError(
            f"{name} has shape {array.shape}: expected one number per row, shape (n,)."
        )
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds NaN or infinite values: expected finite numbers.")
    return array
