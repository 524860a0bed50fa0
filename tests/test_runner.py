"""Bad luck becomes a row; a failure of the machine is raised; files are whole or absent."""

from __future__ import annotations

import csv
import dataclasses
import errno
import gzip
import json
import os
import signal
import threading
import time
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from tqdm import tqdm

from pauc_core.data import prepared
from pauc_core.data.errors import DataError
from pauc_core.data.prepared import digest, write_prepared
from pauc_core.files import atomic_path
from pauc_core.solver.streams import stream
from pauc_core.suite import runner
from pauc_core.suite.checked_data import check_data
from pauc_core.suite.child import Child, MachineError, run_warmed
from pauc_core.suite.choice import choose, expand, lowest
from pauc_core.suite.configuration import Experiment
from pauc_core.suite.one_run import run_one
from pauc_core.suite.run_spec import RunSpec, look_epochs
from pauc_core.suite.runner import run_seeds
from pauc_core.suite.tuning import tune
from tests.test_solver import Walk


@dataclass(frozen=True, kw_only=True)
class Misbehaved(Walk):
    """Behaves on seeds that are drawn high, and otherwise as badly as it was told to."""

    how: str
    models: ClassVar[frozenset[str]] = frozenset({"linear"})

    def step(self, problem, state, rng):
        if len(problem.train) > 100:  # the rehearsal is spared
            if self.how == "raise":
                raise ArithmeticError("the method lost its way")
            if self.how == "hang":
                time.sleep(60)
            if self.how == "eat":
                eaten = np.ones(60_000_000)
                time.sleep(5)
                eaten.sum()
            if self.how == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.how == "disk":
                raise OSError(errno.ENOSPC, "No space left on device")
        return super().step(problem, state, rng)


@pytest.fixture
def data(tmp_path):
    rng = stream(0, "runner data")
    y = np.arange(400) % 4 == 0
    x = (rng.standard_normal((400, 3)) + y[:, None]).astype(np.float32)
    part = (np.arange(400) >= 300).astype(np.uint8)
    folder = tmp_path / "data"
    write_prepared(
        folder, name="tiny", kind="libsvm", x=x, y=y.astype(np.int8), part=part, tasks=["y"],
        provenance="generated",
    )  # fmt: skip
    return folder


EXPERIMENT = Experiment(
    name="e", track="linear", title="E", goal="pauc", band={"fpr_low": 0.05, "fpr_high": 0.5},
    loss="logistic", model="linear", datasets=("tiny",), methods=("m",), seeds=(0, 1), epochs=2.0,
    valid_share=0.2, minutes=1.0, memory_mb=4000,
)  # fmt: skip


def spec(use: str = "tests.test_solver:Walk", *, looks: int = 4, **changes) -> RunSpec:
    """A small run; changes are the specification's fields or its experiment's."""
    fields = {field.name for field in dataclasses.fields(RunSpec)}
    own = {name: changes.pop(name) for name in fields & set(changes)}
    given = {
        "experiment": dataclasses.replace(EXPERIMENT, **changes), "dataset": "tiny", "method": "m",
        "label": "M", "use": use, "params": {}, "budget": {"epochs": 2.0},
        "looks": look_epochs(2.0, looks, "linear"), "device": "cpu",
    }  # fmt: skip
    return RunSpec(**{**given, **own})


def lines(out) -> list[dict]:
    return [json.loads(line) for line in (out / "summary.jsonl").read_text().splitlines()]


def test_a_run_leaves_its_three_files(data, tmp_path):
    out = tmp_path / "out"
    run_seeds(spec(), {}, [0, 1], data, out)
    first, second = lines(out)
    assert (first["seed"], second["seed"]) == (0, 1)
    assert first["outcome"] == "budget"
    assert first["n_train_pos"] + first["n_train_neg"] == 240
    assert first["provenance"] == "generated"
    for key in ("params", "code_digest", "data_checksum", "versions", "seconds", "peak_mb", "m"):
        assert first[key] is not None, key
    trace = list(csv.DictReader((out / "traces.csv").open()))
    assert {row["seed"] for row in trace} == {"0", "1"}
    with gzip.open(out / "scores.csv.gz", "rt") as handle:
        scores = list(csv.DictReader(handle))
    assert {row["part"] for row in scores} == {"valid", "test"}
    assert sum(row["part"] == "test" and row["seed"] == "0" for row in scores) == 100


