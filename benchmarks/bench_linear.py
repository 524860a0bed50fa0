"""A cut of the SVM against reading the data twice and a sort; DCA's subgradient against (3)'s."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from baselines.svm_pauc_tight import SVMpAUCTight
from benchmarks.bench_inner import POSITIVES, ROWS, WIDTH, best, data
from pauc_core.models.full_gradient import range_loss_grad
from pauc_core.models.linear import LinearModel
from pauc_core.solver import Part, Problem
from pauc_core.solver.streams import stream

CUTS = 12  # the SVM's working set when its cut is timed


def run() -> list[dict[str, Any]]:
    x = data()
    x[:POSITIVES, :16] += 0.3  # something to learn, so that no cut is the last
    part = Part(x, np.arange(ROWS) < POSITIVES, np.arange(ROWS))
    model = LinearModel(np.zeros(WIDTH), np.ones(WIDTH))
    problem = Problem(train=part, valid=None, model=model, fpr_low=0.05, fpr_high=0.5)
    rng = stream(0, "unused")
    method = SVMpAUCTight(C=1.0, tolerance=0.0)
    state = method.init(problem, rng)
    for _ in range(CUTS):
        state = method.step(problem, state, rng)
    w, (m, n) = state.w, problem.ranks
    weights, column = w.astype(np.float32), np.ones(ROWS, dtype=np.float32)
    scores = (x @ weights).astype(np.float64)

    def floor() -> None:
        _ = x @ weights
        _ = column @ x
        np.argsort(scores[POSITIVES:])

    def cut() -> None:
        method.step(problem, copy.copy(state), rng)

    def gradient() -> None:
        range_loss_grad(problem, w, m, n)

    def subgradient() -> None:
        range_loss_grad(problem, w, 0, m)

    subgradient()
    floor_s, cut_s, gradient_s, subgradient_s = best([floor, cut, gradient, subgradient])
    return [
        {
            "name": "SVM cut / two passes and a sort",
            "measured": cut_s / floor_s,
            "target": "<= 1.5",
            "holds": cut_s <= 1.5 * floor_s,
            "detail": f"{1e3 * cut_s:.0f} ms a cut; {1e3 * floor_s:.0f} ms passes and sort",
        },
        {
            "name": "DCA subgradient / exact gradient",
            "measured": subgradient_s / gradient_s,
            "target": "<= 1.2",
            "holds": subgradient_s <= 1.2 * gradient_s,
            "detail": f"{1e3 * subgradient_s:.0f} ms of f^m; {1e3 * gradient_s:.0f} ms of (3)",
        },
    ]


if __name__ == "__main__":
    for line in run():
        print(line)
