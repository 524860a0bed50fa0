"""Gathers the files of all runs into a few frames, from which every table and figure is made."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pauc_core.data.prepared import load_prepared
from pauc_core.data.statistics import table
from pauc_core.files import atomic_path, write_json
from pauc_core.metrics import bootstrap_interval, roc_curve_points
from pauc_core.solver.streams import stream
from pauc_core.suite.provenance import code_digest, commit, machine, versions

KEYS = ["experiment", "dataset", "method", "seed"]
FRAMES = ("summaries", "traces", "roc", "trials", "datasets")
ROC_POINTS = 200


def collect(
    summaries: Iterable[Path],
    trials: Iterable[Path],
    datasets: Iterable[Path],
    out: Path,
    *,
    scale: str,
    settings: dict[str, Any],
    root: Path,
) -> None:
    """Write summaries, traces, roc, trials and datasets as Parquet, and meta.json, into ``out``."""
    lines: list[dict[str, Any]] = []
    traces: list[pd.DataFrame] = []
    curves: list[pd.DataFrame] = []
    for path in sorted(summaries):
        found = [json.loads(line) for line in path.read_text().splitlines()]
        scores = pd.read_csv(path.parent / "scores.csv.gz")
        for line in found:
            own = scores[(scores["seed"] == line["seed"]) & (scores["part"] == "test")]
            interval, curve = _test_part(line, own)
            lines.append({**line, **interval, "stale": is_stale(line), "path": _short(path, out)})
            curves.append(curve)
        trace = pd.read_csv(path.parent / "traces.csv")
        for position, key in enumerate(KEYS[:3]):
            trace.insert(position, key, found[0][key])
        traces.append(trace)
    frame = pd.DataFrame(lines)
    for column in ("params", "versions", "budget"):
        frame[column] = frame[column].map(lambda value: json.dumps(value, sort_keys=True))
    frames = {
        "summaries": frame.sort_values(KEYS),
        "traces": pd.concat(traces).sort_values([*KEYS, "step"]),
        "roc": pd.concat(curves).sort_values([*KEYS, "fpr"], kind="stable"),
        "trials": _trials(trials),
        "datasets": pd.DataFrame(
            [row for path in sorted(datasets) for row in table(load_prepared(path.parent))]
        ),
    }
    for name, content in frames.items():
        with atomic_path(out / f"{name}.parquet") as temporary:
            content.reset_index(drop=True).to_parquet(temporary)
    made = {"commit": commit(root), "machine": machine(), "versions": versions()}
    meta = {
        "scale": scale,
        "settings": {key: settings.get(key) for key in ("subset", "device")},
        "command": f"snakemake --cores all --config scale={scale}",
        "experiments": dict.fromkeys(sorted(set(frame["experiment"])), made),
    }
    write_json(out / "meta.json", meta)
    print(f"collected {len(frame)} runs", file=sys.stderr)


def _test_part(line: dict[str, Any], scores: pd.DataFrame) -> tuple[dict[str, Any], pd.DataFrame]:
    """Bootstrap interval of the test pAUC and the ROC curve, thinned to what a plot can show."""
    keys = {key: line[key] for key in KEYS}
    if scores.empty or line["goal"] == "sorr":
        empty = pd.DataFrame({**{k: pd.Series(dtype=object) for k in KEYS}, "fpr": [], "tpr": []})
        return {"test_low": None, "test_high": None}, empty
    labels, values = scores["label"].to_numpy() == 1, scores["score"].to_numpy()
    low, high = bootstrap_interval(
        labels,
        values,
        fpr_low=line["fpr_low"],
        fpr_high=line["fpr_high"],
        rng=stream(line["seed"], "bootstrap", line["dataset"]),
    )
    fpr, tpr, _ = roc_curve_points(labels, values)
    grid = np.linspace(0.0, 1.0, ROC_POINTS + 1)
    curve = pd.DataFrame({**keys, "fpr": grid, "tpr": np.interp(grid, fpr, tpr)})
    return {"test_low": low, "test_high": high}, curve


def is_stale(line: Mapping[Any, Any]) -> bool:
    """Whether the method's code is no longer what made the line."""
    return bool(line["use"]) and code_digest(line["use"]) != line["code_digest"]


def _short(path: Path, out: Path) -> str:
    """Where the line lies below the scale's folder."""
    scale = out.parent
    return str(path.relative_to(scale)) if path.is_relative_to(scale) else path.name


def _trials(paths: Iterable[Path]) -> pd.DataFrame:
    rows = [row for path in sorted(set(paths)) for row in json.loads(path.read_text())]
    columns = ["experiment", "dataset", "method", "trial", "params", "pauc_valid", "objective"]
    columns += ["epochs", "last_pauc_train", "last_epoch", "seconds", "outcome", "reason", "chosen"]
    frame = pd.DataFrame(rows).rename(columns={"last_objective": "objective", "epoch": "epochs"})
    if not rows:
        return pd.DataFrame({name: pd.Series(dtype=object) for name in columns})
    frame["params"] = frame["params"].map(lambda value: json.dumps(value, sort_keys=True))
    return frame.reindex(columns=columns)