def test_two_runs_are_equal_but_for_the_clock(data, tmp_path):
    for name in ("one", "two"):
        run_seeds(spec(), {}, [0], data, tmp_path / name)
    scores = [(tmp_path / name / "scores.csv.gz").read_bytes() for name in ("one", "two")]
    assert scores[0] == scores[1]
    one, two = (lines(tmp_path / name)[0] for name in ("one", "two"))
    clock = {"seconds", "wall", "peak_mb"}
    assert {k: v for k, v in one.items() if k not in clock} == {
        k: v for k, v in two.items() if k not in clock
    }


def test_another_iterate_is_summed_up_at_its_own_best_look(data):
    found = run_one(spec(looks=8), {}, 0, data)
    summary, trace = found["summary"], found["trace"]
    best = max(trace, key=lambda row: row["pauc_valid_w"])
    assert best["epoch"] != summary["epoch"]
    assert summary["epoch_w"] == best["epoch"]
    for name in ("objective_w", "pauc_train_w", "pauc_valid_w", "pauc_test_w"):
        assert summary[name] == best[name]


@pytest.mark.parametrize(
    ("how", "changes", "outcome", "reason"),
    [
        ("raise", {}, "failed", "ArithmeticError: the method lost its way"),
        ("hang", {"minutes": 0.03}, "timeout", "limit of 1.8 s"),
        ("eat", {"memory_mb": 450}, "failed", "its limit is 450 MB"),
        ("die", {}, "failed", "signal SIGKILL"),
    ],
)
def test_bad_luck_is_a_row(data, tmp_path, how, changes, outcome, reason):
    bad = spec("tests.test_runner:Misbehaved", **changes)
    run_seeds(bad, {"how": how}, [0], data, tmp_path / "out")
    (line,) = lines(tmp_path / "out")
    assert line["outcome"] == outcome
    assert reason in line["reason"]
    assert (tmp_path / "out/traces.csv").exists()


@dataclass(frozen=True, kw_only=True)
class BadRehearsal(Misbehaved):
    """Misbehaves on few rows too: while the job warms up."""

    def step(self, problem, state, rng):
        if self.how == "hang":
            time.sleep(60)
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(("how", "outcome"), [("hang", "timeout"), ("die", "failed")])
def test_a_method_that_is_bad_in_warming_up_takes_no_job_with_it(
    data, tmp_path, monkeypatch, how, outcome
):
    monkeypatch.setattr(runner, "WARM_UP_SECONDS", 0.3)
    bad = spec("tests.test_runner:BadRehearsal", minutes=0.01)
    run_seeds(bad, {"how": how}, [0, 1], data, tmp_path / "out")
    assert [line["outcome"] for line in lines(tmp_path / "out")] == [outcome, outcome]


def test_a_machine_that_fails_under_a_warm_job_is_raised():
    def stopped():
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(MachineError, match="SIGKILL"):
        run_warmed(lambda: None, stopped, seconds=10, memory_mb=4000)


def test_a_job_that_takes_too_much_to_be_warm_starts_its_runs_cold():
    slow = partial(time.sleep, 5)
    assert run_warmed(slow, os.getpid, seconds=10, memory_mb=1) == os.getpid()


def test_children_of_a_warm_job_start_warm():
    warm = []

    def work():
        return [Child(lambda: list(warm), seconds=10, memory_mb=4000).wait().value]

    assert run_warmed(lambda: warm.append(1), work, seconds=10, memory_mb=4000) == [[1]]
    assert warm == []  # this process took no part


def test_not_a_number_is_a_row(data, tmp_path):
    run_seeds(spec(), {"bad_at": 3}, [0], data, tmp_path / "out")
    assert lines(tmp_path / "out")[0]["outcome"] == "nonfinite"


def test_a_full_disk_is_raised_and_leaves_nothing(data, tmp_path):
    bad = spec("tests.test_runner:Misbehaved")
    with pytest.raises(MachineError, match="No space left"):
        run_seeds(bad, {"how": "disk"}, [0], data, tmp_path / "out")
    assert not (tmp_path / "out/summary.jsonl").exists()


