"""The rows that the command works on: features as a model wants them, labels as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pauc_core.data.errors import DataError
from pauc_core.data.libsvm_text import read_libsvm
from pauc_core.data.table_loaders import group_numbers
from pauc_core.labelled import check_weights
from pauc_core.own_data.classifier import PartialAUCClassifier
from pauc_core.own_data.encoding import Encoding
from pauc_core.own_data.kinds import to_numbers
from pauc_core.own_data.model_file import load_origin
from pauc_core.own_data.tables import (
    PACKED,
    Table,
    check_columns,
    check_file,
    read_table,
    table_kind,
)


@dataclass(frozen=True)
class Rows:
    """Features (a frame, or CSR), labels where there are any, and what else was asked for.

    ``kept`` are columns that are handed on as they are written.
    """

    x: Any
    labels: np.ndarray | None
    groups: np.ndarray | None = None
    weights: np.ndarray | None = None
    kept: dict[str, pd.Series] = field(default_factory=dict)
    encoding: Encoding | None = None


@dataclass(frozen=True)
class SavedModel:
    """A model file: the classifier and what `pauc fit` knew of its table."""

    path: Path
    classifier: PartialAUCClassifier
    label: str | None
    positive: str | None
    negative: str | None
    encoding: Encoding | None

    @classmethod
    def load(cls, path: Path) -> SavedModel:
        """Read a model that `pauc fit` or `PartialAUCClassifier.save` wrote."""
        if not path.is_file():
            raise ValueError(f"{path} is not a file: make a model with `pauc fit`.")
        classifier = PartialAUCClassifier.load(path)
        origin = load_origin(path)
        names = getattr(classifier, "feature_names_in_", None)
        encoding = None if names is None else Encoding.of_numbers(list(names))
        if origin.get("encoding"):
            encoding = Encoding.from_json(origin["encoding"])
        label, positive, negative = map(origin.get, ("label", "positive", "negative"))
        return cls(path, classifier, label, positive, negative, encoding)

    @property
    def words(self) -> tuple[str, str]:
        """What the negatives and the positives are called."""
        if self.positive is None:
            return str(self.classifier.classes_[0]), str(self.classifier.classes_[1])
        return self.negative or f"not {self.positive}", self.positive


def training_rows(
    path: Path,
    *,
    label: str | None,
    drop: Sequence[str] = (),
    group: str | None = None,
    weight: str | None = None,
    text: Sequence[str] = (),
    number: Sequence[str] = (),
    missing: Sequence[str] = (),
) -> Rows:
    """Rows to learn from; the columns of groups and of weights are no features."""
    beside = [name for name in (group, weight) if name is not None]
    if _is_libsvm(path):
        _refuse_columns(path, [*drop, *beside, *text, *number])
        values, x = read_libsvm(path, None)
        return Rows(x, values)
    table = read_table(path, [*text, *([group] if group else [])], missing)
    if label is None:
        raise DataError(f"{path} is a table: name its label column with --label.")
    left = [label, *drop, *beside]
    check_columns(table, [*left, *text, *number])
    labels = _labels(table, label)
    features = [name for name in table.frame.columns if name not in left]
    if not features:
        raise DataError(f"{path} has no column beside the label {label!r}: nothing to learn from.")
    encoding = Encoding.learn(table, features, text=text, number=number, holes=missing)
    groups, weights = group_column(table, group), weight_column(table, weight)
    return Rows(encoding.apply(table), labels, groups, weights, encoding=encoding)


def model_rows(
    model: SavedModel,
    path: Path,
    *,
    label: str | None = None,
    labelled: bool = True,
    group: str | None = None,
    weight: str | None = None,
    keep: Sequence[str] = (),
) -> Rows:
    """Rows for a model; unless ``labelled`` the labels may be missing and are kept as written."""
    label = label or model.label
    beside = [*keep, *(name for name in (group, weight) if name is not None)]
    if _is_libsvm(path):
        _refuse_columns(path, beside)
        if model.encoding is not None:
            raise DataError(
                f"{path} is read as LIBSVM text, by its ending, and {model.path} was fitted to a "
                "table with names: give a CSV, TSV or Parquet file."
            )
        values, x = read_libsvm(path, model.classifier.n_features_in_)
        return Rows(x, values)
    encoding = model.encoding
    texts = [*keep, *([group] if group else []), *(encoding.text if encoding else [])]
    table = read_table(path, texts, encoding.holes if encoding else [])
    check_columns(table, beside)
    labels = None
    if labelled:
        if label is None:
            raise DataError(f"{path} is a table: name its label column with --label.")
        check_columns(table, [label])
        labels = _labels(table, label)
    elif label in table.frame:
        labels = table.frame[label].to_numpy()
    if encoding is None:
        encoding = _by_place(model, table, [*beside, *([label] if label else [])])
    groups, weights = group_column(table, group), weight_column(table, weight)
    kept = {name: table.frame[name] for name in keep}
    return Rows(encoding.apply(table), labels, groups, weights, kept, encoding)


def group_column(table: Table, name: str | None) -> np.ndarray | None:
    """A number for each row's group, where a column of groups is named."""
    return None if name is None else group_numbers(table.frame[name], table.path)


