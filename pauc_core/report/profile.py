"""The figure `profile`: share of tasks solved within a factor of the fastest method's time."""

from __future__ import annotations

import matplotlib
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter

from pauc_core.report.clock import OBJECTIVE, PAUC, profile
from pauc_core.report.figures import LOOK, MARK
from pauc_core.report.league_tables import LeagueTables
from pauc_core.report.style import Style, style_of

PANEL = (4.6, 3.1)  # inches
WORDS = {PAUC: "targets of the validation pAUC", OBJECTIVE: "targets of the objective"}


def draw_profile(league: LeagueTables, title: str) -> Figure:
    """A panel for each kind of model and of target that has tasks."""
    times, reports, labels = league.times, league.reports, league.labels
    panels = [
        (kind, measure, part)
        for (kind, measure), part in times.groupby(["kind", "measure"], sort=False)
    ]
    across = max(1, min(2, len(panels)))
    down = max(1, -(-len(panels) // across))
    methods = sorted(set(times.method), key=reports.order)
    lines = -(-len(methods) // 3)
    height = down * PANEL[1] + 0.8 + 0.19 * lines
    with sns.axes_style("whitegrid", rc={"grid.color": "#e6e6e6"}), matplotlib.rc_context(LOOK):
        figure = Figure(figsize=(max(2, across) * PANEL[0], height))
        FigureCanvasAgg(figure)
        axes = figure.subplots(down, across, squeeze=False)
        for axis in axes.flat[len(panels) :]:
            axis.set_axis_off()
        for axis, (kind, measure, part) in zip(axes.flat, panels, strict=False):
            tasks = part.groupby(["experiment", "dataset", "target"]).ngroups
            axis.set_title(f"{kind}: {tasks} {WORDS[str(measure)]}")
            _panel(axis, part, {m: style_of(reports, m, labels.get(m)) for m in methods})
        if not panels:
            figure.text(0.5, 0.5, "no targets are stored (make targets)", ha="center", va="center")
        figure.text(
            0.01, 1 - 0.08 / height, title, ha="left", va="top", fontsize=10.5, fontweight="bold"
        )
        known = dict.fromkeys(task.provenance for task in league.tasks)
        figure.text(
            0.01, 1 - 0.32 / height, "; ".join(MARK[whose] for whose in known), ha="left",
            va="top", fontsize=8.5, color="#B00020",
        )  # fmt: skip
        handles = [
            Line2D([], [], color=s.colour, linestyle=s.line, marker=s.marker, markersize=4, lw=1.4,
                   label=s.label)
            for s in (style_of(reports, m, labels.get(m)) for m in methods)
        ]  # fmt: skip
        if handles:
            figure.legend(
                handles=handles, loc="lower center", ncols=min(3, len(handles)), frameon=False,
                bbox_to_anchor=(0.5, 0.0), handlelength=3.2,
            )  # fmt: skip
        figure.tight_layout(rect=(0, (0.1 + 0.19 * lines) / height, 1, 1 - 0.5 / height))
    return figure


def _panel(axis: Axes, part: pd.DataFrame, styles: dict[str, Style]) -> None:
    found = profile(part)
    end = 1.3 * max([2.0, *(f[-1] for f, _, _ in found.values() if len(f))])
    for method in [m for m in styles if m in found]:
        factors, shares, _ = found[method]
        style = styles[method]
        axis.step(
            np.concatenate([[1.0], factors, [end]]),
            np.concatenate([[0.0], shares, [shares[-1] if len(shares) else 0.0]]),
            where="post", color=style.colour, linestyle=style.line, lw=1.4, marker=style.marker,
            markersize=4, markevery=max(1, len(factors) // 5), markeredgecolor="white",
            markeredgewidth=0.4,
        )  # fmt: skip
    axis.set_xscale("log")
    axis.set_xlim(1.0, end)
    axis.set_ylim(-0.02, 1.02)
    plain = FuncFormatter(lambda value, _: f"{value:g}")
    axis.xaxis.set_major_formatter(plain)
    axis.xaxis.set_minor_formatter(plain if end < 10 else NullFormatter())
    axis.set_xlabel("CPU seconds over those of the fastest")
    axis.set_ylabel("share of tasks solved")
