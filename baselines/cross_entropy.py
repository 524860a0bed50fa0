"""CE: cross-entropy with Adam over natural batches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from pauc_core.models.batches import batches_in_step
from pauc_core.models.module import ModuleModel, Weights
from pauc_core.solver import Iterate, Problem, State

BETA1, BETA2, TINY = 0.9, 0.999, 1e-8  # Adam's published settings


@dataclass(kw_only=True)
class CrossEntropyState(State):
    weights: Weights
    first: Weights
    second: Weights
    batches: int = 0
    order: np.ndarray
    place: int = 0

    def iterates(self) -> dict[str, Iterate]:
        return {"scored": self.weights}


@dataclass(frozen=True, kw_only=True)
class CrossEntropy:
    """Adam on the mean of log(1 + exp(-y h(x))), the rate divided by 10 every ``decay_epochs``.

    Batches come from shuffled passes over the training rows with the classes as they are; rows
    left over at the end of a pass are too few for a batch and wait for the next.
    """

    lr: float
    decay_epochs: float
    batch: int = 32

    goals: ClassVar[frozenset[str]] = frozenset({"pauc"})
    models: ClassVar[frozenset[str]] = frozenset({"module"})

    def init(self, problem: Problem, rng: np.random.Generator) -> CrossEntropyState:
        model = problem.model
        assert isinstance(model, ModuleModel)
        weights = model.start(rng)
        return CrossEntropyState(
            weights=weights,
            first={name: torch.zeros_like(weights[name]) for name in model.parameters},
            second={name: torch.zeros_like(weights[name]) for name in model.parameters},
            order=rng.permutation(problem.train.rows),
        )

    def step(
        self, problem: Problem, state: CrossEntropyState, rng: np.random.Generator
    ) -> CrossEntropyState:
        model = problem.model
        assert isinstance(model, ModuleModel)
        size = min(self.batch, len(problem.train))
        for _ in range(batches_in_step(problem, size)):
            if state.place + size > len(state.order):
                state.order, state.place = rng.permutation(problem.train.rows), 0
            rows = state.order[state.place : state.place + size]
            state.place += size
            inputs = model.batch(problem.train.x, rows, rng, train=True)
            leaves = model.leaves(state.weights)
            scores = model.forward(leaves, inputs, train=True)
            target = torch.from_numpy(problem.train.y[rows]).to(scores)
            slopes = (torch.sigmoid(scores.detach()) - target) / size
            pace = self.lr * 10.0 ** -math.floor(state.epochs / self.decay_epochs + 1e-9)
            self._adam(state, model.gradients(leaves, scores, slopes), pace)
            state.epochs = state.batches * size / len(problem.train)
        return state

    def _adam(self, state: CrossEntropyState, gradients: Weights, pace: float) -> None:
        """Kingma and Ba (2015), Algorithm 1."""
        state.batches += 1
        pace /= 1.0 - BETA1**state.batches
        spread = math.sqrt(1.0 - BETA2**state.batches)
        for name, gradient in gradients.items():
            first = state.first[name].lerp_(gradient, 1.0 - BETA1)
            second = state.second[name].mul_(BETA2).addcmul_(gradient, gradient, value=1 - BETA2)
            state.weights[name].addcdiv_(first, (second.sqrt() / spread).add_(TINY), value=-pace)
