"""What repeated runs say together: intervals over seeds or folds, and many tests at once."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

__all__ = ["Repeated", "folds_interval", "holm", "seeds_interval", "smallest_detectable"]


@dataclass(frozen=True)
class Repeated:
    """A mean over runs with its interval; without one it is unbounded and `doubt` says why.

    `seeds_share` and `rows_share` say how much of the variance is training's and how much the
    test rows'; they are NaN for folds, where one variance holds both.
    """

    value: float
    standard_error: float
    low: float
    high: float
    p_value: float
    df: float
    seeds_share: float
    rows_share: float
    doubt: str


def seeds_interval(
    differences: ArrayLike, row_standard_error: float, level: float = 0.95
) -> Repeated:
    """Interval of a mean over seeds that all look at the same test rows.

    Parameters
    ----------
    differences : array of shape (s,)
        One difference per seed (or another number that a seed gives).
    row_standard_error : float
        Of the seed-averaged difference over redraws of the test rows: `row_standard_error` of
        influence values averaged over seeds; 0 where no test rows are involved.
    level : float
        How often the interval should hold the true value.

    Notes
    -----
    SE^2 = rows + var(d) / s, with Student's t and Satterthwaite's degrees of freedom,
    SE^4 / ((var(d) / s)^2 / (s - 1)). One seed has no variance and gives no interval.
    """
    d = _numbers(differences, level)
    if not row_standard_error >= 0.0:
        raise ValueError(f"row_standard_error is {row_standard_error}: expected 0 or more.")
    if d.size == 1:
        return _unbounded(d, "one seed: training's share cannot be seen")
    seeds, rows = float(d.var(ddof=1)) / d.size, row_standard_error**2
    if not math.isfinite(rows):
        return _unbounded(d, "a class has a single test row or group, which shows no spread")
    if _none(seeds + rows, d):
        return _unbounded(d, "all seeds and rows are alike, which shows no spread")
    share = seeds / (seeds + rows)
    df = (d.size - 1) / share**2 if share > 1e-100 else math.inf
    return _student(d, seeds + rows, df, level, share, 1.0 - share)


def folds_interval(
    differences: ArrayLike, standard_errors: ArrayLike, level: float = 0.95
) -> Repeated:
    """Interval of a mean over folds, each with test rows of its own.

    The variance between folds already holds the rows': SE^2 = max(var(d), mean SE_k^2) / K, with
    K - 1 degrees of freedom. It is approximate, since training parts overlap.
    """
    d = _numbers(differences, level)
    errors = np.asarray(standard_errors, dtype=float)
    if errors.shape != d.shape or not (errors >= 0.0).all():
        raise ValueError(
            f"standard_errors has shape {errors.shape}: expected ({d.size},), all 0 or more."
        )
    if d.size == 1:
        return _unbounded(d, "one fold: training's share cannot be seen")
    square = max(float(d.var(ddof=1)), float((errors**2).mean())) / d.size
    if not math.isfinite(square):
        return _unbounded(d, "a class has a single test row or group, which shows no spread")
    if _none(square, d):
        return _unbounded(d, "all folds and rows are alike, which shows no spread")
    return _student(d, square, d.size - 1.0, level, math.nan, math.nan)


def holm(p_values: ArrayLike) -> np.ndarray:
    """Holm's adjusted p-values: the chance that one of several true hypotheses is rejected.

    The i-th smallest of k is multiplied by k - i + 1 and is no smaller than those before it.
    """
    p = np.asarray(p_values, dtype=float)
    if p.ndim != 1 or not ((p >= 0.0) & (p <= 1.0)).all():
        raise ValueError(f"p_values has shape {p.shape}: expected (k,), all between 0 and 1.")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(p.size)
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    return np.minimum(adjusted, 1.0)


def smallest_detectable(
    standard_error: float, df: float, level: float = 0.95, power: float = 0.8
) -> float:
    """The smallest true difference whose interval would leave 0 out with chance `power`.

    (t_((1 + level) / 2) + t_power) SE; infinite where there is no interval (df = 0).
    """
    _check_share(level, "level")
    _check_share(power, "power")
    if not df > 0.0 or not math.isfinite(standard_error):
        return math.inf
    return float(stdtrit(df, (1.0 + level) / 2.0) + stdtrit(df, power)) * standard_error


def _student(
    d: np.ndarray, square: float, df: float, level: float, seeds: float, rows: float
) -> Repeated:
    value, error = float(d.mean()), math.sqrt(square)
    reach = float(stdtrit(df, (1.0 + level) / 2.0)) * error
    p_value = 2.0 * float(stdtr(df, -abs(value) / error))
    return Repeated(value, error, value - reach, value + reach, p_value, df, seeds, rows, "")


def _none(square: float, d: np.ndarray) -> bool:
    """Whether a variance is 0, or no more than rounding makes of equal numbers."""
    return square <= (1e-12 * float(np.abs(d).max())) ** 2


def _unbounded(d: np.ndarray, doubt: str) -> Repeated:
    value, nan = float(d.mean()), math.nan
    return Repeated(value, math.inf, -math.inf, math.inf, 1.0, 0.0, nan, nan, doubt)


def _numbers(differences: ArrayLike, level: float) -> np.ndarray:
    _check_share(level, "level")
    d = np.asarray(differences, dtype=float)
    if d.ndim != 1 or not d.size or not np.isfinite(d).all():
        raise ValueError(
            f"differences has shape {d.shape}: expected finite numbers, one per run, shape (k,)."
        )
    return d


def _check_share(value: float, name: str) -> None:
    if not 0.0 < value < 1.0:
        raise ValueError(f"{name} is {value}: expected a share between 0 and 1.")
