"""SOPA and SOPA-s: one-way partial AUC by a threshold per positive (Zhu et al., ICML 2022)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pauc_core.agd_sbcd.active_pairs import active_slopes
from pauc_core.models.descent import Arrays, Batch, adam, batches, iterate, start, zeros
from pauc_core.objective import get_loss
from pauc_core.solver import Iterate, Problem, State

DROPS = 2  # the rate is divided by 10 twice, as in the authors' runs, and then stays


@dataclass(kw_only=True)
class SOPAState(State):
    """Weights, Adam's two means, and one number a positive: its threshold, or log u."""

    weights: Arrays
    first: Arrays
    second: Arrays
    numbers: np.ndarray
    batches: int = 0

    def iterates(self) -> dict[str, Iterate]:
        return {"scored": iterate(self.weights)}


@dataclass(frozen=True, kw_only=True)
class _PairMethod:
    """Steps over batches of all pairs, by the subclass's slopes; Adam as released.

    The rate is divided by 10 after ``decay_epochs`` and once more after as many again. The band
    is [0, fpr_high]: neither form has a lower end.
    """

    lr: float
    loss: str
    decay_epochs: float
    positives: int
    negatives: int

    goals: ClassVar[frozenset[str]] = frozenset({"pauc"})
    models: ClassVar[frozenset[str]] = frozenset({"linear", "module"})
    first_number: ClassVar[float]

    def init(self, problem: Problem, rng: np.random.Generator) -> SOPAState:
        weights = start(problem, rng)
        return SOPAState(
            weights=weights,
            first=zeros(problem, weights),
            second=zeros(problem, weights),
            numbers=np.full(len(problem.train.positives), self.first_number),
        )

    def step(self, problem: Problem, state: SOPAState, rng: np.random.Generator) -> SOPAState:
        train, high = problem.train, problem.band[1]
        for pos, neg in batches(problem, self.positives, self.negatives, rng):
            rows = np.concatenate([train.positives[pos], train.negatives[neg]])
            batch = Batch(problem, rows, rng)

            def slopes(scores: np.ndarray, pos: np.ndarray = pos) -> np.ndarray:
                p, q = scores[: len(pos)], scores[len(pos) :]
                found, state.numbers[pos] = self.slopes(p, q, state.numbers[pos], high)
                return found

            gradients = batch.gradients(state.weights, slopes)
            state.batches += 1
            stage = min(math.floor(state.epochs / self.decay_epochs + 1e-9), DROPS)
            pace = self.lr * 10.0**-stage
            adam(state.weights, gradients, state.first, state.second, state.batches, pace)
            state.epochs = state.batches * len(rows) / len(train)
        return state

    def slopes(
        self, p: np.ndarray, q: np.ndarray, numbers: np.ndarray, high: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Slopes by the batch's scores, positives first, and the positives' renewed numbers."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class SOPA(_PairMethod):
    """The CVaR form: min over w, s of mean_i [s_i + mean_j (l_ij - s_i)_+ / b].

    On a batch a_ij = 1(l_ij > s_i); s_i <- s_i - eta_s (1 - mean_j a_ij / b) for the positives
    drawn; w moves along the gradient of mean_ij a_ij l_ij / b with a_ij held fixed (Algorithm 1).
    """

    eta_s: float
    first_number: ClassVar[float] = 0.0

    def slopes(
        self, p: np.ndarray, q: np.ndarray, numbers: np.ndarray, high: float
    ) -> tuple[np.ndarray, np.ndarray]:
        by_p, by_q, active = active_slopes(p, q, numbers, self.loss)
        renewed = numbers - self.eta_s * (1.0 - active / (high * len(q)))
        return np.concatenate([by_p, -by_q]) / (high * len(p) * len(q)), renewed


@dataclass(frozen=True, kw_only=True)
class SOPAs(_PairMethod):
    """The KL form: mean_i Lambda log mean_j exp(l_ij / Lambda); Lambda stands for the band.

    On a batch u_i <- (1 - g) u_i + g mean_j exp(l_ij / Lambda) for the positives drawn, u_i = 0 at
    the start; w moves along the gradient of mean_ij a_ij l_ij with a_ij = exp(l_ij / Lambda) / u_i
    held fixed (Algorithm 2). log u_i is what is kept: exp would overflow.
    """

    Lambda: float
    g: float
    first_number: ClassVar[float] = -math.inf

    def slopes(
        self, p: np.ndarray, q: np.ndarray, numbers: np.ndarray, high: float
    ) -> tuple[np.ndarray, np.ndarray]:
        loss, gaps = get_loss(self.loss), p[:, None] - q
        powers = loss.value(gaps) / self.Lambda
        top = powers.max(axis=1)
        grown = np.exp(powers - top[:, None])
        mean = top + np.log(grown.mean(axis=1))
        renewed = np.logaddexp(math.log1p(-self.g) + numbers, math.log(self.g) + mean)
        pulls = grown * np.exp(top - renewed)[:, None] * loss.slope(gaps)
        return np.concatenate([pulls.sum(axis=1), -pulls.sum(axis=0)]) / gaps.size, renewed
