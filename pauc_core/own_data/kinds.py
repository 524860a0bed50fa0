"""What the columns of a training table are: numbers, words, or something to refuse by name."""

from __future__ import annotations

import datetime
import decimal
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pauc_core.data.cells import as_floats
from pauc_core.data.errors import DataError
from pauc_core.own_data.tables import Table

MOST = 0.9  # share of a column's values that decides what it is
SAME_NUMBERS = 0.99  # share of different whole numbers from which they are identifiers
ROWS = 50  # whole numbers that must be there to tell
LOOK = 2000  # different words that are looked at
# Cells that stand for no value in a column of numbers, beside those that pandas knows.
HOLES = ("?", "-", "--", ".", "*", "n.a.", "na", "nil", "none", "missing", "unknown")
ANSWERS = {"False": 0.0, "True": 1.0}
PLAIN = (str, int, float, bool, np.generic, decimal.Decimal)

_YEAR, _MONTH = r"(?:1[5-9]|2\d)\d\d", r"(?:0?[1-9]|1[0-2])"
_NAME = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_TIME = r"\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?: ?[ap]m)?"
DATE = re.compile(
    rf"(?:{_YEAR}[-/.]{_MONTH}(?:[-/.]\d{{1,2}})?|\d{{1,2}}[-/.]\d{{1,2}}[-/.](?:{_YEAR}|\d\d)"
    rf"|\d{{1,2}}[- ]{_NAME}[- ,]*(?:{_YEAR}|\d\d)|{_NAME} \d{{1,2}},? {_YEAR}"
    rf"|{_NAME}[- ]{_YEAR})(?:[T ,]+{_TIME}.*)?|{_TIME}",
    re.IGNORECASE,
)
SIGN = r",%$€£' \u00a0"
SIGNED = re.compile(rf"(?=.*[{SIGN}])[$€£]?\s*[-+]?\d[\d.{SIGN}]*")


@dataclass(frozen=True)
class Refused(Exception):
    """Why a column is not taken: what it is, and what to do beside leaving it out."""

    name: str
    what: str
    instead: str


def raise_refused(table: Table, refused: Sequence[Refused]) -> None:
    """One sentence for all columns that were refused; nothing if there are none."""
    if not refused:
        return
    what = "; ".join(f"the column {one.name!r} {one.what}" for one in refused)
    names = " ".join(shlex.quote(one.name) for one in refused)
    them = "it" if len(refused) == 1 else "them"
    other = ", or ".join(one.instead for one in refused)
    raise DataError(f"{table.path}: {what}: leave {them} out with --drop {names}, or {other}.")


