"""Bad input at scale: 2,000 cases here, FUZZ_CASES of them in `make fuzz`."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest

from pauc_core.data.errors import DataError
from tests import fuzzing
from tests.fuzzing import TARGETS, Crash, Target, fuzz, outcome
from tests.test_workflow import ROOT, snakemake

CASES = os.environ.get("FUZZ_CASES")


@pytest.mark.parametrize("name", TARGETS)
def test_every_case_is_accepted_or_refused_with_a_sentence(name, capsys):
    target = TARGETS[name]
    # Fixed cases in `make test`, so that red is red for everybody; new ones in `make fuzz`.
    cases = target.share if CASES is None else target.share * int(CASES) // 2000
    counts = fuzz(target, cases, fixed=CASES is None)
    assert counts["refused"] > 0.1 * cases
    assert counts["accepted"] > 0.02 * cases
    with capsys.disabled():
        print(f"  {name}: {counts['accepted']} accepted, {counts['refused']} refused")


def test_the_shares_are_two_thousand():
    assert sum(target.share for target in TARGETS.values()) == 2000


def wrong(case, sandbox: Path) -> None:
    if case == "other":
        raise KeyError("spam")
    if case == "lines":
        raise ValueError("one line\nand another.")
    if case == "outside":
        (sandbox.parent / "stolen").touch()
    if case == "hang":
        time.sleep(5)
    if case == "sentence":
        raise DataError("f.csv, line 3: no number; correct it.")


@pytest.mark.parametrize("case", ["other", "lines", "outside", "hang"])
def test_the_harness_sees_a_crash(case, monkeypatch):
    monkeypatch.setattr(fuzzing, "SECONDS", 0.2)
    target = Target(None, wrong, ValueError, 1)
    with pytest.raises(Crash):
        outcome(target, case)


def test_the_harness_sees_a_refusal_and_an_acceptance():
    target = Target(None, wrong, DataError, 1)
    assert outcome(target, "sentence") == "refused"
    assert outcome(target, "fine") == "accepted"


def test_no_rule_hands_anything_to_a_shell():
    """The rules are scripts: configuration reaches them as data, never as a line of shell."""
    for path in [ROOT / "Snakefile", *ROOT.glob("workflow/rules/*.smk")]:
        assert not re.search(r"^\s*(shell|run):", path.read_text(), re.M), path
    for path in [*ROOT.glob("pauc_core/**/*.py"), *ROOT.glob("workflow/scripts/*.py")]:
        assert not re.search(r"shell=True|os\.system|os\.popen", path.read_text()), path


def test_a_hostile_value_stays_a_word(tmp_path):
    """A dry run with shell characters in every setting leaves nothing behind and says why."""
    for name in ("Snakefile", "config", "workflow", "reference", "pauc_core", "baselines"):
        (tmp_path / name).symlink_to(ROOT / name)
    hostile = f"r $(touch {tmp_path}/x);touch {tmp_path}/y;`touch {tmp_path}/z`'\""
    done = snakemake(
        tmp_path, "data", "-n", "--config", f"results={hostile}", f"raw={hostile}", "device=cpu"
    )
    assert not [name for name in ("x", "y", "z") if (tmp_path / name).exists()]
    assert done.returncode == 0, (done.stdout + done.stderr)[-2000:]
