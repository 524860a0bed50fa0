"""How a method looks, the same in every figure and on the page."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Literal, get_args

from pauc_core.report.frames import ReportError, Reports

# For methods that config/reports.yaml does not list: the look follows from the name alone.
SPARE_COLOURS = ("#117733", "#882255", "#44AA99", "#AA4499", "#DDCC77", "#332288")
SPARE_MARKERS = ("h", "p", "d", ">", "X", "8")
Line = Literal["solid", "dashed", "dashdot", "dotted"]
SPARE_LINES: tuple[Line, ...] = ("dashdot", "dashed", "dotted")
PLOTLY_LINE = {"solid": "solid", "dashed": "dash", "dashdot": "dashdot", "dotted": "dot"}
PLOTLY_MARKER = {
    "o": "circle", "s": "square", "^": "triangle-up", "v": "triangle-down", "<": "triangle-left",
    ">": "triangle-right", "D": "diamond", "d": "diamond-tall", "x": "x-thin-open", "X": "x",
    "P": "cross", "*": "star", "h": "hexagon", "p": "pentagon", "8": "octagon",
}  # fmt: skip


@dataclass(frozen=True)
class Style:
    """Label, colour, marker and line of a method."""

    label: str
    colour: str
    marker: str
    line: Line


def style_of(reports: Reports, method: str, label: str | None = None) -> Style:
    known = reports.methods.get(method)
    if known is not None:
        for line in get_args(Line):
            if line == known["line"]:
                return Style(known["label"], known["colour"], known["marker"], line)
        raise ReportError(
            f"config/reports.yaml: methods: {method}: line {known['line']!r} is unknown; expected "
            f"one of {', '.join(get_args(Line))}."
        )
    pick = zlib.crc32(method.encode())
    return Style(
        label or method,
        SPARE_COLOURS[pick % len(SPARE_COLOURS)],
        SPARE_MARKERS[pick // 7 % len(SPARE_MARKERS)],
        SPARE_LINES[pick // 49 % len(SPARE_LINES)],
    )
