"""Tables as people have them, CSV, TSV or Parquet, with the checks that a reader leaves out."""

from __future__ import annotations

import bz2
import csv
import gzip
import lzma
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pauc_core.data.cells import as_floats
from pauc_core.data.errors import DataError

CHUNK = 2**17  # rows parsed at a time; columns of a megabyte are given back when freed
SEPARATORS = {".csv": ",;\t", ".tsv": "\t,;"}
PACKED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
TWICE = re.compile(r"Multiple matches for FieldRef\.Name\((.*?)\)|Duplicate column names")


@dataclass(frozen=True)
class Table:
    """What a file holds: columns with names that differ, at least one row, and what was left out.

    The frame holds each column in memory of its own, so that one that is taken out is freed.
    """

    path: Path
    frame: pd.DataFrame
    left_out: tuple[str, ...] = ()


def table_kind(path: Path) -> str | None:
    """``.csv``, ``.tsv`` or ``.parquet``, also of a packed file; None for any other ending."""
    kind = path.suffix.lower()
    if kind in PACKED:
        kind = Path(path.stem).suffix.lower() or ".csv"
    return kind if kind in SEPARATORS or kind == ".parquet" else None


def read_table(path: Path, text: Sequence[str] = (), missing: Sequence[str] = ()) -> Table:
    """Read a table; columns in ``text`` keep their cells as written, ``missing`` means no value.

    The separator of a CSV or TSV file is the one of comma, semicolon and tab that its header has
    most of. A first column without a name is an index and left out.
    """
    check_file(path)
    kind = table_kind(path)
    try:
        if kind == ".parquet":
            table = Table(path, _parquet(path, missing))
        else:
            table = _separated(path, kind or ".csv", text, missing)
    except DataError:
        raise
    except ImportError as error:
        raise DataError(
            f"{path} is a parquet file, which needs the package pyarrow: pip install pyarrow, "
            "or give the rows as CSV."
        ) from error
    except UnicodeError as error:
        raise DataError(f"{path} is not UTF-8 text: save it as UTF-8.") from error
    except Exception as error:  # whatever another library's parser raises is about the file
        reason = str(error).strip().splitlines()[0] if str(error).strip() else "no content"
        twice = TWICE.search(reason)
        if twice:
            raise _twice(path, twice[1] or "") from error
        name = (kind or ".csv")[1:]
        raise DataError(f"{path} cannot be read as {name} ({reason}): repair it.") from error
    if not len(table.frame):
        raise DataError(f"{path} has no rows: expected a header and at least one row.")
    return table


def check_file(path: Path) -> None:
    """Refuse a path at which nothing can be read."""
    if not path.is_file():
        raise DataError(
            f"{path} is not a file: give the path of a CSV, TSV, Parquet or LIBSVM file."
        )


def check_columns(table: Table, columns: Sequence[str]) -> None:
    """Refuse a name that the table does not have."""
    for column in columns:
        if column not in table.frame.columns:
            known = ", ".join(map(str, table.frame.columns[:12]))
            more = ", .." if table.frame.shape[1] > 12 else ""
            raise DataError(
                f"{table.path} has no column {column!r}: its columns are {known}{more}."
            )


def _parquet(path: Path, missing: Sequence[str]) -> pd.DataFrame:
    frame = pd.read_parquet(path)
    names = frame.columns.map(str)
    if names.has_duplicates:
        raise _twice(path, str(names[names.duplicated()][0]))
    columns = {name: frame[old] for name, old in zip(names, frame.columns, strict=True)}
    for name, column in columns.items():
        if missing and not pd.api.types.is_bool_dtype(column):
            number = pd.api.types.is_numeric_dtype(column)
            holes = as_floats(np.array(missing)) if number else list(missing)
            columns[name] = column.mask(column.isin(holes))
    return pd.DataFrame(columns, copy=False).reset_index(drop=True)


