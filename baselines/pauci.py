"""PAUCI: one-way partial AUC without pairs, as a saddle point (Shao et al., NeurIPS 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba import njit

from pauc_core.models.descent import Arrays, Batch, batches, iterate, start, zeros
from pauc_core.solver import Iterate, Problem, State

# The saddle's scalars: class means a and b, threshold s, multiplier lam, dual g; their boxes.
A, B, S, LAM, G = range(5)
LOW = np.array([0.0, 0.0, 0.0, 0.0, -1.0])
HIGH = np.array([1.0, 1.0, 5.0, np.inf, 1.0])
FIRST = np.array([0.5, 0.5, 0.5, 0.0, 1.0])  # as released
DOWN = np.array([1.0, 1.0, 1.0, 1.0, -1.0])  # g goes up, all else down


@dataclass(kw_only=True)
class PAUCIState(State):
    """Weights and scalars with their directions d."""

    weights: Arrays
    directions: Arrays
    scalars: np.ndarray
    scalar_directions: np.ndarray
    batches: int = 0

    def iterates(self) -> dict[str, Iterate]:
        return {"scored": iterate(self.weights)}

    def own(self) -> dict[str, float]:
        return dict(zip(("a", "b", "s", "lam", "g"), self.scalars.tolist(), strict=True))


@dataclass(frozen=True, kw_only=True)
class PAUCI:
    """Descent in w, a, b, s, lam and ascent in g on the saddle of `saddle_slopes`.

    With eta_t = k / (m + t)^(1/3) a variable moves to x + eta_t (P(x - nu d) - x), P its box;
    then d <- grad_new + (1 - c eta_t^2)(d - grad_old), both gradients on the same batch (their
    ASGDA; the first d is the first batch's gradient). ``accelerated: false`` is the plain
    primal-dual step: d is the batch's gradient. The band is [0, fpr_high]: the form has no lower
    end. A linear model has an intercept here, since the scores pass a sigmoid.
    """

    nu: float
    k: float
    m: float
    c: float
    kappa: float
    weight_decay: float
    accelerated: bool
    positives: int
    negatives: int

    goals: ClassVar[frozenset[str]] = frozenset({"pauc"})
    models: ClassVar[frozenset[str]] = frozenset({"linear", "module"})

    def init(self, problem: Problem, rng: np.random.Generator) -> PAUCIState:
        weights = start(problem, rng, intercept=True)
        return PAUCIState(
            weights=weights,
            directions=zeros(problem, weights),
            scalars=FIRST.copy(),
            scalar_directions=np.zeros_like(FIRST),
        )

    def step(self, problem: Problem, state: PAUCIState, rng: np.random.Generator) -> PAUCIState:
        train = problem.train
        for pos, neg in batches(problem, self.positives, self.negatives, rng):
            rows = np.concatenate([train.positives[pos], train.negatives[neg]])
            batch = Batch(problem, rows, rng)
            eta = self.k / (self.m + state.batches) ** (1.0 / 3.0)
            old = self._gradients(batch, state, len(pos), problem.band[1])
            if not self.accelerated or not state.batches:
                state.directions, state.scalar_directions = old
            for name, direction in state.directions.items():
                state.weights[name] -= eta * self.nu * direction
            aim = np.clip(state.scalars - self.nu * DOWN * state.scalar_directions, LOW, HIGH)
            state.scalars += eta * (aim - state.scalars)
            if self.accelerated:
                new = self._gradients(batch, state, len(pos), problem.band[1])
                keep = 1.0 - self.c * eta**2
                for name, direction in state.directions.items():
                    state.directions[name] = new[0][name] + keep * (direction - old[0][name])
                state.scalar_directions = new[1] + keep * (state.scalar_directions - old[1])
            state.batches += 1
            state.epochs = state.batches * (len(pos) + len(neg)) / len(train)
        return state

    def _gradients(
        self, batch: Batch, state: PAUCIState, positives: int, high: float
    ) -> tuple[Arrays, np.ndarray]:
        by_scalars = np.zeros_like(FIRST)

        def slopes(scores: np.ndarray) -> np.ndarray:
            found, by_scalars[:] = saddle_slopes(
                scores[:positives], scores[positives:], state.scalars, high, self.kappa
            )
            return found

        found = batch.gradients(state.weights, slopes)
        decay = {name: self.weight_decay * state.weights[name] for name in found}
        return {name: gradient + decay[name] for name, gradient in found.items()}, by_scalars


@njit(cache=True, error_model="numpy")
def saddle_slopes(
    pos: np.ndarray, neg: np.ndarray, scalars: np.ndarray, high: float, kappa: float
) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives by the scores (positives first) and by the scalars of one batch's saddle.

    With p, q the sigmoids of the scores and r(x) = log(1 + exp(kappa x)) / kappa it is
    mean (p - a)^2 - 2 (1 + g) p + s + mean r((q - b)^2 + 2 (1 + g) q - s) / high - g^2
    - lam (b - 1 - g), the last term keeping b <= 1 + g.
    """
    a, b, s, lam, g = scalars[A], scalars[B], scalars[S], scalars[LAM], scalars[G]
    slopes, by_scalars = np.empty(len(pos) + len(neg)), np.array([0.0, -lam, 1.0, 1.0 + g - b, 0.0])
    by_scalars[G] = lam - 2.0 * g
    for i in range(len(pos)):
        p = _sigmoid(pos[i])
        slopes[i] = 2.0 * (p - a - 1.0 - g) / len(pos) * p * (1.0 - p)
        by_scalars[A] -= 2.0 * (p - a) / len(pos)
        by_scalars[G] -= 2.0 * p / len(pos)
    for j in range(len(neg)):
        q = _sigmoid(neg[j])
        share = _sigmoid(kappa * ((q - b) ** 2 + 2.0 * (1.0 + g) * q - s)) / (high * len(neg))
        slopes[len(pos) + j] = 2.0 * share * (q - b + 1.0 + g) * q * (1.0 - q)
        by_scalars[B] -= 2.0 * share * (q - b)
        by_scalars[S] -= share
        by_scalars[G] += 2.0 * share * q
    return slopes, by_scalars


@njit(cache=True)
def _sigmoid(x: float) -> float:
    small = np.exp(-abs(x))
    return (1.0 if x > 0 else small) / (1.0 + small)
