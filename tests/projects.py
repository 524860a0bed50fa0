"""Small copies of the project to run, kill and break."""

from __future__ import annotations

from pathlib import Path

from tests.test_workflow import copy_project, edit, small


def tiny_project(
    target: Path, methods: list[str], *, tune: bool = False, epochs: float = 2
) -> Path:
    """A project with one experiment on a small embedded set: nothing to fetch, seconds to run."""
    project = copy_project(target)
    grid = {"tune": True, "tune_epochs": 1, "grids": {"agd_sbcd": {"c": [0.1, 1]}}}
    small(project, {"race-gen": {"epochs": epochs, "looks": 3, **(grid if tune else {})}})
    edit(
        project / "config/experiments.yaml",
        lambda c: c["race-gen"].update(datasets=["digits"], methods=methods),
    )
    return project
