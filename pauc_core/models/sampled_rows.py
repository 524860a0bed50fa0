"""A linear model on a few rows, compiled: they are read where they lie, none is copied."""

from __future__ import annotations

import numpy as np
from numba import njit

from pauc_core.models.linear import LinearModel, _float_type
from pauc_core.solver import Part

# Sums may be reordered; infinities and NaN must keep their meaning, so no full fastmath.
FAST = {"reassoc", "contract", "nsz"}


class SampledRows:
    """Some rows of a part's stored array; like the model, scores and gradients count as work."""

    def __init__(self, model: LinearModel, part: Part, rows: np.ndarray) -> None:
        self.model, self.rows = model, np.asarray(rows, dtype=np.int64)
        self.x = np.asarray(part.x).view()
        self.x.flags.writeable = False  # memory-mapped or not: one compiled version a number type
        self.kind = _float_type(part.x)

    def scores(self, w: np.ndarray) -> np.ndarray:
        """``w . (x - center) / scale`` of each row; an entry more than features is an intercept."""
        self.model.work.add(len(self.rows))
        folded = np.empty(len(self.model.scale), dtype=self.kind)
        return _scores(self.x, self.rows, w, self.model.center, self.model.scale, folded)

    def pull(self, slopes: np.ndarray, width: int) -> np.ndarray:
        """Gradient with respect to ``width`` weights from slopes with respect to the scores."""
        self.model.work.add(len(self.rows))
        pulled = np.zeros(len(self.model.scale), dtype=self.kind)
        center, scale = self.model.center, self.model.scale
        return _pull(self.x, self.rows, slopes, center, scale, pulled, width)


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _scores(
    x: np.ndarray,
    rows: np.ndarray,
    w: np.ndarray,
    center: np.ndarray,
    scale: np.ndarray,
    folded: np.ndarray,
) -> np.ndarray:
    offset = w[len(scale)] if len(w) > len(scale) else 0.0
    for f in range(len(scale)):
        raw = w[f] / scale[f]
        offset -= raw * center[f]
        folded[f] = raw
    out = np.empty(len(rows))
    for k in range(len(rows)):
        row, total = rows[k], folded.dtype.type(0)
        for f in range(len(folded)):
            total += x[row, f] * folded[f]
        out[k] = total + offset
    return out


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _pull(
    x: np.ndarray,
    rows: np.ndarray,
    slopes: np.ndarray,
    center: np.ndarray,
    scale: np.ndarray,
    pulled: np.ndarray,
    width: int,
) -> np.ndarray:
    for k in range(len(rows) - 1, -1, -1):  # last rows first: those are still in cache
        row, slope = rows[k], pulled.dtype.type(slopes[k])
        for f in range(len(pulled)):
            pulled[f] += slope * x[row, f]
    total, out = slopes.sum(), np.empty(width)
    for f in range(len(scale)):
        out[f] = (pulled[f] - total * center[f]) / scale[f]
    out[len(scale) :] = total
    return out
