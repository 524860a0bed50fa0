"""Collected frames: made from rows, written and read as their columns are declared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from pauc_core.files import atomic_path, write_json
from pauc_core.suite.columns import COLUMNS, FRAMES, Column, ColumnError, check, names

VERSION = 3

# What version 1 called otherwise, or did not have: the frames published before their columns were
# declared. It goes when they are published anew.
_OWN_1 = (
    "outer", "inner", "v_gap", "lam_m_mean", "lam_n_mean", "lam_mean", "grad_norm", "cuts", "slack",
    "primal", "dual", "gap", "a", "b", "alpha", "accuracy",
)  # fmt: skip
RENAMED_1: dict[str, dict[str, str]] = {
    "summaries": {name: f"own_{name}" for name in _OWN_1},
    "traces": {name: f"own_{name}" for name in _OWN_1},
    "trials": {"objective": "last_objective", "epochs": "epoch"},
}
ADDED_1 = {
    "summaries": ("epoch_w", "test_se", "chosen_by"),
    "traces": ("chosen_by",),
    "roc": ("chosen_by",),
    "trials": ("seed",),
}
# Frames that an earlier version did not have.
ABSENT = {1: ("pairwise", "bands", "across"), 2: ("bands", "across")}


def make_frame(name: str, found: pd.DataFrame, place: str | Path) -> pd.DataFrame:
    """A frame with every declared column, empty where no row has it, what methods bring last."""
    if len(found.columns):
        check(name, found.columns, place)
    brought = [column for column in found.columns if column not in names(name)]
    frame = found.reindex(columns=[*names(name), *brought])
    for column in COLUMNS[name]:
        frame[column.name] = _of_kind(frame[column.name], column, f"{place}: {name}")
    return frame


def write_frames(folder: Path, frames: Mapping[str, pd.DataFrame], meta: dict[str, Any]) -> None:
    """Write frames and, last, their meta.json."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in FRAMES:
        path = folder / f"{name}.parquet"
        check(name, frames[name].columns, path, every=True)
        with atomic_path(path) as temporary:
            _write(frames[name].reset_index(drop=True), temporary)
    write_json(folder / "meta.json", {**meta, "frames": VERSION})


def _write(frame: pd.DataFrame, path: Path) -> None:
    """As Parquet; numbers of single precision byte by byte, which packs them to half the size."""
    single = list(frame.select_dtypes("float32").columns)
    frame.to_parquet(
        path,
        compression="zstd",
        use_dictionary=[name for name in frame.columns if name not in single],
        column_encoding=dict.fromkeys(single, "BYTE_STREAM_SPLIT") or None,
    )


def read_frames(folder: Path) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """Frames and meta.json of a collected folder, checked; older frames as they are called now."""
    meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    version = meta.get("frames", 1)
    if version not in (*ABSENT, VERSION):
        raise ColumnError(
            f"{folder}/meta.json: frames of version {version}; expected {VERSION} at most: they "
            "were collected by a later version of this program."
        )
    frames = {}
    for name in FRAMES:
        path = folder / f"{name}.parquet"
        if name in ABSENT.get(version, ()):
            frames[name] = make_frame(name, pd.DataFrame(), path)
            continue
        if not path.is_file():
            raise ColumnError(f"{path}: not found; collect the runs anew.")
        frame = pd.read_parquet(path)
        if version == 1:
            frame = frame.rename(columns=RENAMED_1.get(name, {}))
            frame = frame.assign(**dict.fromkeys(ADDED_1.get(name, ()), float("nan")))
        check(name, frame.columns, path, every=True)
        frames[name] = frame
    return frames, meta


def _of_kind(values: pd.Series, column: Column, place: str) -> pd.Series:
    try:
        if column.kind in ("whole", "number"):
            return pd.to_numeric(values)
        if column.kind == "truth":
            return values.fillna(False).astype(bool)
    except (TypeError, ValueError) as error:
        raise ColumnError(
            f"{place}: the column {column.name!r} ({column.meaning}) holds no numbers ({error}); "
            "expected a number in every row, or nothing."
        ) from error
    if column.kind == "json":
        return values.map(
            lambda value: value if isinstance(value, str) else json.dumps(value, sort_keys=True)
        )
    return values
