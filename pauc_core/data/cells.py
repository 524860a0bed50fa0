"""Cells of a table as numbers."""

from __future__ import annotations

import math
import sys

import numpy as np
import pandas as pd


def as_floats(values: np.ndarray) -> np.ndarray:
    """Cells as numbers, NaN for what is none."""
    if values.dtype == object:
        # pandas hands a whole number of hundreds of digits on as Python's own; no float holds it.
        large = sys.float_info.max
        values = np.array(
            [
                (math.inf if value > 0 else -math.inf)
                if isinstance(value, int) and abs(value) > large
                else value
                for value in values
            ],
            dtype=object,
        )
    return np.asarray(pd.to_numeric(pd.Series(values), errors="coerce"), dtype=np.float64)
