"""Prepared arrays: one folder per dataset, written once and memory-mapped afterwards."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pauc_core.data.errors import DataError

TRAIN, TEST, VALID = 0, 1, 2
BLOCK_BYTES = 1 << 24


@dataclass(frozen=True)
class Blocks:
    """An array that is never whole in memory: its final shape and its rows, block by block."""

    shape: tuple[int, ...]
    dtype: Any
    blocks: Iterable[np.ndarray]


@dataclass(frozen=True)
class Prepared:
    """A dataset as arrays.

    Attributes
    ----------
    x : array (n, d) of features or (n, c, h, w) of uint8 pictures, memory-mapped when loaded;
        (folds, n, d) where each fold has an extractor of its own
    y : int8 array, (n,) or (n, tasks), 1 = positive
    part : uint8 array (n,), or (folds, n): 0 = train pool, 1 = test, 2 = fixed validation
    group : int64 group ids (patients) or None
    meta : what meta.json holds
    """

    folder: Path
    x: np.ndarray
    y: np.ndarray
    part: np.ndarray
    group: np.ndarray | None
    meta: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.meta["name"])

    @property
    def tasks(self) -> list[str]:
        return list(self.meta["tasks"])

    @property
    def checksum(self) -> str:
        return str(self.meta["checksum"])

    @property
    def generated(self) -> bool:
        return bool(self.meta["generated"])

    def for_seed(self, seed: int) -> Prepared:
        """The set as a seed sees it: where there are folds, the parts and features of its fold."""
        if self.part.ndim == 1:
            return self
        fold = seed % len(self.part)
        x = self.x[fold] if self.x.shape[:2] == self.part.shape else self.x
        return replace(self, x=x, part=self.part[fold])

    def labels(self, task: str | None = None) -> np.ndarray:
        """Boolean labels of one task; the only task when none is named."""
        if task is None:
            if len(self.tasks) > 1:
                raise DataError(
                    f"{self.name} has the tasks {', '.join(self.tasks)}: name one, "
                    f"as in {self.name}@{self.tasks[0]}."
                )
            task = self.tasks[0]
        if task not in self.tasks:
            raise DataError(f"{self.name} has no task {task!r}; it has {', '.join(self.tasks)}.")
        y = np.asarray(self.y)
        return (y if y.ndim == 1 else y[:, self.tasks.index(task)]) == 1


@contextmanager
def fresh_folder(folder: Path) -> Iterator[Path]:
    """A temporary sibling that takes the folder's place on success and vanishes on failure."""
    folder = Path(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}.partial-", dir=folder.parent))
    try:
        partial.chmod(0o755)
        yield partial
        if folder.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{folder.name}.old-", dir=folder.parent))
            os.replace(folder, old)
            os.replace(partial, folder)
            shutil.rmtree(old)
        else:
            os.replace(partial, folder)
    except OSError as error:
        raise DataError(
            f"{folder} could not be written ({error.strerror or error}); free some disk space or "
            "choose another results folder, then start again: nothing half-written was left."
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def write_prepared(
    folder: Path,
    *,
    name: str,
    kind: str,
    x: np.ndarray | Blocks,
    y: np.ndarray,
    part: np.ndarray,
    tasks: list[str],
    provenance: str,
    group: np.ndarray | None = None,
    more: dict[str, Any] | None = None,
) -> Prepared:
    """Write the folder of a dataset, whole or not at all.

    Parameters
    ----------
    x : an array, or `Blocks` for one that does not fit in memory
    part : (n,), or (folds, n) with a line a fold; x may then be (folds, n, d)
    tasks : names of the label columns; one name for a one-column y
    provenance : "paper", "stand-in", "generated" or "own"
    more : further entries of meta.json (title, picture, held_out, ...)
    """
    y = np.ascontiguousarray(y, dtype=np.int8)
    part = np.ascontiguousarray(part, dtype=np.uint8)
    lines = np.atleast_2d(part)
    rows = x.shape[1] if x.shape[:2] == part.shape else x.shape[0]
    columns = 1 if y.ndim == 1 else y.shape[1]
    if not (rows == len(y) == lines.shape[1]) or (group is not None and len(group) != rows):
        raise DataError(
            f"{name}: {rows} rows of x, {len(y)} of y, {lines.shape[1]} of part: not equal."
        )
    if columns != len(tasks):
        raise DataError(f"{name}: y has {columns} columns for {len(tasks)} task names.")
    for line in lines:
        check_classes(name, y, line, tasks)
    counts = [_counts(y, line, tasks) for line in lines]
    folds = {"folds": len(lines)} if part.ndim == 2 else {}
    arrays: dict[str, np.ndarray | Blocks] = {"x.npy": x, "y.npy": y, "part.npy": part}
    if group is not None:
        arrays["group.npy"] = np.ascontiguousarray(group, dtype=np.int64)
    with fresh_folder(folder) as partial:
        sums = {file: _write_array(partial / file, array, name) for file, array in arrays.items()}
        meta = {
            "name": name,
            "kind": kind,
            "generated": provenance == "generated",
            "provenance": provenance,
            "tasks": list(tasks),
            "rows": rows,
            "shape": list(x.shape),
            "counts": counts if folds else counts[0],
            **folds,
            **(more or {}),
            "sha256": sums,
            "checksum": _one_digest(sums),
        }
        (partial / "meta.json").write_text(json.dumps(meta, indent=1) + "\n", encoding="utf-8")
    return load_prepared(folder)


def load_prepared(folder: Path, verify: bool = False) -> Prepared:
    """Open a prepared folder with x memory-mapped; `verify` reads all and checks the sums."""
    folder = Path(folder)
    try:
        meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError) as error:
        raise DataError(
            f"{folder / 'meta.json'} cannot be read ({error}): prepare the dataset again."
        ) from error
    if verify:
        for file, expected in meta["sha256"].items():
            if digest(folder / file) != expected:
                raise DataError(
                    f"{folder / file} does not match its checksum in meta.json: "
                    "prepare the dataset again."
                )
    try:
        arrays = {
            file: np.load(folder / file, mmap_mode="r" if file == "x.npy" else None)
            for file in meta["sha256"]
        }
    except (OSError, ValueError) as error:
        raise DataError(
            f"{folder} holds a damaged array ({error}): prepare the dataset again."
        ) from error
    return Prepared(
        folder, arrays["x.npy"], arrays["y.npy"], arrays["part.npy"], arrays.get("group.npy"), meta
    )


