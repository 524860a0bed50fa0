"""The examples run and show what they say."""

from __future__ import annotations

import runpy
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def test_screening_beats_logistic_regression_in_the_band(tmp_path: Path):
    picture = tmp_path / "screening.png"
    areas = runpy.run_path(str(EXAMPLES / "screening.py"))["main"](str(picture))
    assert areas["partial AUC"] > areas["logistic regression"] + 0.05
    assert picture.read_bytes()[:4] == b"\x89PNG"


def test_a_small_network_learns_the_rings():
    areas = runpy.run_path(str(EXAMPLES / "small_network.py"))["main"]()
    assert areas["after"] > max(areas["before"], 0.5) + 0.2


def test_the_promised_alarm_rate_is_seen_on_later_payments():
    found = runpy.run_path(str(EXAMPLES / "fraud.py"))["main"]()
    assert found["pauc"] > 0.3
    assert 0 < found["seen"] <= found["promised"]


def test_a_refitted_head_gains_in_the_band():
    areas = runpy.run_path(str(EXAMPLES / "refit_head.py"))["main"]()
    assert areas["after"] > areas["before"] + 0.02
    assert areas["p"] < 0.01