def weight_column(table: Table, name: str | None) -> np.ndarray | None:
    """The weights of a column, where one is named: finite, none below 0, not all 0."""
    if name is None:
        return None
    weights, strange = to_numbers(table.frame[name])
    wrong = strange if strange.any() else np.isnan(weights)
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(
            f"{table.path}, row {row + 1}: the weight {table.frame[name].iloc[row]} in {name!r} is "
            "no number."
        )
    return check_weights(weights, len(weights), f"{table.path}: the weight {name!r}")


def label_values(values: np.ndarray, positive: str | None, path: Path) -> np.ndarray:
    """Labels of two kinds: as they are, or, where ``positive`` names one, whether they are it."""
    codes, kinds = pd.factorize(values)
    if positive is not None:
        hits = np.array([_same(kind, positive) for kind in kinds], dtype=bool)
        if not hits.any():
            raise DataError(f"{path}: no label is {positive!r}, the positive one.")
        if hits.all():
            raise DataError(f"{path}: every label is {positive!r}: expected negatives too.")
        return hits[codes]
    if len(kinds) != 2:
        some = ", ".join(sorted(map(str, kinds))[:5]) + (" .." if len(kinds) > 5 else "")
        if len(kinds) == 1:
            raise DataError(f"{path}: the label takes only one value ({some}): expected two.")
        raise DataError(
            f"{path}: the label takes {len(kinds)} values ({some}): expected two, or name the "
            "positive one with --positive."
        )
    return values


def _labels(table: Table, label: str) -> np.ndarray:
    missing = table.frame[label].isna().to_numpy()
    if missing.any():
        raise DataError(
            f"{table.path}, row {int(missing.argmax()) + 1}: the label {label!r} is missing (an "
            "empty cell, NA, None or the like); remove the row."
        )
    return table.frame[label].to_numpy()


def _by_place(model: SavedModel, table: Table, left: Sequence[str]) -> Encoding:
    """For a model that was fitted to an array: all columns in their order."""
    names = [name for name in table.frame.columns if name not in left]
    width = model.classifier.n_features_in_
    if len(names) != width:
        raise DataError(
            f"{table.path} has {len(names)} columns of features, and {model.path} was fitted to "
            f"{width} without names: give a table with these."
        )
    return Encoding.of_numbers(names)


def _same(value: object, word: str) -> bool:
    """A label in a file and a word on the command line: 1.0 and "1" are the same."""
    if str(value).strip() == word.strip():
        return True
    try:
        return float(value) == float(word)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False


def _is_libsvm(path: Path) -> bool:
    check_file(path)
    if table_kind(path):
        return False
    if path.suffix.lower() in PACKED:
        raise DataError(f"{path} is read as LIBSVM text, by its ending: unpack it first.")
    return True


def _refuse_columns(path: Path, columns: Sequence[str]) -> None:
    if columns:
        raise DataError(
            f"{path} is read as LIBSVM text, by its ending, and has no column {columns[0]!r}: "
            "give a CSV, TSV or Parquet file."
        )
