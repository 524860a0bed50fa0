"""Figures 1 to 7 as PNG and PDF; made again from the same frames they are the same bytes."""

from __future__ import annotations

import io
from typing import Any

import matplotlib
import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    LogLocator,
    NullFormatter,
    NullLocator,
)

from pauc_core.report.curves import PAUCS, Bundle, bundle, final_level, lowest
from pauc_core.report.frames import Collected, Reports, Source
from pauc_core.report.layout import dataset_label
from pauc_core.report.style import Style, style_of

AXIS = {
    "objective": "training loss (3)",
    "sorr": "SoRR loss",
    "suboptimality": "loss above the lowest seen",
    "pauc_train": "training pAUC",
    "pauc_test": "test pAUC",
    "epoch": "epoch",
    "seconds": "CPU seconds",
    "roc": "true positive rate",
}
MARK = {
    "generated": "GENERATED DATA - not the paper's, reproduces nothing",
    "stand-in": "OPEN STAND-IN - not CheXpert, not a reproduction",
    "own": "OWN DATA - not the paper's",
    "paper": "the paper's own data",
}
LOOK: dict[Any, Any] = {
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.labelsize": 8.5,
    "legend.fontsize": 8.5,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "pdf.fonttype": 42,
    "svg.hashsalt": "pauc",
    "svg.fonttype": "none",  # words, not shapes: a fifth of the bytes
}
PANEL = (2.9, 2.35)  # inches
HIGH = 1.5  # losses above this multiple of the start are shown on a log scale


