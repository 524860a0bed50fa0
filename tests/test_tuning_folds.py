"""A set with folds: each seed is tested on its own fold, with values tuned inside that fold."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from pauc_core.data.folds import deal
from pauc_core.data.prepared import TEST, load_prepared, write_prepared
from pauc_core.suite.configuration import load, settings
from pauc_core.suite.one_run import build_problem
from pauc_core.suite.runner import run_seeds
from pauc_core.suite.tuning import tune, tuned_params
from tests.test_runner import lines, spec

ROOT = Path(__file__).parents[1]
FOLDS = 3


@pytest.fixture
def data(tmp_path):
    """Features by fold, as extractors leave them: those of fold k are scaled by k + 1."""
    rng = np.random.default_rng(0)
    group = rng.integers(80, size=360)
    y = rng.random(360) < 0.3
    x = rng.standard_normal((360, 5)) + 0.8 * y[:, None]
    write_prepared(
        tmp_path / "data",
        name="folded",
        kind="features",
        x=np.stack([(fold + 1) * x for fold in range(FOLDS)]).astype(np.float32),
        y=y,
        part=deal(group, y, FOLDS),
        tasks=["y"],
        provenance="generated",
        group=group,
    )
    return tmp_path / "data"


def test_a_run_reads_the_features_and_parts_of_its_fold(data):
    prepared = load_prepared(data)
    tested = []
    for seed in range(FOLDS):
        problem, test, _ = build_problem(spec(), data, seed)
        np.testing.assert_array_equal(problem.train.x, prepared.x[seed])
        np.testing.assert_array_equal(test.rows, np.flatnonzero(prepared.part[seed] == TEST))
        tested += test.rows.tolist()
    assert sorted(tested) == list(range(360))


def test_each_fold_is_tuned_on_its_own_training_rows(data, tmp_path):
    chosen, trials = tmp_path / "m.json", tmp_path / "m.trials.json"
    run = spec(stages=[{"size": [0.01, 1.0]}])
    tune(run, data, chosen, trials, at_once=1, seeds=[0, 2])
    rows = json.loads(trials.read_text())
    assert [(row["seed"], row["trial"]) for row in rows] == [(0, 0), (0, 1), (2, 0), (2, 1)]
    assert [sum(row["chosen"] for row in rows if row["seed"] == s) for s in (0, 2)] == [1, 1]
    assert rows[0]["pauc_valid"] != rows[2]["pauc_valid"]  # other validation rows
    # values that differ by fold reach the seeds of that fold, and those alone
    found = json.loads(chosen.read_text())
    for fold, size in (("0", 0.5), ("2", 0.25)):
        found["by_fold"][fold]["validation"]["params"]["size"] = size
    chosen.write_text(json.dumps(found))
    run_seeds(run, partial(tuned_params, run, chosen), [0, 2, 3], data, tmp_path / "out")
    assert [line["params"]["size"] for line in lines(tmp_path / "out")] == [0.5, 0.25, 0.5]


def test_without_folds_one_choice_serves_every_seed(tmp_path):
    (tmp_path / "m.json").write_text(
        json.dumps({"folds": 1, "by_fold": {"0": {"validation": {"params": {"size": 2.0}}}}})
    )
    for seed in (0, 7):
        assert tuned_params(spec(), tmp_path / "m.json", seed) == {"size": 2.0}
    assert tuned_params(spec(params={"size": 1.0}), None, 3) == {"size": 1.0}


def test_the_suite_knows_what_to_tune_on():
    given = {"scale": "open", "results": "results", "raw": "data/raw"}
    suite = load(ROOT, settings(given))
    assert suite.folds("nih-features@D1") == suite.folds("nih") == 5
    assert suite.tuning_seeds(suite.experiments["linear-nih"], "nih-features@D1") == [0, 1, 2, 3, 4]
    assert suite.tuning_seeds(suite.experiments["chest-nih"], "nih@D1") == [0, 1]
    assert suite.tuning_seeds(suite.experiments["race-open"], "a9a") == [0]
