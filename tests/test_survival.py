"""Kills, damage, a full disk and misbehaving methods, done to real runs of the workflow."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

import pandas as pd
import pytest

from tests.environments import ENVIRONMENTS, Hostile
from tests.faults import (
    LAUNCHER,
    MANNERS,
    SNAKEMAKE,
    Undisturbed,
    bad_methods,
    damage,
    edited_inputs,
    full_disk,
    kills,
    lying_guests,
)
from tests.guest_programs import BREACHES

pytestmark = pytest.mark.slow
KILLS = int(os.environ.get("KILLS", "6"))  # `make reliability` does 20


@pytest.fixture(scope="module")
def peace(tmp_path_factory):
    return Undisturbed(tmp_path_factory.mktemp("survival"))


@pytest.mark.parametrize("program", [LAUNCHER, SNAKEMAKE])
def test_a_run_killed_at_random_moments_completes_with_the_same_results(peace, program):
    found = kills(peace, KILLS, program)
    assert found.faults == KILLS
    assert found.half_written == []
    assert found.different == []
    assert "An earlier run was killed" in found.words


def test_a_damaged_array_is_caught_and_made_again(peace):
    found = damage(peace)
    assert "x.npy does not match its checksum" in found.words
    assert "making it again" in found.words
    assert found.different == []


@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk needs root to be mounted")
def test_a_full_disk_is_one_sentence_and_leaves_nothing_half_written(peace):
    found = full_disk(peace)
    assert found.faults == 2
    assert "No space left on device" in found.words
    assert "Traceback" not in found.words
    assert found.half_written == []
    assert found.different == []


def test_misbehaving_methods_are_rows_and_the_rest_goes_on(tmp_path):
    results = bad_methods(tmp_path)
    frame = pd.read_parquet(results / "collected/summaries.parquet").set_index("method")
    for how, (outcome, reason) in MANNERS.items():
        assert frame.loc[f"bad_{how}", "outcome"] == outcome
        assert reason in frame.loc[f"bad_{how}", "reason"]
    assert frame.loc["random_scores", "outcome"] in ("budget", "converged")
    table = (results / "tables/race.csv").read_text()
    for how in MANNERS:
        assert f"Bad {how}" in table


def test_guests_that_break_their_contract_are_told_each_and_an_honest_one_runs(tmp_path):
    said = lying_guests(tmp_path)
    for name, (_, sentence) in BREACHES.items():
        assert re.search(sentence, said[name]), (name, said[name])


def test_edited_inputs_of_every_kind_are_made_anew_alone(tmp_path):
    assert set(edited_inputs(tmp_path).values()) == {"made anew, alone"}


@pytest.fixture(scope="module")
def hostile():
    with tempfile.TemporaryDirectory() as folder:  # pytest's own are for this user alone
        yield Hostile(Path(folder))


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_a_hostile_environment_changes_nothing_or_is_told(hostile, name):
    words = hostile.survives(name)
    if words.startswith("not tried: "):
        pytest.skip(words)
    assert words in ("identical", "told")
