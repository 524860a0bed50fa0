"""MB: descent on the partial AUC of each mini-batch (Kar, Narasimhan and Jain, 2014)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from pauc_core.models.batches import batches_in_step, draw_both
from pauc_core.models.module import ModuleModel, Weights
from pauc_core.objective import pauc_loss_grad
from pauc_core.solver import Iterate, Problem, State


@dataclass(kw_only=True)
class MinibatchState(State):
    weights: Weights
    batches: int = 0

    def iterates(self) -> dict[str, Iterate]:
        return {"scored": self.weights}


@dataclass(frozen=True, kw_only=True)
class Minibatch:
    """Stochastic gradient descent on (3) as if each batch were the whole training set.

    Within a batch of B- negatives the band [alpha, beta] is the ranks ceil(alpha B-) + 1 to
    floor(beta B-). The estimate is biased: with 16 negatives and alpha = 0.05 one is left out.
    """

    lr: float
    positives: int = 16
    negatives: int = 16

    goals: ClassVar[frozenset[str]] = frozenset({"pauc"})
    models: ClassVar[frozenset[str]] = frozenset({"module"})

    def init(self, problem: Problem, rng: np.random.Generator) -> MinibatchState:
        batch_ranks(min(self.negatives, len(problem.train.negatives)), problem.band)
        model = problem.model
        assert isinstance(model, ModuleModel)
        return MinibatchState(weights=model.start(rng))

    def step(
        self, problem: Problem, state: MinibatchState, rng: np.random.Generator
    ) -> MinibatchState:
        model = problem.model
        assert isinstance(model, ModuleModel)
        for _ in range(batches_in_step(problem, self.positives + self.negatives)):
            pos, neg = draw_both(problem.train, self.positives, self.negatives, rng)
            inputs = model.batch(problem.train.x, np.concatenate([pos, neg]), rng, train=True)
            leaves = model.leaves(state.weights)
            scores = model.forward(leaves, inputs, train=True)
            m, n = batch_ranks(len(neg), problem.band)
            found = scores.detach().double().cpu().numpy()
            _, slope_pos, slope_neg = pauc_loss_grad(
                found[: len(pos)], found[len(pos) :], m=m, n=n, loss=problem.loss
            )
            slopes = torch.from_numpy(np.concatenate([slope_pos, slope_neg])).to(scores)
            gradients = model.gradients(leaves, scores, slopes)
            state.batches += 1
            pace = self.lr / math.sqrt(state.batches)  # Kar et al. (2014): eta / sqrt(t)
            for name, gradient in gradients.items():
                state.weights[name].sub_(gradient, alpha=pace)
            state.epochs = state.batches * len(inputs) / len(problem.train)
        return state


def batch_ranks(negatives: int, band: tuple[float, float]) -> tuple[int, int]:
    """The band as ranks m < n within a batch: m + 1 = ceil(alpha B-) + 1 and n = floor(beta B-)."""
    low, high = band
    # A product that should be whole may miss it by a rounding error.
    m = math.ceil(low * negatives - 1e-9)
    n = math.floor(high * negatives + 1e-9)
    if m >= n:
        raise ValueError(
            f"A batch of {negatives} negatives has no rank in the band [{low:g}, {high:g}]; "
            "use more negatives in a batch or a wider band."
        )
    return m, n
