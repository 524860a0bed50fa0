"""Tuning as a recorded stage: a whole grid on one split, every trial written down."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pauc_core.files import write_json
from pauc_core.suite.choice import TUNING_SEED, choose, expand
from pauc_core.suite.run_spec import RunSpec
from pauc_core.suite.runner import run_trials


def tune(run: RunSpec, data: Path, out: Path, trials: Path, at_once: int) -> None:
    """Run the grid; write the chosen values and all trials."""
    grid = expand(run.params, run.grid)
    rows = run_trials(run, grid, TUNING_SEED, data, out.with_suffix(".logs"), at_once)
    chosen = choose(rows, run.experiment.goal, run.experiment.loss)
    identity = {"experiment": run.experiment.name, "dataset": run.dataset, "method": run.method}
    lines = [{**identity, **row, "chosen": row["trial"] == chosen} for row in rows]
    trials.parent.mkdir(parents=True, exist_ok=True)
    write_json(trials, lines)
    write_json(out, {**identity, "params": grid[chosen], "trial": chosen, "trials": len(rows)})


def tuned_params(run: RunSpec, tuned: Path | None) -> dict[str, Any]:
    """The values that are run with: tuned ones where tuning was done."""
    if tuned is None:
        return run.params
    return {**run.params, **json.loads(tuned.read_text())["params"]}
