"""Boosted trees with log loss: the ceiling of flexible models on tables, beside linear ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pauc_core.solver import Iterate, Part, Problem, State


@dataclass(kw_only=True)
class TreesState(State):
    """The trees in XGBoost's own format, or none before they are grown."""

    trees: np.ndarray
    rounds: int = 0

    def iterates(self) -> dict[str, Iterate]:
        return {"scored": self.scores}

    def scores(self, part: Part) -> np.ndarray:
        """Log-odds of the part's rows."""
        if not len(self.trees):
            return np.zeros(len(part))
        xgboost = _package()
        booster = xgboost.Booster(model_file=bytearray(self.trees.tobytes()))
        found = booster.predict(xgboost.DMatrix(part.x[part.rows]), output_margin=True)
        return found.astype(np.float64)

    def own(self) -> dict[str, float]:
        return {"rounds": self.rounds}


@dataclass(frozen=True, kw_only=True)
class BoostedTrees:
    """XGBoost in one step, on the unscaled rows; an epoch is one round.

    ``lr`` and ``max_depth`` are what is tuned (0.3 and 6 are its defaults: on few positives that
    rate stops after a handful of rounds and ranks worse than a linear model). It stops when the
    log loss of the validation rows has not fallen for ``patience`` rounds and keeps the trees up
    to the best; without validation rows it grows all ``rounds``.
    """

    rounds: int
    patience: int
    lr: float
    max_depth: int
    goals: ClassVar[frozenset[str]] = frozenset({"pauc"})
    models: ClassVar[frozenset[str]] = frozenset({"linear"})  # whatever is a table of numbers

    def init(self, problem: Problem, rng: np.random.Generator) -> TreesState:
        _package()
        return TreesState(trees=np.zeros(0, dtype=np.uint8))

    def step(self, problem: Problem, state: TreesState, rng: np.random.Generator) -> TreesState:
        xgboost, train, valid = _package(), problem.train, problem.valid
        rows = _matrix(xgboost, train)
        params = {
            "objective": "binary:logistic",
            "eta": self.lr,
            "max_depth": self.max_depth,
            "nthread": 1,
            "seed": int(rng.integers(2**31)),
        }
        more: dict[str, Any] = {}
        if valid is not None:
            held_out = _matrix(xgboost, valid, like=rows)
            more = {
                "evals": [(held_out, "valid")],
                "early_stopping_rounds": self.patience,
                "verbose_eval": False,
            }
        booster = xgboost.train(params, rows, num_boost_round=self.rounds, **more)
        grown = booster.num_boosted_rounds()
        if valid is not None:
            booster = booster[: booster.best_iteration + 1]
        state.trees = np.frombuffer(booster.save_raw(), dtype=np.uint8)
        state.rounds = booster.num_boosted_rounds()
        state.epochs += grown
        problem.model.work.add(grown * len(train))
        state.finished = True
        return state


def _matrix(xgboost: Any, part: Part, like: Any = None) -> Any:
    """The part's rows in bins; validation rows in those of the training rows."""
    return xgboost.QuantileDMatrix(
        part.x[part.rows], label=part.labels.astype(np.float32), ref=like, nthread=1
    )


def _package() -> Any:
    # Not above: it is an extra, and what does not use it must import without it.
    try:
        import xgboost
    except ImportError as error:
        raise ImportError(
            "Boosted trees need the package xgboost, which is not installed; install the extra "
            "with pip install 'pauc-core[trees]'."
        ) from error
    return xgboost
