"""The forest plot as the page draws it: positions in percent, so that any width will do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.ticker import MaxNLocator

from pauc_core.report.verdicts import NOT_RUN

LOGARITHMIC = ("ratio", "epochs")
LANE, EDGE = 7, 7  # pixels: from one task's line to the next, and above the first
STEPS = ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0))  # within a decade


def view(rows: pd.DataFrame, unit: str) -> tuple[float, float]:
    """Ends that hold points, papers and the claim's limit, and whole intervals where not huge."""
    points = rows[["value", "paper_value", "limit"]].to_numpy(dtype=float).ravel()
    points = points[np.isfinite(points)]
    ends = rows[["low", "high"]].to_numpy(dtype=float).ravel()
    ends = ends[np.isfinite(ends)]
    if unit in LOGARITHMIC:
        points, ends = points[points > 0], ends[ends > 0]
        low, high = points.min() / 3, points.max() * 3
        low, high = max(low, min([*ends, *points]) / 1.3), min(high, max([*ends, *points]) * 1.3)
    else:
        span = points.max() - points.min() or 1.0
        low, high = points.min() - 0.35 * span, points.max() + 0.35 * span
        low = max(low, min([*ends, *points]) - 0.03 * span)
        high = min(high, max([*ends, *points]) + 0.03 * span)
    return float(low), float(high)


@dataclass(frozen=True)
class Scale:
    """Where a number stands, in percent of the width: what speaks for a claim is to the right."""

    low: float
    high: float
    unit: str

    def at(self, value: float) -> float:
        if self.unit in LOGARITHMIC:
            low, high = math.log(self.low), math.log(self.high)
            share = (math.log(max(value, self.low)) - low) / (high - low)
        else:
            share = (value - self.low) / (self.high - self.low)
        share = min(max(share, 0.0), 1.0)
        return round(100 * (1 - share if self.unit == "epochs" else share), 2)

    @property
    def ticks(self) -> list[dict[str, Any]]:
        """At most six round numbers; none so near an edge that its text would be cut."""
        if self.unit in LOGARITHMIC:
            decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            for steps in reversed(STEPS):
                marks = [step * 10.0**power for power in decades for step in steps]
                marks = [mark for mark in marks if 4 <= self.at(mark) <= 96]
                if len(marks) <= 6:
                    break
            marks = marks[:: 1 + len(marks) // 7]
        else:
            marks = [float(mark) for mark in MaxNLocator(5).tick_values(self.low, self.high)]
            marks = [mark for mark in marks if self.low < mark < self.high]
        marks = [mark for mark in marks if 4 <= self.at(mark) <= 96]
        return [{"at": self.at(mark), "text": self._text(mark)} for mark in marks]

    def _text(self, mark: float) -> str:
        return f"{100 * mark:.3g} %" if self.unit == "share" else f"{mark + 0.0:.4g}"


def scale_of(rows: pd.DataFrame) -> Scale | None:
    """One scale for all tasks of a claim; nothing where none was run."""
    ran = rows[np.isfinite(rows.value.astype(float))]
    if ran.empty:
        return None
    unit = str(ran.unit.iloc[0])
    return Scale(*view(rows, unit), unit)


def strip(scale: Scale, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The lines of a regime's tasks, one below the other."""
    lines = []
    shown = [row for row in rows if row["verdict"] != NOT_RUN]
    for i, row in enumerate(shown):
        seen = row["value"] is not None and math.isfinite(row["value"])
        ends = _ends(row)
        lines.append({
            "y": EDGE + LANE * i,
            "at": scale.at(row["value"]) if seen else None,
            "ends": sorted(scale.at(end) for end in ends),
            "paper": None if row["paper_value"] is None else scale.at(row["paper_value"]),
            "verdict": row["verdict"],
            "words": _words(row, seen),
        })  # fmt: skip
    return {"height": 2 * EDGE + LANE * max(len(lines) - 1, 0), "lines": lines}


def _ends(row: dict[str, Any]) -> list[float]:
    """The interval, or nothing where one seed has none."""
    ends = [row[name] for name in ("low", "high") if row[name] is not None]
    return ends if len(ends) == 2 and any(map(math.isfinite, ends)) else []


def _words(row: dict[str, Any], seen: bool) -> str:
    rival = f" against {row['rival']}" if row["rival"] else ""
    value = f"{row['value']:.3g}" if seen else "never seen"
    interval = f" ({row['low']:.3g} to {row['high']:.3g})" if _ends(row) else ""
    return f"{row['scope']}{rival}: {value}{interval}, {row['verdict']}"
