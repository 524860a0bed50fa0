"""Controls: what no method may fall behind, printed below a line in every table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn.linear_model import LogisticRegression as Fit

from pauc_core.models.linear import LinearModel
from pauc_core.solver import Iterate, Problem, State


@dataclass(kw_only=True)
class ControlState(State):
    """One iterate and nothing else."""

    iterate: Iterate

    def iterates(self) -> dict[str, Iterate]:
        return {"scored": self.iterate}


@dataclass(frozen=True, kw_only=True)
class RandomScores:
    """A random direction for linear models, the untrained network for modules."""

    goals: ClassVar[frozenset[str]] = frozenset({"pauc", "sorr"})
    models: ClassVar[frozenset[str]] = frozenset({"linear", "module"})

    def init(self, problem: Problem, rng: np.random.Generator) -> ControlState:
        iterate = problem.model.start(rng)
        if not isinstance(iterate, dict):
            direction = rng.standard_normal(len(iterate))
            iterate = direction / np.linalg.norm(direction)
        return ControlState(iterate=iterate, finished=True)

    def step(self, problem: Problem, state: ControlState, rng: np.random.Generator) -> ControlState:
        return state


@dataclass(frozen=True, kw_only=True)
class LogisticRegression:
    """scikit-learn's logistic regression on the scaled training rows, one fit in one step.

    An epoch is one of its L-BFGS iterations. An intercept is fitted and left out for the pAUC,
    where it shifts all scores alike; for SoRR, where it would count, none is fitted, so that the
    control has the same parameters as the other methods.
    """

    C: float = 1.0
    goals: ClassVar[frozenset[str]] = frozenset({"pauc", "sorr"})
    models: ClassVar[frozenset[str]] = frozenset({"linear"})

    def init(self, problem: Problem, rng: np.random.Generator) -> ControlState:
        return ControlState(iterate=problem.model.start(rng))

    def step(self, problem: Problem, state: ControlState, rng: np.random.Generator) -> ControlState:
        model, train = problem.model, problem.train
        assert isinstance(model, LinearModel)
        rows = train.x[train.rows]
        kind = rows.dtype if rows.dtype == np.float32 else np.dtype(np.float64)
        scaled = rows.astype(kind, copy=False)
        scaled -= model.center.astype(kind)
        scaled /= model.scale.astype(kind)
        fit = Fit(C=self.C, fit_intercept=problem.goal == "pauc", max_iter=1000)
        fit.fit(scaled, train.labels)
        state.iterate = fit.coef_[0].astype(np.float64)
        state.epochs += int(fit.n_iter_[0])
        state.work += int(fit.n_iter_[0]) * len(train)
        state.finished = True
        return state
