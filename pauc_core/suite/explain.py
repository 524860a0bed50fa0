"""Prints where one number comes from, and runs it again.

A run is named experiment/dataset/method or experiment/dataset/method/seed. It is looked up
in the scale's results and then among the published ones.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd

from pauc_core.solver.trace import MEASURES
from pauc_core.suite.columns import COLUMNS, KEYS
from pauc_core.suite.configuration import Suite, load
from pauc_core.suite.guests import is_guest, run_guest
from pauc_core.suite.one_run import run_one
from pauc_core.suite.provenance import is_stale
from pauc_core.suite.run_spec import run_of
from pauc_core.suite.yaml_files import read_mapping

# How far a linear run may be off on another machine, in objective and pAUC: docs/reliability.md.
ELSEWHERE = 1e-3


def find(suite: Suite, name: str) -> list[dict[str, Any]]:
    """The summary lines of a run; a sentence where there are none."""
    parts = name.split("/")
    if len(parts) not in (3, 4) or not all(parts):
        raise ValueError(
            f"The run {name!r} is not understood; expected experiment/dataset/method or "
            "experiment/dataset/method/seed."
        )
    lines = [
        {**json.loads(line), "path": f"{path}, line {number}"}
        for path in sorted(Path(suite.results, "runs", *parts[:3]).glob("seeds-*/summary.jsonl"))
        for number, line in enumerate(path.read_text().splitlines(), start=1)
    ]
    lines = lines or _published(Path(suite.results).with_name("published"), parts[:3])
    if len(parts) == 4:
        lines = [line for line in lines if str(line["seed"]) == parts[3]]
    if not lines:
        known = sorted(
            str(p.parent.parent.relative_to(Path(suite.results, "runs")))
            for p in Path(suite.results, "runs").glob("*/*/*/seeds-*/summary.jsonl")
        )
        shown = ", ".join(known[:5]) or "none: run the workflow first"
        raise ValueError(f"No run is recorded for {name!r} in {suite.results}; there is {shown}.")
    return lines


def _published(folder: Path, cell: list[str]) -> list[dict[str, Any]]:
    """The summary lines of a published cell, as a run's file has them."""
    path = folder / "collected" / "summaries.parquet"
    if not path.is_file():
        return []
    frame = pd.read_parquet(path)
    frame = frame[(frame[list(KEYS)] == cell).all(axis=1)].astype(object)
    packed = [column.name for column in COLUMNS["summaries"] if column.kind == "json"]
    lines: list[dict[str, Any]] = []
    for row in frame.where(frame.notna(), None).to_dict("records"):
        lines.append({str(name): value for name, value in row.items()})
        lines[-1] |= {name: json.loads(row[name]) for name in packed} | {"path": str(path)}
    return lines


def explain(line: dict[str, Any]) -> str:
    """One summary line as text."""
    stale = " (the code has changed since)" if is_stale(line) else ""
    names = (*MEASURES, "epoch", "last_pauc_train", "last_epoch", "seconds", "peak_mb")
    numbers = {key: line.get(key) for key in names}
    return "\n".join(
        [
            f"{line['experiment']}/{line['dataset']}/{line['method']}, seed {line['seed']}",
            f"  written in       {line['path']}",
            f"  outcome          {line['outcome']}: {line['reason']}",
            *(f"  {key:<16} {value}" for key, value in numbers.items()),
            f"  hyper-parameters {json.dumps(line['params'], sort_keys=True)}"
            + (" (tuned)" if line["tuned"] else " (fixed)"),
            f"  code             {line['use']}, digest {line['code_digest']}{stale}",
            f"  data             {line.get('provenance')}, checksum {line.get('data_checksum')}",
            f"  versions         {json.dumps(line['versions'], sort_keys=True)}",
        ]
    )


def again(suite: Suite, line: dict[str, Any]) -> dict[str, Any]:
    """Run the line's seed again with the recorded values; return its new summary."""
    if line["experiment"] not in suite.experiments:
        raise ValueError(
            f"Not run again: the scale {suite.scale} has no experiment {line['experiment']!r}; "
            "name the scale that has it with SCALE=..."
        )
    experiment = suite.experiments[line["experiment"]]
    run = run_of(suite, experiment, line["dataset"], line["method"])
    data = Path(suite.results, "data", suite.base_dataset(line["dataset"]))
    if not (data / "meta.json").is_file():
        raise ValueError(
            f"Not run again: {data} is not prepared; make it with make run "
            f"SCALE={suite.scale} ARGS='-- {data}/meta.json'."
        )
    if is_guest(line["use"]):
        with tempfile.TemporaryDirectory() as folder:
            found = run_guest(run, line["params"], line["seed"], data, Path(folder))
    else:
        found = run_one(run, line["params"], line["seed"], data)
    summary: dict[str, Any] = found["summary"]
    return summary


def compared(old: float | None, new: float | None, model: str) -> tuple[bool, str]:
    """Whether a number run again is the recorded one, and in words how far off it is."""
    if old is None or new is None or not (math.isfinite(old) and math.isfinite(new)):
        same = old == new or (old != old and new != new)  # NaN
        return same, "as recorded" if same else f"recorded: {old}"
    gap = abs(new - old)
    if gap == 0.0:
        return True, "as recorded"
    if gap <= ELSEWHERE:
        return True, f"as recorded but for {gap:.1g} (other machines round differently)"
    expected = f"expected within {ELSEWHERE:g}" if model == "linear" else "a network's vary more"
    return False, f"recorded: {old}, {gap:.2g} away ({expected})"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="explain", description=__doc__)
    parser.add_argument("run")
    parser.add_argument("--scale", default="default")
    parser.add_argument("--results", default="results")
    given = parser.parse_args(arguments)
    try:
        settings = read_mapping(Path("config/config.yaml"))
        suite = load(Path.cwd(), {**settings, "scale": given.scale, "results": given.results})
        lines = find(suite, given.run)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    for line in lines:
        print(explain(line))
    equal = True
    for line in lines:
        try:
            fresh = again(suite, line)
        except ValueError as error:
            print(error, file=sys.stderr)
            return 1
        print(f"again, seed {line['seed']}:")
        for key in MEASURES:
            old, new = line.get(key), fresh.get(key)
            agrees, words = compared(old, new, line["model"])
            equal = equal and agrees
            print(f"  {key:<16} {new}  {words}")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
