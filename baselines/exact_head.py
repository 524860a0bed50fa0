"""Cross-entropy, then the last layer refitted exactly for the band: a network's control."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from scipy.special import expit

from pauc_core.models.batches import batches_in_step
from pauc_core.models.descent import Arrays, Batch, adam, start, zeros
from pauc_core.models.head import fit_head, held_out_fifth, inputs_of, last_linear, set_head
from pauc_core.models.module import ModuleModel
from pauc_core.solver import Iterate, Part, Problem, State


@dataclass(kw_only=True)
class ExactHeadState(State):
    weights: Arrays
    first: Arrays
    second: Arrays
    order: np.ndarray
    place: int = 0
    batches: int = 0
    gain: float = math.nan  # pAUC of the rows that chose the refit, over the layer as trained

    def iterates(self) -> dict[str, Iterate]:
        return {"scored": self.weights}

    def own(self) -> dict[str, float]:
        return {"gain": self.gain}


@dataclass(frozen=True, kw_only=True)
class ExactHead:
    """``train_epochs`` of cross-entropy with Adam, one refit, and the method is done.

    The refit is the path of exact fits of (3) from the trained layer (`fit_head`), chosen on the
    validation rows, or where there are none on a fifth of the training rows. The pass that reads
    the features counts as an epoch. ``lr``, ``decay_epochs`` and ``batch`` are as for CE.
    """

    lr: float
    decay_epochs: float
    batch: int
    train_epochs: float

    goals: ClassVar[frozenset[str]] = frozenset({"pauc"})
    models: ClassVar[frozenset[str]] = frozenset({"module"})

    def init(self, problem: Problem, rng: np.random.Generator) -> ExactHeadState:
        weights = start(problem, rng)
        return ExactHeadState(
            weights=weights,
            first=zeros(problem, weights),
            second=zeros(problem, weights),
            order=rng.permutation(problem.train.rows),
        )

    def step(
        self, problem: Problem, state: ExactHeadState, rng: np.random.Generator
    ) -> ExactHeadState:
        if state.epochs < self.train_epochs - 1e-9:
            self._train(problem, state, rng)
        else:
            self._refit(problem, state, rng)
            state.finished = True
        return state

    def _train(self, problem: Problem, state: ExactHeadState, rng: np.random.Generator) -> None:
        train = problem.train
        size = min(self.batch, len(train))
        for _ in range(batches_in_step(problem, size)):
            if state.place + size > len(state.order):
                state.order, state.place = rng.permutation(train.rows), 0
            rows = state.order[state.place : state.place + size]
            state.place += size
            target = train.y[rows]

            def slopes(scores: np.ndarray, target: np.ndarray = target) -> np.ndarray:
                return (expit(scores) - target) / size

            gradients = Batch(problem, rows, rng).gradients(state.weights, slopes)
            state.batches += 1
            pace = self.lr * 10.0 ** -math.floor(state.epochs / self.decay_epochs + 1e-9)
            adam(state.weights, gradients, state.first, state.second, state.batches, pace)
            state.epochs = state.batches * size / len(train)

    def _refit(self, problem: Problem, state: ExactHeadState, rng: np.random.Generator) -> None:
        model, train = problem.model, problem.train
        assert isinstance(model, ModuleModel)
        name, layer = last_linear(model.module)
        features, positive = read(model, layer, state.weights, train), train.labels
        held_out = held_out_fifth(positive, rng)
        if problem.valid is not None:
            held_out = np.arange(len(train) + len(problem.valid)) >= len(train)
            more = read(model, layer, state.weights, problem.valid)
            features = np.concatenate([features, more])
            positive = np.append(positive, problem.valid.labels)
        key = f"{name}.weight" if name else "weight"
        trained = state.weights[key][0].double().cpu().numpy()
        fit = fit_head(
            features, positive, held_out, trained, *problem.band, refit=problem.valid is None
        )
        set_head(state.weights, name, fit)
        state.gain = fit.gain
        state.epochs += 1.0


def read(model: ModuleModel, layer: torch.nn.Linear, weights: Arrays, part: Part) -> np.ndarray:
    """Features that the last layer is given for a part's rows, in single precision."""
    with inputs_of(layer) as seen:
        model.scores(weights, part)
    return torch.cat(seen).float().cpu().numpy()
