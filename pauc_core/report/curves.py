"""Curves over seeds: every seed on one common grid, then mean and deviation."""

from __future__ import annotations

import numpy as np
import pandas as pd

PAUCS = ("pauc_train", "pauc_valid", "pauc_test")


def on_grid(traces: pd.DataFrame, x: str, y: str) -> pd.DataFrame:
    """Long frame (seed, x, y): each seed of one cell at the looks of the first, interpolated.

    The grid ends where the first seed to stop ends, so that no point is a mean over fewer seeds.
    """
    known = traces.dropna(subset=[x, y])
    seeds = [part.sort_values(x) for _, part in known.groupby("seed") if len(part) > 1]
    if not seeds:
        return pd.DataFrame(columns=["seed", x, y])
    end = min(float(part[x].iloc[-1]) for part in seeds)
    looks = np.unique(seeds[0][x].to_numpy(dtype=float))
    grid = np.append(looks[looks < end], end)
    parts = [
        pd.DataFrame({
            "seed": part.seed.iloc[0],
            x: grid,
            y: np.interp(grid, part[x].to_numpy(dtype=float), part[y].to_numpy(dtype=float)),
        })
        for part in seeds
    ]  # fmt: skip
    return pd.concat(parts, ignore_index=True)


def mean_curve(long: pd.DataFrame, x: str, y: str) -> pd.DataFrame:
    """Columns x, mean, deviation of seeds on one grid; one seed has no deviation."""
    grouped = long.groupby(x)[y]
    frame = pd.DataFrame({"mean": grouped.mean(), "deviation": grouped.std(ddof=1).fillna(0.0)})
    return frame.reset_index().rename(columns={x: "x"})


def final_level(traces: pd.DataFrame, y: str) -> float:
    """What a cell's seeds end with in the mean: the last pAUC, or the lowest objective."""
    grouped = traces.dropna(subset=[y]).sort_values("step").groupby("seed")[y]
    if not grouped.ngroups:
        return float("nan")
    return float((grouped.last() if y in PAUCS else grouped.min()).mean())


def roc_on_grid(roc: pd.DataFrame, points: int = 201) -> pd.DataFrame:
    """Long frame (seed, fpr, tpr) of one cell at common false positive rates."""
    grid = np.linspace(0.0, 1.0, points)
    parts = []
    for seed, part in roc.groupby("seed"):
        part = part.sort_values(["fpr", "tpr"])
        tpr = np.interp(grid, part.fpr.to_numpy(dtype=float), part.tpr.to_numpy(dtype=float))
        parts.append(pd.DataFrame({"seed": seed, "fpr": grid, "tpr": tpr}))
    return (
        pd.concat(parts, ignore_index=True)
        if parts
        else pd.DataFrame(columns=["seed", "fpr", "tpr"])
    )
