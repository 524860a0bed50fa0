"""The rows of one's own file for the command line: features as they are, labels as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pauc_core.data.errors import DataError
from pauc_core.data.libsvm_text import read_libsvm
from pauc_core.data.table_loaders import READERS, group_numbers, read_table


@dataclass(frozen=True)
class OwnRows:
    """Features (a frame, or CSR for LIBSVM text), labels, and groups where a column names them."""

    x: Any
    labels: np.ndarray
    groups: np.ndarray | None


def read_rows(
    path: Path,
    *,
    label: str | None,
    drop: Sequence[str] = (),
    group: str | None = None,
    names: Sequence[str] | None = None,
    width: int | None = None,
) -> OwnRows:
    """Read CSV, TSV, Parquet, or (any other ending) LIBSVM text.

    With ``names`` (of a fitted model) exactly these columns become features, in this order; with
    ``width`` LIBSVM rows get that many columns.
    """
    if not path.is_file():
        raise DataError(
            f"{path} is not a file: give the path of a CSV, TSV, Parquet or LIBSVM file."
        )
    if path.suffix.lower() not in READERS:
        values, x = read_libsvm(path, width)
        return OwnRows(x, values, None)
    table = read_table(path)
    table.columns = table.columns.map(str)
    if label is None:
        raise DataError(f"{path} is a table: name its label column with --label.")
    left = [label, *drop, *([group] if group else [])]
    features = [c for c in table.columns if c not in left] if names is None else list(names)
    for column in [*left, *features] if names is None else [label, *features]:
        if column not in table.columns:
            known = ", ".join(map(str, table.columns[:12]))
            raise DataError(f"{path} has no column {column!r}: its columns are {known}.")
    if table[label].isna().any():
        row = int(table[label].isna().to_numpy().argmax()) + 1
        raise DataError(f"{path}, row {row}: the label {label!r} is missing; remove the row.")
    if not features:
        raise DataError(f"{path} has no column beside the label {label!r}: nothing to learn from.")
    groups = None
    if group and names is None:
        groups = group_numbers(table[group], path)
    return OwnRows(_numbers(table[features], path), table[label].to_numpy(), groups)


def _numbers(features: pd.DataFrame, path: Path) -> pd.DataFrame:
    for column in features.columns:
        if not pd.api.types.is_numeric_dtype(features[column]):
            raise DataError(
                f"{path}: the column {column!r} holds text, expected numbers; encode it or leave "
                "it out with --drop."
            )
    x = features.astype(np.float64)
    finite = np.isfinite(x.to_numpy())
    if not finite.all():
        row, place = np.argwhere(~finite)[0]
        raise DataError(
            f"{path}, row {row + 1}, column {x.columns[place]!r}: a missing, NaN or infinite "
            "value; fill it in or remove the row."
        )
    return x
