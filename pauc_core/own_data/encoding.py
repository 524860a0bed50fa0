"""From the columns of a table to numbers, learned once and applied to every later table."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from pauc_core.data.errors import DataError
from pauc_core.own_data.kinds import (
    Refused,
    check_different,
    check_numbers,
    check_plain,
    check_words,
    coded,
    raise_refused,
    to_numbers,
    words,
)
from pauc_core.own_data.tables import Table, check_columns

RARE = 10  # rows below which a word has no indicator of its own
LIMIT = 50  # words of a column that may have one, the most frequent ones
WIDE = 4  # columns made of each column read, on average, from which they are kept sparse


@dataclass(frozen=True)
class Numbers:
    """A column of numbers; where some were missing in training an indicator stands beside it."""

    name: str
    median: float | None
    missing: bool = False

    @property
    def names(self) -> list[str]:
        return [self.name, f"{self.name} is missing"][: 1 + self.missing]


@dataclass(frozen=True)
class Words:
    """A column of words: an indicator for each frequent one, and one for all others together.

    No value is a word too, if it was frequent, and is one of the others if not. Without others
    in training a word that was not seen has no indicator at all.
    """

    name: str
    values: tuple[str, ...]
    missing: bool
    others: bool

    @property
    def names(self) -> list[str]:
        known = [f"{self.name}={value}" for value in self.values]
        extra = [f"{self.name} is missing"] * self.missing + [f"{self.name}=(others)"] * self.others
        return known + extra


@dataclass(frozen=True)
class Encoding:
    """How the columns of a table become the columns of a model."""

    columns: tuple[Numbers | Words, ...]
    holes: tuple[str, ...] = ()  # cells that mean no value, beside the usual ones
    left_out: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def learn(
        cls,
        table: Table,
        features: Sequence[str],
        *,
        text: Sequence[str] = (),
        number: Sequence[str] = (),
        holes: Sequence[str] = (),
    ) -> Encoding:
        """Look at the training columns; refuse dates, identifiers and the like by name."""
        columns: list[Numbers | Words] = []
        left_out = list(table.left_out)
        refused = []
        for name in features:
            column = table.frame[name]
            if column.isna().all():
                left_out.append(f"{name!r}, which has no values")
                continue
            try:
                if name not in text:
                    check_plain(column, name)
                rule = _learn(table, name, name in text, name in number)
            except Refused as one:
                refused.append(one)
                continue
            if rule.names:
                columns.append(rule)
            else:
                left_out.append(f"{name!r}, none of whose values is in {RARE} rows")
        raise_refused(table, refused)
        if not columns:
            raise DataError(f"{table.path} has no column to learn from beside the label.")
        return cls(tuple(columns), tuple(holes), tuple(left_out))

    @classmethod
    def of_numbers(cls, names: Sequence[str]) -> Encoding:
        """For a model that was fitted to numbers under these names, none of them missing."""
        return cls(tuple(Numbers(name, None) for name in names))

    @property
    def names(self) -> list[str]:
        return [name for column in self.columns for name in column.names]

    @property
    def text(self) -> list[str]:
        return [column.name for column in self.columns if isinstance(column, Words)]

    @property
    def sparse(self) -> bool:
        return len(self.names) > WIDE * len(self.columns)

    def apply(self, table: Table) -> Any:
        """A frame of numbers, or a CSR matrix where most would be 0; takes the columns it reads."""
        check_columns(table, [column.name for column in self.columns])
        shape = len(table.frame), len(self.names)
        ends = np.cumsum([0, *(len(column.names) for column in self.columns)])
        entries = (
            (rows, start + places, values)
            for start, column in zip(ends.tolist(), self.columns, strict=False)
            for rows, places, values in _entries(column, table)
        )
        if self.sparse:
            return _sparse(shape, entries)
        x = np.zeros(shape, order="F")
        for rows, places, values in entries:
            x[rows, places] = values
        return pd.DataFrame(x, columns=self.names, copy=False)

    def to_json(self) -> dict[str, Any]:
        """What the model file keeps."""
        kinds = {Numbers: "numbers", Words: "words"}
        columns = [{"kind": kinds[type(c)], **asdict(c)} for c in self.columns]
        return {"columns": columns, "holes": list(self.holes)}

    @classmethod
    def from_json(cls, kept: dict[str, Any]) -> Encoding:
        """What `to_json` gave."""
        columns: list[Numbers | Words] = []
        for column in kept["columns"]:
            if column["kind"] == "numbers":
                columns.append(Numbers(column["name"], column["median"], column["missing"]))
            else:
                values = tuple(column["values"])
                columns.append(Words(column["name"], values, column["missing"], column["others"]))
        return cls(tuple(columns), tuple(kept["holes"]))


def _learn(table: Table, name: str, as_words: bool, as_numbers: bool) -> Numbers | Words:
    column = table.frame[name]
    numeric = pd.api.types.is_numeric_dtype(column)
    if as_words:
        return _learn_words(column, name)
    if isinstance(column.dtype, pd.CategoricalDtype) and not as_numbers:
        check_different(name, *coded(column))
        return _learn_words(column, name)
    if not (numeric or as_numbers or check_words(column, name)):
        return _learn_words(column, name)
    numbers = _numbers(column, name, table)
    if not as_numbers:
        check_numbers(name, numbers)
    holes = np.isnan(numbers)
    return Numbers(name, float(np.median(numbers[~holes])), bool(holes.any()))


def _learn_words(column: pd.Series, name: str) -> Words:
    codes, values = coded(column)
    counts: dict[str, int] = {}
    seen = np.bincount(codes[codes >= 0], minlength=len(values)).tolist()
    for word, count in zip(words(values), seen, strict=True):
        counts[word] = counts.get(word, 0) + count
    present = {word: count for word, count in counts.items() if count}
    frequent = sorted((-count, word) for word, count in present.items() if count >= RARE)
    kept = tuple(sorted(word for _, word in frequent[:LIMIT]))
    holes = int(np.count_nonzero(codes < 0))
    others = len(present) > len(kept) or 0 < holes < RARE
    if not kept and holes < RARE:  # one group of all rows
        others = False
    return Words(name, kept, holes >= RARE, others)


def _numbers(column: pd.Series, name: str, table: Table, before: str = "") -> np.ndarray:
    numbers, strange = to_numbers(column)
    if strange.any():
        row = int(strange.argmax())
        raise DataError(
            f"{table.path}, row {row + 1}: the column {name!r} {before}holds "
            f"{str(column.iloc[row])!r}, which is no number: correct it or leave the cell empty."
        )
    infinite = np.isinf(numbers)
    if infinite.any():
        raise DataError(
            f"{table.path}, row {int(infinite.argmax()) + 1}, column {name!r}: an infinite value; "
            "correct it or leave the cell empty."
        )
    return numbers


def _entries(rule: Numbers | Words, table: Table) -> Iterator[tuple[Any, Any, Any]]:
    """Rows, places and values of the cells that are not 0; the column is taken out of the table."""
    column = table.frame.pop(rule.name)
    if isinstance(rule, Words):
        known = {word: place for place, word in enumerate(rule.values)}
        hole = len(known)
        other = hole + rule.missing if rule.others else -1
        codes, values = coded(column)
        place = [known.get(word, other) for word in words(values)]
        places = np.array([*place, hole if rule.missing else other])[codes]
        seen = [*known.values(), *([hole] if rule.missing else [])]
        if known and len(codes) and not np.isin(places, seen).any():
            warnings.warn(
                f"None of the values of {rule.name!r} in {table.path} was seen in training.",
                stacklevel=2,
            )
        rows = np.flatnonzero(places >= 0)
        yield rows, places[rows], 1.0
        return
    try:
        check_plain(column, rule.name)
    except Refused as one:
        raise DataError(
            f"{table.path}: the column {rule.name!r}, numbers in training, {one.what}."
        ) from one
    numbers = _numbers(column, rule.name, table, "was numbers in training and ")
    holes = np.isnan(numbers)
    if holes.any():
        numbers = np.where(holes, _filling(rule, holes, table), numbers)
    yield slice(None), 0, numbers
    if rule.missing:
        yield slice(None), 1, holes


def _filling(rule: Numbers, holes: np.ndarray, table: Table) -> float:
    row, count = int(holes.argmax()) + 1, int(holes.sum())
    if rule.median is None:
        raise DataError(
            f"{table.path}, row {row}, column {rule.name!r}: a missing value, which this model has "
            "no filling for; fill it in or remove the row."
        )
    if not rule.missing:
        warnings.warn(
            f"{table.path}: {count} missing values in {rule.name!r}, where training had none, are "
            f"filled with its median {rule.median:g}.",
            stacklevel=2,
        )
    return rule.median


def _sparse(shape: tuple[int, int], entries: Iterable[tuple[Any, Any, Any]]) -> sparse.csr_matrix:
    rows, places, values = [], [], []
    for where, place, value in entries:
        mine = np.flatnonzero(value) if isinstance(where, slice) else where
        rows.append(mine.astype(np.int32))
        places.append(np.broadcast_to(np.asarray(place, dtype=np.int32), mine.shape))
        values.append(value[mine] if isinstance(where, slice) else np.full(mine.shape, value))
    where = np.concatenate(rows), np.concatenate(places)
    return sparse.csr_matrix((np.concatenate(values), where), shape=shape, dtype=np.float64)
