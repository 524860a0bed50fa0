"""Two rankings of the same rows: from two files of scores, or from two models and a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from pauc_core.data.errors import DataError
from pauc_core.own_data.kinds import to_numbers, words
from pauc_core.own_data.rows import (
    SavedModel,
    group_column,
    label_values,
    model_rows,
    weight_column,
)
from pauc_core.own_data.tables import Table, check_columns, read_table, table_kind

SCORE = "score"  # what `pauc predict` calls its column


@dataclass(frozen=True)
class Pair:
    """Which rows are positive, and their scores from either side."""

    positive: np.ndarray
    first: np.ndarray
    second: np.ndarray
    groups: np.ndarray | None = None
    weights: np.ndarray | None = None


def of_models(
    paths: Sequence[Path],
    test: Path,
    *,
    label: str | None,
    group: str | None,
    weight: str | None,
) -> tuple[Pair, list[SavedModel]]:
    """Scores of two models for the rows of a table with labels."""
    models = [SavedModel.load(path) for path in paths]
    masks, scores = [], []
    for model in models:
        rows = model_rows(model, test, label=label, group=group, weight=weight)
        masks.append(positives(model, rows.labels, test))
        scores.append(model.classifier.decision_function(rows.x))
    _agree(masks, f"{paths[0]} and {paths[1]} call", "fit both for the same positive label")
    return Pair(masks[0], scores[0], scores[1], rows.groups, rows.weights), models


def of_files(
    paths: Sequence[Path],
    *,
    label: str | None,
    positive: str | None,
    identifier: str | None,
    scores: Sequence[str] = (),
    group: str | None,
    weight: str | None,
) -> Pair:
    """Scores of two files, rows matched by an identifier or, where all labels agree, by order.

    ``scores`` names their columns of scores, one name for both or one for each.
    """
    if label is None:
        raise DataError("Two files of scores need their label column: name it with --label.")
    tables = [_scores_table(path, label, identifier, group) for path in paths]
    if identifier is not None:
        tables[1] = _matched(tables, identifier)
    elif len(tables[0].frame) != len(tables[1].frame):
        raise DataError(
            f"{paths[0]} has {len(tables[0].frame)} rows and {paths[1]} {len(tables[1].frame)}: "
            "name a column to match them by with --id."
        )
    labelled = [table for table in tables if label in table.frame]
    if len(labelled) < (1 if identifier else 2):
        lacking = next(table for table in tables if label not in table.frame)
        check_columns(lacking, [label])
    masks = [_mask(table, label, positive) for table in labelled]
    by = "check the labels" if identifier else "name a column to match rows by with --id"
    if len(masks) > 1:
        _agree(masks, f"{paths[0]} and {paths[1]} call", by)
    groups = group_column(_with(tables, group), group)
    weights = weight_column(_with(tables, weight), weight)
    names: Sequence[str | None] = [*scores, *scores][:2] or [None, None]
    used = [label, identifier, group, weight]
    first, second = (_scores(t, name, used) for t, name in zip(tables, names, strict=True))
    return Pair(masks[0], first, second, groups, weights)


def positives(model: SavedModel, labels: np.ndarray | None, path: Path) -> np.ndarray:
    """Which of a table's labels are a model's positive one; both kinds must be there."""
    classes = model.classifier.classes_
    values = label_values(np.asarray(labels), model.positive, path)
    strange = ~np.isin(values, classes)
    if strange.any():
        raise DataError(
            f"{path}, row {int(strange.argmax()) + 1}: the label {values[strange][0]} is none of "
            f"the model's {classes.tolist()}."
        )
    return np.asarray(values == classes[1])


def _scores_table(path: Path, label: str, identifier: str | None, group: str | None) -> Table:
    if table_kind(path) is None:
        raise DataError(f"{path} is no CSV, TSV or Parquet file of scores, nor a model (.npz).")
    table = read_table(path, [name for name in (identifier, group) if name])
    if identifier is not None:
        check_columns(table, [identifier])
    return table


def _with(tables: Sequence[Table], name: str | None) -> Table:
    """The first table that has a column; the column may be in one of the files or in both."""
    table = next((table for table in tables if name in table.frame), tables[0])
    check_columns(table, [name] if name else [])
    return table


def _matched(tables: Sequence[Table], identifier: str) -> Table:
    """The second table with its rows in the order of the first."""
    keys = []
    for table in tables:
        column = table.frame[identifier]
        missing = column.isna().to_numpy()
        key = pd.Index(words(column.to_numpy(dtype=object)))
        for wrong, what in ((missing, "is missing"), (key.duplicated(), "occurs twice")):
            if wrong.any():
                row = int(wrong.argmax())
                which = "" if missing[row] else f" {key[row]!r}"
                raise DataError(
                    f"{table.path}, row {row + 1}: the identifier{which} in {identifier!r} {what}: "
                    "expected one of its own for each row."
                )
        keys.append(key)
    for one, other, name in ((0, 1, tables[1].path), (1, 0, tables[0].path)):
        lacking = ~keys[one].isin(keys[other])
        if lacking.any():
            raise DataError(
                f"{name} lacks the row whose {identifier!r} is {keys[one][lacking][0]!r} (and "
                f"{int(lacking.sum()) - 1} more): expected the same rows in both files."
            )
    frame = tables[1].frame.iloc[keys[1].get_indexer(keys[0])].reset_index(drop=True)
    return Table(tables[1].path, frame)


def _mask(table: Table, label: str, positive: str | None) -> np.ndarray:
    missing = table.frame[label].isna().to_numpy()
    if missing.any():
        raise DataError(
            f"{table.path}, row {int(missing.argmax()) + 1}: the label {label!r} is missing; "
            "remove the row from both files."
        )
    values = label_values(table.frame[label].to_numpy(), positive, table.path)
    return np.asarray(values == max(pd.unique(values)))


def _agree(masks: Sequence[np.ndarray], who: str, advice: str) -> None:
    differ = masks[0] != masks[1]
    if differ.any():
        row = int(differ.argmax())
        one, other = ("positive" if mask[row] else "negative" for mask in masks)
        raise DataError(
            f"{who} row {row + 1} {one} and {other}, and disagree on {int(differ.sum())} rows: "
            f"{advice}."
        )


def _scores(table: Table, score: str | None, others: Sequence[str | None]) -> np.ndarray:
    """The column of scores: the one that is named, or "score", or the only one that is left."""
    left = [name for name in table.frame.columns if name not in others]
    name = score or (SCORE if SCORE in left else left[0] if len(left) == 1 else None)
    if name is None:
        raise DataError(
            f"{table.path}: which of its columns {', '.join(left[:12]) or '(none)'} holds the "
            "scores: name it with --score."
        )
    check_columns(table, [name])
    scores, strange = to_numbers(table.frame[name])
    wrong = np.isnan(scores)
    if strange.any() or wrong.any():
        row = int((wrong | strange if strange.size else wrong).argmax())
        raise DataError(
            f"{table.path}, row {row + 1}: the score {table.frame[name].iloc[row]} in {name!r} is "
            "no number."
        )
    return scores
