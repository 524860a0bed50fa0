"""Controls: what no method may fall behind, printed below a line in every table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pauc_core.models.linear import LinearModel
from pauc_core.solver import Iterate, Part, Problem, State


@dataclass(kw_only=True)
class ControlState(State):
    """One iterate and nothing else."""

    iterate: Iterate

    def iterates(self) -> dict[str, Iterate]:
        return {"scored": self.iterate}


@dataclass(kw_only=True)
class NoiseState(State):
    """The seed of the noise."""

    seed: int

    def iterates(self) -> dict[str, Iterate]:
        return {"scored": self.scores}

    def scores(self, part: Part) -> np.ndarray:
        """One number a stored row, the same whenever the row is scored."""
        return np.random.default_rng(self.seed).random(len(part.x))[part.rows]


@dataclass(frozen=True, kw_only=True)
class RandomScores:
    """Scores that know nothing of the data: where chance lies."""

    goals: ClassVar[frozenset[str]] = frozenset({"pauc", "sorr"})
    models: ClassVar[frozenset[str]] = frozenset({"linear", "module"})

    def init(self, problem: Problem, rng: np.random.Generator) -> NoiseState:
        return NoiseState(seed=int(rng.integers(2**62)), finished=True)

    def step(self, problem: Problem, state: NoiseState, rng: np.random.Generator) -> NoiseState:
        return state


@dataclass(frozen=True, kw_only=True)
class LogisticRegression:
    """scikit-learn's logistic regression on the scaled training rows, one fit in one step.

    An epoch is one of its L-BFGS iterations. An intercept is fitted and left out for the pAUC,
    where it shifts all scores alike; for SoRR, where it would count, none is fitted, so that the
    control has the same parameters as the other methods. ``balanced`` makes the two classes
    equally heavy.
    """

    C: float = 1.0
    balanced: bool = False
    goals: ClassVar[frozenset[str]] = frozenset({"pauc", "sorr"})
    models: ClassVar[frozenset[str]] = frozenset({"linear"})

    def init(self, problem: Problem, rng: np.random.Generator) -> ControlState:
        return ControlState(iterate=problem.model.start(rng))

    def step(self, problem: Problem, state: ControlState, rng: np.random.Generator) -> ControlState:
        # Not above: its import takes seconds, and the other controls do without it.
        from sklearn.linear_model import LogisticRegression as Fit

        model, train = problem.model, problem.train
        assert isinstance(model, LinearModel)
        rows = train.x[train.rows]
        kind = rows.dtype if rows.dtype == np.float32 else np.dtype(np.float64)
        scaled = rows.astype(kind, copy=False)
        scaled -= model.center.astype(kind)
        scaled /= model.scale.astype(kind)
        fit = Fit(
            C=self.C,
            fit_intercept=problem.goal == "pauc",
            max_iter=1000,
            class_weight="balanced" if self.balanced else None,
        )
        fit.fit(scaled, train.labels)
        state.iterate = fit.coef_[0].astype(np.float64)
        state.epochs += int(fit.n_iter_[0])
        model.work.add(2 * int(fit.n_iter_[0]) * len(train))  # scores and gradient
        state.finished = True
        return state
