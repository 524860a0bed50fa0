"""Makes what is published: collected frames in, tables, figures, comparison, claims and page out.

``python -m pauc_core.suite.publish results/published [results/open]`` first collects the finished
runs of a scale, where one is named, and puts its experiments in the place of those published;
without it everything is made again from the frames that are there. No solver runs.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pandas as pd

from pauc_core.report.frames import load_reports
from pauc_core.report.report import build_report, write_report
from pauc_core.suite.collect import RECORDS, RUN, collect
from pauc_core.suite.columns import FRAMES, ColumnError
from pauc_core.suite.configuration import load
from pauc_core.suite.frames import read_frames, write_frames
from pauc_core.suite.provenance import is_stale

REFERENCE, REPORTS = Path("reference"), Path("config/reports.yaml")


def publish(published: Path, scale: Path | None = None) -> None:
    """Write everything that follows from ``published/collected``."""
    collected = published / "collected"
    if scale is not None:
        _take(scale, published)
    if not (collected / "meta.json").exists():
        raise SystemExit(f"{collected} holds no collected frames; name the folder of a scale.")
    mark_stale(collected)
    write_report(build_report(collected, REFERENCE, REPORTS), published)


def _take(scale: Path, published: Path) -> None:
    """Collect the runs that are finished, and put them and their summary lines beside the others.

    An experiment of the scale's folder replaces the published one whole, so that no table mixes
    two configurations; the others stay.
    """
    summaries = sorted(scale.glob("runs/*/*/*/seeds-*/summary.jsonl"))
    used = {path.parts[-4].partition("@")[0] for path in summaries}
    collect(
        summaries,
        scale.glob("tuned/*/*/*.trials.json"),
        [path for path in scale.glob("data/*/meta.json") if path.parent.name in used],
        scale / "collected",
        scale=scale.name,
        settings={},
        root=Path.cwd(),
        leagues=_leagues(scale.name),
    )
    merge(scale / "collected", published / "collected")
    # Of what the league alone shows the differences are enough: rows would be megabytes a band.
    named = {s.experiment for s in load_reports(REPORTS, scale.name).sources.values()}
    for path in (scale / "collected" / RECORDS).glob("*.npz"):
        if path.stem in named:
            shutil.copyfile(path, _made(published / "collected" / RECORDS) / path.name)
    for name in {path.parts[-5] for path in summaries}:
        shutil.rmtree(published / "runs" / name, ignore_errors=True)
    for path in summaries:
        target = published / path.relative_to(scale)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)


def _leagues(scale: str) -> dict[str, dict[str, Any]]:
    """The leagues of a scale by the present configuration; a subset's are its whole's."""
    settings = {"scale": scale.partition("-subset-")[0], "results": "results", "raw": "data/raw"}
    return load(Path.cwd(), settings).leagues()


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def merge(fresh: Path, published: Path) -> None:
    """Put collected frames into those that are published, experiment by experiment."""
    frames, meta = read_frames(fresh)
    if not (published / "meta.json").exists():
        write_frames(published, frames, meta)
        return
    before, old = read_frames(published)
    if old["scale"] != meta["scale"]:
        raise SystemExit(
            f"{published} holds the scale {old['scale']!r} and {fresh} the scale "
            f"{meta['scale']!r}: two scales can't mix, name another folder."
        )
    frames = {name: _with_others(frames[name], before[name], meta) for name in FRAMES}
    experiments = {**old["experiments"], **meta["experiments"]}
    write_frames(published, frames, {**meta, "experiments": experiments})


def mark_stale(collected: Path) -> None:
    """Find anew which runs' code has changed since: at every publication, not only at a new one."""
    frames, meta = read_frames(collected)
    summaries = frames["summaries"]
    summaries["stale"] = [is_stale(line) for line in summaries.to_dict("records")]
    write_frames(collected, frames, meta)


def _with_others(frame: pd.DataFrame, before: pd.DataFrame, meta: dict[str, Any]) -> pd.DataFrame:
    """A fresh frame and the rows of the former one whose experiments, or dataset, it has not."""
    names = [name for name in ("experiment", "rival_experiment") if name in frame]
    if names:
        kept = before[~before[names].isin(list(meta["experiments"])).any(axis=1)]
    else:
        kept = before[~before["dataset"].isin(frame["dataset"])]
    keys = [
        key
        for key in (*RUN, "task", "trial", "step", "fpr", "fpr_low", "fpr_high", "rival_experiment")
        if key in frame
    ]
    return pd.concat([kept, frame]).sort_values(keys, kind="stable").reset_index(drop=True)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: python -m pauc_core.suite.publish results/published [results/SCALE]")
    try:
        publish(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) == 3 else None)
    except ColumnError as error:
        sys.exit(str(error))
