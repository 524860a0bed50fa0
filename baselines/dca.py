"""DCA for the pAUC and for SoRR: Algorithm 4 inside, with or without a proximal term."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pauc_core.losses import get_loss
from pauc_core.models.linear import LinearModel
from pauc_core.objective import f_l_grad, sorr_loss_grad
from pauc_core.solver import Part, Problem, State


@dataclass(kw_only=True)
class DCAState(State):
    """Outer step k, inner iteration t, and what the subproblem of step k is made of."""

    w: np.ndarray
    lam: np.ndarray
    centre: np.ndarray  # w^(k)
    xi: np.ndarray  # subgradient of f^m at w^(k), normalised
    k: int = 0
    t: int = 0

    def iterates(self) -> dict[str, np.ndarray]:
        return {"scored": self.w}

    def own(self) -> dict[str, float]:
        return {"outer": self.k, "lam_mean": float(self.lam.mean())}


@dataclass(frozen=True, kw_only=True)
class DCA:
    """Linearise f^m at w^(k), then lower the rest by stochastic steps; the last iterate goes on.

    All in normalised units (objective over N+N-, for SoRR over N): both step sizes are c/(k+1)
    and T = C (k+1)^2 under the policy ``changing``, c and C in every outer step under
    ``constant``. ``L`` above 0 makes it proximal DCA; with ``units`` ``paper`` L is added to the
    unnormalised sum as printed, so that L/(N+N-) counts here. The full pass for the subgradient
    of f^m is one epoch, and there is none where m = 0.
    """

    c: float
    C: int
    I: int  # noqa: E741
    J: int
    policy: str
    L: float = 0.0
    units: str = "normalised"
    goals: ClassVar[frozenset[str]] = frozenset({"pauc", "sorr"})
    models: ClassVar[frozenset[str]] = frozenset({"linear"})

    def __post_init__(self) -> None:
        if self.policy not in ("changing", "constant"):
            raise ValueError(f"Policy {self.policy!r} is unknown; use 'changing' or 'constant'.")
        if self.units not in ("normalised", "paper"):
            raise ValueError(f"Units {self.units!r} are unknown; use 'normalised' or 'paper'.")

    def init(self, problem: Problem, rng: np.random.Generator) -> DCAState:
        w = problem.model.start(rng)
        assert isinstance(w, np.ndarray)
        pairs = len(problem.train.positives) if problem.goal == "pauc" else 1
        return DCAState(w=w, lam=np.zeros(pairs), centre=w.copy(), xi=np.zeros_like(w))

    def step(self, problem: Problem, state: DCAState, rng: np.random.Generator) -> DCAState:
        changing = self.policy == "changing"
        step = self.c / (state.k + 1) if changing else self.c
        length = self.C * (state.k + 1) ** 2 if changing else self.C
        train = problem.train
        if state.t == 0 and problem.ranks[0] > 0:
            state.xi = subgradient(problem, state.w)
            state.epochs += 1.0
            state.work += len(train)
        if state.t == 0:
            state.centre = state.w.copy()
        sampled = self.I + self.J if problem.goal == "pauc" else self.J
        count = min(max(1, int(problem.step_epochs * len(train) / sampled)), length - state.t)
        for _ in range(count):
            self._inner(problem, state, rng, step)
        state.epochs += count * sampled / len(train)
        state.work += count * sampled
        state.t += count
        if state.t == length:
            state.k, state.t = state.k + 1, 0
        return state

    def _inner(
        self, problem: Problem, state: DCAState, rng: np.random.Generator, step: float
    ) -> None:
        """One iteration of Algorithm 4, lines 4 to 9."""
        model, train, loss = problem.model, problem.train, get_loss(problem.loss)
        assert isinstance(model, LinearModel)
        if problem.goal == "pauc":
            i = rng.choice(len(train.positives), self.I, replace=False)
            j = rng.choice(len(train.negatives), self.J, replace=False)
            rows = np.concatenate([train.positives[i], train.negatives[j]])
            total, l_share = len(state.lam), problem.ranks[1] / len(train.negatives)
        else:
            i = np.zeros(1, dtype=np.int64)
            rows = train.rows[rng.choice(len(train), self.J, replace=False)]
            total, l_share = 1, problem.ranks[1] / len(train)
        total *= len(train) if problem.goal == "sorr" else len(train.negatives)
        batch = Part(train.x, train.y, rows)
        scores = model.scores(state.w, batch)
        if problem.goal == "pauc":
            gaps = scores[: self.I, None] - scores[None, self.I :]
        else:
            sign = np.where(batch.labels, 1.0, -1.0)
            gaps = (sign * scores)[None, :]
        active = loss.value(gaps) > state.lam[i, None]
        pull = loss.slope(gaps) * active / active.size
        if problem.goal == "pauc":
            slopes = np.concatenate([pull.sum(axis=1), -pull.sum(axis=0)])
        else:
            slopes = sign * pull[0]
        gradient = model.pull(batch, slopes) - state.xi
        weight = self.L / total if self.units == "paper" else self.L
        state.w = (state.w - step * gradient + step * weight * state.centre) / (1 + step * weight)
        state.lam[i] -= step * (l_share - active.mean(axis=1))


def subgradient(problem: Problem, w: np.ndarray) -> np.ndarray:
    """A subgradient of f^m / (N+N-) at w, for SoRR of f^m / N, in near-linear time."""
    assert isinstance(problem.model, LinearModel)
    train, m = problem.train, problem.ranks[0]
    scores, labels = problem.model.scores(w, train), train.labels
    slopes = np.empty_like(scores)
    if problem.goal == "pauc":
        _, slopes[labels], slopes[~labels] = f_l_grad(
            scores[labels], scores[~labels], m, loss=problem.loss
        )
        slopes /= len(train.positives) * len(train.negatives)
    else:
        _, weights = sorr_loss_grad(problem.row_losses(scores), 0, m)
        sign = np.where(labels, 1.0, -1.0)
        slopes = weights * (m / len(train)) * sign * get_loss(problem.loss).slope(sign * scores)
    return problem.model.pull(train, slopes)