def coded(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """The number of each cell's value, -1 for none, and the different values."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.codes.to_numpy(), np.asarray(column.cat.categories, dtype=object)
    codes, values = pd.factorize(column)
    return codes, np.asarray(values, dtype=object)


def words(values: np.ndarray) -> list[str]:
    """Values as they are written in a file: 3.0 is "3", blanks at the ends do not count."""
    return [
        str(int(value))
        if isinstance(value, float | np.floating) and float(value).is_integer()
        else str(value).strip()
        for value in values
    ]


def to_numbers(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Cells as numbers, NaN for none, and which cells are no numbers."""
    numeric = pd.api.types.is_numeric_dtype(column)  # answers count: False is 0 and True is 1
    if numeric and not isinstance(column.dtype, pd.CategoricalDtype):
        return column.to_numpy(dtype=np.float64, na_value=np.nan), np.zeros(0, dtype=bool)
    codes, values = coded(column)
    # Answers that are handed on as they are written are words here.
    values = np.array([ANSWERS.get(value, value) for value in values], dtype=object)
    numbers = np.append(as_floats(values), np.nan)
    strange = np.append([_is_word(v, n) for v, n in zip(values, numbers[:-1], strict=True)], False)
    return numbers[codes], strange[codes].astype(bool)


def check_plain(column: pd.Series, name: str) -> None:
    """Refuse dates by their type, and cells that are neither numbers nor words."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = pd.Series(column.cat.categories)
    if column.dtype.kind in "mM" or isinstance(column.dtype, pd.PeriodDtype):
        raise _dates(name, str(column.dropna().iloc[0]), None)
    if column.dtype.kind == "c":
        raise Refused(name, "holds complex numbers", f"give two columns for {name!r}")
    if column.dtype != object:
        return
    for value in column.dropna():
        if isinstance(value, datetime.date | datetime.time | datetime.timedelta):
            raise _dates(name, str(value), None)
        if not isinstance(value, PLAIN):
            raise Refused(
                name,
                f"holds a {type(value).__name__} in a cell",
                f"give {name!r} one number or one word a cell",
            )


def check_numbers(name: str, numbers: np.ndarray) -> None:
    """Refuse whole numbers that are nearly all different: they number the rows."""
    if not _whole(numbers[: 10 * ROWS]) or not _whole(numbers):
        return
    present = numbers[~np.isnan(numbers)]
    different = len(pd.unique(present))
    if len(present) >= ROWS and different >= SAME_NUMBERS * len(present):
        raise Refused(
            name,
            f"holds identifiers or time stamps ({different} of {len(present)} whole numbers are "
            "different)",
            f"take {name!r} as numbers with --number {shlex.quote(name)}",
        )


def check_words(column: pd.Series, name: str) -> bool:
    """Whether words are numbers and cells for no value; refuse what is neither that nor words."""
    codes, values = coded(column)
    counts = np.bincount(codes[codes >= 0], minlength=len(values))
    numbers = as_floats(values)
    number = ~np.isnan(numbers)
    strange = np.array([_is_word(v, n) for v, n in zip(values, numbers, strict=True)], dtype=bool)
    if number.any() and not strange.any():
        return True
    if counts[number].sum() >= MOST * counts.sum():
        code = int(np.flatnonzero(strange)[np.argmax(counts[strange])])
        raise Refused(
            name,
            f"holds numbers but for {values[code]!r} in {_place(codes, code)}",
            f"say that it stands for no value with --missing {shlex.quote(str(values[code]))}, or "
            f"take {name!r} as words with --text {shlex.quote(name)}",
        )
    seen = [(code, text) for code, text in enumerate(words(values[:LOOK])) if counts[code]]
    dates = [code for code, text in seen if DATE.fullmatch(text)]
    if len(dates) >= MOST * len(seen):
        raise _dates(name, str(values[dates[0]]), _place(codes, dates[0]))
    signed = [code for code, text in seen if number[code] or SIGNED.fullmatch(text)]
    if len(signed) >= MOST * len(seen):
        code = next(code for code in signed if not number[code])
        raise Refused(
            name,
            f"holds numbers that are not written plainly ({str(values[code])!r} in "
            f"{_place(codes, code)})",
            f"write {name!r} with a decimal point and no other sign",
        )
    check_different(name, codes, values)
    return False


def check_different(name: str, codes: np.ndarray, values: np.ndarray) -> None:
    """Refuse words that are nearly all different."""
    different = np.count_nonzero(np.bincount(codes[codes >= 0], minlength=len(values)))
    if different >= MOST * len(codes):
        raise Refused(
            name,
            f"holds identifiers or free text ({different} different values in {len(codes)} rows)",
            f"make numbers of {name!r}",
        )


def _is_word(value: Any, number: float) -> bool:
    return bool(np.isnan(number)) and str(value).strip().lower() not in HOLES


def _whole(numbers: np.ndarray) -> bool:
    return bool(np.all((numbers == np.floor(numbers)) | np.isnan(numbers)))


def _place(codes: np.ndarray, code: int) -> str:
    rows = np.flatnonzero(codes == code)
    return f"row {rows[0] + 1}" + (f" and {len(rows) - 1} more" if len(rows) > 1 else "")


def _dates(name: str, example: str, place: str | None) -> Refused:
    where = f" in {place}" if place else ""
    return Refused(
        name,
        f"holds dates or times ({example!r}{where})",
        f"turn {name!r} into numbers, such as days since an event",
    )
