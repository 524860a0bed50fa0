"""A file with the ROC curves of one or more rankings of the same rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from pauc_core.files import atomic_path
from pauc_core.metrics import roc_curve_points
from pauc_core.own_data.plots import COLOURS, plot_band


def draw_rocs(
    path: Path, positive: np.ndarray, curves: dict[str, np.ndarray], band: tuple[float, float]
) -> None:
    """Write a PNG: one curve with its pAUC, or several under their names; the band is shaded."""
    figure = Figure(figsize=(5, 5), dpi=120, layout="constrained")
    axes = figure.subplots()
    if len(curves) == 1:
        plot_band(positive, next(iter(curves.values())), band, ax=axes)
    else:
        axes.axvspan(*band, color="0.9", label=f"band [{band[0]:g}, {band[1]:g}]")
        axes.plot([0, 1], [0, 1], color="0.6", linewidth=0.8, linestyle="--")
        for colour, (name, scores) in zip(COLOURS, curves.items(), strict=False):
            axes.plot(*roc_curve_points(positive, scores)[:2], color=colour, label=name)
        axes.set(xlabel="false positive rate", ylabel="true positive rate", aspect="equal")
        axes.set(xlim=(0, 1), ylim=(0, 1.005))
        axes.legend(loc="lower right", frameon=False)
    with atomic_path(path) as draft:
        figure.savefig(draft, format="png")
