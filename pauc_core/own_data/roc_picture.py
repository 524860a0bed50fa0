"""A file with the ROC curves of one or more rankings of the same rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from pauc_core.files import atomic_path
from pauc_core.metrics import roc_curve_points
from pauc_core.own_data.plots import COLOURS


def draw_rocs(
    path: Path,
    positive: np.ndarray,
    curves: dict[str, np.ndarray],
    band: dict[str, float],
    weights: np.ndarray | None = None,
) -> None:
    """Write a PNG: the curves under their names, and the band shaded on the axis that it is of."""
    figure = Figure(figsize=(5, 5), dpi=120, layout="constrained")
    axes = figure.subplots()
    low, high = band.values()
    across, what = (axes.axvspan, "FPR") if "fpr_low" in band else (axes.axhspan, "TPR")
    across(low, high, color="0.9", label=f"{what} in [{low:g}, {high:g}]")
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=0.8, linestyle="--")
    for colour, (name, scores) in zip(COLOURS, curves.items(), strict=False):
        fpr, tpr, _ = roc_curve_points(positive, scores, sample_weight=weights)
        axes.plot(fpr, tpr, color=colour, linewidth=1.2, label=name)
    axes.set(xlabel="false positive rate", ylabel="true positive rate", aspect="equal")
    axes.set(xlim=(0, 1), ylim=(0, 1.005))
    axes.legend(loc="lower right", frameon=False)
    with atomic_path(path) as draft:
        figure.savefig(draft, format="png")
