"""Curves over seeds: every seed on one common grid, then mean and deviation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

PAUCS = ("pauc_train", "pauc_valid", "pauc_test")


@dataclass(frozen=True)
class Bundle:
    """The curves of a method's seeds on one grid; ``values`` has a row a seed."""

    seeds: np.ndarray
    x: np.ndarray
    values: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        return np.asarray(self.values.mean(axis=0))

    @property
    def deviation(self) -> np.ndarray:
        """Standard deviation over seeds; one seed has none."""
        if len(self.seeds) < 2:
            return np.zeros(len(self.x))
        return np.asarray(self.values.std(axis=0, ddof=1))


def bundle(frame: pd.DataFrame, x: str, y: str, grid: np.ndarray | None = None) -> Bundle | None:
    """Each seed at common places, interpolated; None where nothing was measured.

    Without a grid the places are the looks of the first seed, up to where the first seed to stop
    ends, so that no point is a mean over fewer seeds.
    """
    seed = frame["seed"].to_numpy()
    xs, ys = (frame[name].to_numpy(dtype=float, na_value=np.nan) for name in (x, y))
    known = np.isfinite(xs) & np.isfinite(ys)
    parts: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    for value in np.unique(seed[known]):
        here = known & (seed == value)
        order = np.argsort(xs[here], kind="stable")
        if len(order) > 1:
            parts[value] = xs[here][order], ys[here][order]
    if not parts:
        return None
    if grid is None:
        end = min(places[-1] for places, _ in parts.values())
        looks = np.unique(next(iter(parts.values()))[0])
        grid = np.append(looks[looks < end], end)
    values = np.stack([np.interp(grid, places, heights) for places, heights in parts.values()])
    return Bundle(np.array(list(parts)), grid, values)


def final_level(traces: pd.DataFrame, y: str) -> float:
    """What a method's seeds end with in the mean: the last pAUC, or the lowest objective."""
    curves = bundle(traces, "step", y)
    if curves is None:
        return float("nan")
    ends = curves.values[:, -1] if y in PAUCS else curves.values.min(axis=1)
    return float(ends.mean())


def lowest(traces: pd.DataFrame) -> pd.Series:
    """The lowest objective that any method or seed has seen, by experiment and dataset."""
    return traces.groupby(["experiment", "dataset"]).objective.min().dropna()
