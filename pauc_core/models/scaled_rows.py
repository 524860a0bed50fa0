"""Standardised rows of a dense or sparse array that are never made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

BLOCK = 8192  # rows of a dense array that are moved at a time
SAME = 1e-13  # deviation over mean at which a column's rounding is all that is left of it
FAR = 1e3  # mean over deviation beyond which products in single precision lose the column


@dataclass(frozen=True)
class ScaledRows:
    """Rows ``(x - center) / scale`` of a dense or CSR array: both are folded into the weights.

    A constant column has an infinite scale, so that it weighs nothing.
    """

    x: Any
    center: np.ndarray
    scale: np.ndarray

    @classmethod
    def fit(
        cls, x: Any, names: Sequence[str] | None = None, weights: np.ndarray | None = None
    ) -> ScaledRows:
        """Learn center and scale in two passes; ``names`` are for the sentence of an error."""
        with np.errstate(over="ignore", invalid="ignore"):
            center, variance, moved = _moments(x, weights)
        bad = ~np.isfinite(variance) | ((variance == 0.0) & moved)
        if bad.any():
            place = int(np.argmax(bad))
            which = f"number {place + 1}" if names is None else repr(str(names[place]))
            size = "small" if np.isfinite(variance[place]) else "large"
            raise ValueError(
                f"The column {which} holds numbers too {size} to be squared: expected deviations "
                "between 1e-150 and 1e150; rescale the column."
            )
        scale = np.sqrt(variance)
        scale[scale <= SAME * np.abs(center)] = np.inf
        if x.dtype == np.float32 and (np.abs(center) > FAR * scale).any():
            x = x.astype(np.float64)
        return cls(x, center, scale)

    @property
    def width(self) -> int:
        return len(self.scale)

    def scores(self, w: np.ndarray) -> np.ndarray:
        coef, offset = self.unscaled(w)
        product = np.asarray(self.x @ coef.astype(self.x.dtype, copy=False), dtype=np.float64)
        product += offset
        return product

    def pull(self, slopes: np.ndarray) -> np.ndarray:
        """Gradient by the weights from slopes by the scores."""
        product = self.x.T @ slopes.astype(self.x.dtype, copy=False)
        return (np.asarray(product, dtype=np.float64) - slopes.sum() * self.center) / self.scale

    def unscaled(self, w: np.ndarray) -> tuple[np.ndarray, float]:
        """Weights and offset for rows as they came."""
        coef = w / self.scale
        return coef, -float(self.center @ coef)


def exact_product(x: Any, coef: np.ndarray) -> np.ndarray:
    """``x @ coef`` in double precision, also for rows in single precision."""
    if x.dtype == np.float64 or sp.issparse(x):
        return np.asarray(x.astype(np.float64, copy=False) @ coef)
    blocks = [x[i : i + BLOCK].astype(np.float64) @ coef for i in range(0, len(x), BLOCK)]
    return np.concatenate(blocks)


def _moments(x: Any, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean and variance of each column, and whether it has two different values.

    Sums are of differences, first from one of the column's own values and then from the mean:
    exact for a constant column, and a large mean costs the variance nothing.
    """
    size, width = x.shape
    mass = float(size if weights is None else weights.sum())
    if sp.issparse(x):
        full = np.bincount(x.indices, minlength=width) == size
        value = np.zeros(width)
        value[x.indices] = x.data
        shift = np.where(full, value, 0.0)
        of_entry = None if weights is None else np.repeat(weights, np.diff(x.indptr))

        def sums(values: np.ndarray) -> np.ndarray:
            weighted = values if of_entry is None else values * of_entry
            return np.bincount(x.indices, weights=weighted, minlength=width)

        from_shift = x.data - shift[x.indices]
        center = shift + sums(from_shift) / mass
        squares = sums((x.data - center[x.indices]) ** 2)
        squares += (mass - sums(np.ones(len(x.data)))) * center**2
        return center, squares / mass, sums(from_shift != 0) > 0
    shift = x[0].astype(np.float64)
    total, squares, moved = np.zeros(width), np.zeros(width), np.zeros(width, dtype=bool)

    def added(values: np.ndarray, start: int) -> np.ndarray:
        return values.sum(axis=0) if weights is None else weights[start : start + BLOCK] @ values

    for i in range(0, size, BLOCK):
        differences = x[i : i + BLOCK] - shift
        total += added(differences, i)
        moved |= (differences != 0).any(axis=0)
    center = shift + total / mass
    for i in range(0, size, BLOCK):
        squares += added(np.square(x[i : i + BLOCK] - center), i)
    return center, squares / mass, moved
