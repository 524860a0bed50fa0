"""Faults done to a real run of the workflow, each of which it must survive."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from pauc_core.suite.lifetime import identity
from tests.digests import differences, result_digests
from tests.guest_programs import BREACHES, HONEST, write_guest
from tests.projects import tiny_project
from tests.test_workflow import edit, planned, snakemake

METHODS = ["agd_sbcd", "logistic_regression", "random_scores"]


@dataclass
class Survived:
    """What became of a run: faults done to it, what differs from the undisturbed one, and why."""

    faults: int = 0
    different: list[str] = field(default_factory=list)
    half_written: list[str] = field(default_factory=list)
    words: str = ""


class Undisturbed:
    """A small project run once in peace, and fresh copies of it to disturb."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = tiny_project(folder / "peace", METHODS, tune=True)
        started = time.monotonic()
        done = snakemake(self.project, "linear", launch=True)
        self.seconds = time.monotonic() - started
        assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
        self.results = self.project / "results/default"
        self.digests = result_digests(self.results)

    def copy(self, name: str, *, results: bool) -> Path:
        left_out = ("served",) if results else ("results", ".snakemake", "raw")  # sockets
        target = self.folder / name
        shutil.copytree(self.project, target, ignore=shutil.ignore_patterns(*left_out))
        return target

    def wrong(self, results: Path) -> list[str]:
        """Files of a run, finished or not, that are not what the undisturbed run wrote."""
        found = result_digests(results)
        return [name for name, value in found.items() if self.digests.get(name) != value]


LAUNCHER, SNAKEMAKE = "pauc_core.suite.launch", "snakemake"


def start(project: Path, program: str = LAUNCHER) -> subprocess.Popen:
    """A run in a session of its own, so that all of it can be killed at once."""
    with (project / "words").open("a") as words:
        return subprocess.Popen(
            [sys.executable, "-m", program, "--cores", "2", "linear"],
            cwd=project,
            env={**os.environ, "PYTHONPATH": str(project), "OMP_NUM_THREADS": "1"},
            stdout=words,
            stderr=words,
            start_new_session=True,
        )


def kills(peace: Undisturbed, count: int, program: str = LAUNCHER, seed: int = 0) -> Survived:
    """Kill a run at random moments, everything at once or Snakemake alone, then let it finish.

    What runs on after Snakemake alone was killed must end by itself.
    """
    project = peace.copy(f"killed-{program}", results=False)
    results = project / "results/default"
    rng = random.Random(seed)
    found = Survived()
    while found.faults < count:
        run = start(project, program)
        try:
            run.wait(timeout=rng.uniform(0.05, 0.5) * peace.seconds)
        except subprocess.TimeoutExpired:
            found.faults += 1
            if rng.random() < 0.5:
                os.killpg(run.pid, signal.SIGKILL)
            else:  # its jobs are left to end by themselves, or by the next start
                for child in _children(run.pid) if program == LAUNCHER else [run.pid]:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(child, signal.SIGKILL)
            run.wait()
            if rng.random() < 0.5:
                found.different += [f"orphan {pid}" for pid in _orphans(project)]
            found.half_written += peace.wrong(results)
        else:  # all done before the moment came: once more from the beginning
            assert run.returncode == 0, (project / "words").read_text()[-4000:]
            found.different += differences(peace.results, results)
            shutil.rmtree(results)
    assert start(project, program).wait() == 0, (project / "words").read_text()[-4000:]
    found.different += differences(peace.results, results)
    found.different += [str(p) for p in project.rglob(".part-*")]
    found.different += [str(p) for p in project.glob(".snakemake/locks/*")]
    found.words = (project / "words").read_text()
    return found


def _orphans(project: Path, seconds: float = 5.0) -> list[int]:
    """Processes that still work in a folder so long after its run was killed."""
    deadline = time.monotonic() + seconds
    while True:
        found = [
            int(place.name)
            for place in Path("/proc").glob("[0-9]*")
            if identity(int(place.name)) and _works_in(place, project)
        ]
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.1)


