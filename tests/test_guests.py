"""A guest is handed files, writes scores, and is judged by them; a breach is one sentence."""

from __future__ import annotations

import csv
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pauc_core.data.prepared import load_prepared, write_prepared
from pauc_core.data.splits import split
from pauc_core.metrics import pauc
from pauc_core.suite import guests
from pauc_core.suite.columns import ColumnError
from pauc_core.suite.guests import check_summary
from pauc_core.suite.one_run import build_problem
from pauc_core.suite.runner import run_seeds
from tests.guest_programs import BREACHES, FAILURES, HONEST, write_guest
from tests.test_runner import lines, spec

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    rng = np.random.default_rng(0)
    y = (np.arange(160) % 3 == 0).astype(np.int8)
    x = (rng.normal(size=(160, 3)) + y[:, None] * [1.5, 0.0, -1.0]).astype(np.float32)
    x[::7, 1] = 0.0
    return write_prepared(
        tmp_path_factory.mktemp("data") / "tiny",
        name="tiny", kind="table", x=x, y=y, part=np.repeat([0, 1], 80), tasks=["tiny"],
        provenance="own",
    ).folder  # fmt: skip


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(guests, "ROOT", tmp_path)
    return tmp_path


def run_honest(data: Path, out: Path, use: str = HONEST, **changes) -> dict:
    run_seeds(spec(use, **changes), changes.get("params", {}), [3], data, out)
    return lines(out)[0]


def test_a_guest_in_awk_is_judged_by_its_scores_alone(data, tmp_path):
    line = run_honest(data, tmp_path)
    assert line["outcome"] == "converged"
    assert line["use"] == HONEST
    for key in ("code_digest", "versions", "data_checksum", "seconds", "wall", "peak_mb", "m"):
        assert line[key] is not None, key
    scores = pd.read_csv(tmp_path / "scores.csv.gz")
    for part in ("valid", "test"):
        own = scores[scores["part"] == part]
        found = pauc(
            own["label"] == 1, own["score"], fpr_low=line["fpr_low"], fpr_high=line["fpr_high"]
        )
        assert line[f"pauc_{part}"] == found
    assert line["pauc_test"] > 0.7
    assert sorted(p.name for p in tmp_path.iterdir() if p.is_dir()) == [], "its folder is removed"


def test_the_guests_weights_are_what_awk_should_find(data, tmp_path):
    run = spec(HONEST)
    run_honest(data, tmp_path)
    problem, test, _ = build_problem(run, data, 3)
    means = [
        ((problem.train.x[rows].astype(float) - problem.model.center) / problem.model.scale).mean(0)
        for rows in (problem.train.positives, problem.train.negatives)
    ]
    wanted = problem.model.scores(means[0] - means[1], test)
    scores = pd.read_csv(tmp_path / "scores.csv.gz").query("part == 'test'")
    assert scores["row"].tolist() == test.rows.tolist()
    np.testing.assert_allclose(scores["score"], wanted, atol=1e-5)


SPY = 'mkdir -p "$PAUC_PARAM_to"; cp ./*.libsvm "$PAUC_PARAM_to"; env > "$PAUC_PARAM_to/env"'


def test_it_is_handed_what_other_methods_get_and_no_test_label(data, project, tmp_path):
    use = write_guest(project, "spy", SPY)
    seen = tmp_path / "seen"
    run = spec(use, params={"to": str(seen)})
    run_seeds(run, run.params, [5], data, tmp_path / "out")
    _, train, valid, test = split(load_prepared(data), None, 5, run.experiment.valid_share)
    for name, rows in (("train", train), ("valid", valid), ("test", test)):
        found = (seen / f"{name}.libsvm").read_text().splitlines()
        assert len(found) == len(rows)
        labels = {text.split()[0] for text in found}
        assert labels == ({"0"} if name == "test" else {"+1", "-1"})
    told = dict(
        text.split("=", 1) for text in (seen / "env").read_text().splitlines() if "=" in text
    )
    assert (told["PAUC_SEED"], told["LC_ALL"]) == ("5", "C")
    assert float(told["PAUC_FPR_LOW"]) < float(told["PAUC_FPR_HIGH"])


