"""SOPA and SOPA-s: one-way partial AUC by a threshold per positive (Zhu et al., ICML 2022)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pauc_core.models.batches import batches_in_step
from pauc_core.models.descent import Arrays, Batch, adam, iterate, start, zeros
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
    """Steps over batches of all pairs, by the subclass's weights of pairs; Adam as released.

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
        train, loss, high = problem.train, get_loss(self.loss), problem.band[1]
        take = min(self.positives, len(train.positives)), min(self.negatives, len(train.negatives))
        for _ in range(batches_in_step(problem, sum(take))):
            drawn = rng.choice(len(train.positives), take[0], replace=False)
            others = rng.choice(train.negatives, take[1], replace=False)
            batch = Batch(problem, np.concatenate([train.positives[drawn], others]), rng)

            def slopes(scores: np.ndarray, drawn: np.ndarray = drawn) -> np.ndarray:
                gaps = scores[: take[0], None] - scores[take[0] :]
                weights, numbers = self.weigh(loss.value(gaps), state.numbers[drawn], high)
                state.numbers[drawn] = numbers
                return by_scores(weights * loss.slope(gaps))

            gradients = batch.gradients(state.weights, slopes)
            state.batches += 1
            stage = min(math.floor(state.epochs / self.decay_epochs + 1e-9), DROPS)
            pace = self.lr * 10.0**-stage
            adam(state.weights, gradients, state.first, state.second, state.batches, pace)
            state.epochs = state.batches * sum(take) / len(train)
        return state

    def weigh(
        self, losses: np.ndarray, numbers: np.ndarray, high: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Weights of the pairs (a row a positive), and the positives' renewed numbers."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class SOPA(_PairMethod):
    """The CVaR form: min over w, s of mean_i [s_i + mean_j (l_ij - s_i)_+ / b].

    On a batch a_ij = 1(l_ij > s_i); s_i <- s_i - eta_s (1 - mean_j a_ij / b) for the positives
    drawn; w moves along the gradient of mean_ij a_ij l_ij / b with a_ij held fixed (Algorithm 1).
    """

    eta_s: float
    first_number: ClassVar[float] = 0.0

    def weigh(
        self, losses: np.ndarray, numbers: np.ndarray, high: float
    ) -> tuple[np.ndarray, np.ndarray]:
        active = losses > numbers[:, None]
        return active / high, numbers - self.eta_s * (1.0 - active.mean(axis=1) / high)


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

    def weigh(
        self, losses: np.ndarray, numbers: np.ndarray, high: float
    ) -> tuple[np.ndarray, np.ndarray]:
        powers = losses / self.Lambda
        top = powers.max(axis=1)
        mean = top + np.log(np.exp(powers - top[:, None]).mean(axis=1))
        renewed = np.logaddexp(math.log1p(-self.g) + numbers, math.log(self.g) + mean)
        return np.exp(powers - renewed[:, None]), renewed


def by_scores(slopes: np.ndarray) -> np.ndarray:
    """From slopes by the gaps p_i - q_j to those of their mean by p and q, end to end."""
    return np.concatenate([slopes.sum(axis=1), -slopes.sum(axis=0)]) / slopes.size