def _works_in(place: Path, project: Path) -> bool:
    try:
        return (place / "cwd").resolve() == project.resolve()
    except OSError:
        return False


def _children(pid: int) -> list[int]:
    try:
        return [int(c) for c in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def damage(peace: Undisturbed) -> Survived:
    """Change a byte of a prepared array under a run that still has something to fit."""
    project = peace.copy("damaged", results=True)
    results = project / "results/default"
    array = results / "data/digits/x.npy"
    content = bytearray(array.read_bytes())
    content[-1] ^= 1
    array.write_bytes(content)
    shutil.rmtree(results / "runs/race-gen/digits/agd_sbcd")
    done = snakemake(project, "linear", launch=True)
    words = done.stdout + done.stderr
    assert done.returncode == 0, words[-4000:]
    same = array.read_bytes() == (peace.results / "data/digits/x.npy").read_bytes()
    different = differences(peace.results, results) + ([] if same else [str(array)])
    return Survived(1, different, [], words)


@contextlib.contextmanager
def small_disk(place: Path, size: str) -> Iterator[None]:
    """A file system of its own at a folder, of a given size; needs root."""
    place.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "pauc", str(place)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def full_disk(peace: Undisturbed) -> Survived:
    """Run on a disk without room for the arrays, then for the runs, then with enough."""
    project = peace.copy("full", results=False)
    results = project / "results/default"
    found = Survived()
    with small_disk(project / "results", "200k"):
        for size in ("200k", "550k", "100m"):
            subprocess.run(
                ["mount", "-o", f"remount,size={size}", str(project / "results")], check=True
            )
            done = snakemake(project, "linear", launch=True)
            if size == "100m":
                assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
            else:
                assert done.returncode != 0, f"a disk of {size} was large enough"
                found.faults += 1
                found.half_written += peace.wrong(results)
                found.half_written += [str(p) for p in project.rglob(".part-*")]
                found.words += done.stdout + done.stderr
        found.different = differences(peace.results, results)
    return found


BAD = '''"""Methods that misbehave."""

import os
import signal
import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pauc_core.solver import State


@dataclass(kw_only=True)
class BadState(State):
    w: np.ndarray

    def iterates(self):
        return {"scored": self.w}


@dataclass(frozen=True, kw_only=True)
class Bad:
    how: str
    goals: ClassVar[frozenset[str]] = frozenset({"pauc"})
    models: ClassVar[frozenset[str]] = frozenset({"linear"})

    def init(self, problem, rng):
        return BadState(w=problem.model.start(rng))

    def step(self, problem, state, rng):
        state.epochs += 1.0
        if len(problem.train) < 200:  # the rehearsal
            return state
        if self.how == "raise":
            raise ArithmeticError("the method lost its way")
        if self.how == "hang":
            time.sleep(3600)
        if self.how == "eat":
            eaten = [np.ones(20_000_000) for _ in range(20)]
            time.sleep(60)
        if self.how == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.how == "nan":
            state.w[:] = np.nan
        return state
'''
MANNERS = {
    "raise": ("failed", "the method lost its way"),
    "hang": ("timeout", "after its limit"),
    "eat": ("failed", "its limit is 1500 MB"),
    "die": ("failed", "SIGKILL"),
    "nan": ("nonfinite", "not finite"),
}


def bad_methods(folder: Path) -> Path:
    """A project in which five of six methods misbehave, run to its tables; returns its results."""
    names = [f"bad_{how}" for how in MANNERS]
    project = tiny_project(folder / "bad", [*names, "random_scores"])
    (project / "baselines/bad.py").write_text(BAD)
    with (project / "config/methods.yaml").open("a") as handle:
        for name, how in zip(names, MANNERS, strict=True):
            handle.write(
                f'{name}: {{use: "baselines.bad:Bad", label: Bad {how}, params: {{how: {how}}}}}\n'
            )
    limits = {"minutes": 0.5, "memory_mb": 1500, "seeds": [0]}
    edit(
        project / "config/scales/default.yaml",
        lambda c: c["experiments"]["race-gen"].update(limits),
    )
    done = snakemake(project, "tables", launch=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return project / "results/default"


def lying_guests(folder: Path) -> dict[str, str]:
    """What a run says of each guest that breaks its contract; an honest one runs beside them.

    Empty words: nothing was said, or the guest has results all the same.
    """
    names = {f"guest_{name}": after for name, (after, _) in BREACHES.items()}
    project = tiny_project(folder / "guests", [*names, "honest"])
    with (project / "config/methods.yaml").open("a") as handle:
        for name, after in names.items():
            use = write_guest(project, name, after)
            handle.write(f"{name}: {{use: {use}, label: {name}}}\n")
        handle.write(f"honest: {{use: {HONEST}, label: Honest}}\n")
    done = snakemake(project, "linear")
    runs = project / "results/default/runs/race-gen/digits"
    assert (runs / "honest/seeds-0-1/summary.jsonl").is_file(), done.stderr[-3000:]
    said = {}
    for name in names:
        line = next(
            (x for x in done.stderr.splitlines() if x.startswith("Failed:") and f"/{name}/" in x),
            "",
        )
        written = (runs / name / "seeds-0-1/summary.jsonl").exists()
        said[name.removeprefix("guest_")] = "" if written else line
    return said


def edited_inputs(folder: Path) -> dict[str, str]:
    """What edited inputs of each kind make a second start do; 'made anew, alone' is right."""
    project = tiny_project(folder / "edited", ["random_scores"])
    mirror, raw = folder / "mirror", project / "data/raw"
    table = {"kind": "table", "label": "sick", "positive": 1, "provenance": "own"}
    libsvm = {"kind": "table", "positive": 1, "provenance": "own"}
    by_hand = {"folder": "mine", "files": [{"name": "by_hand.csv"}]}
    files = {
        "own_csv": (folder / "own.csv", table),
        "own_parquet": (folder / "own.parquet", table),
        "own_libsvm": (folder / "own.libsvm", libsvm),
        "mirrored": (mirror / "theirs/mirrored.csv", table),
        "by_hand": (raw / "mine/by_hand.csv", table),
    }
    entries = {
        name: {**entry, **({"path": str(path)} if name.startswith("own") else {})}
        for name, (path, entry) in files.items()
    }
    entries["mirrored"] |= {"folder": "theirs", "files": [{"name": "mirrored.csv"}]}
    entries["by_hand"] |= by_hand
    for path, _ in files.values():
        _write_rows(path, seed=0)
    edit(project / "config/datasets.yaml", lambda c: c.update(entries))
    edit(
        project / "config/experiments.yaml",
        lambda c: c["race-gen"].update(datasets=["digits", *files]),
    )
    settings = ("--config", f"mirror={mirror}", "--", "linear")
    done = snakemake(project, *settings)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    results = project / "results/default"
    found = {}
    for name, (path, _) in files.items():
        before = _read_back(results)
        os.utime(path)  # another time is no other content
        quiet = not planned(project, *settings)
        _write_rows(path, seed=1)
        done = snakemake(project, *settings)
        after = _read_back(results)
        changed = {key for key in after if before[key] != after[key]}
        alone = done.returncode == 0 and changed == {name} and quiet
        found[name] = "made anew, alone" if alone else f"{sorted(changed)}, quiet: {quiet}"
    return found


def _write_rows(path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(200, 2)).round(3)
    y = (x.sum(axis=1) + rng.normal(size=200) > 0).astype(int)
    path.parent.mkdir(parents=True, exist_ok=True)
    frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "sick": y})
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        rows = zip(y, x, strict=True)
        path.write_text("".join(f"{label} 1:{a} 2:{b}\n" for label, (a, b) in rows))


def _read_back(results: Path) -> dict[str, tuple[str, str]]:
    """Of each dataset the checksum of its arrays and the scores of its run."""
    return {
        path.parent.name: (
            json.loads(path.read_text())["checksum"],
            hashlib.sha256(
                (
                    results
                    / f"runs/race-gen/{path.parent.name}/random_scores/seeds-0-1/scores.csv.gz"
                ).read_bytes()
            ).hexdigest(),
        )
        for path in results.glob("data/*/meta.json")
    }
