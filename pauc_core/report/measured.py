"""Measured numbers, one a row, keyed like the paper's in reference/tables.csv."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pauc_core.report.frames import FINE, OBJECTIVE, VALIDATION, Collected, Reports, Source

KEY = ["artifact", "dataset", "method", "metric"]
NEVER = (np.nan, np.nan)
BY_OBJECTIVE = "@objective"  # suffix of a method with the values lowest in training objective
AT_W = "@w"  # suffix of a method whose numbers are taken at w^(k) instead of vbar_n^(k)
SUMMARY_COLUMN = {
    "test_pauc": "pauc_test",
    "valid_pauc": "pauc_valid",
    "train_pauc": "last_pauc_train",
    "cpu_seconds": "seconds",
}
COUNTS = ("samples", "features", "positives", "negatives")
NO_GPU = "no GPU here"
EXCEED = ["seed", "seconds", "epoch", "rival_seconds", "seconds_before", "epoch_before"]


def extra_methods(
    collected: Collected, reports: Reports, source: Source, listed: list[str]
) -> list[str]:
    """Methods that ran in a source's experiment and that the paper's table does not have."""
    s = collected.summaries
    measured = [source.measured(column) for column in source.columns]
    here = s[(s.experiment == source.experiment) & s.dataset.isin(measured)]
    at_w = here[here.pauc_test_w.notna()].method.unique()
    found = [m for m in here.method.unique() if m not in listed]
    found += [m + AT_W for m in at_w]
    found += [m + BY_OBJECTIVE for m in here[here.chosen_by == OBJECTIVE].method.unique()]
    return sorted(found, key=lambda m: ("@" in m, reports.order(plain(m)), m))


def plain(method: str) -> str:
    """A method without what says where and with which values it is looked at."""
    return method.partition("@")[0]


def measured_numbers(collected: Collected, reports: Reports) -> pd.DataFrame:
    """Every measured number of every table, and a row with its status where there is none."""
    rows: list[dict[str, Any]] = []
    for artifact, table in reports.tables.items():
        for part in table["parts"]:
            source = reports.source(part["source"])
            for column in source.columns:
                for row in _part_numbers(collected, reports, table, part, source, column):
                    rows.append({"artifact": artifact, "dataset": column, **row})
    return pd.DataFrame(rows)


def _part_numbers(
    collected: Collected,
    reports: Reports,
    table: dict[str, Any],
    part: dict[str, Any],
    source: Source,
    column: str,
) -> list[dict[str, Any]]:
    dataset = source.measured(column)
    common = {
        "experiment": source.experiment,
        "measured": dataset,
        "provenance": collected.provenance(source.experiment, dataset),
        "reduced": column in source.datasets and table["form"] != "statistics",
    }
    if table["form"] == "statistics":
        return [
            {**common, "method": "", **statistic(collected, dataset, metric)}
            for metric in table["metrics"]
        ]
    if table["form"] == "exceed":
        return [{**common, **row} for row in exceed_numbers(collected, source, dataset, part)]
    methods = list(part["methods"])
    methods += extra_methods(collected, reports, source, methods)
    return [
        {**common, "method": m, **summary_number(collected, source, dataset, m, table["metric"])}
        for m in methods
    ]


def summary_number(
    collected: Collected, source: Source, dataset: str, method: str, metric: str
) -> dict[str, Any]:
    """Mean and deviation over seeds of one number; failures counted, never hidden."""
    at_w = method.endswith(AT_W)
    chosen_by = OBJECTIVE if method.endswith(BY_OBJECTIVE) else VALIDATION
    runs = collected.runs(source.experiment, dataset, plain(method), chosen_by)
    name = SUMMARY_COLUMN[metric]
    return aggregate(runs, runs[name + "_w" if at_w else name], metric)


def aggregate(runs: pd.DataFrame, values: pd.Series, metric: str) -> dict[str, Any]:
    """One number from its runs and their values."""
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=float)
    good = numbers[np.isfinite(numbers)]
    bad = runs[~runs.outcome.isin(FINE)]
    outcomes = ", ".join(f"{k} {v}" for k, v in sorted(bad.outcome.value_counts().items()))
    status = "not run" if runs.empty else "failed" if not len(good) else "measured"
    return {
        "metric": metric,
        "mean": good.mean() if len(good) else np.nan,
        "deviation": good.std(ddof=1) if len(good) > 1 else np.nan,
        "n": len(good),
        "runs": len(runs),
        "status": status,
        "note": f"{len(bad)} of {len(runs)} runs did not end well: {outcomes}" if len(bad) else "",
        "stale": bool(runs.stale.fillna(False).astype(bool).any()) if len(runs) else False,
    }


def statistic(collected: Collected, dataset: str, metric: str) -> dict[str, Any]:
    """A count of the catalogue."""
    row = collected.dataset_row(dataset)
    column = {"samples": "n", "features": "width"}.get(metric, metric)
    value = np.nan if row is None else float(row[column])
    known = bool(np.isfinite(value))
    return {
        "metric": metric,
        "mean": value,
        "deviation": np.nan,
        "n": int(known),
        "runs": int(known),
        "status": "measured" if known else "not run",
        "note": "",
        "stale": False,
    }


def exceed_numbers(
    collected: Collected, source: Source, dataset: str, part: dict[str, Any]
) -> list[dict[str, Any]]:
    """Table 1's columns: both final training pAUCs and times, and when the rival was exceeded."""
    rows = _exceed(collected, source, dataset, part, VALIDATION, "")
    if collected.both_ways(source.experiment, dataset):
        rows += _exceed(collected, source, dataset, part, OBJECTIVE, BY_OBJECTIVE)
    return rows


