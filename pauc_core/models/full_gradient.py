"""The exact loss of a range of ranks and its gradient by the weights of a linear model."""

from __future__ import annotations

import numpy as np

from pauc_core.models.linear import LinearModel
from pauc_core.objective import pauc_loss_grad, sorr_loss_grad
from pauc_core.objective.losses import get_loss
from pauc_core.solver import Problem


def range_loss_grad(problem: Problem, w: np.ndarray, m: int, n: int) -> tuple[float, np.ndarray]:
    """Mean loss over the ranks m + 1 to n and a subgradient of it: two passes over the data.

    With the problem's own ranks this is its objective; with 0 and l it is f^l / (N+ l), for SoRR
    f^l / l.
    """
    model, train = problem.model, problem.train
    assert isinstance(model, LinearModel)
    scores, labels = model.scores(w, train), train.labels
    if problem.goal == "sorr":
        value, weights = sorr_loss_grad(problem.row_losses(train, scores), m, n)
        sign = np.where(labels, 1.0, -1.0)
        slopes = weights * sign * get_loss(problem.loss).slope(sign * scores)
    else:
        slopes = np.empty_like(scores)
        value, slopes[labels], slopes[~labels] = pauc_loss_grad(
            scores[labels], scores[~labels], m=m, n=n, loss=problem.loss
        )
    return value, model.pull(train, slopes)
