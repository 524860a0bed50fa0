"""Figure 0: a forest plot a claim, with tasks as points, their intervals and their regimes."""

from __future__ import annotations

import math
import textwrap
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from pauc_core.report.figures import LOOK
from pauc_core.report.frames import OBJECTIVE
from pauc_core.report.judges import SEEDS
from pauc_core.report.strips import LOGARITHMIC, view
from pauc_core.report.verdicts import ANSWERED, CONTRADICTED, NOT_RUN, SUPPORTED, UNDECIDED

WIDTH, LABELS, GAP = 12.4, 2.15, 0.35  # inches: the figure, the names left of a panel, the edge
ROW, LINE, FOOT, TOP = 0.135, 0.14, 0.48, 0.7  # a row, a title's line, below a panel, above all
# Told apart in grey by shape and filling too.
MARKS: dict[str, dict[str, Any]] = {
    SUPPORTED: {"marker": "o", "color": "#0072B2", "mfc": "#0072B2"},
    CONTRADICTED: {"marker": "X", "color": "#B00020", "mfc": "#B00020"},
    UNDECIDED: {"marker": "o", "color": "#777777", "mfc": "white"},
    ANSWERED: {"marker": "D", "color": "#5B3A8E", "mfc": "#5B3A8E"},
}
PAPER: dict[str, Any] = {"marker": "|", "color": "black", "ms": 9, "mew": 1.6}


def forest(claims: pd.DataFrame, title: str) -> Figure:
    """All claims in two columns of about equal height, without their checks."""
    claims = claims[~claims.check.astype(bool)]
    panels = [
        (part[part.scope != "all"], part[part.scope == "all"])
        for _, part in claims.groupby("claim", sort=False)
    ]
    heads = [0.1 + LINE * len(_title(rows)) for rows, _ in panels]
    insides = [ROW * (len(rows) + len(wholes) + 0.6) for rows, wholes in panels]
    heights = [head + inside + FOOT for head, inside in zip(heads, insides, strict=True)]
    columns = _columns(heights)
    height = TOP + max(sum(heights[i] for i in column) for column in columns) + 0.1
    with matplotlib.rc_context({**LOOK, "axes.edgecolor": "#999999"}):
        figure = Figure(figsize=(WIDTH, height))
        FigureCanvasAgg(figure)
        width = WIDTH / 2
        for side, column in enumerate(columns):
            top = height - TOP
            for i in column:
                left, base = side * width + LABELS, top - heads[i] - insides[i]
                box = (left, base, width - LABELS - GAP, insides[i])
                shape = (WIDTH, height, WIDTH, height)
                axis = figure.add_axes([v / whole for v, whole in zip(box, shape, strict=True)])  # type: ignore[call-overload]
                _panel(axis, *panels[i])
                top -= heights[i]
        _frame(figure, title, claims, height)
    return figure


def _columns(heights: list[float]) -> tuple[list[int], list[int]]:
    """Panels in order, cut where the two columns are most alike."""
    total = sum(heights)
    cut = min(range(1, len(heights) + 1), key=lambda i: abs(total / 2 - sum(heights[:i])))
    return list(range(cut)), list(range(cut, len(heights)))


def _panel(axis: Axes, rows: pd.DataFrame, wholes: pd.DataFrame) -> None:
    unit = str(rows.unit.iloc[0])
    _scale(axis, rows, unit)
    names: list[str] = []
    rivals = rows.rival.nunique() > 1
    place = 0
    for band, (regime, part) in enumerate(rows.groupby("regime", sort=False)):
        verdict = wholes[wholes.regime == regime].verdict.iloc[0]
        if band % 2 == 0:
            axis.axhspan(place - 0.5, place + len(part) + 0.5, color="#E8EDF2", lw=0, zorder=0)
        axis.text(
            0.008, place, f"{regime}: {verdict}", transform=axis.get_yaxis_transform(),
            ha="left", va="center", fontsize=6.8, fontweight="bold", color="#333333", zorder=6,
        )  # fmt: skip
        names.append("")
        place += 1
        for row in part.itertuples():
            _point(axis, row, place)
            rival = f" · {str(row.rival).partition(',')[0]}" if rivals else ""
            names.append(f"{row.scope!s}{rival}")
            place += 1
    axis.axvline(rows.limit.iloc[0], color="black", lw=0.8, ls=(0, (4, 2)), zorder=1)
    axis.set_ylim(place - 0.4, -0.6)
    axis.set_yticks(range(place), names, fontsize=6.6)
    axis.tick_params(axis="both", length=2, labelsize=6.6)
    axis.set_xlabel(_axis_words(rows, unit), fontsize=7, labelpad=1)
    axis.set_title("\n".join(_title(rows)), fontsize=7.6, fontweight="bold", loc="right", pad=4)


