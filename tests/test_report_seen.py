"""What the page says first: sentences written from cells, and a forest plot in percent."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest

from pauc_core.report import seen
from pauc_core.report.headlines import answer, headline, overall
from pauc_core.report.layout import Cell, Row, Table
from pauc_core.report.strips import Scale, scale_of, strip


def cell(mean: float, *, best: bool = False, above: bool = False) -> Cell:
    return Cell(f"{mean:.2f}", mean, n=3, best=best, above=above)


def grid(*rows: Row, columns: int = 2) -> Table:
    return Table("t", "T", "Method", [f"D{i}" for i in range(columns)], list(rows))


def test_who_is_highest_how_often() -> None:
    table = grid(
        Row("Linear", "SVM", "measured", [cell(0.5, best=True), cell(0.4)]),
        Row("Linear", "SVM", "paper", [cell(0.9, best=True), cell(0.9, best=True)]),
        Row("Linear", "AGD-SBCD", "measured", [cell(0.4), cell(0.6, best=True)]),
        Row("Linear", "L-BFGS", "measured", [cell(0.7, above=True), cell(0.1)], extra=True),
    )
    assert seen.seen(table, "grid") == (
        "Highest of the paper's methods: SVM on 1, AGD-SBCD on 1 of 2; "
        "a method outside the paper is above on 1."
    )


def test_two_blocks_are_told_apart_and_a_column_that_was_not_run_is_no_task() -> None:
    idle = Cell("not run")
    table = grid(
        Row("Linear", "A", "measured", [cell(0.5, best=True), idle]),
        Row("Linear", "B", "measured", [cell(0.4), idle]),
        Row("Deep", "C", "measured", [idle, idle]),
        Row("Deep", "D", "measured", [cell(0.2, best=True), cell(0.3, best=True)]),
        Row("Deep", "E", "measured", [cell(0.1), cell(0.1)]),
    )
    assert seen.seen(table, "grid") == (
        "Linear: highest of the paper's methods: A on 1 of 1. "
        "Deep: highest of the paper's methods: D on 2 of 2."
    )
    assert seen.seen(grid(Row("", "A", "measured", [idle, idle])), "grid") == ""


def test_passing_the_rival_and_counts() -> None:
    columns = ["SVM: pAUC", "AGD-SBCD: CPU s (epoch) to exceed"]
    rows = [
        Row("", "D1", "measured", [cell(0.5), cell(0.25)]),
        Row("", "D1", "paper", [cell(0.5), cell(9.0)]),
        Row("", "D2", "measured", [cell(0.5), Cell("never")]),
        Row("", "D3", "measured", [Cell("not run"), Cell("not run")]),
    ]
    told = seen.seen(Table("t", "T", "Task", columns, rows), "exceed")
    expected = "AGD-SBCD passes the SVM's training pAUC on 1 of 2 lines, after 0.25 to 0.25 CPU s."
    assert told == expected
    counts = grid(
        Row("", "a9a", "measured", [cell(10), cell(3)]),
        Row("", "a9a", "paper", [cell(10), cell(4)]),
    )
    assert seen.seen(counts, "statistics") == "1 of 2 counts are those of the paper."


def whole(claim: str, regime: str, verdict: str) -> dict[str, Any]:
    return {
        "claim": claim, "kind": "claim", "regime": regime, "verdict": verdict, "scope": "all",
        "chosen_by": "validation", "check": False, "tally": "one task",
    }  # fmt: skip


def test_all_claims_in_one_sentence() -> None:
    rows = [
        whole("a", "other data", "supported"),
        whole("a", "generated data", "not run"),
        whole("b", "other data", "supported"),
        whole("b", "generated data", "contradicted"),
        {**whole("c", "other data", "answered"), "kind": "question"},
    ]
    told = overall(rows)
    assert told.startswith("1 of 2 claims is supported on every kind of data")
    assert "of 3 verdicts" in told
    assert "2 supported, 1 contradicted, 0 undecided" in told
    assert overall(rows[2:]).startswith("None of the claims is supported")
    assert answer(rows[2:4]) == "Supported on other data; contradicted on generated data."
    assert answer([{**rows[4], "note": "moves by 0.1"}]) == "On other data it moves by 0.1."
    check = {**whole("b", "other data", "undecided"), "check": True, "chosen_by": "objective"}
    assert overall([*rows, check]) == told
    assert answer([*rows[2:4], check]) == answer(rows[2:4])
    assert headline([*rows[2:4], check]) == (
        "Supported on other data (one task); contradicted on generated data (one task). "
        "With values by objective instead: undecided on other data (one task)."
    )


def part(**values: Any) -> dict[str, Any]:
    known = {"scope": "D1", "rival": "SVM", "verdict": "supported", "unit": "ratio", "limit": 8.8}
    return {
        **known, "value": 20.0, "low": 10.0, "high": 40.0, "paper_value": None, **values
    }  # fmt: skip


@pytest.mark.parametrize(("unit", "limit"), [("epochs", 1.0), ("ratio", 8.8), ("share", 0.12)])
def test_right_of_the_limit_speaks_for_the_claim(unit: str, limit: float) -> None:
    scale = Scale(limit / 10, limit * 10, unit)
    good = limit / 2 if unit == "epochs" else limit * 2
    assert scale.at(good) > scale.at(limit) > 0
    assert scale.at(math.inf) == (0 if unit == "epochs" else 100)
    assert all(4 <= tick["at"] <= 96 for tick in scale.ticks)
    assert 2 <= len(scale.ticks) <= 7


def test_a_strip_has_a_line_a_task_and_no_interval_where_one_seed_has_none() -> None:
    rows = [
        part(),
        part(scope="D2", low=-math.inf, high=math.inf, verdict="undecided"),
        part(scope="D3", verdict="not run", value=None, low=None, high=None),
    ]
    frame = pd.DataFrame(rows).astype({"value": float, "low": float, "high": float})
    scale = scale_of(frame)
    assert scale is not None
    drawn = strip(scale, rows)
    first, second = drawn["lines"]
    low, high = first["ends"]
    assert low < first["at"] < high
    assert second["ends"] == []
    assert second["y"] > first["y"]
    assert first["words"] == "D1 against SVM: 20 (10 to 40), supported"
    assert second["y"] < drawn["height"]


def test_a_claim_of_which_nothing_ran_has_no_scale() -> None:
    frame = pd.DataFrame([part(value=math.nan, low=math.nan, high=math.nan, paper_value=1.0)])
    assert scale_of(frame) is None
