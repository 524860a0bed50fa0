"""Puts collected runs beside those that are published, cell by cell.

A cell is a method on a dataset in an experiment, with all its seeds: long experiments come in
pieces, on several days or machines, and a cell that was run anew replaces the former one whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pauc_core.data.prepared import load_prepared
from pauc_core.suite.collect import RECORDS, RUN, subjects
from pauc_core.suite.columns import FRAMES, KEYS
from pauc_core.suite.evidence import Record, pairwise, read_records, write_records
from pauc_core.suite.frames import read_frames, write_frames

Cell = tuple[str, str, str]  # experiment, dataset, method
Records = dict[tuple[str, ...], Record]
Frames = dict[str, pd.DataFrame]
Made = dict[str, list[dict[str, Any]]]
# What names the other side of a comparison, and the part of its cell that it stands for.
OTHER_SIDE = {"rival_experiment": "experiment", "rival": "method"}
# Every row's influence is kept for tasks with at most so many test rows; beyond, differences alone.
MOST_ROWS = 30_000
ROUNDED = ("traces", "roc", "trials")  # to single precision
# Of an experiment that no table or figure but the league's shows: the columns of its traces.
FOR_THE_CLOCK = (*RUN, "step", "epoch", "seconds", "objective", "pauc_valid")
ORDER = (*RUN, "task", "trial", "step", "fpr", "fpr_low", "fpr_high", *OTHER_SIDE)


def merge(
    fresh: Path,
    published: Path,
    *,
    wanted: Collection[Cell] | None = None,
    shown: Collection[str] | None = None,
) -> None:
    """Put the cells of one collected folder into another.

    Of the cells that were published those stay that are not among the fresh ones and, if
    ``wanted`` is given, are in it: what the configuration has no more goes. Experiments that are
    not in ``shown`` are for the league alone and keep what its tables need; of the others it is
    kept too what each test row said, and fresh cells are compared with those that stay. Two scales
    do not mix.
    """
    frames, meta = read_frames(fresh)
    shown = set(frames["summaries"]["experiment"]) if shown is None else shown
    frames = _slim(frames, shown)
    stays: set[Cell] = set()
    if (published / "meta.json").exists():
        before, old = read_frames(published)
        if old["scale"] != meta["scale"]:
            raise SystemExit(
                f"{published} holds the scale {old['scale']!r} and {fresh} the scale "
                f"{meta['scale']!r}: two scales can't mix, name another folder."
            )
        stays = _cells(before["summaries"]) - _cells(frames["summaries"])
        stays = {cell for cell in stays if wanted is None or cell in wanted}
        frames = {
            name: _sorted([_staying(name, before[name], frames[name], stays), frames[name]])
            for name in FRAMES
        }
        meta = {**meta, "experiments": _made(old["experiments"], meta["experiments"], stays)}
    mixed = _keep_records(fresh, published, shown, stays)
    frames["pairwise"] = _sorted([frames["pairwise"], pd.DataFrame(mixed)])
    write_frames(published, frames, meta)


def _slim(frames: Frames, shown: Collection[str]) -> Frames:
    """What is worth its bytes in a repository: looks to seven digits, and fewer of the league's."""
    found = dict(frames)
    found["roc"] = found["roc"][found["roc"]["experiment"].isin(shown)]
    traces = found["traces"].copy()
    others = [name for name in traces.columns if name not in FOR_THE_CLOCK]
    traces.loc[~traces["experiment"].isin(shown), others] = np.nan
    found["traces"] = traces
    for name in ROUNDED:
        numbers = found[name].select_dtypes("float64").columns
        found[name] = found[name].astype(dict.fromkeys(numbers, np.float32))
    return found


def _staying(
    name: str, before: pd.DataFrame, fresh: pd.DataFrame, stays: set[Cell]
) -> pd.DataFrame:
    """The former rows whose cells stay, on both sides where two are compared."""
    if name == "datasets":
        return before[~before["dataset"].isin(fresh["dataset"])]
    if name == "trials":
        # Those of one dataset may have chosen for others (tune_on).
        tried, methods = _cells(fresh), {(cell[0], cell[2]) for cell in stays}
        former = _each_cell(before)
        keep = [cell not in tried and (cell[0], cell[2]) in methods for cell in former]
        return before[np.array(keep, dtype=bool)]
    keep = [cell in stays for cell in _each_cell(before)]
    for other, part in OTHER_SIDE.items():
        if other in before:
            names = [other if key == part else key for key in KEYS]
            sides = zip(keep, _each_cell(before, names), strict=True)
            keep = [here and cell in stays for here, cell in sides]
    return before[np.array(keep, dtype=bool)]


def _each_cell(frame: pd.DataFrame, names: Sequence[str] = KEYS) -> Iterator[Cell]:
    return frame[list(names)].itertuples(index=False, name=None)


def _cells(frame: pd.DataFrame) -> set[Cell]:
    return set(_each_cell(frame))


def _sorted(parts: list[pd.DataFrame]) -> pd.DataFrame:
    found = pd.concat([part for part in parts if len(part)] or parts[:1])
    keys = [key for key in ORDER if key in found]
    return found.sort_values(keys, kind="stable").reset_index(drop=True)


def _made(old: Made, new: Made, stays: set[Cell]) -> Made:
    """Of each experiment: with what code, versions and machine which of its cells were run."""
    found = {}
    for name in sorted({*old, *new}):
        left = {f"{dataset}/{method}" for at, dataset, method in stays if at == name}
        entries = [
            {**entry, "cells": sorted(left.intersection(entry["cells"]))}
            for entry in old.get(name, [])
        ]
        found[name] = [entry for entry in entries if entry["cells"]] + new.get(name, [])
    return {name: entries for name, entries in found.items() if entries}


def _keep_records(
    fresh: Path, published: Path, shown: Collection[str], stays: set[Cell]
) -> list[dict[str, Any]]:
    """Keep what test rows said; return the comparisons of a fresh cell with one that stays."""
    mixed: list[dict[str, Any]] = []
    for path in sorted((fresh / RECORDS).glob("*.npz")):
        if path.stem not in shown:
            continue
        new, place = read_records(path), published / RECORDS / path.name
        new = {key: record for key, record in new.items() if len(record.rows) <= MOST_ROWS}
        old = read_records(place) if place.is_file() else {}
        old = {key: record for key, record in old.items() if key[:3] in stays}
        write_records(published / RECORDS, dict(sorted((old | new).items())))
        mixed += _mixed(old, new, fresh.parent / "data") if old else []
    return mixed


def _mixed(old: Records, new: Records, data: Path) -> list[dict[str, Any]]:
    """Every pair of a former record and a fresh one on the same task."""
    stored = {key[1].partition("@")[0] for key in new}
    there = [name for name in stored if (data / name).is_dir()]
    groups = {name: subjects(load_prepared(data / name)) for name in there}
    former = {key[:3] for key in old}
    return [
        row
        for row in pairwise(dict(sorted((old | new).items())), groups)
        if ((row["experiment"], row["dataset"], row["method"]) in former)
        != ((row["experiment"], row["dataset"], row["rival"]) in former)
    ]
