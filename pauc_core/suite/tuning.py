"""Tuning as a recorded stage: a whole grid on one split a fold, every trial written down."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pauc_core.files import write_json
from pauc_core.suite.checked_data import check_data
from pauc_core.suite.choice import OBJECTIVE, TUNING_SEED, VALIDATION, choose, expand, lowest
from pauc_core.suite.run_spec import RunSpec
from pauc_core.suite.runner import run_trials


def tune(
    run: RunSpec,
    data: Path,
    out: Path,
    trials: Path,
    at_once: int,
    seeds: Sequence[int] = (TUNING_SEED,),
) -> None:
    """Run the grid on the split of each of ``seeds``; write the chosen values and all trials.

    A set without folds is tuned once, one with folds inside each fold. A later stage of the grid
    starts from the values with the best validation pAUC so far.
    """
    identity = {"experiment": run.experiment.name, "dataset": run.dataset, "method": run.method}
    lines: list[dict[str, Any]] = []
    by_fold: dict[int, dict[str, Any]] = {}
    for seed in seeds:
        rows: list[dict[str, Any]] = []
        tried: list[dict[str, Any]] = []
        best = 0
        for stage in run.stages:
            grid = [
                p for p in expand(tried[best] if tried else run.params, stage) if p not in tried
            ]
            tried += grid
            rows += run_trials(
                run, grid, seed, data, out.with_suffix(".logs"), at_once, first=len(rows)
            )
            best = choose(rows, run.experiment.goal, run.experiment.loss)
        by_fold[seed] = {
            by: {"params": tried[trial], "trial": trial}
            for by, trial in ((VALIDATION, best), (OBJECTIVE, lowest(rows)))
        }
        lines += [{**identity, "seed": seed, **row, "chosen": row["trial"] == best} for row in rows]
    trials.parent.mkdir(parents=True, exist_ok=True)
    write_json(trials, lines)
    folds = check_data(data).meta.get("folds", 1)
    write_json(out, {**identity, "folds": folds, "by_fold": by_fold, "trials": len(lines)})


def tuned_params(
    run: RunSpec, tuned: Path | None, seed: int, chosen_by: str = VALIDATION
) -> dict[str, Any]:
    """The values that are run with: where tuning was done, those chosen in the seed's fold."""
    if tuned is None:
        return run.params
    found = json.loads(tuned.read_text())
    in_fold = found["by_fold"][str(seed % found["folds"])]
    return {**run.params, **in_fold[chosen_by]["params"]}
