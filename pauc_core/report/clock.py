"""The clock: how long each method takes to targets that were fixed before, and profiles of that."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pauc_core.report.frames import KEYS, Collected, Reports
from pauc_core.report.league import Task

PAUC, OBJECTIVE = "pauc", "objective"
TICK = 1e-6  # seconds; no clock here tells less apart
LEAST_FALL = 1e-3  # of the reference's first objective: a share of less is a share of rounding
LOOKED = ("seconds", "pauc_valid", "objective")
Looks = dict[str, np.ndarray]  # those columns of a seed's trace, in the order of its steps
COLUMNS = [
    "experiment", "dataset", "fpr_low", "fpr_high", "kind", "regime", "method", "measure", "target",
    "seconds", "reached", "seeds", "factor", "tuning_seconds",
]  # fmt: skip


@dataclass(frozen=True)
class Target:
    """How near to the reference: a difference of pAUC, or a share of the objective's fall."""

    measure: str
    within: float

    @property
    def label(self) -> str:
        if self.measure == PAUC:
            return f"validation pAUC within {self.within:g}"
        return f"(F - F*)/(F0 - F*) at most {self.within:g}"


def all_targets(reports: Reports) -> list[Target]:
    settings = reports.league
    return [Target(PAUC, x) for x in settings["within"]] + [
        Target(OBJECTIVE, x) for x in settings["suboptimality"]
    ]


def times(
    collected: Collected, reports: Reports, tasks: list[Task], targets: pd.DataFrame
) -> pd.DataFrame:
    """Median CPU seconds over seeds to each target on each task; a miss is infinite.

    The clock of a run stops while it is looked at. A target counts for the seed and the data that
    it was set with. ``factor`` is over the fastest method of the task and target, and
    ``tuning_seconds`` are those of all trials before a run. Targets of the objective are for
    methods that minimise it, on tasks where the reference has made it fall.
    """
    levels = {
        (str(r["experiment"]), str(r["dataset"]), int(r["seed"])): r
        for r in targets.to_dict("records")
    }
    spent = tuning_seconds(collected)
    rows: list[dict[str, object]] = []
    for task in tasks:
        for method in task.standings:
            seeds = _seeds(collected, task, method, levels)
            tried = spent[task.experiment, task.dataset, method]
            timed = method in reports.minimising and all(_falls(level) for _, level in seeds)
            for target in all_targets(reports) if seeds else []:
                if target.measure == OBJECTIVE and not timed:
                    continue
                found = [time_to(trace, target, level) for trace, level in seeds]
                rows.append({
                    "experiment": task.experiment,
                    "dataset": task.dataset,
                    "fpr_low": task.band[0],
                    "fpr_high": task.band[1],
                    "kind": task.kind,
                    "regime": task.regime,
                    "method": method,
                    "measure": target.measure,
                    "target": target.within,
                    "seconds": float(np.median(found)),
                    "reached": sum(map(math.isfinite, found)),
                    "seeds": len(found),
                    "tuning_seconds": float(tried),
                })  # fmt: skip
    numbers = dict.fromkeys(("target", "seconds", "factor", "tuning_seconds"), float)
    frame = pd.DataFrame(rows, columns=COLUMNS).astype(numbers)
    return frame.assign(factor=factors(frame))


def tuning_seconds(collected: Collected) -> dict[tuple[str, str, str], float]:
    """Of each cell's trials together; where folds are tuned each by itself, of a typical fold.

    None were needed by a method without a grid; NaN where the trials were those of another set.
    """
    of_folds = collected.trials.groupby([*KEYS, "seed"], dropna=False).seconds.sum()
    spent = of_folds.groupby(KEYS).median().to_dict()
    tuned = collected.of_validation("summaries").groupby(KEYS).tuned.any()
    return {key: spent.get(key, math.nan if tuned[key] else 0.0) for key in tuned.index}


def _falls(level: Mapping[Hashable, Any]) -> bool:
    start = float(level["objective_start"])
    return start - float(level["objective_best"]) > LEAST_FALL * start


def _seeds(
    collected: Collected,
    task: Task,
    method: str,
    levels: Mapping[tuple[str, str, int], Mapping[Hashable, Any]],
) -> list[tuple[Looks, Mapping[Hashable, Any]]]:
    """The looks of each seed that has a target, and the target; none where the run failed."""
    traces = collected.trace(task.experiment, task.dataset, method).sort_values("step")
    places = traces.groupby("seed").indices
    columns = {name: traces[name].to_numpy(dtype=float) for name in LOOKED}
    found = []
    for run in collected.runs(task.experiment, task.dataset, method).to_dict("records"):
        level = levels.get((task.experiment, task.dataset, int(run["seed"])))
        if level is None or str(run["data_checksum"])[:12] != str(level["data_checksum"]):
            continue
        mine = places.get(run["seed"], np.zeros(0, dtype=int))
        found.append(({name: values[mine] for name, values in columns.items()}, level))
    return found


def time_to(looks: Looks, target: Target, level: Mapping[Hashable, Any]) -> float:
    """Seconds of the first look that reaches a target; infinite where none does."""
    if target.measure == PAUC:
        reached = looks["pauc_valid"] >= float(level["pauc_valid"]) - target.within
    else:
        start, best = float(level["objective_start"]), float(level["objective_best"])
        reached = looks["objective"] - best <= target.within * (start - best)
    seconds = looks["seconds"][reached]
    return max(float(seconds[0]), TICK) if len(seconds) else math.inf


def factors(frame: pd.DataFrame) -> pd.Series:
    """Seconds over those of the fastest of the frame's methods, task by task; a miss is infinite.

    A task is a dataset, a band and a target.
    """
    quickest = frame.groupby(["experiment", "dataset", "measure", "target"]).seconds
    ratio = frame.seconds / quickest.transform("min")  # infinite over infinite: nobody solved it
    return ratio.where(np.isfinite(frame.seconds), math.inf)


def profile(frame: pd.DataFrame) -> dict[str, tuple[np.ndarray, np.ndarray, int]]:
    """For each method: factors, the share of its tasks solved within each, how many it ran on.

    Leaving a method out of ``frame`` may change the curves of the others.
    """
    found = {}
    for method, values in factors(frame).groupby(frame.method):
        solved = np.sort(values[np.isfinite(values)].to_numpy())
        shares = np.arange(1, len(solved) + 1) / len(values)
        found[str(method)] = (solved, shares, len(values))
    return found
