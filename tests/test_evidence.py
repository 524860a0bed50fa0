"""What is kept of test rows and seeds, and the differences that follow from it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pauc_core.data.errors import DataError
from pauc_core.influence import influence, row_standard_error
from pauc_core.intervals import compare_pauc
from pauc_core.metrics import pauc
from pauc_core.repeats import folds_interval, seeds_interval
from pauc_core.suite.evidence import (
    FOLDS,
    SEEDS,
    SeedResult,
    compare,
    pairwise,
    read_records,
    record,
    write_records,
)

BAND = {"fpr_low": 0.05, "fpr_high": 0.5}


def seed_result(seed: int, rows: np.ndarray, labels: np.ndarray, shift: float) -> SeedResult:
    scores = np.random.default_rng([seed, int(100 * shift)]).standard_normal(len(rows))
    scores += shift * labels
    line = {"seed": seed, "pauc_test": pauc(labels, scores, **BAND), **BAND}
    frame = pd.DataFrame({"row": rows, "label": labels.astype(int), "score": scores})
    return SeedResult.of(line, frame)


@pytest.fixture
def labels() -> np.ndarray:
    return np.random.default_rng(0).random(400) < 0.3


def test_rows_and_seeds_go_into_one_interval(labels):
    rows = np.arange(400)
    one = [seed_result(s, rows, labels, 1.5) for s in range(6)]
    two = [seed_result(s, rows, labels, 0.9) for s in range(6)]
    a, b = record(one, "a"), record(two, "b")
    assert a.design == SEEDS
    found = compare(a, b)
    mean = np.mean([x.values - y.values for x, y in zip(one, two, strict=True)], axis=0)
    wanted = seeds_interval(
        [x.pauc - y.pauc for x, y in zip(one, two, strict=True)], row_standard_error(labels, mean)
    )
    assert found.value == pytest.approx(wanted.value)
    assert found.standard_error == pytest.approx(wanted.standard_error, rel=1e-5)
    assert found.seeds_share + found.rows_share == pytest.approx(1.0)


def test_the_rows_share_of_one_seed_is_that_of_a_paired_comparison(labels):
    rng = np.random.default_rng(3)
    first, second = rng.standard_normal((2, 400)) + np.array([[1.2], [0.7]]) * labels
    values = influence(labels, first, **BAND) - influence(labels, second, **BAND)
    wanted = compare_pauc(labels, first, second, **BAND).standard_error
    assert row_standard_error(labels, values) == pytest.approx(wanted, rel=1e-9)


def test_folds_have_rows_of_their_own(labels):
    parts = np.split(np.random.default_rng(1).permutation(400), 4)
    one, two = (
        [seed_result(s, part, labels[part], shift) for s, part in enumerate(parts)]
        for shift in (1.5, 0.9)
    )
    a, b = record(one, "a"), record(two, "b")
    assert a.design == FOLDS
    errors = [
        row_standard_error(x.labels, x.values.astype(float) - y.values)
        for x, y in zip(one, two, strict=True)
    ]
    differences = [x.pauc - y.pauc for x, y in zip(one, two, strict=True)]
    wanted = folds_interval(differences, errors)
    found = compare(a, b)
    assert found.value == pytest.approx(wanted.value)
    assert found.standard_error == pytest.approx(wanted.standard_error, rel=1e-5)
    groups = np.arange(400) // 2
    assert compare(a, b, groups).standard_error != found.standard_error


def test_folds_that_share_some_rows_are_refused(labels):
    rows = np.arange(400)
    results = [seed_result(0, rows[:300], labels[:300], 1.0)]
    results.append(seed_result(1, rows[200:], labels[200:], 1.0))
    with pytest.raises(DataError, match="e/d/m: test rows of two seeds overlap in part"):
        record(results, "e/d/m")


def test_pairs_are_those_of_one_task_and_one_choice_and_survive_the_disk(labels, tmp_path):
    rows = np.arange(400)
    records = {
        (experiment, "d", method, by): record(
            [seed_result(s, rows, labels, shift) for s in range(3)], "x"
        )
        for experiment in ("e", "f")
        for method, shift in (("m", 1.5), ("n", 0.9), ("o", 0.1))
        for by in ("validation", "objective")
    }
    found = pairwise(records, {})
    assert len(found) == 2 * 2 * 3
    assert {(x["method"], x["rival"]) for x in found} == {("m", "n"), ("m", "o"), ("n", "o")}
    assert all(x["difference"] > 0 and x["seeds"] == 3 for x in found)
    write_records(tmp_path, records)
    again = {**read_records(tmp_path / "e.npz"), **read_records(tmp_path / "f.npz")}
    for kept, row in zip(pairwise(again, {}), found, strict=True):
        rounded = ("standard_error", "df", "seeds_share", "rows_share")
        assert [kept[x] for x in rounded] == pytest.approx([row[x] for x in rounded], rel=1e-3)
        assert {**kept, **{x: row[x] for x in rounded}} == row
    # Rows, labels and seeds are the same for all: each lies in once.
    with np.load(tmp_path / "e.npz") as file:
        shared = 4 + 2 * len([key for key in records if key[0] == "e"])
        assert len(file.files) <= 1 + shared


def test_methods_without_a_common_seed_are_not_compared(labels):
    rows = np.arange(400)
    a = record([seed_result(0, rows, labels, 1.0)], "a")
    b = record([seed_result(1, rows, labels, 0.5)], "b")
    assert compare(a, b) is None
    assert compare(a, a).standard_error == np.inf  # one seed: training's share is unknown
