"""A batch of the rivals against an inner iteration of AGD-SBCD: whose program is how fast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from baselines.pauci import PAUCI
from baselines.sopa import SOPA, SOPAs
from benchmarks.bench_inner import best, data
from pauc_core.agd_sbcd import AGDSBCD
from pauc_core.models.linear import LinearModel
from pauc_core.solver import Method, Part, Problem
from pauc_core.solver.streams import stream

ROWS, POSITIVES, WIDTHS = 45_000, 4_500, (22, 1280)
BATCHES = 40
SIZES = {"positives": 100, "negatives": 100}
PAIRS = {"lr": 0.001, "loss": "logistic", "decay_epochs": 10.0, **SIZES}
SADDLE = {"nu": 0.01, "k": 1.0, "m": 1000.0, "c": 3.0, "kappa": 2.0, "weight_decay": 1e-5, **SIZES}
# Times AGD-SBCD's two calls: SOPA-s takes an exponential a pair, PAUCI two gradients a batch.
METHODS: dict[str, tuple[Method, float]] = {
    "SOPA": (SOPA(eta_s=0.1, **PAIRS), 2.0),
    "SOPA-s": (SOPAs(Lambda=1.0, g=0.9, **PAIRS), 12.0),
    "PAUCI": (PAUCI(accelerated=True, **SADDLE), 4.0),
}


def run() -> list[dict[str, Any]]:
    lines = []
    for width in WIDTHS:
        part = Part(data(ROWS, width), np.arange(ROWS) < POSITIVES, np.arange(ROWS))
        problem = Problem(
            train=part,
            valid=None,
            model=LinearModel(np.zeros(width), np.ones(width)),
            fpr_low=0.05,
            fpr_high=0.5,
            step_epochs=BATCHES * 200 / ROWS,
        )
        # As long an outer step as the measurement: a shorter one would add updates of w.
        ours = AGDSBCD(mu=1000, gamma=2000, c=1, T=10**6, I=100, J=100)
        work = [_steps(method, problem) for method in (ours, *(m for m, _ in METHODS.values()))]
        mine, *theirs = (1e6 * seconds / BATCHES for seconds in best(work))
        for (name, (_, target)), took in zip(METHODS.items(), theirs, strict=True):
            lines.append({
                "name": f"{name} batch / AGD-SBCD iteration, {width} columns",
                "measured": took / mine,
                "target": f"<= {target:g}",
                "holds": took <= target * mine,
                "detail": f"{took:.0f} us a batch; {mine:.0f} us an iteration of both calls",
            })  # fmt: skip
    return lines


def _steps(method: Method, problem: Problem) -> Callable[[], None]:
    state, rng = method.init(problem, stream(0, "start")), stream(0, "steps")

    def step() -> None:
        method.step(problem, state, rng)

    step()
    return step


if __name__ == "__main__":
    for line in run():
        print(line)
