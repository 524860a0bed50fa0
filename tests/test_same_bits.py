"""Same seed, same bits: one core or two, in one go or cut and resumed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pauc_core.solver import State
from pauc_core.suite import runner
from pauc_core.suite.checkpoint import FileKeeper, fingerprint
from pauc_core.suite.one_run import run_one
from tests.digests import differences, one_digest, result_digests
from tests.projects import tiny_project
from tests.test_runner import data, lines, spec  # noqa: F401
from tests.test_workflow import snakemake

AGD = {
    "use": "pauc_core.agd_sbcd:AGDSBCD",
    "params": {"mu": 1000, "gamma": 2000, "c": 1, "T": 5, "I": 10, "J": 10},
}


class Stopped(BaseException):
    """Ends a run after a number of saves, as a kill would."""


class Dying(FileKeeper):
    """Saves at every look and stops the run at a given one."""

    looks = 0

    def offer(self, progress):
        self.save(progress)
        self.looks += 1
        if self.looks == 3:
            raise Stopped


def test_a_run_that_was_cut_and_resumed_gives_the_same_bits(data, tmp_path):  # noqa: F811
    agd = replace(spec(AGD["use"]), looks=tuple(0.1 * i for i in range(20)))
    whole = run_one(agd, AGD["params"], 0, data)
    saved = tmp_path / "saved.npz"
    with pytest.raises(Stopped):
        run_one(agd, AGD["params"], 0, data, keeper=Dying(saved, 0.0))
    assert saved.exists()
    resumed = run_one(agd, AGD["params"], 0, data, keeper=FileKeeper(saved, 1e9))
    assert len(resumed["trace"]) == len(whole["trace"])
    clock = ("seconds", "wall")
    for one, two in zip(whole["trace"], resumed["trace"], strict=True):
        for key in one.keys() - clock:
            assert one[key] == two[key] or np.isnan(one[key]), key
    for one, two in zip(whole["scores"], resumed["scores"], strict=True):
        assert all(map(np.array_equal, one, two))
    assert "pauc_test_w" in whole["summary"]
    for key in whole["summary"].keys() - clock:
        assert whole["summary"][key] == resumed["summary"][key], key


def test_a_job_goes_on_from_its_own_progress_alone(data, tmp_path, monkeypatch):  # noqa: F811
    """Progress of other values, other data or other code is another run's; so is a broken file."""
    monkeypatch.setattr(runner, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(FileKeeper, "forget", lambda self: None)
    out = tmp_path / "out"
    runner.run_seeds(spec(), {"size": 0.1}, [0], data, out)
    monkeypatch.undo()
    left = (out / ".checkpoint-0.npz").read_bytes()
    for name, size in (("other", 0.7), ("fresh", 0.7)):
        (tmp_path / name).mkdir()
        if name == "other":
            (tmp_path / name / ".checkpoint-0.npz").write_bytes(left)
        runner.run_seeds(spec(), {"size": size}, [0], data, tmp_path / name)
        assert not (tmp_path / name / ".checkpoint-0.npz").exists()
    other, fresh, first = (
        (line["objective"], line["last_objective"])
        for line in (lines(tmp_path / name)[0] for name in ("other", "fresh", "out"))
    )
    assert other == fresh != first


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 half a file", b"\x80\x02}"])
def test_a_broken_progress_file_is_no_progress(tmp_path, content):
    path = tmp_path / "saved.npz"
    path.write_bytes(content)
    assert FileKeeper(path, 1.0).load(State()) is None


def test_the_fingerprint_sees_every_value():
    marks = {fingerprint(v) for v in ([{"c": 1}, 0], [{"c": 1.5}, 0], [{"c": 1}, 1], [{}, 0])}
    assert len(marks) == 4


def test_clock_columns_alone_are_left_out_of_a_digest(data, tmp_path):  # noqa: F811
    for name in ("one", "two"):
        runner.run_seeds(spec(), {}, [0], data, tmp_path / name / "runs/r")
    assert not differences(tmp_path / "one", tmp_path / "two")
    assert len(result_digests(tmp_path / "one")) == 3
    summary = tmp_path / "two/runs/r/summary.jsonl"
    line = lines(summary.parent)[0]
    summary.write_text(json.dumps({**line, "seconds": 99.0}) + "\n")
    assert one_digest(tmp_path / "one") == one_digest(tmp_path / "two")
    nearly = float(np.nextafter(line["pauc_test"], 1.0))
    summary.write_text(json.dumps({**line, "pauc_test": nearly}) + "\n")
    assert differences(tmp_path / "one", tmp_path / "two") == ["runs/r/summary.jsonl"]


@pytest.mark.slow
def test_one_core_or_two(tmp_path):
    """A small DAG with a tuned method and the compiled kernel, on one core and on two."""
    project = tiny_project(tmp_path / "p", ["agd_sbcd"], tune=True)
    for cores in ("1", "2"):
        done = snakemake(project, "linear", "--cores", cores)
        assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
        for part in ("runs", "tuned"):
            (project / "results/default" / part).rename(_made(project / f"on-{cores}") / part)
    assert len(result_digests(project / "on-1")) == 5
    assert not differences(project / "on-1", project / "on-2")


def _made(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder
