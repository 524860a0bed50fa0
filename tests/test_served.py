"""A job that hands its work to a warm process ends as it would alone, and takes the work along."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pauc_core.suite.lifetime import MAIN, end, identity
from pauc_core.suite.served import PLACE, Packed
from tests.digests import result_digests
from tests.test_runner import data, spec  # noqa: F401 - a fixture

ROOT = Path(__file__).parents[1]
JOB = """
import pickle, sys
from pathlib import Path
from pauc_core.suite.served import do
do("fit", **pickle.loads(Path(sys.argv[1]).read_bytes()))
print("numba" in sys.modules)
"""


@pytest.fixture
def jobs(data, tmp_path):  # noqa: F811
    """Starts a job in a process of its own, with or without the mark of a run, here this one."""
    running: list[int] = []

    def start(name: str, run=None, served: bool = True, root: Path = ROOT) -> subprocess.Popen:
        request = {
            "spec": Packed(run or spec(), "linear"), "tuned": None, "seeds": [0, 1], "data": data,
            "log": str(tmp_path / f"{name}.log"), "out": tmp_path / name / "runs/r", "digest": "d",
        }  # fmt: skip
        (tmp_path / f"{name}.request").write_bytes(pickle.dumps(request))
        mark = {MAIN: identity(os.getpid())} if served else {MAIN: ""}
        return subprocess.Popen(
            [sys.executable, "-c", JOB, str(tmp_path / f"{name}.request")],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1", **mark},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    yield start
    mark = f"{MAIN}={identity(os.getpid())}".encode()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (place / "environ").read_bytes().split(b"\0"):
                running.append(int(place.name))
        except OSError:
            continue
    end(running)


def test_work_that_is_handed_over_has_the_same_results(jobs, tmp_path):
    for name, served in (("one", True), ("two", True), ("alone", False)):
        words, errors = (job := jobs(name, served=served)).communicate()
        assert job.returncode == 0, errors
        assert words.split()[-1] == str(not served)  # a served job imported next to nothing
    found = [result_digests(tmp_path / name) for name in ("one", "two", "alone")]
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == 3
    assert len(list((tmp_path / PLACE).glob("linear-*"))) == 1


def test_a_failure_is_the_jobs_own(jobs, tmp_path):
    (tmp_path / "data/x.npy").write_bytes(b"nothing")
    job = jobs("broken")
    errors = job.communicate()[1]
    assert job.returncode == 1
    assert "x.npy does not match its checksum" in errors
    assert "checksum" in (tmp_path / "broken.log").read_text()


def test_work_ends_with_the_job_that_handed_it_over(jobs, tmp_path):
    held = spec("tests.test_runner:Misbehaved", params={"how": "hang"})
    job = jobs("held", held)
    log = tmp_path / "held/runs/r/seed-0.log"
    deadline = time.monotonic() + 60
    while not log.exists():
        assert job.poll() is None, job.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert len(writers(log)) > 0
    job.send_signal(signal.SIGKILL)
    job.wait()
    while writers(log):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    job = jobs("next")  # the server itself is well
    assert job.wait() == 0, job.communicate()[1]


def test_a_server_whose_code_was_edited_since_hands_the_work_back(jobs, tmp_path):
    tree = tmp_path / "tree"
    shutil.copytree(ROOT / "pauc_core", tree / "pauc_core")
    (tree / "tests").symlink_to(ROOT / "tests")
    for name, edited in (("before", False), ("after", True)):
        if edited:
            os.utime(tree / "pauc_core/suite/runner.py")
        words, errors = (job := jobs(name, root=tree)).communicate()
        assert job.returncode == 0, errors
        assert words.split()[-1] == str(edited)


def writers(path: Path) -> list[str]:
    """Processes that have a file open."""
    found = []
    for handle in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if handle.resolve() == path:
                found.append(handle.parts[2])
        except OSError:
            continue
    return found