def test_a_damaged_array_is_caught(data, tmp_path):
    content = bytearray((data / "x.npy").read_bytes())
    content[-1] ^= 1
    (data / "x.npy").write_bytes(content)
    with pytest.raises(DataError, match="checksum"):
        run_seeds(spec(), {}, [0], data, tmp_path / "out")


def test_sums_are_taken_once_for_each_version_of_an_array(data, monkeypatch):
    taken = []
    monkeypatch.setattr(prepared, "digest", lambda p: taken.append(p.name) or digest(p))
    check_data(data)
    assert sorted(taken) == ["part.npy", "x.npy", "y.npy"]
    check_data(data)
    assert len(taken) == 3
    content = bytearray((data / "x.npy").read_bytes())
    content[-1] ^= 1
    (data / "x.npy").write_bytes(content)
    with pytest.raises(DataError, match=r"x\.npy does not match its checksum"):
        check_data(data)
    assert not (data / "meta.json").exists()


def test_a_stopped_machine_is_no_row():
    child = Child(lambda: os.kill(os.getpid(), signal.SIGTERM), seconds=10, memory_mb=4000)
    with pytest.raises(MachineError, match="SIGTERM"):
        child.wait()


def test_an_interrupted_write_leaves_the_old_file(tmp_path):
    target = tmp_path / "file"
    target.write_text("old")
    with pytest.raises(RuntimeError), atomic_path(target) as temporary:  # noqa: PT012
        temporary.write_text("half")
        raise RuntimeError
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_trial_does_not_see_the_test_part_and_is_else_the_same(data):
    seeing = run_one(spec(), {"size": 1.0}, 0, data)
    blind = run_one(spec(), {"size": 1.0}, 0, data, see_test=False)
    assert seeing["summary"]["pauc_test"] is not None
    assert blind["summary"]["pauc_test"] is None
    assert {row[0] for row in blind["scores"]} == {"valid"}
    for name in ("pauc_valid", "last_objective", "last_pauc_train"):
        assert blind["summary"][name] == seeing["summary"][name]


def test_a_grid_is_run_whole_and_a_diverging_trial_is_a_row(data, tmp_path):
    grid = {"size": [0.1, 1e7, 1.0]}
    chosen, trials = tmp_path / "m.json", tmp_path / "m.trials.json"
    tune(spec(stages=[grid], looks=8), data, chosen, trials, at_once=2)
    rows = json.loads(trials.read_text())
    assert [row["params"]["size"] for row in rows] == [0.1, 1e7, 1.0]
    assert [row["outcome"] for row in rows] == ["budget", "diverged", "budget"]
    best = json.loads(chosen.read_text())["by_fold"]["0"]["validation"]["params"]["size"]
    good = {row["params"]["size"]: row["pauc_valid"] for row in rows if row["outcome"] == "budget"}
    assert best == max(good, key=good.get)
    assert sum(row["chosen"] for row in rows) == 1


def test_a_second_stage_starts_from_the_values_chosen_in_the_first(data, tmp_path):
    chosen, trials = tmp_path / "m.json", tmp_path / "m.trials.json"
    stages = [{"size": [1e7, 0.5]}, {"stop_at": [3, 5, 7]}]
    run = spec(params={"size": 0.1, "stop_at": 5}, stages=stages, looks=8)
    tune(run, data, chosen, trials, at_once=2)
    rows = json.loads(trials.read_text())
    tried = [(row["params"]["size"], row["params"]["stop_at"]) for row in rows]
    # The chosen size with 5 steps has been tried in the first stage.
    assert tried == [(1e7, 5), (0.5, 5), (0.5, 3), (0.5, 7)]
    assert [row["trial"] for row in rows] == [0, 1, 2, 3]
    best = json.loads(chosen.read_text())["by_fold"]["0"]["validation"]
    assert best["params"] == rows[best["trial"]]["params"]
    assert rows[best["trial"]]["pauc_valid"] == max(row["pauc_valid"] for row in rows[1:])