class Painter:
    """Draws the figures of one configuration."""

    def __init__(self, collected: Collected, reports: Reports) -> None:
        self.collected, self.reports = collected, reports
        self.lowest = lowest(collected.traces)

    def figure(self, name: str) -> Figure:
        """One figure with all its panels; what did not run says so."""
        config = self.reports.figures[name]
        source = self.reports.source(config["source"])
        panels = [(p, c) for p in config["panels"] for c in config["columns"]]
        across = config.get("across", len(config["columns"]))
        down = -(-len(panels) // across)
        with sns.axes_style("whitegrid", rc={"grid.color": "#e6e6e6"}), matplotlib.rc_context(LOOK):
            height = down * PANEL[1] + 1.0
            figure = Figure(figsize=(max(across * PANEL[0], 6.2), height))
            FigureCanvasAgg(figure)
            axes = figure.subplots(down, across, squeeze=False)
            for axis in axes.flat[len(panels) :]:
                axis.set_axis_off()
            drawn: set[str] = set()
            for axis, (panel, column) in zip(axes.flat, panels, strict=False):
                drawn |= self._panel(axis, config, source, panel, column)
            self._frame(figure, name, config, source, drawn, height)
        return figure

    def _panel(
        self, axis: Axes, config: dict[str, Any], source: Source, panel: str, column: str
    ) -> set[str]:
        dataset = source.measured(column)
        title = dataset_label(column)
        axis.set_title(title if dataset == column else f"{title}: {dataset}")
        draw = self._roc if panel == "roc" else self._curve
        drawn = {m for m in config["methods"] if draw(axis, config, source, panel, dataset, m)}
        for method in config.get("lines", []) if panel != "suboptimality" else []:
            if self._level(axis, source, panel, dataset, method):
                drawn.add(method)
        if not drawn & set(config["methods"]):
            axis.set_xticks([])
            axis.set_yticks([])
        elif panel != "roc":
            self._stretch(axis)
        if panel == "suboptimality":
            axis.set_yscale("log")
        elif panel == "objective" and axis.lines:
            self._compress(axis)
        absent = [self._absent(source, dataset, m) for m in config["methods"] if m not in drawn]
        if absent:
            self._say(axis, "\n".join(absent), (0.97, 0.5), "right", "center", "#B00020")
        sorr = panel == "objective" and source.experiment.startswith("sorr")
        axis.set_ylabel(AXIS["sorr" if sorr else panel])
        axis.set_xlabel("false positive rate" if panel == "roc" else AXIS[config.get("x", "epoch")])
        return drawn

    def _say(
        self, axis: Axes, text: str, place: tuple[float, float], ha: str, va: str, colour: str
    ) -> None:
        """Words inside a panel, readable over its curves."""
        axis.text(
            *place, text, ha=ha, va=va, transform=axis.transAxes, fontsize=7.5, color=colour,
            bbox={"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 1.5},
        )  # fmt: skip

    def _absent(self, source: Source, dataset: str, method: str) -> str:
        """Why a method has no curve here."""
        runs = self.collected.runs(source.experiment, dataset, method)
        why = "not run" if runs.empty else str(runs.outcome.iloc[0])
        return f"{self._style(method).label.partition(',')[0]}: {why}"

    def _stretch(self, axis: Axes) -> None:
        """Looks lie close at the start, where most happens: stretch x there, with 0 in view."""
        curves = [np.asarray(line.get_xdata()) for line in axis.lines]
        places = np.unique(np.concatenate([xs for xs in curves if len(xs) > 2] or [np.zeros(1)]))
        inside = places[places > 0]
        if len(inside) > 3 and inside[-1] > 20 * inside[0]:
            first = inside[2]
            axis.set_xscale("symlog", linthresh=first, linscale=0.4)
            axis.set_xlim(0, inside[-1] * 1.05)
            powers = 10.0 ** np.arange(np.ceil(np.log10(first)), np.log10(inside[-1]) + 0.01)
            axis.xaxis.set_major_locator(FixedLocator([0.0, *powers]))
            axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.xaxis.set_minor_locator(NullLocator())

    def _compress(self, axis: Axes) -> None:
        """A log scale where a loss rises far above its start: it would flatten all the rest."""
        heights = [np.asarray(line.get_ydata(), dtype=float) for line in axis.lines]
        curves = [ys for ys in heights if len(ys) > 2]  # levels may be 0
        if curves and max(ys.max() for ys in curves) > HIGH * min(ys[0] for ys in curves):
            axis.set_yscale("log")
            low, high = (f(f(ys[ys > 0]) for ys in curves) for f in (min, max))
            axis.set_ylim(0.7 * low, 1.5 * high)
            axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 50 * low else (1,)))
            axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.yaxis.set_minor_formatter(NullFormatter())
            below = [
                f"{line.get_label()}: {ys[0]:.1g}, below"
                for line, ys in zip(axis.lines, heights, strict=True)
                if len(ys) == 2 and ys[0] < 0.7 * low
            ]
            if below:
                self._say(axis, "\n".join(below), (0.03, 0.03), "left", "bottom", "#333333")

    def _curve(
        self, axis: Axes, config: dict[str, Any], source: Source, y: str, dataset: str, method: str
    ) -> bool:
        traces = self.collected.trace(source.experiment, dataset, method)
        if y == "suboptimality" and len(traces):
            above = traces.objective - self.lowest[source.experiment, dataset]
            traces = traces.assign(suboptimality=above.where(above > 0))  # 0 has no place on a log
        curves = bundle(traces, config.get("x", "epoch"), y) if y in traces else None
        if curves is None:
            return False
        self._line(axis, curves, self._style(method))
        return True

    def _roc(
        self, axis: Axes, config: dict[str, Any], source: Source, y: str, dataset: str, method: str
    ) -> bool:
        points = self.collected.curve(source.experiment, dataset, method)
        curves = bundle(points, "fpr", "tpr", np.linspace(0.0, 1.0, 201))
        if curves is None:
            return False
        if not axis.lines:
            low, high = self._band(source, dataset)
            axis.axvspan(low, high, color="#000000", alpha=0.07, lw=0)
            axis.set_xlim(0, 1)
            axis.set_ylim(0, 1.01)
        self._line(axis, curves, self._style(method))
        return True

    def _line(self, axis: Axes, curves: Bundle, style: Style) -> None:
        mean, deviation = curves.mean, curves.deviation
        # Within what the seeds span: a log axis has no room for a mean less its deviation below 0.
        low = np.maximum(mean - deviation, curves.values.min(axis=0))
        high = np.minimum(mean + deviation, curves.values.max(axis=0))
        axis.fill_between(curves.x, low, high, color=style.colour, alpha=0.18, lw=0)
        sns.lineplot(
            x=curves.x,
            y=mean,
            ax=axis,
            estimator=None,  # averaged above: seaborn's own way takes seconds a panel
            color=style.colour,
            linestyle=style.line,
            marker=style.marker,
            markersize=4,
            markevery=max(1, len(mean) // 8),
            markeredgecolor="white",
            markeredgewidth=0.4,
            lw=1.4,
            legend=False,
        )

    def _level(self, axis: Axes, source: Source, y: str, dataset: str, method: str) -> bool:
        """A dashed level: what a method without a comparable curve ends with."""
        traces = self.collected.trace(source.experiment, dataset, method)
        level = final_level(traces, y)
        if level != level:
            runs = self.collected.runs(source.experiment, dataset, method)
            level = float((runs.last_pauc_train if y in PAUCS else runs.last_objective).mean())
        if level != level:
            return False
        style = self._style(method)
        axis.axhline(level, color=style.colour, linestyle=style.line, lw=1.0, label=style.label)
        return True

    def _band(self, source: Source, dataset: str) -> tuple[float, float]:
        s = self.collected.summaries
        here = s[(s.experiment == source.experiment) & (s.dataset == dataset)]
        return float(here.fpr_low.iloc[0]), float(here.fpr_high.iloc[0])

    def _style(self, method: str) -> Style:
        return style_of(self.reports, method)

    def _frame(
        self,
        figure: Figure,
        name: str,
        config: dict[str, Any],
        source: Source,
        drawn: set[str],
        height: float,
    ) -> None:
        """Title, mark of whose data these are, and one legend for all panels."""
        handles = []
        for method in [*config["methods"], *config.get("lines", [])]:
            style = self._style(method)
            level = method in config.get("lines", [])
            label = style.label + (" (level)" if level else "")
            handles.append(
                Line2D(
                    [],
                    [],
                    color=style.colour,
                    linestyle=style.line,
                    marker=None if level else style.marker,
                    markersize=4,
                    lw=1.4,
                    label=label if method in drawn else f"{label}: not run",
                )
            )
        found = dict.fromkeys(
            self.collected.provenance(source.experiment, source.measured(c))
            for c in config["columns"]
        )
        known = [w for w in found if w is not None]
        seeds = self.collected.summaries
        n = seeds[seeds.experiment == source.experiment].seed.nunique()
        number = name.removeprefix("figure")
        figure.text(
            0.01, 1 - 0.08 / height, f"Figure {number}: {config['title']}", ha="left", va="top",
            fontsize=10.5, fontweight="bold",
        )  # fmt: skip
        plain = known == ["paper"]
        words = [MARK[whose] for whose in known]
        if n:
            words.append(f"bands: deviation, {n} seeds" if n > 1 else "one seed, no bands")
        figure.text(
            0.01, 1 - 0.32 / height, "; ".join(words), ha="left", va="top", fontsize=8.5,
            color="#333333" if plain else "#B00020", fontweight="normal" if plain else "bold",
        )  # fmt: skip
        room = figure.get_figwidth() / (0.075 * max(len(str(h.get_label())) for h in handles) + 0.7)
        lines = -(-len(handles) // max(1, int(room)))
        figure.legend(
            handles=handles, loc="lower center", ncols=-(-len(handles) // lines), frameon=False,
            bbox_to_anchor=(0.5, 0.0), handlelength=3.2,
        )  # fmt: skip
        figure.tight_layout(rect=(0, (0.1 + 0.19 * lines) / height, 1, 1 - 0.5 / height))


def pictures(figure: Figure) -> dict[str, bytes]:
    """PNG, PDF and SVG without dates, so that equal figures are equal bytes."""
    metadata: dict[str, dict[str, Any]] = {
        "png": {"Software": None},
        "pdf": {"CreationDate": None, "ModDate": None, "Producer": None, "Creator": None},
        "svg": {"Date": None, "Creator": None},
    }
    made = {}
    for ending, facts in metadata.items():
        buffer = io.BytesIO()
        with matplotlib.rc_context(LOOK):
            figure.savefig(buffer, format=ending, dpi=130, metadata=facts)
        made[ending] = buffer.getvalue()
    return made
