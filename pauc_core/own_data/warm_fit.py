"""A linear model for the band: logistic regression first, then L-BFGS on the exact objective (3).

Features are standardised without being copied: center and scale are folded into the weights, so
sparse arrays stay sparse. Every pass scores all rows at once, the held-out ones included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import OptimizeResult, minimize
from scipy.special import expit

from pauc_core.metrics import ranks
from pauc_core.objective import pauc_loss_grad

BLOCK = 8192  # rows of a dense array squared at a time
START_TOL = 1e-4  # of the logistic start: largest gradient entry of the mean loss
SPREAD = 6.0  # deviation that the starting scores are given, in units of the loss's bend
SLACK = 2.0  # standard errors below the best held-out pAUC that still count as equal to it

Watch = Callable[[int, float, float], None]


@dataclass(frozen=True)
class ScaledRows:
    """Rows ``(x - center) / scale`` of a dense or CSR array, never made."""

    x: Any
    center: np.ndarray
    scale: np.ndarray

    @classmethod
    def fit(cls, x: Any, rows: np.ndarray) -> ScaledRows:
        """Learn center and scale on the given rows (a mask)."""
        share = rows / np.count_nonzero(rows)
        center = _product(share, x)
        if sp.issparse(x):
            squares = x.copy()
            squares.data = squares.data.astype(np.float64) ** 2
            variance = _product(share, squares) - center**2
        else:
            variance = np.zeros(x.shape[1])
            for i in range(0, len(x), BLOCK):
                variance += share[i : i + BLOCK] @ np.square(x[i : i + BLOCK] - center)
        flat = variance <= 1e-12 * np.maximum(center**2, np.finfo(np.float64).tiny)
        return cls(x, center, np.sqrt(np.where(flat, 1.0, variance)))

    def scores(self, w: np.ndarray) -> np.ndarray:
        coef, offset = self.unscaled(w)
        product = self.x @ coef.astype(self.x.dtype, copy=False)
        return np.asarray(product, dtype=np.float64) + offset

    def pull(self, slopes: np.ndarray) -> np.ndarray:
        """Gradient by the weights from slopes by the scores."""
        return (_product(slopes, self.x) - slopes.sum() * self.center) / self.scale

    def unscaled(self, w: np.ndarray) -> tuple[np.ndarray, float]:
        """Weights and offset for rows as they came."""
        coef = w / self.scale
        return coef, -float(self.center @ coef)


def _product(left: np.ndarray, x: Any) -> np.ndarray:
    return np.asarray(x.T @ left.astype(x.dtype, copy=False), dtype=np.float64)


def logistic_start(
    rows: ScaledRows, positive: np.ndarray, train: np.ndarray, max_iter: int
) -> tuple[np.ndarray, int]:
    """Weights of a logistic regression with scikit-learn's default penalty, and its iterations."""
    sign = np.where(positive, 1.0, -1.0)
    size = np.count_nonzero(train)
    share = train / size

    def loss(u: np.ndarray) -> tuple[float, np.ndarray]:
        w, intercept = u[:-1], u[-1]
        margin = sign * (rows.scores(w) + intercept)
        slopes = -sign * share * expit(-margin)
        value = float(share @ np.logaddexp(0.0, -margin)) + w @ w / (2 * size)
        return value, np.append(rows.pull(slopes) + w / size, slopes.sum())

    start = np.zeros(len(rows.scale) + 1)
    found = minimize(
        loss,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iter, "gtol": START_TOL, "ftol": 64 * np.finfo(float).eps},
    )
    return found.x[:-1], int(found.nit)


@dataclass(frozen=True)
class Band:
    """Held-out (or, where nothing is held out, training) rows and the band among them."""

    positives: np.ndarray
    negatives: np.ndarray
    m: int
    n: int

    def shares(self, scores: np.ndarray) -> np.ndarray:
        """For each positive the share of in-band negatives below it, ties by half.

        The mean is the pAUC of equation (2).
        """
        q = scores[self.negatives]
        size = len(q)
        edges = [size - self.n, size - self.m - 1]
        band = np.sort(np.partition(q, edges)[size - self.n : size - self.m])
        p = scores[self.positives]
        twice = np.searchsorted(band, p, side="left") + np.searchsorted(band, p, side="right")
        return np.asarray(twice / (2.0 * (self.n - self.m)))