def digest(path: Path, algorithm: str = "sha256") -> str:
    """Hexadecimal checksum of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


def check_classes(name: str, y: np.ndarray, part: np.ndarray, tasks: list[str]) -> None:
    """Refuse a training pool in which a task has only one class."""
    for column, task in zip(y.reshape(len(y), -1).T, tasks, strict=True):
        pool = column[part == TRAIN]
        for value, word in ((1, "positives"), (0, "negatives")):
            if not np.any(pool == value):
                raise DataError(
                    f"{name}, task {task}: the training rows hold no {word} "
                    f"({len(pool)} rows); check the label setting of the dataset entry."
                )


def _counts(y: np.ndarray, part: np.ndarray, tasks: list[str]) -> dict[str, Any]:
    counts: dict[str, Any] = {}
    for value, word in ((TRAIN, "train"), (TEST, "test"), (VALID, "valid")):
        chosen = y[part == value].reshape(-1, len(tasks)) == 1
        counts[word] = {
            "rows": len(chosen),
            "positives": {t: int(c) for t, c in zip(tasks, chosen.sum(axis=0), strict=True)},
        }
    return counts


def _one_digest(sums: dict[str, str]) -> str:
    lines = "".join(f"{value}  {file}\n" for file, value in sorted(sums.items()))
    return hashlib.sha256(lines.encode()).hexdigest()


def _write_array(path: Path, array: np.ndarray | Blocks, name: str) -> str:
    """Write one .npy file front to back and return its sha256, whatever the array's size."""
    dtype = np.dtype(array.dtype)
    source = array.blocks if isinstance(array, Blocks) else cut(array)
    sha = hashlib.sha256()
    with open(path, "wb") as file:
        header = {
            "descr": np.lib.format.dtype_to_descr(dtype),
            "fortran_order": False,
            "shape": tuple(int(n) for n in array.shape),
        }
        np.lib.format.write_array_header_1_0(file, header)
        file.flush()
        with open(path, "rb") as head:
            sha.update(head.read())
        rows = values = 0
        for block in source:
            block = np.ascontiguousarray(block, dtype=dtype)
            if dtype.kind == "f" and not np.isfinite(block).all():
                row = rows + int(np.argwhere(~np.isfinite(block))[0][0])
                raise DataError(
                    f"{name}: row {row} has a NaN or infinite feature; remove or repair the row."
                )
            file.write(block.data)
            sha.update(block.data)
            rows += len(block)
            values += block.size
    if values != np.prod(array.shape, dtype=np.int64):
        raise DataError(f"{name}: {rows} rows arrived in {path.name}, expected {array.shape[0]}.")
    return sha.hexdigest()


def cut(array: np.ndarray) -> Iterator[np.ndarray]:
    """The rows of an array in blocks of bounded size."""
    step = max(1, BLOCK_BYTES // max(1, array[:1].nbytes))
    for start in range(0, len(array), step):
        yield array[start : start + step]
