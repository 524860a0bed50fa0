"""DCA for SoRR as Hu et al. (2020) released it: full batches, thresholds by sorting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pauc_core.models.linear import LinearModel
from pauc_core.objective.losses import get_loss
from pauc_core.solver import Iterate, Part, Problem, State


@dataclass(kw_only=True)
class DCAExactState(State):
    """The inner iterate with its intercept last, the best one so far, and where they are."""

    w: np.ndarray
    kept: np.ndarray
    accuracy: float = 0.0
    xi: np.ndarray
    k: int = 0
    t: int = 0

    def iterates(self) -> dict[str, Iterate]:
        return {"scored": self.w, "kept": self.kept}

    def own(self) -> dict[str, float]:
        return {"outer": self.k, "inner": self.t, "accuracy": self.accuracy}


@dataclass(frozen=True, kw_only=True)
class DCAExact:
    """``outer`` linearisations of f^m / N, each with ``inner`` full gradient steps from zero.

    Of an outer step's inner iterates the last of those with the best validation accuracy is
    carried on (accuracy on the training rows where nothing is held out). The first linearisation
    is at a uniformly random point, as released. Rows tied with a threshold all count. Each full
    gradient is an epoch; rows scored for the accuracy are work, not epochs.
    """

    outer: int
    inner: int
    step_size: float
    goals: ClassVar[frozenset[str]] = frozenset({"sorr"})
    models: ClassVar[frozenset[str]] = frozenset({"linear"})

    def init(self, problem: Problem, rng: np.random.Generator) -> DCAExactState:
        w = rng.random(problem.train.x.shape[1] + 1)
        return DCAExactState(w=w, kept=w.copy(), xi=np.zeros_like(w))

    def step(
        self, problem: Problem, state: DCAExactState, rng: np.random.Generator
    ) -> DCAExactState:
        m, n = problem.ranks
        if state.t == 0:
            state.xi = _top_gradient(problem, state, m) if m else np.zeros_like(state.w)
            state.w, state.accuracy = np.zeros_like(state.w), 0.0
        held_out = problem.train if problem.valid is None else problem.valid
        for _ in range(min(max(1, int(problem.step_epochs)), self.inner - state.t)):
            state.w = state.w - self.step_size * (_top_gradient(problem, state, n) - state.xi)
            accuracy = _accuracy(problem, state.w, held_out)
            if accuracy >= state.accuracy:
                state.accuracy, state.kept = accuracy, state.w.copy()
            state.t += 1
        if state.t == self.inner:
            state.w, state.k, state.t = state.kept.copy(), state.k + 1, 0
            state.finished = state.k == self.outer
        return state


def _top_gradient(problem: Problem, state: DCAExactState, top: int) -> np.ndarray:
    """A subgradient of f^top / N at the state's w, intercept last."""
    model, train = problem.model, problem.train
    assert isinstance(model, LinearModel)
    scores = model.scores(state.w, train)
    losses = problem.row_losses(train, scores)
    threshold = np.partition(losses, len(losses) - top)[len(losses) - top]
    sign = np.where(train.labels, 1.0, -1.0)
    slopes = sign * get_loss(problem.loss).slope(sign * scores) * (losses >= threshold)
    slopes /= len(train)
    state.epochs += 1.0
    return np.append(model.pull(train, slopes), slopes.sum())


def _accuracy(problem: Problem, w: np.ndarray, part: Part) -> float:
    return float(np.mean((problem.model.scores(w, part) > 0) == part.labels))
