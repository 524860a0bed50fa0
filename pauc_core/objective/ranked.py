"""The exact objective (3), its parts f^l and g^l, the SoRR loss, and their (sub)gradients.

Everything is a function of the scores h_w(x), computed in float64. Where scores tie on the edge of
a band, the negatives that come first in the array count as the higher ones: one valid subgradient,
and the same one on every machine.
"""

import numpy as np
from numpy.typing import ArrayLike

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


def pauc_loss(
    scores_pos: ArrayLike,
    scores_neg: ArrayLike,
    *,
    fpr_low: float | None = None,
    fpr_high: float | None = None,
    m: int | None = None,
    n: int | None = None,
    loss: str | Loss = "logistic",
) -> float:
    """Equation (3): the mean loss over the pairs in the band.

    Parameters
    ----------
    scores_pos, scores_neg : arrays of shape (N+,) and (N-,)
        Scores of the positives and of the negatives.
    fpr_low, fpr_high : float, optional
        The band as rates, rounded to whole ranks.
    m, n : int, optional
        The band as ranks: the negatives ranked m + 1 to n. Give rates or ranks, not both.
    loss : str or Loss
        "logistic", "sigmoid" or "squared_hinge".
    """
    p, q = _scores(scores_pos, "scores_pos"), _scores(scores_neg, "scores_neg")
    m, n = _band(q.size, fpr_low, fpr_high, m, n)
    band = np.partition(q, [q.size - n, q.size - m - 1])[q.size - n : q.size - m]
    return pair_sum(p, band, get_loss(loss)) / (p.size * (n - m))


def pauc_loss_grad(
    scores_pos: ArrayLike,
    scores_neg: ArrayLike,
    *,
    fpr_low: float | None = None,
    fpr_high: float | None = None,
    m: int | None = None,
    n: int | None = None,
    loss: str | Loss = "logistic",
) -> tuple[float, np.ndarray, np.ndarray]:
    """Equation (3) and a subgradient of it by each score; arguments as for `pauc_loss`.

    Returns
    -------
    value, grad_pos, grad_neg : float, array of shape (N+,), array of shape (N-,)
    """
    p, q = _scores(scores_pos, "scores_pos"), _scores(scores_neg, "scores_neg")
    m, n = _band(q.size, fpr_low, fpr_high, m, n)
    value, grad_pos, grad_neg = _range_grad(p, q, m, n, get_loss(loss))
    pairs = p.size * (n - m)
    return value / pairs, grad_pos / pairs, grad_neg / pairs


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
    m, n = _band(s.size, None, None, m, n)
    return float(np.partition(s, [s.size - n, s.size - m - 1])[s.size - n : s.size - m].mean())


def sorr_loss_grad(losses: ArrayLike, m: int, n: int) -> tuple[float, np.ndarray]:
    """`sorr_loss` and a subgradient of it by each loss."""
    s = _scores(losses, "losses")
    m, n = _band(s.size, None, None, m, n)
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


def _band(
    n_neg: int, fpr_low: float | None, fpr_high: float | None, m: int | None, n: int | None
) -> tuple[int, int]:
    if m is None and n is None and fpr_low is not None and fpr_high is not None:
        return ranks(n_neg, fpr_low, fpr_high)
    if m is None or n is None or fpr_low is not None or fpr_high is not None:
        raise ValueError("The band is unclear: give either fpr_low and fpr_high, or m and n.")
    if int(m) != m or int(n) != n or not 0 <= m < n <= n_neg:
        raise ValueError(
            f"The ranks m = {m}, n = {n} are no range of {n_neg} values: "
            f"expected whole numbers with 0 <= m < n <= {n_neg}."
        )
    return int(m), int(n)


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
