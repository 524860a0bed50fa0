"""Pictures of a classifier's path and of a ROC curve with its band, on matplotlib axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from pauc_core.intervals import pauc_interval
from pauc_core.metrics import positive_mask, roc_curve_points

COLOURS = ("#0072b2", "#d55e00", "#009e73")


def draw_path(path: dict[str, np.ndarray], chosen: int, ax: Any = None) -> Any:
    """Held-out pAUC by penalty with its standard error; logistic regression as level lines."""
    ax = _axes(ax)
    kinds = list(dict.fromkeys(path["loss"].tolist()))
    curves = [kind for kind in kinds if not np.isnan(path["penalty"][path["loss"] == kind]).any()]
    for kind in kinds:
        mine = path["loss"] == kind
        if kind in curves:
            ax.errorbar(
                path["penalty"][mine],
                path["pauc"][mine],
                yerr=path["standard_error"][mine],
                color=COLOURS[curves.index(kind) % len(COLOURS)],
                marker="o",
                markersize=3,
                capsize=2,
                label=kind,
            )
        else:
            dashes = "--" if len(kind.split()) == 2 else ":"
            ax.axhline(path["pauc"][mine][0], color="0.4", linestyle=dashes, label=kind)
    level, penalty = path["pauc"][chosen], path["penalty"][chosen]
    if np.isnan(penalty):
        ax.axhline(level, color="black", linewidth=2.5, alpha=0.4, label="chosen")
    else:
        ax.plot([penalty], [level], "o", markersize=11, fillstyle="none", color="black",
                label="chosen")  # fmt: skip
    if curves:
        ax.set_xscale("log")
    ax.set(xlabel="penalty", ylabel="held-out pAUC")
    ax.legend(frameon=False)
    return ax


def plot_band(
    y_true: Any, scores: Any, band: tuple[float, float], *, ax: Any = None, pos_label: object = None
) -> Any:
    """Draw the ROC curve, shade the band, and print its pAUC with the 95 % interval.

    Parameters
    ----------
    y_true, scores, pos_label
        As for `pauc`.
    band : (fpr_low, fpr_high)
    ax : matplotlib axes, optional

    Returns
    -------
    The axes.
    """
    ax = _axes(ax)
    low, high = band
    positive = positive_mask(y_true, pos_label=pos_label)
    values = np.asarray(scores, dtype=np.float64)
    found = pauc_interval(positive, values, fpr_low=low, fpr_high=high)
    fpr, tpr = roc_curve_points(positive, values)[:2]
    ends = np.interp([low, high], fpr, tpr)
    inside = (fpr > low) & (fpr < high)
    x, y = (np.concatenate([a[:1], b[inside], a[1:]]) for a, b in ((band, fpr), (ends, tpr)))
    ax.fill_between(
        x, 0.0, y, color=COLOURS[0], alpha=0.25, linewidth=0,
        label=f"pAUC {found.value:.3f} ({found.low:.3f} to {found.high:.3f})",
    )  # fmt: skip
    ax.plot(fpr, tpr, color="black", linewidth=1.2)
    ax.plot([0, 1], [0, 1], color="0.6", linewidth=0.8, linestyle="--")
    ax.set(xlabel="false positive rate", ylabel="true positive rate", aspect="equal")
    ax.set(xlim=(0, 1), ylim=(0, 1.005), title=f"band [{low:g}, {high:g}]")
    ax.legend(loc="lower right", frameon=False)
    return ax


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "Drawing needs the package matplotlib: pip install matplotlib.", name="matplotlib"
        ) from error
    return pyplot.subplots(layout="constrained")[1]
