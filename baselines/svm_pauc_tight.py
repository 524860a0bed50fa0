"""SVM_pAUC-tight: the convex cutting-plane method of Narasimhan and Agarwal (KDD 2013)."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor
from typing import ClassVar

import numpy as np

from pauc_core.models.linear import LinearModel
from pauc_core.solver import Iterate, Problem, State
from pauc_core.solver.simplex_qp import minimise_on_simplex


@dataclass(kw_only=True)
class SVMState(State):
    """The weights, the cuts w . psi >= delta - slack so far, and bounds on the optimum.

    The first cut is 0 >= 0 - slack; its dual variable is what the others leave of C.
    """

    w: np.ndarray
    psi: np.ndarray  # (cuts, d)
    delta: np.ndarray
    gram: np.ndarray
    share: np.ndarray  # the dual variables over C
    slack: float = 0.0
    primal: float  # lowest value seen
    dual: float = 0.0

    def iterates(self) -> dict[str, Iterate]:
        return {"scored": self.w}

    def own(self) -> dict[str, float]:
        bounds = {"primal": self.primal, "dual": self.dual, "gap": self.primal - self.dual}
        return {"cuts": len(self.delta) - 1, "slack": self.slack, **bounds}


@dataclass(frozen=True, kw_only=True)
class SVMpAUCTight:
    """Minimise |w|^2 / 2 + C slack, one slack, no bias; a step is one cut.

    The weights regularised are those of the scaled features, as all methods see them. A cut reads
    the data twice, for scores and for the cut itself, and counts as one epoch, as a full gradient
    does elsewhere.
    """

    C: float
    tolerance: float = 1e-4
    goals: ClassVar[frozenset[str]] = frozenset({"pauc"})
    models: ClassVar[frozenset[str]] = frozenset({"linear"})

    def init(self, problem: Problem, rng: np.random.Generator) -> SVMState:
        w, no, all_ = np.zeros(problem.train.x.shape[1]), np.zeros(1), np.ones(1)
        # At w = 0 every rank of the band is lost: the slack is 1 and the value C.
        return SVMState(w=w, psi=w[None], delta=no, gram=no[None], share=all_, primal=self.C)

    def step(self, problem: Problem, state: SVMState, rng: np.random.Generator) -> SVMState:
        model, train = problem.model, problem.train
        assert isinstance(model, LinearModel)
        scores, labels = model.scores(state.w, train), train.labels
        a, b = band_ranks(problem)
        delta, slack, slopes_pos, slopes_neg = most_violated(scores[labels], scores[~labels], a, b)
        state.epochs += 1.0
        state.primal = min(state.primal, 0.5 * float(state.w @ state.w) + self.C * slack)
        if slack <= state.slack + self.tolerance:
            state.finished = True
            return state
        slopes = np.empty(len(train))
        slopes[labels], slopes[~labels] = slopes_pos, slopes_neg
        psi = model.pull(train, slopes)
        state.psi = np.vstack([state.psi, psi])
        state.delta = np.append(state.delta, delta)
        row = state.psi @ psi
        state.gram = np.block([[state.gram, row[:-1, None]], [row]])
        warm = np.append(state.share, 0.0)
        alpha = self.C * minimise_on_simplex(self.C * state.gram, state.delta, warm)
        state.share, state.w = alpha / self.C, alpha @ state.psi
        pulled = state.gram @ alpha
        state.slack = float(np.max(state.delta - pulled))
        state.dual = float(alpha @ (state.delta - 0.5 * pulled))
        return state


def band_ranks(problem: Problem) -> tuple[float, float]:
    """The ends of the band in ranks, a = N- alpha and b = N- beta, not rounded."""
    a, b = (len(problem.train.negatives) * rate for rate in problem.band)
    # 0.07 * 100 is a little more than 7: a rank of weight 1e-15 must not enter.
    return float(round(a, 6)), float(round(b, 6))


def most_violated(
    pos: np.ndarray, neg: np.ndarray, a: float, b: float
) -> tuple[float, float, np.ndarray, np.ndarray]:
    """The ordering that violates its constraint most: loss, slack, psi's weight of each row.

    Positive i is put below r_i of the ceil(b) highest negatives, where r_i maximises
    B(r) - sum over j <= r of (p_i - q_j) and B(r) = max(0, min(r, b) - a) is the band's share of
    the first r ranks. Only two r can be best: of the first floor(a) ranks, which lose nothing,
    those above p_i; or these all, the next one, and whatever gains more than it costs.
    """
    ja, jb = floor(a), ceil(b)
    order = np.argsort(-neg)[:jb]
    q = neg[order]
    below = np.arange(ja + 2, jb + 1)
    gains = q[ja + 1 :] + np.minimum(below, b) - np.maximum(below - 1, a)
    before = np.searchsorted(-q[:ja], -pos)
    beyond = ja + 1 + np.searchsorted(-gains, -pos)
    prefix = np.append(0.0, np.cumsum(q))
    value_before = prefix[before] - before * pos
    value_beyond = np.minimum(beyond, b) - a + prefix[beyond] - beyond * pos
    r = np.where(value_beyond >= value_before, beyond, before)
    pairs = len(pos) * (b - a)
    slopes_neg = np.zeros(len(neg))
    slopes_neg[order] = np.cumsum(np.bincount(r, minlength=jb + 1))[:jb] - float(len(pos))
    slack = float(np.maximum(value_before, value_beyond).sum()) / pairs
    delta = float(np.maximum(0.0, np.minimum(r, b) - a).sum()) / pairs
    return delta, slack, r / pairs, slopes_neg / pairs
