"""The launcher: one run at a time, and a killed one goes on. Snakemake is a stand-in here."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Writes down how it was called, then does what the file `orders` says.
STAND_IN = """
import json, os, subprocess, sys, time
from pathlib import Path
with open("calls", "a") as log:
    log.write(json.dumps(sys.argv[1:]) + "\\n")
from pauc_core.suite import lifetime
lifetime.claim("results")
orders = json.loads(Path("orders").read_text())
order = orders.pop(0)
Path("orders").write_text(json.dumps(orders))
if order == "hang":
    Path(".snakemake/locks").mkdir(parents=True)
    Path(".snakemake/locks/0.input.lock").touch()
    Path("results/default/.part-x").mkdir(parents=True)
    job = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    Path("job").write_text(str(job.pid))
    Path("self").write_text(str(os.getpid()))
    time.sleep(300)
if order == "damaged":
    Path("results/default/data/s/meta.json").unlink()
    sys.exit(1)
if order == "remake":
    Path("results/default/data/s/meta.json").touch()
sys.exit(1 if order == "fail" else 0)
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "stand-in/snakemake").mkdir(parents=True)
    (tmp_path / "stand-in/snakemake/__init__.py").touch()
    (tmp_path / "stand-in/snakemake/__main__.py").write_text(STAND_IN)
    (tmp_path / "work/results/default/data/s").mkdir(parents=True)
    (tmp_path / "work/results/default/data/s/meta.json").touch()
    return tmp_path / "work"


def start(folder: Path, *orders: str) -> subprocess.Popen:
    (folder / "orders").write_text(json.dumps(orders))
    with (folder / "words").open("w") as words:
        return subprocess.Popen(
            [sys.executable, "-m", "pauc_core.suite.launch", "--cores", "1"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": f"{folder.parent / 'stand-in'}:{ROOT}"},
            stderr=words,
        )


def finish(folder: Path, process: subprocess.Popen) -> tuple[int, str]:
    return process.wait(timeout=30), (folder / "words").read_text()


def wait_for(path: Path) -> int:
    deadline = time.monotonic() + 20
    while not path.exists() or not path.read_text():
        assert time.monotonic() < deadline, path
        time.sleep(0.02)
    return int(path.read_text())


def gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"


def calls(folder: Path) -> list[list[str]]:
    return [json.loads(line) for line in (folder / "calls").read_text().splitlines()]


def test_a_second_launcher_refuses_in_one_sentence(folder):
    (folder / ".snakemake").mkdir()
    with (folder / ".snakemake/launch.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        code, words = finish(folder, start(folder))
    assert code == 3
    assert words.splitlines() == [
        "Another run is at work in this folder (it holds .snakemake/launch.lock): "
        "wait for it or stop it."
    ]
    assert not (folder / "calls").exists()


def test_after_a_kill_the_next_start_cleans_up_and_goes_on(folder):
    first = start(folder, "hang")
    job = wait_for(folder / "job")
    os.kill(wait_for(folder / "self"), signal.SIGKILL)
    assert finish(folder, first)[0] != 0
    code, words = finish(folder, start(folder, "done"))
    assert code == 0
    assert "An earlier run was killed" in words
    assert gone(job)
    assert not (folder / "results/default/.part-x").exists()
    assert not (folder / ".snakemake/locks").exists()
    assert calls(folder)[1:] == [["--cores", "1"]]


def test_a_run_whose_launcher_alone_was_killed_is_still_at_work(folder):
    first = start(folder, "hang")
    inner = wait_for(folder / "self")
    first.kill()
    first.wait()
    code, words = finish(folder, start(folder, "done"))
    for pid in (inner, wait_for(folder / "job")):
        os.kill(pid, signal.SIGKILL)
    assert code == 3
    assert "at work" in words


def by_hand(folder: Path, *orders: str) -> subprocess.Popen:
    """Snakemake without the launcher."""
    (folder / "orders").write_text(json.dumps(orders))
    with (folder / "words").open("w") as words:
        return subprocess.Popen(
            [sys.executable, "-m", "snakemake"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": f"{folder.parent / 'stand-in'}:{ROOT}"},
            stderr=words,
        )


def ends(pid: int) -> bool:
    deadline = time.monotonic() + 10
    while not gone(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return gone(pid)


def test_a_run_that_was_started_by_hand_is_left_alone(folder):
    run = by_hand(folder, "hang")
    job = wait_for(folder / "job")
    code, words = finish(folder, start(folder, "done"))
    alive = not gone(job)
    run.kill()
    run.wait()
    assert code == 3
    assert "it holds .snakemake/launch.lock" in words
    assert alive
    assert len(calls(folder)) == 1


@pytest.mark.parametrize("first", [start, by_hand])
def test_jobs_end_with_a_run_that_is_killed(folder, first):
    run = first(folder, "hang")
    job = wait_for(folder / "job")
    os.kill(wait_for(folder / "self"), signal.SIGKILL)
    run.wait(timeout=20)
    assert ends(job)


@pytest.mark.parametrize("second", [start, by_hand])
def test_after_a_kill_by_hand_the_next_start_finds_neither_job_nor_lock(folder, second):
    first = by_hand(folder, "hang")
    job = wait_for(folder / "job")
    first.kill()
    first.wait()
    (folder / "job").unlink()
    code, words = finish(folder, second(folder, "done"))
    assert code == 0
    assert "An earlier run was killed" in words
    assert gone(job)
    assert not (folder / ".snakemake/locks").exists()
    assert not (folder / "results/default/.part-x").exists()


def test_a_second_run_by_hand_leaves_the_first_alone(folder):
    first = by_hand(folder, "hang")
    job = wait_for(folder / "job")
    _, words = finish(folder, by_hand(folder, "done"))
    alive = not gone(job)
    kept = list((folder / ".snakemake/locks").glob("*"))
    first.kill()
    first.wait()
    assert alive
    assert kept, "Snakemake's own lock refuses the second one"
    assert "killed" not in words


def test_another_folders_jobs_are_left_alone(folder, tmp_path):
    """Also where its name begins alike."""
    other = Path(f"{folder}-2")
    shutil.copytree(folder, other)
    run = start(other, "hang")
    job = wait_for(other / "job")
    first = start(folder, "hang")
    wait_for(folder / "job")
    os.kill(wait_for(folder / "self"), signal.SIGKILL)
    first.wait()
    assert finish(folder, start(folder, "done"))[0] == 0
    alive = not gone(job)
    os.kill(wait_for(other / "self"), signal.SIGKILL)
    run.wait()
    assert alive


def test_a_folder_that_cannot_be_written_is_a_sentence(folder):
    (folder / ".snakemake").write_text("in the way")
    code, words = finish(folder, start(folder, "done"))
    assert code == 1
    assert re.fullmatch(r"\S+launch.lock cannot be written \(.*\): work in a .*\n", words)


def test_a_damaged_dataset_is_made_again_in_the_same_start_and_once_only(folder):
    code, words = finish(folder, start(folder, "damaged", "remake"))
    assert code == 0
    assert "making it again" in words
    assert finish(folder, start(folder, "damaged", "fail"))[0] == 1
    (folder / "calls").unlink()
    assert finish(folder, start(folder, "fail"))[0] == 1
    assert len(calls(folder)) == 1


def test_being_asked_to_stop_is_passed_on(folder):
    run = start(folder, "hang")
    inner = wait_for(folder / "self")
    job = wait_for(folder / "job")
    run.terminate()
    run.wait(timeout=20)
    assert run.returncode != 0
    assert gone(inner)
    os.kill(job, signal.SIGKILL)
