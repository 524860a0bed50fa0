"""Small copies of the project to run, kill and break."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.test_workflow import ROOT, copy_project, edit, small


def tiny_project(
    target: Path, methods: list[str], *, tune: bool = False, epochs: float = 2
) -> Path:
    """A project with one experiment on a small embedded set: nothing to fetch, seconds to run."""
    project = copy_project(target)
    # What numba compiled is valid for equal files: compiling it again would take most of the time.
    for compiled in ROOT.glob("*/**/__pycache__/*.nb[ic]"):
        if ".venv" not in compiled.parts:
            shutil.copy2(compiled, _made(project / compiled.relative_to(ROOT)))
    grid = {"tune": True, "tune_epochs": 1, "grids": {"agd_sbcd": {"c": [0.1, 1]}}}
    small(project, {"race-gen": {"epochs": epochs, "looks": 3, **(grid if tune else {})}})
    edit(
        project / "config/experiments.yaml",
        lambda c: c["race-gen"].update(datasets=["digits"], methods=methods),
    )
    return project


def _made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
