"""What a setting may be; a wrong one is one sentence: its name, what came, what is expected."""

from __future__ import annotations

from collections.abc import Collection
from numbers import Integral, Real

from pauc_core.bands import fpr_band

USUAL = (0.05, 0.5)  # the band of false positive rates that is meant where nothing is said


def check_number(
    name: str, value: object, low: float, high: float = float("inf"), *, ends: str = "[]"
) -> None:
    """Refuse what is no number from ``low`` to ``high``; ``ends`` says which end is in."""
    expected = f"a number in {ends[0]}{low:g}, {high:g}{ends[1]}"
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}: expected {expected}.")
    number = float(value)
    above = number >= low if ends[0] == "[" else number > low
    below = number <= high if ends[1] == "]" else number < high
    if not (above and below):
        raise ValueError(f"{name} is {value!r}: expected {expected}.")


def check_count(name: str, value: object) -> None:
    """Refuse what is no whole number of at least 1."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}: expected a whole number of at least 1.")
    if value < 1:
        raise ValueError(f"{name} is {value!r}: expected a whole number of at least 1.")


def check_choice(name: str, value: object, known: Collection[str]) -> None:
    """Refuse what is none of the known words."""
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name} is {value!r}: expected one of {', '.join(sorted(known))}.")


def named_rates(
    fpr_low: float, fpr_high: float, tpr_low: float | None, tpr_high: float | None
) -> dict[str, float]:
    """The band as the metric takes it: true positive rates where they are given."""
    if tpr_low is None and tpr_high is None:
        fpr_band(fpr_low, fpr_high)
        return {"fpr_low": fpr_low, "fpr_high": fpr_high}
    if (fpr_low, fpr_high) == USUAL:
        fpr_low, fpr_high = 0.0, 1.0
    fpr_band(fpr_low, fpr_high, tpr_low, tpr_high)
    return {
        "tpr_low": 0.0 if tpr_low is None else tpr_low,
        "tpr_high": 1.0 if tpr_high is None else tpr_high,
    }
