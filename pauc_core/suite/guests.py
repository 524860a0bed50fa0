"""A guest that is no Python program: its numbers are computed from its scores, never taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pauc_core.data.prepared import TEST, load_prepared
from pauc_core.metrics import pauc
from pauc_core.solver.trace import MEASURES
from pauc_core.suite.columns import ColumnError

SAME = 1e-6  # a guest may round what it prints


def from_scores(
    line: dict[str, Any], scores: pd.DataFrame, data: Path, path: Path
) -> dict[str, Any]:
    """A guest's summary line with the test pAUC of its test ``scores``; other lines as they are.

    Raises where the scores are not those of the stored test rows below ``data``, or where the line
    of ``path`` says another number, or one that does not follow from scores.
    """
    if line["use"]:
        return line
    place = f"{path}: seed {line['seed']}"
    for name in (*MEASURES, *(f"last_{measure}" for measure in MEASURES)):
        if name != "pauc_test" and line.get(name) is not None:
            raise ColumnError(
                f"{place}: {name}: {line[name]} does not follow from the scores of test rows; "
                "leave it out, as a guest's numbers are computed from its scores."
            )
    _check_rows(line, scores, data, path.with_name("scores.csv.gz"))
    if line["goal"] != "pauc":
        return line
    for name in ("fpr_low", "fpr_high"):
        if line.get(name) is None:
            raise ColumnError(f"{place}: {name} is missing; expected an end of the band.")
    found = pauc(
        scores["label"] == 1,
        scores["score"],
        fpr_low=line["fpr_low"],
        fpr_high=line["fpr_high"],
    )
    said = line.get("pauc_test")
    if said is not None and not abs(said - found) <= SAME:
        raise ColumnError(
            f"{place}: pauc_test is {said} in the summary and {found:.6f} by its scores; correct "
            "the guest or leave the number out."
        )
    return {**line, "pauc_test": found}


def _check_rows(line: dict[str, Any], scores: pd.DataFrame, data: Path, path: Path) -> None:
    """Every stored test row once, with its own label and a finite score."""
    name, _, task = line["dataset"].partition("@")
    prepared = load_prepared(data / name).for_seed(line["seed"])
    wanted = np.flatnonzero(prepared.part == TEST)
    given = pd.to_numeric(scores["row"], errors="coerce").to_numpy(dtype=float)
    place = f"{path}: seed {line['seed']}"
    if len(given) != len(wanted) or not np.array_equal(np.sort(given), wanted):
        known = np.isin(given, wanted)
        odd = f", among them row {given[~known][0]:g}, which is none of them" if any(~known) else ""
        raise ColumnError(
            f"{place}: row: {len(given)} test rows{odd}; expected each of the {len(wanted)} rows "
            f"of {name}'s test part once."
        )
    given = given.astype(int)
    wrong = (scores["label"].to_numpy() == 1) != prepared.labels(task or None)[given]
    if wrong.any():
        raise ColumnError(
            f"{place}: label: row {given[wrong][0]} has another label in {name}; expected 1 for a "
            "positive and 0 or -1 for a negative."
        )
    values = pd.to_numeric(scores["score"], errors="coerce").to_numpy(dtype=float)
    if not np.isfinite(values).all():
        row = given[~np.isfinite(values)][0]
        raise ColumnError(f"{place}: score: of row {row} is no finite number.")
