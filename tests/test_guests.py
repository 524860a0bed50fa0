"""A guest's numbers come from its scores; one that lies or breaks its contract is a sentence."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pauc_core.data.prepared import TEST, TRAIN, Prepared, write_prepared
from pauc_core.metrics import pauc
from pauc_core.suite.columns import ColumnError
from pauc_core.suite.guests import from_scores

LINE = {"use": "", "seed": 0, "goal": "pauc", "dataset": "own", "fpr_low": 0.0, "fpr_high": 0.5}
SUMMARY = Path("runs/summary.jsonl")


@pytest.fixture(scope="module")
def stored(tmp_path_factory) -> Prepared:
    rng = np.random.default_rng(0)
    y = np.tile([0, 1], 20).astype(np.int8)
    part = np.repeat([TRAIN, TEST], 20).astype(np.uint8)
    return write_prepared(
        tmp_path_factory.mktemp("data") / "own",
        name="own", kind="table", x=rng.normal(size=(40, 2)).astype(np.float32), y=y, part=part,
        tasks=["own"], provenance="own",
    )  # fmt: skip


@pytest.fixture
def scores() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    row = np.arange(20, 40)
    return pd.DataFrame({"row": row, "label": row % 2, "score": rng.normal(size=20)})


def test_the_number_is_that_of_the_scores(stored, scores):
    data = stored.folder.parent
    found = from_scores(LINE, scores, data, SUMMARY)["pauc_test"]
    assert found == pauc(scores["label"], scores["score"], fpr_low=0.0, fpr_high=0.5)
    agreed = {**LINE, "pauc_test": round(found, 7)}
    assert from_scores(agreed, scores, data, SUMMARY)["pauc_test"] == found
    python = {**LINE, "use": "baselines.dca:DCA", "pauc_test": 0.4137}
    assert from_scores(python, scores.iloc[:0], data, SUMMARY) is python


BROKEN = {
    "another number": (
        {"pauc_test": 0.4137}, {}, r"summary.jsonl: seed 0: pauc_test is 0.4137 .* 0\.\d+ by",
    ),
    "no number": ({"pauc_test": float("nan")}, {}, "pauc_test is nan in the summary"),
    "a number of its own": ({"pauc_train": 0.9}, {}, "pauc_train: 0.9 does not follow"),
    "no band": ({"fpr_low": None}, {}, "fpr_low is missing"),
    "a training row": ({}, {"row": 3}, "scores.csv.gz: seed 0: row: 20 test rows, .* row 3, which"),
    "a word for a row": ({}, {"row": "first"}, "row: 20 test rows, among them row nan"),
    "a row twice": ({}, {"row": 21}, "row: 20 test rows; expected each of the 20 rows"),
    "another label": ({}, {"label": 1}, "label: row 20 has another label in own"),
    "no score": ({}, {"score": float("nan")}, "score: of row 20 is no finite number"),
    "a word for a score": ({}, {"score": "high"}, "score: of row 20 is no finite number"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_a_guest_that_breaks_its_contract(stored, scores, case):
    line, first, sentence = BROKEN[case]
    for name, value in first.items():
        scores[name] = scores[name].astype(object)
        scores.loc[0, name] = value
    with pytest.raises(ColumnError, match=sentence) as caught:
        from_scores({**LINE, **line}, scores, stored.folder.parent, SUMMARY)
    assert not re.search(r"\n", str(caught.value))


def test_rows_that_were_left_out(stored, scores):
    with pytest.raises(ColumnError, match="row: 0 test rows; expected each of the 20 rows"):
        from_scores(LINE, scores.iloc[:0], stored.folder.parent, SUMMARY)
