"""One calling form for stochastic methods on linear models and networks: start, batch, update.

Weights are arrays by name: a network's state dict, or the one vector ``w`` of a linear model. The
slopes by the scores are the method's own and come in numpy either way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numba import njit

from pauc_core.models.batches import batches_in_step
from pauc_core.models.linear import LinearModel
from pauc_core.models.sampled_rows import SampledRows
from pauc_core.solver import Iterate, Problem
from pauc_core.solver.samples import draw

if TYPE_CHECKING:
    from pauc_core.models.module import ModuleModel

LINEAR = "w"
BETA1, BETA2, TINY = 0.9, 0.999, 1e-8  # Adam's published settings

Arrays = dict[str, Any]  # numpy arrays or tensors


def start(problem: Problem, rng: np.random.Generator, *, intercept: bool = False) -> Arrays:
    """The model's own start; a linear model may be given an intercept, its last entry."""
    if problem.model.kind == "module":
        return dict(problem.model.start(rng))
    w = problem.model.start(rng)
    return {LINEAR: np.append(w, 0.0) if intercept else w}


def zeros(problem: Problem, weights: Arrays) -> Arrays:
    """Zeros in the form of what is learned of the weights."""
    linear = problem.model.kind == "linear"
    names = [LINEAR] if linear else cast("ModuleModel", problem.model).parameters
    return {name: weights[name] * 0.0 for name in names}


def iterate(weights: Arrays) -> Iterate:
    """What the problem's model scores with."""
    alone = weights.get(LINEAR)
    return alone if isinstance(alone, np.ndarray) else weights


def batches(
    problem: Problem, positives: int, negatives: int, rng: np.random.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Of each batch of one step: places among the positives and among the negatives.

    Each is drawn without replacement; a class with fewer rows than asked for comes whole.
    """
    train = problem.train
    pos, neg = min(positives, len(train.positives)), min(negatives, len(train.negatives))
    count = batches_in_step(problem, pos + neg)
    drawn = draw(rng, len(train.positives), pos, count)
    return zip(drawn, draw(rng, len(train.negatives), neg, count), strict=True)


class Batch:
    """Some training rows, read (and augmented) once, whose gradient may be asked for repeatedly."""

    def __init__(self, problem: Problem, rows: np.ndarray, rng: np.random.Generator) -> None:
        self.model, train = problem.model, problem.train
        if isinstance(self.model, LinearModel):
            self.rows = SampledRows(self.model, train, rows)
        else:
            module = cast("ModuleModel", self.model)
            self.inputs = module.batch(train.x, rows, rng, train=True)

    def gradients(
        self, weights: Arrays, slopes_of: Callable[[np.ndarray], np.ndarray]
    ) -> dict[str, Any]:
        """Gradient by name of what has, at scores of the rows, the slopes ``slopes_of(scores)``."""
        if isinstance(self.model, LinearModel):
            w = weights[LINEAR]
            return {LINEAR: self.rows.pull(slopes_of(self.rows.scores(w)), len(w))}
        import torch

        module = cast("ModuleModel", self.model)
        leaves = module.leaves(weights)
        scores = module.forward(leaves, self.inputs, train=True)
        found = slopes_of(scores.detach().double().cpu().numpy())
        return module.gradients(leaves, scores, torch.from_numpy(found).to(scores))


def adam(
    weights: Arrays, gradients: Arrays, first: Arrays, second: Arrays, count: int, lr: float
) -> None:
    """Kingma and Ba (2015), Algorithm 1, in place; ``count`` is 1 at the first update."""
    pace = lr / (1.0 - BETA1**count)
    spread = math.sqrt(1.0 - BETA2**count)
    for name, gradient in gradients.items():
        if isinstance(gradient, np.ndarray):
            _adam(weights[name], gradient, first[name], second[name], pace, spread)
            continue
        first[name] *= BETA1
        first[name] += (1.0 - BETA1) * gradient
        second[name] *= BETA2
        second[name] += (1.0 - BETA2) * gradient * gradient
        weights[name] -= pace * first[name] / (second[name] ** 0.5 / spread + TINY)


@njit(cache=True, error_model="numpy")
def _adam(
    w: np.ndarray,
    gradient: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    pace: float,
    spread: float,
) -> None:
    """One vector's update in one pass: eight of numpy's take longer than reading the batch."""
    for f in range(len(w)):
        first[f] = BETA1 * first[f] + (1.0 - BETA1) * gradient[f]
        second[f] = BETA2 * second[f] + (1.0 - BETA2) * gradient[f] * gradient[f]
        w[f] -= pace * first[f] / (np.sqrt(second[f]) / spread + TINY)