def _exceed(
    collected: Collected,
    source: Source,
    dataset: str,
    part: dict[str, Any],
    chosen_by: str,
    by: str,
) -> list[dict[str, Any]]:
    rival, method = part["rival"], part["method"]
    rows = []
    for name in (rival + by, method + by):
        for metric in ("train_pauc", "cpu_seconds"):
            found = summary_number(collected, source, dataset, name, metric)
            rows.append({"method": name, **found})
    runs = collected.runs(source.experiment, dataset, method, chosen_by)
    for suffix in ("", AT_W):
        when = exceed_times(
            collected, source, dataset, method, rival, suffix.replace("@", "_"), chosen_by
        )
        for metric, column in (("cpu_seconds_to_exceed", "seconds"), ("epochs_to_exceed", "epoch")):
            number = aggregate(runs, when[column], metric)
            if number["status"] == "failed" and len(when):
                number.update(status="never", note="never exceeded the rival's training pAUC")
            elif number["n"] < len(when):
                number["note"] = f"exceeded in {number['n']} of {len(when)} seeds; mean over those"
            if runs.empty or when.empty:
                number["status"] = "not run"
            rows.append({"method": method + suffix + by, **number})
    last = last_train_w(collected.trace(source.experiment, dataset, method, chosen_by))
    if len(last):
        rows.append({"method": method + AT_W + by, **aggregate(runs, last, "train_pauc")})
    for metric in ("gpu_seconds_to_exceed", "gpu_seconds"):
        rows.append({
            "method": method + by, "metric": metric, "mean": np.nan, "deviation": np.nan, "n": 0,
            "runs": 0, "status": NO_GPU, "note": NO_GPU, "stale": False,
        })  # fmt: skip
    return rows


def exceed_times(
    collected: Collected,
    source: Source,
    dataset: str,
    method: str,
    rival: str,
    suffix: str = "",
    chosen_by: str = VALIDATION,
) -> pd.DataFrame:
    """Per seed, the first look whose training pAUC exceeds what the rival returned at that seed.

    Columns seed, seconds, epoch, rival_seconds; NaN where it never does. It happened after the
    look before, which is in seconds_before and epoch_before: the last one, where it never does.
    A rival without that seed counts with the mean of its seeds. Empty where either did not run.
    """
    traces = collected.trace(source.experiment, dataset, method, chosen_by)
    rivals = collected.runs(source.experiment, dataset, rival, chosen_by).set_index("seed")
    levels = rivals.last_pauc_train.astype(float)
    column = "pauc_train" + suffix
    rows: list[dict[str, Any]] = []
    if levels.notna().any() and column in traces and traces[column].notna().any():
        for seed, trace in traces.groupby("seed"):
            level = levels.get(seed, levels.mean())
            took = float(rivals.seconds.astype(float).get(seed, rivals.seconds.mean()))
            seconds, epoch = first_above(trace, column, level)
            earlier = trace[trace.seconds < seconds] if seconds == seconds else trace
            rows.append({
                "seed": seed, "seconds": seconds, "epoch": epoch, "rival_seconds": took,
                "seconds_before": earlier.seconds.astype(float).max() if len(earlier) else 0.0,
                "epoch_before": earlier.epoch.astype(float).max() if len(earlier) else 0.0,
            })  # fmt: skip
    return pd.DataFrame(rows, columns=EXCEED)


def first_above(trace: pd.DataFrame, column: str, level: float) -> tuple[float, float]:
    """Seconds and epoch of the first look above a level; NaN where there is none."""
    after = trace[trace[column].astype(float) > level].sort_values("seconds")
    return (float(after.seconds.iloc[0]), float(after.epoch.iloc[0])) if len(after) else NEVER


def last_train_w(traces: pd.DataFrame) -> pd.Series:
    """Training pAUC at w^(k) at each seed's last look."""
    if "pauc_train_w" not in traces:
        return pd.Series(dtype=float)
    return traces.sort_values("step").groupby("seed").pauc_train_w.last().dropna()