def test_a_tuning_that_was_cut_goes_on_with_the_trials_that_are_left(data, tmp_path):
    chosen, trials = tmp_path / "m.json", tmp_path / "m.trials.json"
    run = spec(stages=[{"size": [0.1, 0.5, 1.0]}], looks=8)
    tune(run, data, chosen, trials, at_once=1)
    logs = tmp_path / "m.logs"
    first = json.loads(trials.read_text())
    kept = logs / "trial-0-0.json"
    told = json.loads(kept.read_text())
    kept.write_text(json.dumps({**told, "summary": {**told["summary"], "pauc_valid": 2.0}}))
    (logs / "trial-0-2.json").write_text("half")
    tune(run, data, chosen, trials, at_once=1)
    rows = json.loads(trials.read_text())
    assert [row["pauc_valid"] for row in rows] == [2.0, *(row["pauc_valid"] for row in first[1:])]
    # Another budget makes it another trial.
    tune(dataclasses.replace(run, budget={"epochs": 1.0}), data, chosen, trials, at_once=1)
    assert json.loads(trials.read_text())[0]["pauc_valid"] < 2.0


def test_a_lock_that_a_killed_run_took_with_it_stops_no_other(data, tmp_path):
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with tqdm.get_lock():
            held.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        run_seeds(spec(minutes=0.1), {"size": 0.5}, [0], data, tmp_path / "one")
    finally:
        done.set()
        thread.join()
    assert lines(tmp_path / "one")[0]["outcome"] == "budget"


def test_each_rule_of_choice_has_its_run_and_equal_values_share_one(data, tmp_path):
    both = spec(choices=("validation", "objective"))
    sizes = {"validation": 0.5, "objective": 2.0}
    run_seeds(both, lambda _, by: {"size": sizes[by]}, [0, 1], data, tmp_path / "two")
    found = [
        (line["seed"], line["chosen_by"], line["params"]["size"])
        for line in lines(tmp_path / "two")
    ]
    assert found == [(seed, by, size) for seed in (0, 1) for by, size in sizes.items()]
    scores = pd.read_csv(tmp_path / "two/scores.csv.gz")
    one, two = (
        scores[(scores.seed == 1) & (scores.chosen_by == by)].score.to_numpy() for by in sizes
    )
    assert len(one) == len(two) > 0
    assert not np.array_equal(one, two)
    run_seeds(both, {"size": 0.5}, [0], data, tmp_path / "one")
    first, second = lines(tmp_path / "one")
    assert first | {"chosen_by": "objective"} == second  # clock columns too: it ran once


def test_choosing_for_claims_on_training():
    def trial(number, loss, outcome="budget"):
        return {"trial": number, "outcome": outcome, "reason": "", "last_objective": loss}

    rows = [trial(0, 0.3), trial(1, 0.2), trial(2, 0.1, "diverged"), trial(3, 0.2), trial(4, None)]
    assert lowest(rows) == 1
    with pytest.raises(ValueError, match="None of 1 trials ended well"):
        lowest(rows[2:3])


def test_choosing():
    def trial(number, valid, loss, train=0.5, outcome="budget"):
        return {
            "trial": number,
            "outcome": outcome,
            "reason": "",
            "pauc_valid": valid,
            "last_objective": loss,
            "last_pauc_train": train,
        }

    rows = [trial(0, 0.5, 3.0), trial(1, 0.7, 4.0, outcome="converged")]
    rows.append(trial(2, 0.9, 1.0, outcome="diverged"))
    assert choose(rows, "pauc", "logistic") == 1
    assert choose(rows, "sorr", "logistic") == 0
    assert choose([*rows, trial(3, 0.4, 0.70)], "pauc", "logistic") == 1
    # Below log 2 there is a trial that ranks the training rows better than the others above it.
    assert choose([*rows, trial(3, 0.4, 0.69, train=0.6)], "pauc", "logistic") == 3
    # It does not: large scores alone are no reason to leave the others out.
    assert choose([*rows, trial(3, 0.4, 0.69, train=0.4)], "pauc", "logistic") == 1
    with pytest.raises(ValueError, match="None of 1 trials ended well"):
        choose(rows[2:], "pauc", "logistic")


def test_expanding():
    grid = expand({"a": 0, "c": 9}, {"a": [1, 2], "b": [3, 4]})
    assert grid == [{"a": a, "b": b, "c": 9} for a in (1, 2) for b in (3, 4)]