@dataclass
class Path:
    """What the optimiser passed through; the first entry is the start."""

    weights: list[np.ndarray] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    held_out: list[float] = field(default_factory=list)
    kept: int = 0


def polish(
    rows: ScaledRows,
    positive: np.ndarray,
    train: np.ndarray,
    held_out: Band,
    start: np.ndarray,
    *,
    fpr_low: float,
    fpr_high: float,
    loss: str,
    penalty: float,
    max_iter: int,
    patience: int,
    tol: float,
    watch: Watch | None = None,
) -> Path:
    """Follow L-BFGS on (3) from ``start`` and choose one of its iterates on held-out rows.

    ``penalty`` / N+ times |w|^2 / 2 is added to (3). The run ends when the objective falls by less
    than ``tol`` in an iteration, after ``max_iter``, or when the held-out pAUC has been clearly
    below its best for ``patience`` iterations.
    """
    pos, neg = np.flatnonzero(positive & train), np.flatnonzero(~positive & train)
    m, n = ranks(len(neg), fpr_low, fpr_high)
    weight = penalty / len(pos)
    seen: dict[str, Any] = {}

    def objective(w: np.ndarray) -> tuple[float, np.ndarray]:
        scores = rows.scores(w)
        value, slope_pos, slope_neg = pauc_loss_grad(scores[pos], scores[neg], m=m, n=n, loss=loss)
        slopes = np.zeros(len(scores))
        slopes[pos], slopes[neg] = slope_pos, slope_neg
        seen.update(w=w.copy(), scores=scores, value=value)
        return value + weight * (w @ w) / 2, rows.pull(slopes) + weight * w

    path = Path()
    best: list[np.ndarray] = []
    worse = 0

    def look(intermediate_result: Any) -> None:
        nonlocal worse
        w = np.array(intermediate_result.x)
        if not np.array_equal(seen["w"], w):
            objective(w)
        shares = held_out.shares(seen["scores"])
        path.weights.append(w)
        path.losses.append(float(seen["value"]))
        path.held_out.append(float(shares.mean()))
        if path.held_out[-1] >= max(path.held_out):
            best[:] = [shares]
        worse = worse + 1 if _clearly_below(shares, best[0]) else 0
        if watch is not None:
            watch(len(path.weights) - 1, path.losses[-1], path.held_out[-1])
        if worse >= patience:
            raise StopIteration

    w = start * (SPREAD / max(float(np.std(rows.scores(start)[train])), 1e-12))
    objective(w)
    look(OptimizeResult(x=w))
    minimize(
        objective,
        w,
        jac=True,
        method="L-BFGS-B",
        callback=look,
        options={"maxiter": max_iter, "maxfun": 3 * max_iter, "ftol": tol, "gtol": 0.0},
    )
    path.kept = _keep(path, rows, held_out, best[0])
    return path


def _keep(path: Path, rows: ScaledRows, held_out: Band, best: np.ndarray) -> int:
    """The last iterate that validates no worse than the start and not clearly below the best.

    The best of many noisy held-out values is mostly luck; among those that cannot be told from it
    the last one has the lowest training loss.
    """
    for k in range(len(path.weights) - 1, 0, -1):
        if path.held_out[k] >= path.held_out[0]:
            shares = held_out.shares(rows.scores(path.weights[k]))
            if not _clearly_below(shares, best):
                return k
    return 0


def _clearly_below(shares: np.ndarray, best: np.ndarray) -> bool:
    """Whether the mean over the same positives is more than SLACK standard errors lower."""
    gap = best - shares
    return bool(gap.mean() > SLACK * gap.std() / np.sqrt(len(gap)))
