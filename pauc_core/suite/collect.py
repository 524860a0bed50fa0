"""Gathers the files of all runs into a few frames, from which every table and figure is made."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pauc_core.data.prepared import Prepared, load_prepared
from pauc_core.data.statistics import table
from pauc_core.intervals import pauc_interval
from pauc_core.metrics import roc_curve_points
from pauc_core.suite.bands import OnBands
from pauc_core.suite.choice import VALIDATION
from pauc_core.suite.columns import KEYS, check
from pauc_core.suite.evidence import Record, SeedResult, pairwise, record, write_records
from pauc_core.suite.frames import make_frame, write_frames
from pauc_core.suite.guests import check_summary
from pauc_core.suite.provenance import commit, is_stale, machine, versions

RUN = [*KEYS, "chosen_by", "seed"]
ON_BAND = [*KEYS, "fpr_low", "fpr_high"]
ROC_POINTS = 200
RECORDS = "influence"  # folder of what each test row and seed said


def collect(
    summaries: Iterable[Path],
    trials: Iterable[Path],
    datasets: Iterable[Path],
    out: Path,
    *,
    scale: str,
    settings: dict[str, Any],
    root: Path,
    leagues: Mapping[str, Mapping[str, Any]],
) -> None:
    """Write all frames as Parquet, and meta.json, into ``out``; ``leagues`` as `Suite.leagues`."""
    lines: list[dict[str, Any]] = []
    traces: list[pd.DataFrame] = []
    curves: list[pd.DataFrame] = []
    records: dict[tuple[str, ...], Record] = {}
    league: dict[str, list[dict[str, Any]]] = {"bands": [], "across": []}
    prepared = {path.parent.name: load_prepared(path.parent) for path in sorted(datasets)}
    groups = {name: subjects(data) for name, data in prepared.items()}
    # A method's runs on a dataset together: what every row says of every seed is kept no longer.
    for (dataset, method), paths in groupby(sorted(summaries, key=_place), lambda p: _place(p)[:2]):
        tested: dict[tuple[str, ...], list[SeedResult]] = {}
        on_bands = OnBands(dataset, method, leagues)
        for path in paths:
            for line, scores, curve in _seeds(path, out):
                lines.append(line)
                curves.append(curve)
                if len(curve):
                    which = tuple(str(line[name]) for name in (*KEYS, "chosen_by"))
                    tested.setdefault(which, []).append(SeedResult.of(line, scores))
                    if line["chosen_by"] == VALIDATION:
                        on_bands.add(line, scores)
            traces.append(_trace(path, lines[-1]))
        records |= {key: record(found, "/".join(key[:3])) for key, found in tested.items()}
        for name, rows in on_bands.rows(groups.get(dataset.partition("@")[0])).items():
            league[name] += rows
    records = dict(sorted(records.items()))
    counts = [row for data in prepared.values() for row in table(data)]
    pairs = pairwise(records, groups)
    frames = {
        "summaries": make_frame("summaries", pd.DataFrame(lines), out).sort_values(RUN),
        "traces": make_frame("traces", pd.concat(traces), out).sort_values([*RUN, "step"]),
        "roc": make_frame("roc", pd.concat(curves), out).sort_values([*RUN, "fpr"], kind="stable"),
        "trials": _trials(trials),
        "datasets": make_frame("datasets", pd.DataFrame(counts), out),
        "pairwise": make_frame("pairwise", pd.DataFrame(pairs), out),
        **{
            name: make_frame(name, pd.DataFrame(rows), out).sort_values(ON_BAND)
            for name, rows in league.items()
        },
    }
    made = {"commit": commit(root), "machine": machine(), "versions": versions()}
    meta = {
        "scale": scale,
        "settings": {key: settings.get(key) for key in ("subset", "device")},
        "command": f"snakemake --cores all --config scale={scale}",
        "experiments": {
            str(name): [{**made, "cells": sorted(set(runs["dataset"] + "/" + runs["method"]))}]
            for name, runs in frames["summaries"].groupby("experiment")
        },
    }
    write_records(out / RECORDS, records)
    write_frames(out, frames, meta)
    print(f"collected {len(lines)} runs", file=sys.stderr)


def subjects(data: Prepared) -> np.ndarray | None:
    """Groups of rows that would be drawn together: a patient's films.

    Equal rows are kept together by splits too, but each is a draw of its own.
    """
    return None if data.meta.get("equal_rows") else data.group


def _place(path: Path) -> tuple[str, str, Path]:
    """Dataset, method and path of a summary: it is runs/experiment/dataset/method/seeds/file."""
    return path.parts[-4], path.parts[-3], path


def _seeds(path: Path, out: Path) -> Iterator[tuple[dict[str, Any], pd.DataFrame, pd.DataFrame]]:
    """Each line of a summary with what its test scores add, these scores, and its ROC curve."""
    scores = _read(path.parent / "scores.csv.gz")
    check("scores", scores.columns, path.parent / "scores.csv.gz")
    scores = scores[scores["part"] == "test"]
    for text in path.read_text().splitlines():
        line = {"chosen_by": VALIDATION, **json.loads(text)}
        check("summaries", line, path)
        own = scores[scores["seed"] == line["seed"]]
        own = own[own["chosen_by"] == line["chosen_by"]]
        check_summary(line, own, out.parent / "data", path)
        interval, curve = _test_part(line, own)
        yield {**line, **interval, "stale": is_stale(line), "path": _short(path, out)}, own, curve


def _trace(path: Path, line: dict[str, Any]) -> pd.DataFrame:
    """The looks of a summary's runs, with the names that all its lines share."""
    trace = _read(path.parent / "traces.csv")
    for position, key in enumerate(KEYS):
        trace.insert(position, key, line[key])
    check("traces", trace.columns, path.parent / "traces.csv")
    return trace


def _read(path: Path) -> pd.DataFrame:
    """A run's file; one that does not say by what its values were chosen had no choice."""
    frame = pd.read_csv(path)
    return frame if "chosen_by" in frame else frame.assign(chosen_by=VALIDATION)


def _test_part(line: dict[str, Any], scores: pd.DataFrame) -> tuple[dict[str, Any], pd.DataFrame]:
    """Interval of the test pAUC and the ROC curve, thinned to what a plot can show."""
    keys = {key: line[key] for key in RUN}
    if scores.empty or line["goal"] == "sorr":
        empty = pd.DataFrame({**{k: pd.Series(dtype=object) for k in RUN}, "fpr": [], "tpr": []})
        return {"test_low": None, "test_high": None, "test_se": None}, empty
    labels, values = scores["label"].to_numpy() == 1, scores["score"].to_numpy()
    found = pauc_interval(labels, values, fpr_low=line["fpr_low"], fpr_high=line["fpr_high"])
    interval = {"test_low": found.low, "test_high": found.high, "test_se": found.standard_error}
    fpr, tpr, _ = roc_curve_points(labels, values)
    grid = np.linspace(0.0, 1.0, ROC_POINTS + 1)
    curve = pd.DataFrame({**keys, "fpr": grid, "tpr": np.interp(grid, fpr, tpr)})
    return interval, curve


def _short(path: Path, out: Path) -> str:
    """Where the line lies below the scale's folder."""
    scale = out.parent
    return str(path.relative_to(scale)) if path.is_relative_to(scale) else path.name


def _trials(paths: Iterable[Path]) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    for path in sorted(set(paths)):
        found = json.loads(path.read_text())
        for row in found:
            check("trials", row, path)
        rows += found
    return make_frame("trials", pd.DataFrame(rows), "trials")
