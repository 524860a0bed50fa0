"""Schedules over the outer steps k = 0, 1, ..: numbers that print as their formula."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Quadratic:
    """T_k = C (k+1)^2 inner iterations in outer step k."""

    factor: int

    def __post_init__(self) -> None:
        if self.factor < 1:
            raise ValueError(f"C of T_k = C (k+1)^2 is {self.factor}; expected at least 1.")

    def __call__(self, k: int) -> int:
        return self.factor * (k + 1) ** 2

    def __str__(self) -> str:
        return f"{self.factor} (k+1)^2"


@dataclass(frozen=True)
class Harmonic:
    """Step sizes c / (k+1), the same for all inner iterations of outer step k."""

    factor: float

    def __post_init__(self) -> None:
        if not self.factor > 0:
            raise ValueError(f"c of the step size c/(k+1) is {self.factor}; expected above 0.")

    def __call__(self, k: int) -> float:
        return self.factor / (k + 1)

    def __str__(self) -> str:
        return f"{self.factor:g}/(k+1)"
