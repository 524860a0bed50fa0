"""The files of a guest that is no Python program: what it is handed, and what it has written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from pauc_core.models.linear import LinearModel
from pauc_core.solver import Part, Problem
from pauc_core.solver.trace import COLUMNS, MEASURES, OWN
from pauc_core.suite.columns import ColumnError

SCORES, TRACE = "scores.csv", "trace.csv"
SCORED = ("part", "row", "score")
# What a guest may tell of its way besides numbers of its own: clocks and counters.
TRACED = tuple(name for name in COLUMNS if name not in MEASURES)
BLOCK = 20_000  # rows at a time, as text


def hand_over(problem: Problem, test: Part | None, folder: Path) -> None:
    """Three files in LIBSVM's format, scaled as the experiment has it; test labels are not told."""
    assert isinstance(problem.model, LinearModel)
    parts = {"train": problem.train, "valid": problem.valid, "test": test}
    for name, part in parts.items():
        with (folder / f"{name}.libsvm").open("w", encoding="ascii") as handle:
            if part is not None:
                for text in _lines(part, problem.model, told=name != "test"):
                    handle.write(text)


def _lines(part: Part, model: LinearModel, *, told: bool) -> Iterator[str]:
    for start in range(0, len(part), BLOCK):
        rows = part.rows[start : start + BLOCK]
        block = (np.asarray(part.x[rows], dtype=np.float64) - model.center) / model.scale
        labels = np.where(part.y[rows], 1, -1) if told else np.zeros(len(rows), int)
        for label, row in zip(labels.tolist(), block, strict=True):
            there = np.flatnonzero(row)
            pairs = zip((there + 1).tolist(), row[there].tolist(), strict=True)
            yield " ".join([f"{label:+d}" if label else "0", *(f"{i}:{v:.9g}" for i, v in pairs)])
            yield "\n"


def read_scores(path: Path, parts: Mapping[str, Part | None], place: str) -> dict[str, np.ndarray]:
    """The scores of each part's rows in the order of its file; a breach is one sentence."""
    frame = _read(path, place)
    where = f"{place}: {path.name}"
    for name in SCORED:
        if name not in frame:
            raise ColumnError(
                f"{where}: {name}: the column is missing; expected the head {','.join(SCORED)}."
            )
    for name in frame.columns:
        if name not in SCORED:
            raise ColumnError(
                f"{where}: {name}: the column is unknown; expected the head {','.join(SCORED)}, as "
                "labels and numbers are not a guest's to say."
            )
    known = [name for name, part in parts.items() if part is not None and len(part)]
    for line, part in zip(frame.index, frame["part"], strict=True):
        if part not in known:
            raise ColumnError(
                f"{where}: line {line}: part: {part!r}; expected {' or '.join(known)}."
            )
    rows = _numbers(frame["row"], f"{where}: line {{}}: row", whole=True)
    values = _numbers(frame["score"], f"{where}: line {{}}: score")
    found = {}
    for name, part in parts.items():
        size = 0 if part is None else len(part)
        chosen = (frame["part"] == name).to_numpy()
        given = rows[chosen].astype(int)
        if len(given) != size or not np.array_equal(np.sort(given), np.arange(1, size + 1)):
            raise ColumnError(
                f"{where}: row: {len(given)} rows of part {name}{_odd(given, size)}; expected each "
                f"of the {size} lines of {name}.libsvm once, counted from 1."
            )
        found[name] = np.empty(size)
        found[name][given - 1] = values[chosen]
    return found


def _odd(given: np.ndarray, size: int) -> str:
    """The first row number that is none or that came before, in words."""
    outside = given[(given < 1) | (given > size)]
    if len(outside):
        return f", among them {outside[0]}, which is none of them"
    number, times = np.unique(given, return_counts=True)
    twice = number[times > 1]
    return f", among them {twice[0]} more than once" if len(twice) else ""


def read_trace(path: Path, place: str) -> list[dict[str, float]]:
    """The rows of a guest's trace, which it may leave out: clocks, counters, its own numbers."""
    if not path.exists():
        return []
    frame = _read(path, place)
    where = f"{place}: {path.name}"
    for name in ("step", "epoch"):
        if name not in frame:
            raise ColumnError(f"{where}: {name}: the column is missing; expected step and epoch.")
    found: dict[str, np.ndarray] = {}
    for name in frame.columns:
        if name in MEASURES or not (name in TRACED or name.startswith(OWN)):
            raise ColumnError(
                f"{where}: {name}: does not follow from scores or is unknown; expected "
                f"{', '.join(TRACED)} or a name that begins with {OWN}."
            )
        found[name] = _numbers(frame[name], f"{where}: line {{}}: {name}")
    for name in ("step", "epoch"):
        back = np.flatnonzero(np.diff(found[name]) < 0)
        if len(back):
            raise ColumnError(
                f"{where}: line {frame.index[back[0] + 1]}: {name}: smaller than the line before."
            )
    return [dict(zip(found, row, strict=True)) for row in zip(*found.values(), strict=True)]


def _read(path: Path, place: str) -> pd.DataFrame:
    """A guest's file as words, with the numbers of its lines."""
    try:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")
    except FileNotFoundError:
        raise ColumnError(
            f"{place}: {path.name}: was not written; expected it in the folder that the program "
            "is started in."
        ) from None
    except (OSError, ValueError) as error:  # pandas' and Unicode's errors are among them
        raise ColumnError(
            f"{place}: {path.name}: cannot be read as CSV ({' '.join(str(error).split())})."
        ) from error
    frame.index = pd.RangeIndex(2, len(frame) + 2)
    return frame


def _numbers(words: pd.Series, place: str, *, whole: bool = False) -> np.ndarray:
    values = pd.to_numeric(words, errors="coerce").to_numpy(dtype=float)
    wrong = ~np.isfinite(values) | (whole & (values != np.round(values)))
    if wrong.any():
        line = words.index[int(np.argmax(wrong))]
        kind = "a whole number" if whole else "a finite number"
        raise ColumnError(f"{place.format(line)}: {words[line]!r}; expected {kind}.")
    return values
