"""L-BFGS on the exact objective: deterministic, and the F* of convergence plots."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from pauc_core.models.full_gradient import range_loss_grad
from pauc_core.solver import Iterate, Problem, State

DESCENT, CURVATURE = 1e-4, 0.9  # weak Wolfe conditions


@dataclass(kw_only=True)
class LBFGSState(State):
    """The point with its value and gradient, and the last moves and changes of gradient."""

    w: np.ndarray
    value: float
    grad: np.ndarray
    warm: int  # iterations left on the whole range
    moves: list[np.ndarray] = field(default_factory=list)
    changes: list[np.ndarray] = field(default_factory=list)

    def iterates(self) -> dict[str, Iterate]:
        return {"scored": self.w}

    def own(self) -> dict[str, float]:
        return {"grad_norm": float(np.linalg.norm(self.grad))}


@dataclass(frozen=True, kw_only=True)
class ExactLBFGS:
    """One step is one iteration; each evaluation of value and gradient counts one epoch.

    It begins with a few iterations on the whole range (m = 0, n = N-), where nothing has kinks: at
    the start w = 0 all scores tie, and from there the band's own subgradient may lead nowhere.
    The objective has kinks where scores cross the band's edges, so the line search asks for the
    weak Wolfe conditions by bisection, and where it finds no lower point the run has converged.

    Parameters
    ----------
    memory : int
        Pairs of moves and gradient changes that are kept.
    tolerance : float
        The run has converged when an iteration lowers the value by less than this share of it.
    searches : int
        Evaluations that one line search may take.
    warm : int
        Iterations on the whole range before the band counts.
    """

    memory: int = 10
    tolerance: float = 1e-9
    searches: int = 20
    warm: int = 10
    goals: ClassVar[frozenset[str]] = frozenset({"pauc", "sorr"})
    models: ClassVar[frozenset[str]] = frozenset({"linear"})

    def init(self, problem: Problem, rng: np.random.Generator) -> LBFGSState:
        w = np.array(problem.model.start(rng), dtype=np.float64)
        value, grad = value_and_gradient(problem, w, whole=self.warm > 0)
        return LBFGSState(w=w, value=value, grad=grad, warm=self.warm, epochs=1.0)

    def step(self, problem: Problem, state: LBFGSState, rng: np.random.Generator) -> LBFGSState:
        if state.warm:
            self._iterate(problem, state, whole=True)
            state.warm = 0 if state.finished else state.warm - 1
            if not state.warm:
                state.value, state.grad = value_and_gradient(problem, state.w)
                state.moves, state.changes, state.finished = [], [], False
                state.epochs += 1.0
        else:
            self._iterate(problem, state, whole=False)
        return state

    def _iterate(self, problem: Problem, state: LBFGSState, whole: bool) -> None:
        direction = -_inverse_times(state)
        slope = float(direction @ state.grad)
        if not slope < 0:
            if not state.moves:
                state.finished = True
                return
            state.moves, state.changes = [], []  # begin anew at steepest descent
            direction, slope = -state.grad, -float(state.grad @ state.grad)
        # Without a memory the gradient has no scale of its own: first try a move of length 1.
        size = 1.0 if state.moves else 1.0 / max(float(np.linalg.norm(direction)), 1e-300)
        low, high = 0.0, np.inf
        best: tuple[float, np.ndarray, np.ndarray] | None = None
        for _ in range(self.searches):
            w = state.w + size * direction
            value, grad = value_and_gradient(problem, w, whole)
            state.epochs += 1.0
            if not value <= state.value + DESCENT * size * slope:
                high = size
            else:
                if best is None or value < best[0]:
                    best = value, w, grad
                if float(grad @ direction) >= CURVATURE * slope:
                    break
                low = size
            size = 2.0 * low if np.isinf(high) else 0.5 * (low + high)
        if best is None:
            # A wrong memory can spoil the direction; at steepest descent there is no way down.
            state.finished = not state.moves
            state.moves, state.changes = [], []
            return
        self._move(state, *best)

    def _move(self, state: LBFGSState, value: float, w: np.ndarray, grad: np.ndarray) -> None:
        move, change = w - state.w, grad - state.grad
        if move @ change > 1e-12 * (change @ change):
            state.moves = [*state.moves, move][-self.memory :]
            state.changes = [*state.changes, change][-self.memory :]
        lowered = state.value - value
        state.finished = lowered <= self.tolerance * max(abs(value), 1e-16)
        state.w, state.value, state.grad = w, value, grad


def value_and_gradient(
    problem: Problem, w: np.ndarray, whole: bool = False
) -> tuple[float, np.ndarray]:
    """Exact objective, of the band or of the whole range, and its (sub)gradient."""
    if not whole:
        return range_loss_grad(problem, w, *problem.ranks)
    train = problem.train
    return range_loss_grad(problem, w, 0, len(train if problem.goal == "sorr" else train.negatives))


def _inverse_times(state: LBFGSState) -> np.ndarray:
    """The two-loop product of the inverse Hessian estimate with the gradient."""
    result = state.grad.copy()
    factors = []
    for move, change in zip(reversed(state.moves), reversed(state.changes), strict=True):
        factor = (move @ result) / (move @ change)
        factors.append(factor)
        result -= factor * change
    if state.moves:
        move, change = state.moves[-1], state.changes[-1]
        result *= (move @ change) / (change @ change)
    for move, change, factor in zip(state.moves, state.changes, reversed(factors), strict=True):
        result += move * (factor - (change @ result) / (move @ change))
    return result