def test_a_trace_is_kept_and_may_be_left_out(data, project, tmp_path):
    write = "printf 'step,epoch,seconds,own_gap\\n1,0.5,0.01,3\\n2,1,0.02,1\\n' > trace.csv"
    line = run_honest(data, tmp_path / "out", write_guest(project, "traced", write))
    assert (line["step"], line["epoch"]) == (2.0, 1.0)
    rows = list(csv.DictReader((tmp_path / "out/traces.csv").open()))
    assert [row["own_gap"] for row in rows] == ["3.0", "1.0"]
    assert {row["pauc_test"] for row in rows} == {""}


@pytest.mark.parametrize("name", BREACHES)
def test_a_guest_that_breaks_its_contract_is_one_sentence(data, project, tmp_path, name):
    after, sentence = BREACHES[name]
    use = write_guest(project, name, after)
    with pytest.raises(ColumnError, match=rf"^{use}: seed 3: {sentence}") as caught:
        run_honest(data, tmp_path / "out", use)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")
    assert not (tmp_path / "out/summary.jsonl").exists()
    assert not list((tmp_path / "out").glob(".part-*"))


@pytest.mark.parametrize("name", FAILURES)
def test_a_guest_that_fails_is_a_row(data, project, tmp_path, name):
    after, outcome, reason = FAILURES[name]
    use = write_guest(project, name, after)
    line = run_honest(data, tmp_path / "out", use, minutes=0.05, memory_mb=300)
    assert line["outcome"] == outcome
    assert line["reason"].startswith(reason)
    assert line.get("pauc_test") is None
    left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    assert "sleep 600" not in left


def test_a_program_that_is_not_there_is_a_row(data, project, tmp_path):
    line = run_honest(data, tmp_path / "out", "gone.sh")
    assert line["reason"] == "It could not be started (No such file or directory)."


@pytest.mark.skipif(
    shutil.which("liblinear-train") is None,
    reason="liblinear-train is not installed (on Debian: apt-get install liblinear-tools)",
)
def test_liblinears_own_program_is_a_guest(data, tmp_path):
    line = run_honest(data, tmp_path, "workflow/rules/baselines/liblinear.sh", params={"C": 1})
    assert (line["outcome"], line["params"]) == ("converged", {"C": 1})
    assert line["pauc_test"] > 0.7


def test_liblinear_that_is_absent_is_said(data, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    line = run_honest(data, tmp_path / "out", "workflow/rules/baselines/liblinear.sh")
    assert line["outcome"] == "failed"
    assert "liblinear-train is not installed (on Debian" in line["reason"]


EDITED = {
    "another number": ({"pauc_test": 0.4137}, {}, r"pauc_test is 0.4137 .* 0\.\d+ by its scores"),
    "no number": ({"pauc_test": None}, {}, "pauc_test is None in the summary"),
    "a training row": ({}, {"row": 3}, r"row: 80 test rows, .* row 3, which"),
    "a row twice": ({}, {"row": 81}, "row: 80 test rows; expected each of the 80 rows"),
    "another label": ({}, {"label": 0.5}, "label: row 81 has another label in tiny"),
    "no score": ({}, {"score": float("nan")}, "score: of row 80 is no finite number"),
}  # fmt: skip


@pytest.mark.parametrize("case", EDITED)
def test_a_summary_that_no_longer_follows_from_its_scores(data, tmp_path, case):
    line, first, sentence = EDITED[case]
    whole = run_honest(data, tmp_path)
    scores = pd.read_csv(tmp_path / "scores.csv.gz").query("part == 'test'").reset_index(drop=True)
    check_summary(whole, scores, data.parent, tmp_path / "summary.jsonl")
    for name, value in first.items():
        scores[name] = scores[name].astype(object)
        scores.loc[1 if name == "label" else 0, name] = value
    with pytest.raises(ColumnError, match=rf"(summary.jsonl|scores.csv.gz): seed 3: {sentence}"):
        check_summary({**whole, **line}, scores, data.parent, tmp_path / "summary.jsonl")
    python = {**whole, "use": "baselines.dca:DCA", "pauc_test": 0.4137}
    check_summary(python, scores, data.parent, tmp_path / "summary.jsonl")
