"""AGD-SBCD: Algorithm 2 with Algorithm 1 inside; Algorithm 3 (SoRR) is its case N+ = 1.

All numbers are in normalised units (objective over N+N-, for SoRR over N): mu' = mu N+N-,
gamma' = gamma N+N-, eta' = eta N+N- and theta' = theta N-, both c/(k+1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pauc_core.kernels import Calls, PairRows, Steps, sbcd_block
from pauc_core.models.linear import LinearModel
from pauc_core.objective import exact_lam
from pauc_core.sampling import draw
from pauc_core.schedules import Harmonic, Quadratic
from pauc_core.solver import Iterate, Problem, State

NO_ROWS = np.zeros(0, dtype=np.int64)


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
            from pauc_core.agd_module import start

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
            work=passes * len(problem.train),
        )

    def step(self, problem: Problem, state: State, rng: np.random.Generator) -> State:
        """Inner iterations worth ``step_epochs``, and the outer updates that fall among them."""
        if not isinstance(state, AGDState):
            from pauc_core.agd_module import proceed

            return proceed(self, problem, state, rng)
        rows = pair_rows(problem)
        left = inner_iterations(self, problem)
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
        size_i, size_j = sample_sizes(self, problem)
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
                draw(rng, rows.n_pos, size_i, count),
                draw(rng, rows.n_neg, size_j, count),
                t=state.t,
                loss=problem.loss,
                device=self.device,
            )
        if len(live) == 1:
            state.v_sum[0] += count * state.w  # vbar_m = w
        state.t += count
        sampled = count * (size_j + (size_i if len(rows.pos_rows) else 0))
        # The paper's epoch counts the samples of both calls once.
        state.epochs += sampled / len(problem.train)
        state.work += sampled * len(groups)

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


def pair_rows(problem: Problem) -> PairRows:
    """The pairs of a linear problem; for SoRR all rows with signs -y against a score of 0."""
    if not isinstance(problem.model, LinearModel):
        raise TypeError(
            f"AGDSBCD got a {type(problem.model).__name__} of kind 'linear'; expected LinearModel."
        )
    train, sorr = problem.train, problem.goal == "sorr"
    neg_rows = train.rows if sorr else train.negatives
    signs = np.where(train.labels, -1.0, 1.0) if sorr else np.ones(len(neg_rows))
    return PairRows(
        x=train.x,
        pos_rows=NO_ROWS if sorr else np.asarray(train.positives, dtype=np.int64),
        neg_rows=np.asarray(neg_rows, dtype=np.int64),
        signs=signs,
        center=problem.model.center,
        scale=problem.model.scale,
    )


def sample_sizes(method: AGDSBCD, problem: Problem) -> tuple[int, int]:
    """I and J, no more than there are; SoRR has its one row-less positive."""
    if problem.goal == "sorr":
        return 1, min(method.J, len(problem.train))
    return (
        min(method.I, len(problem.train.positives)),
        min(method.J, len(problem.train.negatives)),
    )


def inner_iterations(method: AGDSBCD, problem: Problem) -> int:
    """Inner iterations that fit into one step of the solver, at least one."""
    size_i, size_j = sample_sizes(method, problem)
    rows = size_j if problem.goal == "sorr" else size_i + size_j
    return max(1, int(problem.step_epochs * len(problem.train) / rows))


def first_lam(lam_start: str, problem: Problem, start: Iterate) -> tuple[np.ndarray, int]:
    """First lam of both calls, shape (2, N+), and the passes over the data that it took."""
    sorr = problem.goal == "sorr"
    n_pos = 1 if sorr else len(problem.train.positives)
    if lam_start == "zero":
        return np.zeros((2, n_pos)), 0
    scores = problem.model.scores(start, problem.train)
    labels = problem.train.labels
    p = np.zeros(1) if sorr else scores[labels]
    q = np.where(labels, -scores, scores) if sorr else scores[~labels]
    return np.stack([exact_lam(p, q, rank, loss=problem.loss) for rank in problem.ranks]), 1
