"""Surrogate losses of the score gap z = h(x+) - h(x-): value, slope, and the gap of a given value.

All three are non-increasing, as equation (3) asks, and stable for gaps of any size.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["LOSSES", "Loss", "get_loss"]


@dataclass(frozen=True)
class Loss:
    """A surrogate loss l of equation (3).

    Attributes
    ----------
    name : str
        The name that configuration files and `get_loss` use.
    value : callable
        l(z), elementwise.
    slope : callable
        The derivative l'(z), elementwise, never positive.
    gap_at : callable
        The gap below which the loss exceeds lam: l(z) > lam exactly where z < gap_at(lam). It is
        +inf where every pair is active and -inf where lam is at or above the loss's supremum.
    """

    name: str
    value: Callable[[ArrayLike], np.ndarray]
    slope: Callable[[ArrayLike], np.ndarray]
    gap_at: Callable[[ArrayLike], np.ndarray]


def _floating(values: ArrayLike) -> np.ndarray:
    array = np.asarray(values)
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def _expit(values: np.ndarray) -> np.ndarray:
    # exp of a non-positive number only: no overflow, and no loss of the small tail.
    small = np.exp(-np.abs(values))
    return np.where(values >= 0, 1.0, small) / (1.0 + small)


def _logistic_value(z: ArrayLike) -> np.ndarray:
    z = _floating(z)
    return np.maximum(-z, 0.0) + np.log1p(np.exp(-np.abs(z)))


def _logistic_slope(z: ArrayLike) -> np.ndarray:
    return -_expit(-_floating(z))


def _logistic_gap(lam: ArrayLike) -> np.ndarray:
    lam = _floating(lam)
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = -(lam + np.log(-np.expm1(-lam)))
    return np.where(lam <= 0, np.inf, gap)


def _sigmoid_value(z: ArrayLike) -> np.ndarray:
    return _expit(-_floating(z))


def _sigmoid_slope(z: ArrayLike) -> np.ndarray:
    small = np.exp(-np.abs(_floating(z)))
    return -small / (1.0 + small) ** 2


def _sigmoid_gap(lam: ArrayLike) -> np.ndarray:
    lam = _floating(lam)
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = np.log1p(-lam) - np.log(lam)
    return np.where(lam <= 0, np.inf, np.where(lam >= 1, -np.inf, gap))


def _squared_hinge_value(z: ArrayLike) -> np.ndarray:
    return np.maximum(1.0 - _floating(z), 0.0) ** 2


def _squared_hinge_slope(z: ArrayLike) -> np.ndarray:
    return -2.0 * np.maximum(1.0 - _floating(z), 0.0)


def _squared_hinge_gap(lam: ArrayLike) -> np.ndarray:
    # At lam = 0 a pair beyond the margin has loss 0, not above lam, so it is not active.
    lam = _floating(lam)
    return np.where(lam < 0, np.inf, 1.0 - np.sqrt(np.maximum(lam, 0.0)))


LOSSES: dict[str, Loss] = {
    "logistic": Loss("logistic", _logistic_value, _logistic_slope, _logistic_gap),
    "sigmoid": Loss("sigmoid", _sigmoid_value, _sigmoid_slope, _sigmoid_gap),
    "squared_hinge": Loss(
        "squared_hinge", _squared_hinge_value, _squared_hinge_slope, _squared_hinge_gap
    ),
}


def get_loss(name: str | Loss) -> Loss:
    """Look a loss up by name; a `Loss` is handed back as it is."""
    if isinstance(name, Loss):
        return name
    if name not in LOSSES:
        raise ValueError(f"Unknown loss {name!r}: choose one of {', '.join(LOSSES)}.")
    return LOSSES[name]
