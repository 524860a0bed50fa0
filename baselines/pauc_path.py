"""The classifier's own path of fits as a method: the validation rows choose among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from pauc_core.models.linear import LinearModel
from pauc_core.solver import Iterate, Part, Problem, State
from pauc_core.solver.choice import Seen, choose, look_at
from pauc_core.solver.path import Training, fit_band, fit_logistic, follow

LOGISTIC_ITERATIONS = 1000


@dataclass(kw_only=True)
class PathState(State):
    """The fits so far, how the validation rows see each, and which of them they choose."""

    start: np.ndarray
    fits: list[np.ndarray] = field(default_factory=list)
    penalties: list[float] = field(default_factory=list)
    seen: list[dict[str, Any]] = field(default_factory=list)
    chosen: int = 0

    def iterates(self) -> dict[str, Iterate]:
        return {"scored": self.fits[self.chosen] if self.fits else self.start}

    def own(self) -> dict[str, float]:
        # Logistic regression has no penalty of the path's.
        chosen = self.penalties[self.chosen] if self.fits else np.nan
        return {"fits": len(self.fits), "penalty": chosen if np.isfinite(chosen) else np.nan}


@dataclass(frozen=True)
class TrainingRows:
    """The training rows as the path knows them; the problem's model counts each pass."""

    model: LinearModel
    part: Part

    @property
    def width(self) -> int:
        return len(self.model.scale)

    def scores(self, w: np.ndarray) -> np.ndarray:
        return self.model.scores(w, self.part)

    def pull(self, slopes: np.ndarray) -> np.ndarray:
        return self.model.pull(self.part, slopes)


@dataclass(frozen=True, kw_only=True)
class PAUCPath:
    """What `PartialAUCClassifier` does, one fit a step; the answer is what it would choose so far.

    First logistic regression, plain and balanced, then for each surrogate (3) at rising penalties,
    each fit from the one before. One validation part stands for the classifier's folds, and nothing
    is fitted again with its rows. Without validation rows the last fit is the answer. Two passes
    over the rows are an epoch.
    """

    losses: Sequence[str]
    penalties: Sequence[float]
    max_iter: int
    tol: float
    goals: ClassVar[frozenset[str]] = frozenset({"pauc"})
    models: ClassVar[frozenset[str]] = frozenset({"linear"})

    def init(self, problem: Problem, rng: np.random.Generator) -> PathState:
        return PathState(start=problem.model.start(rng))

    def step(self, problem: Problem, state: PathState, rng: np.random.Generator) -> PathState:
        model, before = problem.model, problem.model.work.rows
        assert isinstance(model, LinearModel)
        w, penalty = self._fit(_training(problem, model), state)
        state.fits.append(w)
        state.penalties.append(penalty)
        state.chosen = len(state.fits) - 1
        if problem.valid is not None:
            scores = model.scores(w, problem.valid)
            seen = look_at(problem.valid.labels, scores, *problem.band)
            state.seen.append(vars(seen))
            state.chosen = choose([Seen(**one) for one in state.seen], state.penalties)
        state.epochs += (model.work.rows - before) / (2 * len(problem.train))
        state.finished = len(state.fits) == 2 + len(self.losses) * len(self.penalties)
        return state

    def _fit(self, training: Training, state: PathState) -> tuple[np.ndarray, float]:
        """The next fit and its penalty; logistic regression counts as the largest."""
        done = len(state.fits)
        if done < 2:
            share = float(training.positive.mean())
            weights = (1.0, 1.0) if done == 0 else (0.5 / (1.0 - share), 0.5 / share)
            start = np.append(state.fits[0] if done else state.start, 0.0)
            return fit_logistic(training, weights, start, LOGISTIC_ITERATIONS)[0][:-1], np.inf
        surrogate, place = divmod(done - 2, len(self.penalties))
        loss, penalty = self.losses[surrogate], sorted(self.penalties)[place]
        limits: dict[str, Any] = {"max_iter": self.max_iter, "tol": self.tol}
        if place:
            return fit_band(training, state.fits[-1], loss=loss, penalty=penalty, **limits)[
                0
            ], penalty
        first = follow(training, state.fits[0], loss=loss, penalties=[penalty], **limits)
        return next(first)[0], penalty


def _training(problem: Problem, model: LinearModel) -> Training:
    """All training rows; the path ranks them by the band's rates as the problem does."""
    train = problem.train
    everyone = np.ones(len(train), dtype=bool)
    return Training(TrainingRows(model, train), train.labels, everyone, *problem.band)
