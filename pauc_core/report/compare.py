"""Measured beside paper: one outer join, the gaps with their intervals and a verdict each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pauc_core.report.frames import PROVENANCE, Collected, Reports
from pauc_core.report.measured import COUNTS, KEY, measured_numbers
from pauc_core.report.verdicts import UNDECIDED, Estimate

AGREES, DIFFERS, ONLY_OURS, ONLY_PAPER = "agrees", "differs", "only ours", "only paper"
RATIOS = ("cpu_seconds", "cpu_seconds_to_exceed", "epochs_to_exceed")
COLUMNS = [
    *KEY, "ours", "ours_deviation", "n", "runs", "paper", "paper_deviation", "gap", "gap_low",
    "gap_high", "margin", "verdict", "data", "comparable", "measured_on", "experiment", "status",
    "note", "stale", "place",
]  # fmt: skip


def compare(collected: Collected, reports: Reports, reference: pd.DataFrame) -> pd.DataFrame:
    """Outer join of what was measured and what the paper prints.

    ``gap`` is a difference for pAUCs and counts and a ratio for seconds and epochs; ``margin``
    says within what they agree.

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
    gaps = [_gap(row, reports) for row in both.itertuples()]
    for name in ("gap", "gap_low", "gap_high", "margin", "verdict"):
        both[name] = [getattr(gap, name) for gap in gaps]
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
    return both[COLUMNS].reset_index(drop=True)


@dataclass(frozen=True)
class Gap:
    """Ours less the paper's, or ours over the paper's, with its interval and a verdict."""

    gap: float = math.nan
    gap_low: float = math.nan
    gap_high: float = math.nan
    margin: str = ""
    verdict: str = UNDECIDED


def _gap(row: Any, reports: Reports) -> Gap:
    """Equivalence needs evidence: the whole interval within the margin, not a gap unseen."""
    if not math.isfinite(row.paper):
        return Gap(verdict=ONLY_OURS)
    if not math.isfinite(row.ours):
        return Gap(verdict=ONLY_PAPER)
    if row.metric in COUNTS:  # a count has no error
        gap = row.ours - row.paper
        return Gap(gap, gap, gap, "0", AGREES if gap == 0 else DIFFERS)
    if row.metric in RATIOS:
        if min(row.ours, row.paper) <= 0:
            return Gap()
        shares = (row.ours_deviation / row.ours, row.paper_deviation / row.paper)
        value, margin = math.log(row.ours / row.paper), math.log(reports.margins["ratio"])
        error = _error(row, *shares, reports.assumed_repeats)
        found = Estimate(value, *error)
        low, high = (math.exp(v) if found.known else math.nan for v in (found.low, found.high))
        return Gap(
            math.exp(value), low, high, f"x {reports.margins['ratio']:g}", equivalent(found, margin)
        )
    margin = reports.margins["pauc"]
    error = _error(row, row.ours_deviation, row.paper_deviation, reports.assumed_repeats)
    found = Estimate(row.ours - row.paper, *error)
    ends = (found.low, found.high) if found.known else (math.nan, math.nan)
    return Gap(found.value, *ends, f"{margin:g}", equivalent(found, margin))


def equivalent(gap: Estimate, margin: float) -> str:
    """Agrees: the interval lies within the margin; differs: outside of it; else undecided."""
    if -margin <= gap.low and gap.high <= margin:
        return AGREES
    return DIFFERS if gap.high < -margin or margin < gap.low else UNDECIDED


def _error(row: Any, ours: float, paper: float, assumed_repeats: int) -> tuple[float, float]:
    """Standard error of a gap, with Satterthwaite's degrees of freedom.

    A paper's number without a deviation counts as exact; one run of ours has no error to tell.
    """
    if row.n < 2 or not math.isfinite(ours):
        return math.nan, math.nan
    parts = [(ours**2 / row.n, row.n - 1)]
    if math.isfinite(paper):
        parts.append((paper**2 / assumed_repeats, assumed_repeats - 1))
    variance = sum(part for part, _ in parts)
    # Seeds that agree to the last bit leave no error to measure a gap by.
    if variance <= 1e-24:
        return math.nan, math.nan
    return math.sqrt(variance), variance**2 / sum(part**2 / df for part, df in parts)