def _separated(path: Path, kind: str, text: Sequence[str], missing: Sequence[str]) -> Table:
    header, separator, extra = _header(path, kind)
    names = [name or f"Unnamed: {place}" for place, name in enumerate(header)]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise _twice(path, name)
    how: dict[str, Any] = {
        "sep": separator,
        "header": 0,
        "names": names,
        "dtype": {name: str for name in text if name in names},
        "na_values": list(missing),
        "skipinitialspace": True,
        "low_memory": False,
    }
    with _open(path) as file, pd.read_csv(file, chunksize=CHUNK, **how) as reader:
        pieces = list(reader)
    if not pieces:
        return Table(path, pd.DataFrame(columns=names))
    left_out = _row_names(path, pieces, extra)
    frame = _joined(path, names, pieces, how)
    for place, name in enumerate(names):
        if header[place]:
            continue
        if place == 0:
            left_out.append("the first column, which has no name and counts as an index")
        elif not frame[name].isna().all():
            raise DataError(f"{path}: column number {place + 1} has no name: give it one.")
        del frame[name]
    return Table(path, frame, tuple(left_out))


def _header(path: Path, kind: str) -> tuple[list[str], str, int]:
    """The names in the first line, what separates them, and how many cells more a row has."""
    with _open(path) as file:
        line = next((line for line in file if line.strip()), "")
    if not line:
        raise DataError(f"{path} is empty: expected a header and at least one row.")
    bare = re.sub(r'"[^"]*"', "", line)
    separator = max(SEPARATORS[kind], key=bare.count)
    with _open(path) as file:
        lines = csv.reader(file, delimiter=separator, skipinitialspace=True)
        rows = (row for row in lines if any(cell.strip() for cell in row))
        names = [name.strip() for name in next(rows)]
        return names, separator, len(next(rows, names)) - len(names)


def _row_names(path: Path, pieces: list[pd.DataFrame], extra: int) -> list[str]:
    """What to do with cells that the header has no name for, which the reader takes for an index.

    R writes row names so; but with a separator at the end of each row all cells have moved.
    """
    if extra <= 0:
        return []
    if extra > 1 or all(piece.iloc[:, -1].isna().all() for piece in pieces):
        raise DataError(
            f"{path}: its rows have more cells than its header: name every column, and end no row "
            "with a separator."
        )
    return ["the first column, for which the header has no name"]


def _joined(
    path: Path, names: list[str], pieces: list[pd.DataFrame], how: dict[str, Any]
) -> pd.DataFrame:
    """One frame from pieces that are freed column by column.

    A column that reads as numbers in one piece and as words in another is read again as a whole.
    """
    odd = [name for name in names if len({_sort(p[name]) for p in pieces} - {"nothing"}) > 1]
    again = {}
    if odd:
        with _open(path) as file:
            whole = pd.read_csv(file, **{**how, "usecols": odd})
        again = {name: whole[name].reset_index(drop=True) for name in odd}
    columns = {}
    for name in names:
        parts = [piece.pop(name) for piece in pieces]
        if name not in again:
            full = [part for part in parts if _sort(part) != "nothing"]
            if full and _sort(full[0]) == "words":
                parts = [part.astype(full[0].dtype) for part in parts]
        columns[name] = again.get(name)
        if columns[name] is None:
            columns[name] = pd.concat(parts, ignore_index=True)
    return pd.DataFrame(columns, copy=False)


def _sort(column: pd.Series) -> str:
    if pd.api.types.is_bool_dtype(column):
        return "answers"
    if pd.api.types.is_numeric_dtype(column):
        return "nothing" if column.isna().all() else "numbers"
    return "words" if pd.api.types.is_string_dtype(column) else "mixed"


def _open(path: Path) -> Any:
    return PACKED.get(path.suffix.lower(), open)(path, "rt", encoding="utf-8-sig", newline="")


def _twice(path: Path, name: str) -> DataError:
    which = f"two columns are called {name!r}" if name else "two columns have the same name"
    return DataError(f"{path}: {which}: rename one of them.")
