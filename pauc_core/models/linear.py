"""A linear model over a stored array, with its scaling folded into the weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from pauc_core.solver import Part, Work

BLOCK = 2048  # rows at a time: the float64 copies of a block stay small beside the data


@dataclass(frozen=True)
class LinearModel:
    """Scores ``w . (x - center) / scale`` without ever making the scaled array."""

    center: np.ndarray
    scale: np.ndarray
    work: Work = field(default_factory=Work, compare=False, repr=False)
    kind: ClassVar[str] = "linear"

    @classmethod
    def fit_scaling(cls, part: Part, scaling: str = "standardise") -> LinearModel:
        """Learn center and scale on the training part (``standardise``) or leave both out."""
        width = part.x.shape[1]
        center, scale = np.zeros(width), np.ones(width)
        if scaling == "standardise":
            rows = np.sort(part.rows)
            blocks = [rows[i : i + BLOCK] for i in range(0, len(rows), BLOCK)]
            center = sum(part.x[b].sum(axis=0, dtype=np.float64) for b in blocks) / len(rows)
            squares = sum(np.square(part.x[b] - center).sum(axis=0) for b in blocks)
            scale = np.sqrt(squares / len(rows))
            scale[scale <= 1e-12 * np.maximum(1.0, np.abs(center))] = 1.0  # constant feature
        elif scaling != "none":
            raise ValueError(f"Scaling {scaling!r} is unknown; expected 'standardise' or 'none'.")
        return cls(center, scale)

    def start(self, rng: np.random.Generator) -> np.ndarray:
        """Zeros: the paper names no start."""
        return np.zeros(len(self.scale))

    def scores(self, iterate: np.ndarray, part: Part) -> np.ndarray:
        """Scores of the part's rows; one entry more than features is an intercept."""
        self.work.add(len(part.rows))
        iterate = np.asarray(iterate, dtype=np.float64)
        raw, intercept = iterate[: len(self.scale)] / self.scale, iterate[len(self.scale) :].sum()
        weights = raw.astype(_float_type(part.x))
        if 2 * len(part.rows) >= len(part.x):
            # One pass over the whole array costs less than gathering most of its rows.
            product = (part.x @ weights)[part.rows]
        else:
            starts = range(0, len(part.rows), BLOCK)
            product = np.concatenate(
                [part.x[part.rows[i : i + BLOCK]] @ weights for i in starts] or [np.zeros(0)]
            )
        return product.astype(np.float64) + float(intercept - self.center @ raw)

    def pull(self, part: Part, slopes: np.ndarray) -> np.ndarray:
        """Gradient with respect to the weights from slopes with respect to the part's scores."""
        self.work.add(len(part.rows))
        slopes = np.asarray(slopes, dtype=np.float64)
        kind = _float_type(part.x)
        if 2 * len(part.rows) >= len(part.x):
            full = np.zeros(len(part.x), dtype=kind)
            full[part.rows] = slopes
            product = (full @ part.x).astype(np.float64)
        else:
            product = np.zeros(part.x.shape[1])
            for i in range(0, len(part.rows), BLOCK):
                product += slopes[i : i + BLOCK].astype(kind) @ part.x[part.rows[i : i + BLOCK]]
        return (product - slopes.sum() * self.center) / self.scale


def _float_type(x: np.ndarray) -> np.dtype:
    return np.dtype(np.float32) if x.dtype == np.float32 else np.dtype(np.float64)
