"""What the jobs of fitting and tuning do, wherever it is done."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from pauc_core.objective import pauc_loss_grad
from pauc_core.suite.jobs import job
from pauc_core.suite.run_spec import RunSpec
from pauc_core.suite.runner import run_seeds
from pauc_core.suite.served import Packed
from pauc_core.suite.tuning import tune, tuned_params


def fit(
    *,
    log: str,
    spec: Packed,
    tuned: str | None,
    seeds: list[int],
    data: Path,
    out: Path,
    digest: str | None,
) -> None:
    """Run one method on one dataset, a few seeds."""
    with job(log):
        run: RunSpec = spec.unpack()
        values = partial(tuned_params, run, Path(tuned) if tuned else None)
        run_seeds(run, values, seeds, data, out, digest)


def tune_grid(
    *,
    log: str,
    spec: Packed,
    data: Path,
    chosen: Path,
    trials: Path,
    at_once: int,
    seeds: list[int],
) -> None:
    """Run one method's grid on one dataset; write the chosen values and every trial."""
    with job(log):
        tune(spec.unpack(), data, chosen, trials, at_once=at_once, seeds=seeds)


def compile_objective() -> None:
    """Have what every look needs compiled, or loaded from where it was kept."""
    pauc_loss_grad(np.zeros(2), np.zeros(4), m=1, n=3, loss="logistic")
