"""What every loader hands over, and the checks and cuts that all of them share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pauc_core.data.errors import DataError
from pauc_core.data.prepared import BLOCK_BYTES, TEST, TRAIN, VALID, Blocks
from pauc_core.solver.streams import stream

Entry = dict[str, Any]


@dataclass(frozen=True)
class Loaded:
    """A dataset with rows on demand, so that no loader needs them all in memory.

    `rows` takes sorted row numbers and returns that block; `shape` is of the whole x. The other
    fields are those of `write_prepared`.
    """

    rows: Callable[[np.ndarray], np.ndarray]
    shape: tuple[int, ...]
    dtype: Any
    y: np.ndarray
    part: np.ndarray
    tasks: list[str]
    group: np.ndarray | None = None
    more: dict[str, Any] = field(default_factory=dict)

    def blocks(self) -> Blocks:
        """The rows as blocks of bounded size."""
        row_bytes = int(np.prod(self.shape[1:])) * np.dtype(self.dtype).itemsize
        step = max(1, BLOCK_BYTES // max(1, row_bytes))

        def walk() -> Iterator[np.ndarray]:
            for start in range(0, self.shape[0], step):
                yield self.rows(np.arange(start, min(start + step, self.shape[0])))

        return Blocks(self.shape, self.dtype, walk())


def to_labels(values: np.ndarray, entry: Entry, place: str) -> np.ndarray:
    """Labels 0 and 1 from the entry's `positive` and `negative` words, anything else refused."""
    values = np.asarray(values)
    positive = np.isin(values, entry["positive"])
    known = positive | np.isin(values, entry["negative"])
    if not known.all():
        row = int(np.argmin(known))
        raise DataError(
            f"{place}, row {row + 1}: the label {values[row]} is none of "
            f"{entry['positive'] + entry['negative']}; correct the file or the dataset entry."
        )
    return positive.astype(np.int8)


def check(name: str, loaded: Loaded, entry: Entry) -> None:
    """Compare width, rows and positives with what the entry expects."""
    expect = entry.get("expect") or {}
    found: dict[str, Any] = {"width": loaded.shape[1] if len(loaded.shape) == 2 else None}
    sides = {"train": [TRAIN], "test": [TEST], "valid": [VALID], "all": [TRAIN, TEST, VALID]}
    for word, parts in sides.items():
        y = loaded.y[np.isin(loaded.part, parts)].reshape(-1, len(loaded.tasks))
        found[f"rows {word}"] = len(y)
        for task, count in zip(loaded.tasks, (y == 1).sum(axis=0), strict=True):
            found[f"positives {word} {task}"] = int(count)
    for key, wanted in _flat(expect, loaded.tasks):
        if found.get(key) != wanted:
            raise DataError(
                f"{name}: {key} is {found.get(key)}, expected {wanted}; the raw files are not "
                "those of the dataset entry: fetch them again or correct the entry."
            )


def _flat(expect: Entry, tasks: list[str]) -> Iterator[tuple[str, int]]:
    if "width" in expect:
        yield "width", expect["width"]
    for word, count in expect.get("rows", {}).items():
        yield f"rows {word}", count
    for word, counts in expect.get("positives", {}).items():
        each = counts if isinstance(counts, dict) else {tasks[0]: counts}
        for task, count in each.items():
            yield f"positives {word} {task}", count


def hold_out(loaded: Loaded, share: float, name: str) -> Loaded:
    """Turn a fixed share of the training rows into test rows, stratified, same for every seed.

    Where rows have groups, whole groups are held out, sick and healthy ones in equal shares.
    """
    rng = stream(0, "held-out", name)
    part = loaded.part.copy()
    if loaded.group is None:
        held = [rng.permutation(rows)[: round(share * len(rows))] for rows in _strata(loaded)]
    else:
        ids, member = np.unique(loaded.group, return_inverse=True)
        sick = np.zeros(len(ids), dtype=bool)
        np.logical_or.at(sick, member, loaded.y.reshape(len(part), -1).any(axis=1))
        chosen = np.zeros(len(ids), dtype=bool)
        for value in (False, True):
            these = np.flatnonzero(sick == value)
            chosen[rng.permutation(these)[: round(share * len(these))]] = True
        held = [np.flatnonzero(chosen[member])]
    part[np.concatenate(held)] = TEST
    return replace(loaded, part=part, more={**loaded.more, "held_out": True})


def thin(loaded: Loaded, count: int, seed: int, name: str) -> Loaded:
    """A stratified subset of about `count` rows; parts and label patterns keep their shares.

    A few of each are kept: of a rare class there must be some to learn from, choose and test by.
    """
    total = loaded.shape[0]
    if count >= total:
        return loaded
    few = 10 if len(loaded.tasks) == 1 else 2  # patterns of several tasks are many
    rng = stream(seed, "subset", name)
    keep = np.sort(
        np.concatenate(
            [
                rng.permutation(rows)[: max(few, round(count * len(rows) / total))]
                for rows in _strata(loaded)
            ]
        )
    )
    return replace(
        loaded,
        rows=lambda index: loaded.rows(keep[index]),
        shape=(len(keep), *loaded.shape[1:]),
        y=loaded.y[keep],
        part=loaded.part[keep],
        group=None if loaded.group is None else loaded.group[keep],
        more={**loaded.more, "subset_of": total},
    )


def _strata(loaded: Loaded) -> list[np.ndarray]:
    """Row numbers by part and label pattern."""
    pattern = loaded.y.reshape(len(loaded.y), -1).astype(np.int64) @ (
        2 ** np.arange(len(loaded.tasks))
    )
    code = pattern * 3 + loaded.part
    order = np.argsort(code, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(code[order])) + 1)