def _title(rows: pd.DataFrame) -> list[str]:
    said = str(rows.statement.iloc[0])
    if set(rows.chosen_by) == {OBJECTIVE}:
        said += " Values lowest in training objective."
    return textwrap.wrap(said, 88)


def _axis_words(rows: pd.DataFrame, unit: str) -> str:
    quantity = str(next((q for q in rows.quantity if "nan" not in q), rows.quantity.iloc[0]))
    good = "left" if unit == "epochs" else "right"
    asked = rows.kind.iloc[0] == "question"
    words = quantity.partition(" over ")[0]
    return words if asked else f"{words} (the claim: {good} of the line)"


def _point(axis: Axes, row: Any, place: int) -> None:
    if row.verdict == NOT_RUN or not math.isfinite(row.value):
        words = row.verdict if row.verdict == NOT_RUN else f"never seen ({row.verdict})"
        words = row.note if row.verdict != NOT_RUN and not row.n else words
        axis.text(
            0.01, place, words, transform=axis.get_yaxis_transform(), fontsize=6.2, va="center",
            color="#777777",
        )  # fmt: skip
        return
    mark = MARKS[row.verdict]
    runs = [value for value in row.runs if math.isfinite(value)]
    axis.plot(runs, [place] * len(runs), ls="none", marker=".", ms=2.4, color="#9AA7B3", zorder=2)
    left, right = axis.get_xlim()
    if math.isfinite(row.low) or math.isfinite(row.high):
        ends = np.clip([row.low, row.high], left, right)
        axis.plot(ends, [place, place], color=mark["color"], lw=1.3, zorder=3)
    at = float(np.clip(row.value, left, right))
    axis.plot([at], [place], ls="none", ms=4.6, mew=1.0, zorder=4, **mark)
    if math.isfinite(row.paper_value):
        axis.plot([row.paper_value], [place], ls="none", zorder=5, **PAPER)


def _scale(axis: Axes, rows: pd.DataFrame, unit: str) -> None:
    low, high = view(rows, unit)
    if unit in LOGARITHMIC:
        axis.set_xscale("log")
        axis.set_xlim(low, high)
        axis.xaxis.set_major_locator(LogLocator(subs=(1, 3) if high < 300 * low else (1,)))
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.xaxis.set_minor_formatter(NullFormatter())
    else:
        axis.set_xlim(low, high)
        axis.xaxis.set_major_locator(MaxNLocator(6))
        if unit == "share":
            axis.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{100 * v:.3g} %"))


def _frame(figure: Figure, title: str, claims: pd.DataFrame, height: float) -> None:
    test = claims[claims.quantity.str.startswith("test") & (claims.n > 0)]
    bases = " or ".join(dict.fromkeys(test[test.scope != "all"].basis)) or SEEDS
    told = f"Intervals over {bases}" + (
        "." if bases == SEEDS else " for test pAUC, else seeds alone."
    )
    for text, down, look in (
        (f"Figure 0: {title}", 0.08, {"fontsize": 11, "fontweight": "bold"}),
        (told, 0.5, {"fontsize": 7.6}),
    ):
        figure.text(0.01, 1 - down / height, text, ha="left", va="top", **look)
    handles = [
        Line2D([], [], lw=1.3, ms=5, label=verdict, **mark) for verdict, mark in MARKS.items()
    ]
    handles.append(Line2D([], [], ls="none", label="the paper's own number", **PAPER))
    handles.append(Line2D([], [], ls="none", marker=".", ms=4, color="#9AA7B3", label="one run"))
    handles.append(Line2D([], [], ls=(0, (4, 2)), color="black", lw=0.8, label="the claim's limit"))
    figure.legend(
        handles=handles, loc="upper left", bbox_to_anchor=(0.005, 1 - 0.28 / height),
        ncols=len(handles), frameon=False, fontsize=7.6, handlelength=2.4,
    )  # fmt: skip
