"""What a setting may be; a wrong one is one sentence: its name, what came, what is expected."""

from __future__ import annotations

from collections.abc import Collection
from numbers import Integral, Real


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
