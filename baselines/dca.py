"""DCA for the pAUC and for SoRR: Algorithm 4 inside, with or without a proximal term."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pauc_core.agd_sbcd.compiled import Calls, Draws, Steps, sbcd_block
from pauc_core.agd_sbcd.pairs import (
    first_lam,
    inner_iterations,
    pair_rows,
    sample_sizes,
    sampled_rows,
)
from pauc_core.models.full_gradient import range_loss_grad
from pauc_core.solver import Iterate, Problem, State
from pauc_core.solver.samples import draw

NO_L = 2.0**-100  # far below rounding beside any 1/eta', and exact to multiply by


@dataclass(kw_only=True)
class DCAState(State):
    """Outer step k, inner iteration t, and what the subproblem of step k is made of."""

    w: np.ndarray
    lam: np.ndarray
    start: np.ndarray  # w^(k)
    xi: np.ndarray  # subgradient of f^m at w^(k), normalised
    k: int = 0
    t: int = 0

    def iterates(self) -> dict[str, Iterate]:
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
    of f^m is one epoch, and there is none where m = 0. ``lam_start`` is as in AGD-SBCD.
    """

    c: float
    C: int
    I: int
    J: int
    policy: str
    L: float = 0.0
    units: str = "normalised"
    lam_start: str = "zero"
    goals: ClassVar[frozenset[str]] = frozenset({"pauc", "sorr"})
    models: ClassVar[frozenset[str]] = frozenset({"linear"})

    def __post_init__(self) -> None:
        for name, allowed in (
            ("policy", ("changing", "constant")),
            ("units", ("normalised", "paper")),
            ("lam_start", ("zero", "quantile")),
        ):
            if (value := getattr(self, name)) not in allowed:
                raise ValueError(f"DCA: {name} is {value!r}; expected one of {allowed}.")
        if min(self.c, self.C, self.I, self.J) <= 0 or self.L < 0:
            raise ValueError("DCA: c, C, I and J must be above 0 and L not below it; check them.")

    def init(self, problem: Problem, rng: np.random.Generator) -> DCAState:
        w = np.asarray(problem.model.start(rng), dtype=np.float64)
        lam, passes = first_lam(self.lam_start, problem, w)
        state = DCAState(w=w, lam=lam[1], start=w.copy(), xi=np.zeros_like(w))
        state.epochs = float(passes)
        return state

    def step(self, problem: Problem, state: DCAState, rng: np.random.Generator) -> DCAState:
        train, (m, n), rows = problem.train, problem.ranks, pair_rows(problem)
        if not np.isfinite(state.w).all():
            state.finished = True  # no subgradient there; the look that follows says so
            return state
        if state.t == 0:
            state.start = state.w.copy()
            if m > 0:
                state.xi = m / rows.n_neg * range_loss_grad(problem, state.w, 0, m)[1]
                state.epochs += 1.0
        changing = self.policy == "changing"
        size = self.c / (state.k + 1) if changing else self.c
        length = self.C * (state.k + 1) ** 2 if changing else self.C
        I, J = sample_sizes(problem, self.I, self.J)
        sampled = sampled_rows(problem, self.I, self.J)
        count = min(inner_iterations(problem, self.I, self.J), length - state.t)
        # L/2 |v - w^(k)|^2 - xi.v is L/2 |v - (w^(k) + xi/L)|^2 and a constant: Algorithm 4 is
        # Algorithm 1 around that centre with mu = 1/L, without the averages.
        L = self.L / (rows.n_pos * rows.n_neg) if self.units == "paper" else self.L
        mu = 1.0 / max(L, NO_L)
        v, lam = state.w[None].copy(), state.lam[None].copy()
        calls = Calls(v=v, v_sum=np.zeros_like(v), lam=lam, drift=np.zeros_like(lam))
        sbcd_block(
            rows,
            calls,
            state.start + mu * state.xi,
            np.array([n / rows.n_neg]),
            Steps(eta=size, theta=size, mu=mu),
            Draws(draw(rng, rows.n_pos, I, count), draw(rng, rows.n_neg, J, count)),
            t=0,
            loss=problem.loss,
        )
        state.w, state.lam = v[0], lam[0]
        state.epochs += count * sampled / len(train)
        state.t += count
        if state.t == length:
            state.k, state.t = state.k + 1, 0
        return state
