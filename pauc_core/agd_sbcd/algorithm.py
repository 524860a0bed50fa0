"""AGD-SBCD: Algorithm 2 with Algorithm 1 inside; Algorithm 3 (SoRR) is its case N+ = 1.

All numbers are in normalised units (objective over N+N-, for SoRR over N): mu' = mu N+N-,
gamma' = gamma N+N-, eta' = eta N+N- and theta' = theta N-, both c/(k+1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pauc_core.agd_sbcd.compiled import Calls, Draws, Steps, sbcd_block
from pauc_core.agd_sbcd.pairs import (
    PairRows,
    first_lam,
    inner_iterations,
    pair_rows,
    sample_sizes,
    sampled_rows,
)
from pauc_core.solver import Iterate, Problem, State
from pauc_core.solver.samples import draw
from pauc_core.solver.schedules import Harmonic, Quadratic


@dataclass(kw_only=True)
class AGDState(State):
    """Outer step k, inner iteration t, and both calls' running quantities: row 0 is l = m."""

    w: np.ndarray
    v: np.ndarray
    v_sum: np.ndarray
    lam: np.ndarray
    drift: np.ndarray
    v_bar: np.ndarray  # averages of the last finished outer step
    k: int = 0
    t: int = 0

    def averages(self) -> np.ndarray:
        """vbar_m and vbar_n so far in this outer step; between two, those of the last one."""
        return self.v_sum / self.t if self.t else self.v_bar

    def iterates(self) -> dict[str, Iterate]:
        return {"scored": self.averages()[1], "w": self.w}

    def own(self) -> dict[str, float]:
        v_m, v_n = self.averages()
        return {
            "outer": self.k,
            "inner": self.t,
            "v_gap": float(np.linalg.norm(v_m - v_n)),
            "lam_m_mean": float(self.lam[0].mean()),
            "lam_n_mean": float(self.lam[1].mean()),
        }


@dataclass(frozen=True, kw_only=True)
class AGDSBCD:
    """The paper's method; ``scored`` is vbar_n, as Algorithm 2 returns it, and ``w`` beside it.

    Parameters
    ----------
    mu, gamma : float
        Parameter of the Moreau envelopes and step of Algorithm 2 line 5, normalised.
    c, T : float, int
        Step sizes c/(k+1) and inner iterations T (k+1)^2 of outer step k.
    I, J : int
        Positives and negatives drawn at each inner iteration (for SoRR, J rows).
    samples : {"shared", "separate"}
        Whether the two calls use the same draws.
    lam_start : {"zero", "quantile"}
        First lam: 0, or each positive's l-th largest loss at the start (one pass over the data).
    refresh : int
        Training batches that renew the batch-norm statistics of an averaged network.
    device : str or None
        For linear models: None is the compiled loop, a torch device its twin.
    """

    mu: float
    gamma: float
    c: float
    T: int
    I: int
    J: int
    samples: str = "shared"
    lam_start: str = "zero"
    refresh: int = 16
    device: str | None = None
    goals: ClassVar[frozenset[str]] = frozenset({"pauc", "sorr"})
    models: ClassVar[frozenset[str]] = frozenset({"linear", "module"})

    def __post_init__(self) -> None:
        for name, allowed in (
            ("samples", ("shared", "separate")),
            ("lam_start", ("zero", "quantile")),
        ):
            if getattr(self, name) not in allowed:
                raise ValueError(
                    f"AGDSBCD: {name} is {getattr(self, name)!r}; expected one of {allowed}."
                )
        for name in ("mu", "I", "J"):
            if not getattr(self, name) > 0:
                raise ValueError(f"AGDSBCD: {name} is {getattr(self, name)}; expected above 0.")
        _ = self.rate, self.inner

    @property
    def rate(self) -> Harmonic:
        """Both step sizes eta' and theta' of outer step k."""
        return Harmonic(self.c)

    @property
    def inner(self) -> Quadratic:
        """Inner iterations T_k of outer step k."""
        return Quadratic(self.T)

    def init(self, problem: Problem, rng: np.random.Generator) -> State:
        if problem.model.kind == "module":
            from pauc_core.agd_sbcd.networks import start  # only now: importing torch is slow

            return start(self, problem, rng)
        w = np.asarray(problem.model.start(rng), dtype=np.float64)
        lam, passes = first_lam(self.lam_start, problem, w)
        both = np.stack([w, w])
        return AGDState(
            w=w,
            v=both.copy(),
            v_sum=np.zeros_like(both),
            lam=lam,
            drift=np.zeros_like(lam),
            v_bar=both,
            epochs=float(passes),
        )

    def step(self, problem: Problem, state: State, rng: np.random.Generator) -> State:
        """Inner iterations worth ``step_epochs``, and the outer updates that fall among them."""
        if not isinstance(state, AGDState):
            from pauc_core.agd_sbcd.networks import proceed

            return proceed(self, problem, state, rng)
        rows = pair_rows(problem)
        left = inner_iterations(problem, self.I, self.J)
        while left:
            count = min(left, self.inner(state.k) - state.t)
            self._inner(problem, rows, state, count, rng)
            left -= count
            if state.t == self.inner(state.k):
                self._outer(problem, state)
        return state

    def _inner(
        self,
        problem: Problem,
        rows: PairRows,
        state: AGDState,
        count: int,
        rng: np.random.Generator,
    ) -> None:
        """Algorithm 2 lines 3 and 4, as far as ``count`` iterations of both calls go."""
        size_i, size_j = sample_sizes(problem, self.I, self.J)
        rate = self.rate(state.k)
        share = np.array(problem.ranks) / rows.n_neg
        live = [0, 1] if problem.ranks[0] else [1]  # m = 0: f^m is zero, no call
        groups = [live] if self.samples == "shared" else [[call] for call in live]
        for group in groups:
            part = slice(group[0], group[-1] + 1)
            sbcd_block(
                rows,
                Calls(
                    v=state.v[part],
                    v_sum=state.v_sum[part],
                    lam=state.lam[part],
                    drift=state.drift[part],
                ),
                state.w,
                share[part],
                Steps(eta=rate, theta=rate, mu=self.mu),
                Draws(draw(rng, rows.n_pos, size_i, count), draw(rng, rows.n_neg, size_j, count)),
                t=state.t,
                loss=problem.loss,
                device=self.device,
            )
        if len(live) == 1:
            state.v_sum[0] += count * state.w  # vbar_m = w
        state.t += count
        sampled = count * sampled_rows(problem, self.I, self.J)
        # The paper's epoch counts the samples of both calls once.
        state.epochs += sampled / len(problem.train)

    def _outer(self, problem: Problem, state: AGDState) -> None:
        """Algorithm 2 line 5, and what the next calls start from."""
        state.v_bar = state.v_sum / state.t
        state.lam -= state.drift / state.t  # Algorithm 1 hands on the averaged lam
        state.w = state.w - self.gamma / self.mu * (state.v_bar[0] - state.v_bar[1])
        state.v = np.stack([state.w, state.w])
        state.v_sum = np.zeros_like(state.v)
        state.drift[:] = 0.0
        state.k += 1
        state.t = 0
