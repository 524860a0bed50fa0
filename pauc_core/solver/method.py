"""The contract of a method: its state, its first state and its step, and how a run may end."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Protocol

import numpy as np

from pauc_core.solver.problem import Iterate, Problem

DIVERGED = 1e4  # objective over its value at the start beyond which a run has left the problem


class Outcome(StrEnum):
    """How a run ended."""

    CONVERGED = "converged"
    BUDGET = "budget"
    DIVERGED = "diverged"
    NONFINITE = "nonfinite"
    TIMEOUT = "timeout"
    FAILED = "failed"

    @property
    def sentence(self) -> str:
        """The outcome in words."""
        return {
            Outcome.CONVERGED: "The method met its own stopping rule.",
            Outcome.BUDGET: "The budget was used up.",
            Outcome.DIVERGED: f"The objective grew past {DIVERGED:g} times its start.",
            Outcome.NONFINITE: "A score or the objective was not finite.",
            Outcome.TIMEOUT: "The time limit ended the run.",
            Outcome.FAILED: "The run raised an error or ran out of memory.",
        }[self]


@dataclass(kw_only=True)
class State:
    """A method's state: its counters here, its iterates in the subclass.

    Fields of a subclass are numbers, strings, numpy arrays, torch tensors, or dictionaries and
    lists of these, so that every state can be saved.
    """

    epochs: float = 0.0
    finished: bool = False

    def iterates(self) -> dict[str, Iterate]:
        """Named iterates; ``scored`` is the method's answer, others are traced beside it.

        An iterate is what the problem's model scores with, or, for a method that brings a
        predictor of its own, a function from a part to its scores.
        """
        raise NotImplementedError

    def own(self) -> dict[str, float]:
        """Numbers of the method's own for the trace."""
        return {}


class Method(Protocol):
    """A keyword-only dataclass of hyper-parameters with a first state and a step."""

    goals: ClassVar[frozenset[str]]  # of "pauc", "sorr"
    models: ClassVar[frozenset[str]]  # of "linear", "module"

    def init(self, problem: Problem, rng: np.random.Generator) -> State: ...

    def step(self, problem: Problem, state: State, rng: np.random.Generator) -> State: ...
