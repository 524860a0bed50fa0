"""Surrogate losses of the score gap z = h(x+) - h(x-), each defined once for every use of it.

All are non-increasing, as equation (3) asks, and stable for gaps of any size. A definition takes
the array library it is to work with: numpy (whose scalars numba compiles) or torch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pauc_core.bands import Weights
from pauc_core.objective.hinge_sums import squared_hinge_sums

__all__ = ["LOSSES", "Formulas", "Loss", "Tail", "get_loss"]


class Formulas(NamedTuple):
    """A loss in one array library, elementwise.

    ``value`` is l(z), ``slope`` its derivative, never positive. ``gap_at`` is the gap below which
    the loss exceeds lam: l(z) > lam exactly where z < gap_at(lam). It is +inf where every pair is
    active and -inf where lam is at or above the loss's supremum.
    """

    value: Callable[[Any], Any]
    slope: Callable[[Any], Any]
    gap_at: Callable[[Any], Any]


class Tail(NamedTuple):
    """One side, far from 0: constant + linear |z| + sum over k of series(k) exp(-k|z|)."""

    constant: float
    linear: float
    series: Callable[[np.ndarray], np.ndarray]


Sums = Callable[[np.ndarray, np.ndarray, Weights, Weights], tuple[float, np.ndarray, np.ndarray]]


@dataclass(frozen=True, eq=False)
class Loss:
    """A surrogate loss l of equation (3); a new one is one entry of `LOSSES`.

    Attributes
    ----------
    name : str
        The name that configuration files and `get_loss` use.
    define : callable
        From an array library and its ``where`` to the loss's `Formulas` in it.
    of_sigma : pair of floats, optional
        (a, b) where -l'(z) = a s + b s^2 with s = sigma(-z): the inner loop's fast path.
    tails : pair of Tail, optional
        The sides z > 0 and z < 0, for near-linear sums over all pairs.
    sums : callable, optional
        Instead of tails: from p, q and their weights, or None, to the sum of a_i b_j l(p_i - q_j)
        and its derivatives by p and q.
    """

    name: str
    define: Callable[[Any, Any], Formulas]
    of_sigma: tuple[float, float] | None = None
    tails: tuple[Tail, Tail] | None = None
    sums: Sums | None = None

    def formulas(self, xp: Any) -> Formulas:
        """The loss in numpy or torch."""
        return self.define(xp, xp.where)

    @cached_property
    def _numpy(self) -> Formulas:
        return self.formulas(np)

    def value(self, z: ArrayLike) -> np.ndarray:
        """l(z), elementwise."""
        return self._numpy.value(_floating(z))

    def slope(self, z: ArrayLike) -> np.ndarray:
        """The derivative l'(z), elementwise, never positive."""
        return self._numpy.slope(_floating(z))

    def gap_at(self, lam: ArrayLike) -> np.ndarray:
        """The gap below which the loss exceeds lam."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self._numpy.gap_at(_floating(lam))


def _floating(values: ArrayLike) -> np.ndarray:
    array = np.asarray(values)
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def _logistic(xp: Any, where: Any) -> Formulas:
    """l(z) = log(1 + exp(-z)), the paper's."""

    # exp of a non-positive number only: no overflow, and no loss of the small tail.
    def value(z: Any) -> Any:
        return where(z < 0, -z, 0.0) + xp.log1p(xp.exp(-xp.abs(z)))

    def slope(z: Any) -> Any:
        small = xp.exp(-xp.abs(z))
        return -where(z > 0, small, 1.0) / (1.0 + small)

    def gap_at(lam: Any) -> Any:
        return where(lam <= 0, xp.inf, -(lam + xp.log(-xp.expm1(-lam))))

    return Formulas(value, slope, gap_at)


def _sigmoid(xp: Any, where: Any) -> Formulas:
    """l(z) = sigma(-z): bounded, so that a lost pair stops pulling."""

    def value(z: Any) -> Any:
        small = xp.exp(-xp.abs(z))
        return where(z > 0, small, 1.0) / (1.0 + small)

    def slope(z: Any) -> Any:
        small = xp.exp(-xp.abs(z))
        return -small / (1.0 + small) ** 2

    def gap_at(lam: Any) -> Any:
        inside = where(lam < 1, xp.log1p(-lam) - xp.log(lam), -xp.inf)
        return where(lam <= 0, xp.inf, inside)

    return Formulas(value, slope, gap_at)


def _squared_hinge(xp: Any, where: Any) -> Formulas:
    """l(z) = max(1 - z, 0)^2."""

    def value(z: Any) -> Any:
        return where(z < 1, 1.0 - z, 0.0) ** 2

    def slope(z: Any) -> Any:
        return -2.0 * where(z < 1, 1.0 - z, 0.0)

    def gap_at(lam: Any) -> Any:
        # At lam = 0 a pair beyond the margin has loss 0, not above lam, so it is not active.
        return where(lam < 0, xp.inf, 1.0 - xp.sqrt(xp.abs(lam)))

    return Formulas(value, slope, gap_at)


def _alternating(k: np.ndarray) -> np.ndarray:
    return -((-1.0) ** k)


LOSSES: dict[str, Loss] = {
    loss.name: loss
    for loss in (
        Loss(
            "logistic",
            _logistic,
            of_sigma=(1.0, 0.0),
            # log(1 + exp(-z)) = sum (-1)^(k+1) exp(-kz) / k for z > 0, and l(z) = -z + l(-z)
            tails=(
                Tail(0.0, 0.0, lambda k: _alternating(k) / k),
                Tail(0.0, 1.0, lambda k: _alternating(k) / k),
            ),
        ),
        Loss(
            "sigmoid",
            _sigmoid,
            of_sigma=(1.0, -1.0),
            # sigma(-z) = sum (-1)^(k+1) exp(-kz) for z > 0, and l(z) = 1 - l(-z)
            tails=(
                Tail(0.0, 0.0, lambda k: _alternating(k)),
                Tail(1.0, 0.0, lambda k: -_alternating(k)),
            ),
        ),
        Loss("squared_hinge", _squared_hinge, sums=squared_hinge_sums),
    )
}


def get_loss(name: str | Loss) -> Loss:
    """Look a loss up by name; a `Loss` is handed back as it is."""
    if isinstance(name, Loss):
        return name
    if name not in LOSSES:
        raise ValueError(f"Unknown loss {name!r}: choose one of {', '.join(LOSSES)}.")
    return LOSSES[name]
