"""The race against the rival for every value of its grid, and where the time went."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd

from pauc_core.report.frames import KEYS, Collected, Reports
from pauc_core.report.measured import first_above
from pauc_core.suite.choice import TUNING_SEED

RIVAL_COLUMNS = [
    *KEYS, "rival", "rival_params", "chosen", "rival_train_pauc", "rival_seconds", "rival_epochs",
]  # fmt: skip
EXCEED_COLUMNS = [
    f"{what}_to_exceed{suffix}"
    for suffix in ("", "_at_w")
    for what in ("seconds", "epochs", "ratio")
]


def against_each_trial(collected: Collected, reports: Reports) -> pd.DataFrame:
    """When the method passes each trial of its rival, on the split that both were tuned on.

    ``ratio`` is the rival's whole time over the time to pass it, Table 1's quotient. Empty means
    never. Trials without a training pAUC are left out.
    """
    rows: list[dict[str, Any]] = []
    for table in reports.tables.values():
        for part in table["parts"] if table["form"] == "exceed" else []:
            source = reports.source(part["source"])
            for dataset in map(source.measured, source.columns):
                task = (source.experiment, dataset)
                rows += _trials(collected, task, part["method"], part["rival"])
    return pd.DataFrame(rows, columns=[*RIVAL_COLUMNS, *EXCEED_COLUMNS])


def _trials(
    collected: Collected, task: tuple[str, str], method: str, rival: str
) -> list[dict[str, Any]]:
    t = collected.trials
    trials = t[(t.experiment == task[0]) & (t.dataset == task[1]) & (t.method == rival)]
    trials = trials[trials.seed.isna() | (trials.seed == TUNING_SEED)]
    trace = collected.trace(*task, method)
    trace = trace[trace.seed == TUNING_SEED]
    rows = []
    for trial in trials[trials.last_pauc_train.notna()].to_dict("records"):
        level, seconds = float(trial["last_pauc_train"]), float(trial["seconds"])
        row = {
            **dict(zip(KEYS, (*task, method), strict=True)),
            "rival": rival,
            "rival_params": _short(trial["params"]),
            "chosen": bool(trial["chosen"]),
            "rival_train_pauc": level,
            "rival_seconds": seconds,
            "rival_epochs": float(trial["last_epoch"]),
        }
        for suffix, column in (("", "pauc_train"), ("_at_w", "pauc_train_w")):
            after, epoch = first_above(trace, column, level)
            found = (after, epoch, seconds / after if after > 0 else np.nan)
            names = (f"{what}_to_exceed{suffix}" for what in ("seconds", "epochs", "ratio"))
            row |= dict(zip(names, found, strict=True))
        rows.append(row)
    return rows


def _short(params: str) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in json.loads(params).items())


def time_spent(collected: Collected) -> pd.DataFrame:
    """CPU seconds inside the solvers by experiment and method: fits, and trials before them.

    Looks, loading and starting are outside every clock and not in it.
    """
    parts = []
    for what, frame in (("fit", collected.summaries), ("trial", collected.trials)):
        seconds = frame.groupby(["experiment", "method"]).seconds
        parts += [seconds.size().rename(f"{what}s"), seconds.sum().rename(f"{what}_seconds")]
    joined = pd.concat(parts, axis=1).fillna(0).sort_index()
    joined["share"] = joined.fit_seconds + joined.trial_seconds
    joined["share"] /= max(float(joined.share.sum()), 1e-12)
    return joined.astype({"fits": int, "trials": int}).reset_index()
