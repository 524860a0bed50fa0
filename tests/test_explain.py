"""A number run again agrees, differs by another machine's rounding, or says how far off it is."""

from __future__ import annotations

import math

import pytest

from pauc_core.suite.explain import compared


@pytest.mark.parametrize(
    ("old", "new", "agrees", "words"),
    [
        (0.75, 0.75, True, "as recorded"),
        (0.75, 0.75 + 5e-10, True, "as recorded but for 5e-10"),
        (0.75, 0.7509, True, "as recorded but for 0.0009"),
        (0.75, 0.76, False, "recorded: 0.75, 0.01 away (expected within 0.001)"),
        (None, None, True, "as recorded"),
        (math.nan, math.nan, True, "as recorded"),
        (0.75, None, False, "recorded: 0.75"),
        (0.75, math.nan, False, "recorded: 0.75"),
        (None, 0.75, False, "recorded: None"),
    ],
)
def test_a_number_run_again(old, new, agrees, words):
    found, said = compared(old, new, "linear")
    assert found == agrees
    assert said.startswith(words)
