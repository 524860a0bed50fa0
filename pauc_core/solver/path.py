"""A path of linear fits: logistic regression, then (3) with a rising penalty, each from the last.

The path knows its rows by two passes alone, scores forth and slopes back, so that dense, sparse
and scaled rows are all the same to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.optimize import OptimizeResult, minimize
from scipy.special import expit

from pauc_core.metrics import ranks
from pauc_core.objective import pauc_loss_grad

START_TOL = 1e-4  # of a logistic regression: largest gradient entry of the mean loss
STEPS = 5  # iterations over which the fall of (3) is measured
SPREAD = 6.0  # deviation that the starting scores are given, in units of the loss's bend


class Rows(Protocol):
    """Rows of a linear model."""

    @property
    def width(self) -> int:
        """How many weights there are."""

    def scores(self, w: np.ndarray) -> np.ndarray:
        """One number a row."""

    def pull(self, slopes: np.ndarray) -> np.ndarray:
        """Gradient by the weights from slopes by the scores."""


@dataclass(frozen=True)
class Training:
    """Some rows to learn from (masks over all of them) and the band of false positive rates.

    Where rows have weights a penalty is divided by sums of weights instead of counts.
    """

    rows: Rows
    positive: np.ndarray
    train: np.ndarray
    fpr_low: float
    fpr_high: float
    weights: np.ndarray | None = None

    def mass(self, members: np.ndarray) -> float:
        """How many of these rows there are to learn from, or what they weigh together."""
        inside = members & self.train
        if self.weights is None:
            return float(np.count_nonzero(inside))
        return float(self.weights[inside].sum())


def fit_logistic(
    training: Training,
    class_weights: tuple[float, float],
    start: np.ndarray,
    max_iter: int,
    penalty: float = 1.0,
) -> tuple[np.ndarray, int]:
    """Logistic regression, with scikit-learn's penalty unless told: its weights, its iterations.

    ``class_weights`` are those of a negative and of a positive row; the last entry of ``start``
    and of what is found is the intercept.
    """
    rows, positive, train = training.rows, training.positive, training.train
    sign = np.where(positive, np.int8(1), np.int8(-1))
    size = training.mass(train)
    share = np.where(positive, class_weights[1], class_weights[0]) * train / size
    if training.weights is not None:
        share *= training.weights

    def loss(u: np.ndarray) -> tuple[float, np.ndarray]:
        w, intercept = u[:-1], u[-1]
        margin = rows.scores(w)
        margin += intercept
        margin *= sign
        value = float(share @ np.logaddexp(0.0, -margin)) + penalty * (w @ w) / (2 * size)
        slopes = expit(np.negative(margin, out=margin), out=margin)
        slopes *= share
        slopes *= -sign
        return value, np.append(rows.pull(slopes) + penalty * w / size, slopes.sum())

    found = minimize(
        loss,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iter, "gtol": START_TOL, "ftol": 64 * np.finfo(float).eps},
    )
    return found.x, int(found.nit)


def fit_band(
    training: Training,
    start: np.ndarray,
    *,
    loss: str,
    penalty: float,
    max_iter: int,
    tol: float,
) -> tuple[np.ndarray, int]:
    """L-BFGS on (3) plus ``penalty`` / N+ times |w|^2 / 2 from ``start``: weights, iterations.

    It ends when the objective falls by less than ``tol`` in five iterations, or after ``max_iter``.
    """
    rows = training.rows
    pos, neg = training.positive & training.train, ~training.positive & training.train
    weight = penalty / training.mass(training.positive)
    band: dict[str, Any]
    if training.weights is None:
        m, n = ranks(int(neg.sum()), training.fpr_low, training.fpr_high)
        band = {"m": m, "n": n}
    else:
        band = {"fpr_low": training.fpr_low, "fpr_high": training.fpr_high}
        band.update(weights_pos=training.weights[pos], weights_neg=training.weights[neg])

    def objective(w: np.ndarray) -> tuple[float, np.ndarray]:
        # Many rows and several threads: what has been used is given back.
        scores = rows.scores(w)
        p, q = scores[pos], scores[neg]
        del scores
        value, by_pos, by_neg = pauc_loss_grad(p, q, loss=loss, **band)
        slopes = np.zeros(len(pos))
        slopes[pos], slopes[neg] = by_pos, by_neg
        return value + weight * (w @ w) / 2, rows.pull(slopes) + weight * w

    falls: list[float] = []

    def look(intermediate_result: OptimizeResult) -> None:
        falls.append(float(intermediate_result.fun))
        # One step may be short because it was the first, or because the band changed its rows.
        if len(falls) > STEPS and falls[-STEPS - 1] - falls[-1] < tol:
            raise StopIteration

    found = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        callback=look,
        options={"maxiter": max_iter, "maxfun": 3 * max_iter, "ftol": 0.0, "gtol": 0.0},
    )
    return found.x, int(found.nit)


def follow(
    training: Training,
    start: np.ndarray,
    *,
    loss: str,
    penalties: Sequence[float],
    max_iter: int,
    tol: float,
) -> Iterator[tuple[np.ndarray, int]]:
    """Fits at rising penalties, each from the one before, the first from ``start`` rescaled.

    Not at falling ones: in a narrow band a large penalty leaves the weights at zero, from where
    no smaller penalty brings them back.
    """
    spread = float(np.std(training.rows.scores(start)[training.train]))
    w = start * (SPREAD / max(spread, 1e-12))
    for penalty in sorted(penalties):
        w, iterations = fit_band(
            training, w, loss=loss, penalty=penalty, max_iter=max_iter, tol=tol
        )
        yield w, iterations
