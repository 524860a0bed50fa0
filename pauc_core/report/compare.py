"""Measured beside paper: one outer join, the gaps and a verdict each."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from pauc_core.report.frames import PROVENANCE, Collected, Reports
from pauc_core.report.measured import KEY, measured_numbers

AGREES_WITHIN = 2.0  # standard errors
COLUMNS = [
    *KEY, "ours", "ours_deviation", "n", "runs", "paper", "paper_deviation", "gap",
    "gap_in_standard_errors", "verdict", "data", "comparable", "measured_on", "experiment",
    "status", "note", "stale", "place",
]  # fmt: skip


def compare(collected: Collected, reports: Reports, reference: pd.DataFrame) -> pd.DataFrame:
    """Outer join of what was measured and what the paper prints.

    ``comparable`` is true only where the data are the paper's own and whole: a gap on a stand-in,
    on generated data or on smaller pictures is printed for orientation and is no reproduction.
    """
    ours = measured_numbers(collected, reports)
    paper = reference.rename(columns={"mean": "paper", "deviation": "paper_deviation"})
    both = ours.rename(
        columns={"mean": "ours", "deviation": "ours_deviation", "measured": "measured_on"}
    ).merge(paper, on=KEY, how="left")
    alone = paper.merge(ours[KEY], on=KEY, how="left", indicator=True)
    alone = alone[alone._merge == "left_only"].drop(columns="_merge")
    both = pd.concat([both, alone], ignore_index=True)
    both["status"] = both.status.fillna("not run")
    both["gap"] = both.ours - both.paper
    errors = [_standard_error(row, reports.assumed_repeats) for row in both.itertuples()]
    both["gap_in_standard_errors"] = both.gap / np.array(errors, dtype=float)
    both["verdict"] = [_verdict(row) for row in both.itertuples()]
    both["data"] = both.provenance.map(PROVENANCE).fillna("none")
    known = both.ours.notna() & both.paper.notna()
    both["comparable"] = (
        known & (both.provenance == "paper") & ~both.reduced.fillna(False).astype(bool)
    )
    for name in ("note", "measured_on", "experiment", "place"):
        both[name] = both[name].fillna("")
    both["stale"] = both.stale.fillna(False).astype(bool)
    for name in ("n", "runs"):
        both[name] = both[name].fillna(0).astype(int)
    order = {name: i for i, name in enumerate(reports.tables)}
    both["_order"] = both.artifact.map(order)
    both = both[(both.status != "not run") | both.paper.notna()]
    both = both.sort_values("_order", kind="stable")
    return both[[*COLUMNS, "printed"]].reset_index(drop=True)


def _standard_error(row: object, assumed_repeats: int) -> float:
    """Standard error of the gap; a side that prints no deviation counts as exact.

    One run beside a mean over several has no error of its own, and the gap none either.
    """
    ours, n = row.ours_deviation, row.n  # type: ignore[attr-defined]
    paper = row.paper_deviation  # type: ignore[attr-defined]
    if n == 1 and math.isfinite(paper):
        return math.nan
    squares = [ours**2 / n] if n and n > 1 and math.isfinite(ours) else []
    squares += [paper**2 / assumed_repeats] if math.isfinite(paper) else []
    total = math.sqrt(sum(squares))
    # Seeds that agree to the last bit leave no error to measure a gap by.
    return total if total > 1e-12 else math.nan


def _verdict(row: object) -> str:
    ours, paper = row.ours, row.paper  # type: ignore[attr-defined]
    if not math.isfinite(paper):
        return "only ours"
    if not math.isfinite(ours):
        return "only paper"
    gap, errors = row.gap, row.gap_in_standard_errors  # type: ignore[attr-defined]
    digits = len(row.printed.partition(".")[2])  # type: ignore[attr-defined]
    rounding = 0.5 * 10.0**-digits if digits else 0.0
    within = math.isfinite(errors) and abs(errors) <= AGREES_WITHIN
    if within or abs(gap) <= rounding:
        return "agrees"
    return "higher" if gap > 0 else "lower"
