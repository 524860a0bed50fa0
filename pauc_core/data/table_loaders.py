"""Loaders of tables: LIBSVM text, one's own CSV, Parquet or LIBSVM file, scikit-learn's sets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from pauc_core.data.cells import as_floats
from pauc_core.data.errors import DataError
from pauc_core.data.libsvm_text import read_libsvm
from pauc_core.data.loaded import Entry, Loaded, to_labels
from pauc_core.data.prepared import TEST, TRAIN

PARTS = {"train": TRAIN, "test": TEST}
READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".csv": pd.read_csv,
    ".gz": pd.read_csv,
    ".tsv": lambda path: pd.read_csv(path, sep="\t"),
    ".parquet": pd.read_parquet,
}


def load_libsvm(name: str, entry: Entry, raw_dir: Path) -> Loaded:
    """The training file and, where there is one, the test file of a LIBSVM set."""
    xs, ys, parts = [], [], []
    for file in entry["files"]:
        path = raw_dir / entry["folder"] / file["name"]
        values, x = read_libsvm(path, entry["expect"]["width"])
        xs.append(x)
        ys.append(to_labels(values, entry, str(path)))
        parts.append(np.full(len(values), PARTS[file["part"]], dtype=np.uint8))
    x = sparse.vstack(xs, format="csr")
    group = equal_rows(x) if entry.get("equal_rows") == "together" else None
    return from_matrix(x, np.concatenate(ys), np.concatenate(parts), group)


def equal_rows(x: sparse.csr_matrix) -> np.ndarray:
    """The same number for rows with the same features, so that no split parts them.

    Rows without any have a number each: nothing of them can be learnt by heart, and all of them on
    one side of a split would make two populations of one.
    """
    x.sort_indices()
    x.eliminate_zeros()
    numbers: dict[bytes | int, int] = {}
    ends = x.indptr
    rows = enumerate(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))
    contents = (x.indices[a:b].tobytes() + x.data[a:b].tobytes() or row for row, (a, b) in rows)
    return np.array([numbers.setdefault(content, len(numbers)) for content in contents])


def load_table(name: str, entry: Entry, raw_dir: Path) -> Loaded:
    """A table: CSV, TSV or Parquet with the label column `label`, or LIBSVM text.

    `positive` lists the label values that count as positive; `negative` the others (where it is
    left out the file must hold two values). Columns in `drop` are left out, `group` names a
    column of groups (patients) that no split may cut. `test_later: {by: column, share: 0.3}`
    makes the last rows by that column the test part, rows of equal time on one side; the column
    itself is no feature, as all of the test part lies beyond its range in training.
    """
    path = (
        Path(entry["path"]).expanduser()
        if "path" in entry
        else raw_dir / entry["folder"] / entry["files"][0]["name"]
    )
    kind = path.suffix.lower()
    if kind not in READERS:
        values, x = read_libsvm(path, None)
        y = to_labels(values, _with_negatives(entry, values, path), str(path))
        return from_matrix(x, y, np.zeros(len(y), dtype=np.uint8))
    table = read_table(path)
    later = entry.get("test_later")
    left = [entry["label"], *entry.get("drop", []), *filter(None, [entry.get("group")])]
    left += [later["by"]] if later else []
    for column in left:
        if column not in table.columns:
            raise DataError(
                f"{path} has no column {column!r}; its columns are "
                f"{', '.join(map(str, table.columns[:12]))}: correct the dataset entry."
            )
    values = table[entry["label"]].to_numpy()
    y = to_labels(values, _with_negatives(entry, values, path), str(path))
    group = None
    if entry.get("group"):
        group = group_numbers(table[str(entry["group"])], path)
    features = table.drop(columns=left)
    for column in features.columns:
        if not pd.api.types.is_numeric_dtype(features[column]):
            raise DataError(
                f"{path}: the column {column!r} holds text, expected numbers; encode it or list "
                "it under `drop:` in the dataset entry."
            )
    x = features.to_numpy(dtype=np.float64)
    finite = np.isfinite(x)
    if not finite.all():
        row, column_number = np.argwhere(~finite)[0]
        raise DataError(
            f"{path}, row {row + 1}, column {features.columns[column_number]!r}: a missing, NaN or "
            "infinite value; fill it in or remove the row."
        )
    part = np.zeros(len(y), dtype=np.uint8)
    if later:
        part = _later(table[later["by"]], later["share"], path)
    return from_matrix(x, y, part, group)


def _later(column: pd.Series, share: float, path: Path) -> np.ndarray:
    """Parts of rows in time: the last `share` of them, none as early as the last one before."""
    times = as_floats(column.to_numpy())
    if not np.isfinite(times).all():
        row = int(np.argmin(np.isfinite(times))) + 1
        raise DataError(
            f"{path}, row {row}, column {column.name!r}: no time that rows can be ordered by; "
            "fill it in or remove the row."
        )
    earlier = len(times) - round(share * len(times))
    return np.where(times > np.sort(times)[earlier - 1], TEST, TRAIN).astype(np.uint8)


def load_sklearn(name: str, entry: Entry, raw_dir: Path) -> Loaded:
    """A set that comes inside scikit-learn: `set: digits` or `set: breast_cancer`."""
    from sklearn import datasets

    makers = {"digits": datasets.load_digits, "breast_cancer": datasets.load_breast_cancer}
    if entry["set"] not in makers:
        raise DataError(f"{name}: set is {entry['set']!r}; known sets: {', '.join(makers)}.")
    x, values = makers[entry["set"]](return_X_y=True)
    y = to_labels(values, entry, f"scikit-learn {entry['set']}")
    return from_matrix(x, y, np.zeros(len(y), dtype=np.uint8))


def from_matrix(x: Any, y: np.ndarray, part: np.ndarray, group: np.ndarray | None = None) -> Loaded:
    """A table whose rows become dense float32 block by block."""

    def rows(index: np.ndarray) -> np.ndarray:
        block = x[index]
        dense: np.ndarray = block.toarray() if sparse.issparse(block) else np.asarray(block)
        return dense.astype(np.float32)

    return Loaded(rows, (x.shape[0], x.shape[1]), np.float32, y, part, ["label"], group)


def read_table(path: Path) -> pd.DataFrame:
    """A CSV, TSV or Parquet file with at least one row."""
    kind = path.suffix.lower()
    try:
        table = READERS[kind](path)
    except ImportError as error:
        raise DataError(
            f"{path} is a {kind[1:]} file, which needs the package pyarrow: pip install pyarrow, "
            "or give the rows as CSV."
        ) from error
    except Exception as error:  # whatever another library's parser raises is about the file
        reason = str(error).strip().splitlines()[0] if str(error).strip() else "no content"
        raise DataError(f"{path} cannot be read as {kind[1:]} ({reason}): repair it.") from error
    if not len(table):
        raise DataError(f"{path} has no rows: expected a header and at least one row.")
    return table


def group_numbers(column: pd.Series, path: Path) -> np.ndarray:
    """A whole number for each group of a column."""
    missing = column.isna().to_numpy()
    if missing.any():
        raise DataError(
            f"{path}, row {int(missing.argmax()) + 1}: the group {column.name!r} is missing; "
            "fill it in or remove the row."
        )
    return np.unique(column.astype(str), return_inverse=True)[1]


def _with_negatives(entry: Entry, values: np.ndarray, path: Path) -> Entry:
    if "negative" in entry:
        return entry
    others = [v for v in pd.unique(pd.Series(values)).tolist() if v not in entry["positive"]]
    if len(others) > 1:
        raise DataError(
            f"{path}: beside {entry['positive']} the label holds {others[:5]}; list the negative "
            "ones under `negative:` in the dataset entry."
        )
    return {**entry, "negative": others}
