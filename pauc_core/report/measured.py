"""Measured numbers, one a row, keyed like the paper's in reference/tables.csv."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pauc_core.report.frames import FINE, Collected, Reports, Source

KEY = ["artifact", "dataset", "method", "metric"]
NEVER = (np.nan, np.nan)
AT_W = "@w"  # suffix of a method whose numbers are taken at w^(k) instead of vbar_n^(k)
SUMMARY_COLUMN = {
    "test_pauc": "pauc_test",
    "valid_pauc": "pauc_valid",
    "train_pauc": "last_pauc_train",
    "cpu_seconds": "seconds",
}
NO_GPU = "no GPU here"


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
    return sorted(found, key=lambda m: (m.endswith(AT_W), reports.order(m.removesuffix(AT_W))))


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
    runs = collected.runs(source.experiment, dataset, method.removesuffix(AT_W))
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
    rival, method = part["rival"], part["method"]
    rows = []
    for name in (rival, method):
        for metric in ("train_pauc", "cpu_seconds"):
            rows.append(
                {"method": name, **summary_number(collected, source, dataset, name, metric)}
            )
    runs = collected.runs(source.experiment, dataset, method)
    for suffix in ("", AT_W):
        when = exceed_times(collected, source, dataset, method, rival, suffix.replace("@", "_"))
        for metric, column in (("cpu_seconds_to_exceed", "seconds"), ("epochs_to_exceed", "epoch")):
            number = aggregate(runs, when[column], metric)
            if number["status"] == "failed" and len(when):
                number.update(status="never", note="never exceeded the rival's training pAUC")
            elif number["n"] < len(when):
                number["note"] = f"exceeded in {number['n']} of {len(when)} seeds; mean over those"
            if runs.empty or when.empty:
                number["status"] = "not run"
            rows.append({"method": method + suffix, **number})
    last = last_train_w(collected, source, dataset, method)
    if len(last):
        rows.append({"method": method + AT_W, **aggregate(runs, last, "train_pauc")})
    for metric in ("gpu_seconds_to_exceed", "gpu_seconds"):
        rows.append({
            "method": method, "metric": metric, "mean": np.nan, "deviation": np.nan, "n": 0,
            "runs": 0, "status": NO_GPU, "note": NO_GPU, "stale": False,
        })  # fmt: skip
    return rows


def exceed_times(
    collected: Collected, source: Source, dataset: str, method: str, rival: str, suffix: str = ""
) -> pd.DataFrame:
    """Per seed, the first look whose training pAUC exceeds what the rival returned at that seed.

    Columns seed, seconds, epoch, rival_seconds; NaN where it never does. A rival without that
    seed counts with the mean of its seeds. Empty where either did not run.
    """
    traces = collected.trace(source.experiment, dataset, method)
    rivals = collected.runs(source.experiment, dataset, rival).set_index("seed")
    levels = rivals.last_pauc_train.astype(float)
    column = "pauc_train" + suffix
    rows: list[dict[str, Any]] = []
    if levels.notna().any() and column in traces and traces[column].notna().any():
        for seed, trace in traces.groupby("seed"):
            level = levels.get(seed, levels.mean())
            took = float(rivals.seconds.astype(float).get(seed, rivals.seconds.mean()))
            seconds, epoch = first_above(trace, column, level)
            rows.append({
                "seed": seed, "seconds": seconds, "epoch": epoch, "rival_seconds": took,
            })  # fmt: skip
    return pd.DataFrame(rows, columns=["seed", "seconds", "epoch", "rival_seconds"])


def first_above(trace: pd.DataFrame, column: str, level: float) -> tuple[float, float]:
    """Seconds and epoch of the first look above a level; NaN where there is none."""
    after = trace[trace[column].astype(float) > level].sort_values("seconds")
    return (float(after.seconds.iloc[0]), float(after.epoch.iloc[0])) if len(after) else NEVER


def last_train_w(collected: Collected, source: Source, dataset: str, method: str) -> pd.Series:
    """Training pAUC at w^(k) at each seed's last look."""
    traces = collected.trace(source.experiment, dataset, method)
    if "pauc_train_w" not in traces:
        return pd.Series(dtype=float)
    return traces.sort_values("step").groupby("seed").pauc_train_w.last().dropna()
