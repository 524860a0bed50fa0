"""What test rows and seeds say of the difference of two methods, kept so that it can be redone.

For each method on a task: the test pAUC of every seed, and how much each test row moves it,
averaged over the seeds. Scores themselves would be a hundred times as much.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pauc_core.data.errors import DataError
from pauc_core.files import atomic_path
from pauc_core.influence import influence, row_standard_error
from pauc_core.metrics import pauc
from pauc_core.repeats import Repeated, folds_interval, seeds_interval

SEEDS, FOLDS = "seeds", "folds"


@dataclass(frozen=True)
class SeedResult:
    """One seed on its test rows: the pAUC, and each row's influence on it."""

    seed: int
    pauc: float
    rows: np.ndarray
    labels: np.ndarray
    values: np.ndarray

    @classmethod
    def of(cls, line: Mapping[str, Any], scores: pd.DataFrame) -> SeedResult:
        """From a summary line and its test scores."""
        labels, values = scores["label"].to_numpy() == 1, scores["score"].to_numpy()
        band = {"fpr_low": line["fpr_low"], "fpr_high": line["fpr_high"]}
        return cls(
            seed=int(line["seed"]),
            pauc=pauc(labels, values, **band),
            rows=scores["row"].to_numpy(),
            labels=labels,
            values=influence(labels, values, **band).astype(np.float32),
        )


@dataclass(frozen=True)
class Record:
    """A method on a task. ``fold`` is the seed that a row was tested by, -1 for all of them."""

    seeds: np.ndarray
    paucs: np.ndarray
    rows: np.ndarray
    labels: np.ndarray
    fold: np.ndarray
    values: np.ndarray

    @property
    def design(self) -> str:
        return FOLDS if len(self.fold) and self.fold[0] >= 0 else SEEDS


def record(results: Iterable[SeedResult], place: str) -> Record:
    """The seeds of one method together: on the same test rows, or each on a fold of its own."""
    found = sorted(results, key=lambda result: result.seed)
    first, rows = found[0], np.concatenate([result.rows for result in found])
    seeds = np.array([result.seed for result in found])
    paucs = np.array([result.pauc for result in found])
    if all(np.array_equal(result.rows, first.rows) for result in found):
        mean = np.stack([result.values for result in found]).mean(axis=0, dtype=np.float64)
        everyone = np.full(len(first.rows), -1)
        return Record(seeds, paucs, first.rows, first.labels, everyone, mean.astype(np.float32))
    if len(np.unique(rows)) < len(rows):
        raise DataError(
            f"{place}: test rows of two seeds overlap in part; expected the same test rows for all "
            "seeds, or folds that share none."
        )
    return Record(
        seeds,
        paucs,
        rows,
        np.concatenate([result.labels for result in found]),
        np.concatenate([np.full(len(result.rows), result.seed) for result in found]),
        np.concatenate([result.values for result in found]),
    )


def compare(one: Record, two: Record, groups: np.ndarray | None = None) -> Repeated | None:
    """Test pAUC of one method less that of the other, over seeds and rows; None without a seed.

    ``groups`` has a number for each stored row (its patient), where rows come in groups.
    """
    common, at_one, at_two = np.intersect1d(one.seeds, two.seeds, return_indices=True)
    if not len(common):
        return None
    differences = one.paucs[at_one] - two.paucs[at_two]
    if one.design == SEEDS:
        return seeds_interval(differences, _error(one, two, np.ones(len(one.rows), bool), groups))
    errors = [_error(one, two, one.fold == seed, groups) for seed in common]
    return folds_interval(differences, errors)


def alone(one: Record, groups: np.ndarray | None = None) -> Repeated:
    """Test pAUC of one method over seeds and rows."""

    def error(chosen: np.ndarray) -> float:
        members = None if groups is None else groups[one.rows[chosen]]
        values = one.values[chosen].astype(np.float64)
        return row_standard_error(one.labels[chosen], values, groups=members)

    if one.design == SEEDS:
        return seeds_interval(one.paucs, error(np.ones(len(one.rows), bool)))
    return folds_interval(one.paucs, [error(one.fold == seed) for seed in one.seeds])


def _error(one: Record, two: Record, chosen: np.ndarray, groups: np.ndarray | None) -> float:
    """Standard error of the difference over redraws of the chosen test rows."""
    rows = one.rows[chosen]
    _, at_one, at_two = np.intersect1d(rows, two.rows, return_indices=True)
    values = one.values[chosen][at_one].astype(np.float64) - two.values[at_two]
    members = None if groups is None else groups[rows[at_one]]
    return row_standard_error(one.labels[chosen][at_one], values, groups=members)


def pairwise(
    records: Mapping[tuple[str, ...], Record], groups: Mapping[str, np.ndarray | None]
) -> list[dict[str, Any]]:
    """Rows of the frame ``pairwise``: every pair of methods on every task and choice of values.

    Keys of ``records`` are experiment, dataset, method and the rule of choice; those of ``groups``
    are stored datasets.
    """
    lines = []
    for (a, one), (b, two) in itertools.combinations(records.items(), 2):
        if (a[0], a[1], a[3]) != (b[0], b[1], b[3]):
            continue
        found = compare(one, two, groups.get(a[1].partition("@")[0]))
        if found is None:
            continue
        lines.append(
            {
                **dict(zip(("experiment", "dataset", "method", "chosen_by"), a, strict=True)),
                "rival": b[2],
                "seeds": len(np.intersect1d(one.seeds, two.seeds)),
                "difference": found.value,
                "standard_error": found.standard_error,
                "df": found.df,
                "seeds_share": found.seeds_share,
                "rows_share": found.rows_share,
                "design": one.design,
            }
        )
    return lines


def write_records(folder: Path, records: Mapping[tuple[str, ...], Record]) -> None:
    """One .npz file an experiment, nothing pickled; what records share (their rows) lies in once.

    ``keys`` lists each record's key and the numbers of its arrays. Influence values are kept to
    three digits: half the bytes, and a standard error's third digit is beyond its own accuracy.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for experiment in dict.fromkeys(key[0] for key in records):
        numbers: dict[tuple[str, bytes], int] = {}
        arrays: dict[str, Any] = {}
        keys = []
        for key in [key for key in records if key[0] == experiment]:
            places = {}
            for name in Record.__dataclass_fields__:
                array = getattr(records[key], name)
                array = array.astype(np.float16) if name == "values" else array
                content = (array.dtype.str, hashlib.sha256(array.tobytes()).digest())
                places[name] = numbers.setdefault(content, len(numbers))
                arrays[f"array-{places[name]}"] = array
            keys.append([key, places])
        with atomic_path(folder / f"{experiment}.npz") as temporary:
            np.savez_compressed(temporary, keys=np.array(json.dumps(keys)), **arrays)


def read_records(path: Path) -> dict[tuple[str, ...], Record]:
    """The records of one experiment."""
    with np.load(path, allow_pickle=False) as file:
        found = {
            tuple(key): Record(**{name: file[f"array-{n}"] for name, n in places.items()})
            for key, places in json.loads(str(file["keys"]))
        }
    return {
        key: replace(kept, values=kept.values.astype(np.float32)) for key, kept in found.items()
    }
