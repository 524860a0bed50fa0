"""AUC-M: the AUC min-max margin loss with the PESG update (Yuan et al., 2021)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from pauc_core.models.batches import batches_in_step, draw_both
from pauc_core.models.module import ModuleModel, Weights
from pauc_core.solver import Iterate, Problem, State

DUAL = "alpha"


@dataclass(kw_only=True)
class AUCMarginState(State):
    """Weights, the scalars a, b and alpha of the loss, and the reference point of the stage."""

    weights: Weights
    scalars: Weights
    reference: Weights  # of the learned weights, a and b
    total: Weights  # of the iterates of this stage, whose mean is the next reference
    counted: int = 0
    stage: int = 0
    batches: int = 0

    def iterates(self) -> dict[str, Iterate]:
        return {"scored": self.weights}

    def own(self) -> dict[str, float]:
        return {name: float(value) for name, value in self.scalars.items()}


@dataclass(frozen=True, kw_only=True)
class AUCMargin:
    """Descent in (w, a, b) with a proximal term, ascent in alpha >= 0, in stages.

    A stage lasts ``decay_epochs``. At its end the rate is divided by 10 and the reference point of
    the proximal term, whose weight is 1 / gamma, becomes the mean of the stage's iterates.
    """

    lr: float
    gamma: float
    decay_epochs: float
    margin: float = 1.0
    positives: int = 16
    negatives: int = 16

    goals: ClassVar[frozenset[str]] = frozenset({"pauc"})
    models: ClassVar[frozenset[str]] = frozenset({"module"})

    def init(self, problem: Problem, rng: np.random.Generator) -> AUCMarginState:
        model = problem.model
        assert isinstance(model, ModuleModel)
        weights = model.start(rng)
        zero = torch.zeros((), dtype=model.dtype, device=model.place)
        scalars = {"a": zero, "b": zero.clone(), DUAL: zero.clone()}
        primal = {**{name: weights[name] for name in model.parameters}, **scalars}
        del primal[DUAL]
        return AUCMarginState(
            weights=weights,
            scalars=scalars,
            reference={name: value.clone() for name, value in primal.items()},
            total={name: torch.zeros_like(value) for name, value in primal.items()},
        )

    def step(
        self, problem: Problem, state: AUCMarginState, rng: np.random.Generator
    ) -> AUCMarginState:
        model = problem.model
        assert isinstance(model, ModuleModel)
        for _ in range(batches_in_step(problem, self.positives + self.negatives)):
            stage = math.floor(state.epochs / self.decay_epochs + 1e-9)
            if stage > state.stage:
                self._renew(state, stage)
            pos, neg = draw_both(problem.train, self.positives, self.negatives, rng)
            inputs = model.batch(problem.train.x, np.concatenate([pos, neg]), rng, train=True)
            leaves = model.leaves(state.weights)
            scalars = {name: s.detach().requires_grad_() for name, s in state.scalars.items()}
            outputs = torch.sigmoid(model.forward(leaves, inputs, train=True))
            loss = margin_loss(
                outputs[: len(pos)], outputs[len(pos) :], **scalars, margin=self.margin
            )
            wanted = {**{name: leaves[name] for name in model.parameters}, **scalars}
            found = torch.autograd.grad(loss, list(wanted.values()))
            model.work.add(len(inputs))
            self._update(state, dict(zip(wanted, found, strict=True)))
            state.batches += 1
            state.epochs = state.batches * len(inputs) / len(problem.train)
        return state

    @torch.no_grad()
    def _update(self, state: AUCMarginState, gradients: Weights) -> None:
        """PESG: v <- v - eta (g_v + (v - v_ref) / gamma), alpha <- max(alpha + eta g_alpha, 0)."""
        pace = self.lr * 10.0**-state.stage
        state.scalars[DUAL].add_(gradients.pop(DUAL), alpha=pace).clamp_(min=0.0)
        for name, gradient in gradients.items():
            value = state.scalars[name] if name in state.scalars else state.weights[name]
            value.sub_(gradient + (value - state.reference[name]) / self.gamma, alpha=pace)
            state.total[name].add_(value)
        state.counted += 1

    def _renew(self, state: AUCMarginState, stage: int) -> None:
        for name, total in state.total.items():
            state.reference[name] = total / state.counted
            total.zero_()
        state.counted, state.stage = 0, stage


def margin_loss(
    pos: Tensor, neg: Tensor, a: Tensor, b: Tensor, alpha: Tensor, margin: float
) -> Tensor:
    """The min-max margin loss of one batch, to be minimised in a, b and maximised in alpha >= 0.

    E[(h - a)^2 | +] + E[(h - b)^2 | -] + 2 alpha (margin + E[h | -] - E[h | +]) - alpha^2; its
    saddle has a and b the class means and alpha = [margin + b - a]_+.
    """
    gap = margin + neg.mean() - pos.mean()
    return ((pos - a) ** 2).mean() + ((neg - b) ** 2).mean() + 2.0 * alpha * gap - alpha**2
