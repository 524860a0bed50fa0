"""The digest of a run covers what decides its numbers, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

from pauc_core.solver import Budget, solve
from pauc_core.suite import provenance
from pauc_core.suite.configuration import method_class
from pauc_core.suite.provenance import DECIDING, code_digest, is_stale, run_digest, run_modules
from tests.problems import linear_problem
from tests.test_architecture import MATHEMATICS

ROOT = Path(__file__).parents[1]
AGD = "pauc_core.agd_sbcd:AGDSBCD"
RUNS = {
    "linear": {"use": AGD, "model": "linear", "params": {}, "tuned": False},
    "tuned": {"use": AGD, "model": "linear", "params": {}, "tuned": True},
    "dca": {"use": "baselines.dca:DCA", "model": "linear", "params": {}, "tuned": False},
    "deep": {"use": AGD, "model": "resnet20", "params": {}, "tuned": False},
    "deep, tuned": {
        "use": "baselines.minibatch:Minibatch", "model": "small", "params": {}, "tuned": True,
    },
}  # fmt: skip
DEEP = {"deep", "deep, tuned"}
CHANGES = {
    # what decides every run
    "pauc_core.data.prepared": set(RUNS),
    "pauc_core.data.splits": set(RUNS),
    "pauc_core.bands": set(RUNS),
    "pauc_core.labelled": set(RUNS),
    "pauc_core.metrics": set(RUNS),
    "pauc_core.objective.losses": set(RUNS),
    "pauc_core.objective.pair_sums": set(RUNS),
    "pauc_core.solver.loop": set(RUNS),
    "pauc_core.solver.problem": set(RUNS),
    "pauc_core.solver.streams": set(RUNS),
    "pauc_core.suite.one_run": set(RUNS),
    "pauc_core.suite.run_spec": set(RUNS),
    # what decides some
    "pauc_core.suite.choice": {"tuned", "deep, tuned"},
    "pauc_core.agd_sbcd.algorithm": {"linear", "tuned", "deep"},
    "pauc_core.agd_sbcd.compiled": {"linear", "tuned", "dca", "deep"},
    "pauc_core.agd_sbcd.networks": {"deep"},
    "pauc_core.agd_sbcd.on_device": {"deep"},
    "pauc_core.models.module": DEEP,
    "pauc_core.models.densenet": DEEP,
    "baselines.dca": {"dca"},
    # what writes files, starts processes, draws or tells
    "pauc_core.data.prepare": set(),
    "pauc_core.suite.runner": set(),
    "pauc_core.suite.child": set(),
    "pauc_core.suite.configuration": set(),
    "pauc_core.suite.collect": set(),
    "pauc_core.report.frames": set(),
    "pauc_core.own_data.classifier": set(),
}


def digests() -> dict[str, str]:
    return {name: run_digest(**run) for name, run in RUNS.items()}


@pytest.fixture
def change(monkeypatch):
    """Let a module's text be another one."""
    read = provenance._source

    def changed(module: str, edit) -> None:
        assert read(module), module
        monkeypatch.setattr(
            provenance,
            "_source",
            lambda name: edit(read(name)) if name == module else read(name),
        )

    return changed


@pytest.mark.parametrize("module", CHANGES)
def test_a_changed_module_changes_the_runs_that_it_decides(change, module):
    before = digests()
    change(module, lambda text: text + "\nCHANGED = True\n")
    after = digests()
    assert {name for name in RUNS if before[name] != after[name]} == CHANGES[module]


@pytest.mark.parametrize("module", ["pauc_core.solver.loop", "pauc_core.metrics"])
def test_a_comment_or_a_docstring_changes_nothing(change, module):
    before = digests(), code_digest("pauc_core.report.tables")
    change(module, lambda text: text.replace('"""', '"""Reworded. ', 1) + "\n# A comment.\n")
    assert (digests(), code_digest("pauc_core.report.tables")) == before
    change(module, lambda text: text.replace("return ", "return 0 * ", 1))
    assert (digests(), code_digest("pauc_core.report.tables")) != before


def test_a_linear_run_on_a_device_counts_what_it_uses_there():
    here, there = (
        run_modules(AGD, model="linear", params=params, tuned=False)
        for params in ({}, {"device": "cuda"})
    )
    assert "pauc_core.agd_sbcd.on_device" in there - here


def methods() -> dict[str, dict]:
    lines = yaml.safe_load((ROOT / "config/methods.yaml").read_text())
    return {n: x for n, x in lines.items() if "linear" in method_class(x["use"]).models}


@pytest.mark.parametrize("name", methods())
def test_what_a_linear_method_calls_is_in_its_digest(name):
    line = methods()[name]
    method = method_class(line["use"])(**line.get("params", {}))
    problem, test = linear_problem("sorr" if "pauc" not in method.goals else "pauc")
    called: set[str] = set()

    def watch(frame, event, _):
        if event == "call" and frame.f_code.co_name != "<module>":
            called.add(frame.f_globals.get("__name__", ""))

    sys.setprofile(watch)
    try:
        solve(method, problem, Budget(steps=2), [0.0], seed=0, test=test)
    finally:
        sys.setprofile(None)
    decided = run_modules(line["use"], model="linear", params=line.get("params", {}), tuned=False)
    rooms = ("baselines.", *(f"pauc_core.{room}" for room in DECIDING))
    assert {module for module in called if module.startswith(rooms)} <= decided
    assert line["use"].partition(":")[0].partition(".")[0] in {m.partition(".")[0] for m in called}


def test_published_lines_are_judged():
    published = pd.read_parquet(ROOT / "results/published/collected/summaries.parquet")
    for line in published.iloc[[0, -1]].to_dict("records"):
        assert is_stale({**line, "code_digest": "of other code"})
        params = json.loads(line["params"])
        present = run_digest(line["use"], model=line["model"], params=params, tuned=line["tuned"])
        assert not is_stale({**line, "code_digest": present})
        # As it stands in a run's file.
        assert not is_stale({**line, "params": params, "code_digest": present})


def test_imports_are_followed_into_all_of_the_mathematics():
    assert DECIDING == MATHEMATICS


def test_a_digest_is_worked_out_without_importing_what_it_covers():
    code = (
        "import sys; from pauc_core.suite.provenance import run_digest; "
        "run_digest('baselines.minibatch:Minibatch', model='small', params={}, tuned=True); "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_a_guest_is_judged_by_the_bytes_of_its_program(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "__file__", str(tmp_path / "pauc_core/suite/provenance.py"))
    kind = {"model": "linear", "params": {}, "tuned": False}
    (tmp_path / "guest.sh").write_text("#!/bin/sh\n")
    line = {"use": "guest.sh", **kind, "code_digest": run_digest("guest.sh", **kind)}
    assert not is_stale(line)
    (tmp_path / "guest.sh").write_text("#!/bin/sh\ntrue\n")
    assert is_stale(line)
    assert "pauc_core.suite.guest_files" in run_modules("guest.sh", **kind)
