"""The race against each value of the rival's grid, and where the time went."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from pauc_core.report.frames import load_collected, load_reports
from pauc_core.report.race import against_each_trial, time_spent
from tests.collected_fixture import write_few

REPORTS = Path(__file__).resolve().parents[1] / "config" / "reports.yaml"
RUN = {"experiment": "race-gen", "dataset": "gen-a9a"}


@pytest.fixture
def collected(tmp_path: Path):
    """Two seeds whose traces differ, and a rival's grid of three."""
    looks = pd.DataFrame({
        "epoch": [0.0, 1.0, 2.0, 3.0],
        "seconds": [0.0, 2.0, 4.0, 6.0],
        "pauc_train": [0.5, 0.6, 0.7, 0.8],
        "pauc_train_w": [0.5, 0.72, 0.78, 0.79],
    })  # fmt: skip
    other = looks.assign(pauc_train=0.99, pauc_train_w=0.99)
    traces = pd.concat([looks.assign(seed=0), other.assign(seed=1)])
    grid = [(0.1, 0.65, 8.0), (1.0, 0.795, 12.0), (10.0, 0.9, 20.0)]
    trials = [
        {**RUN, "method": "svm_pauc_tight", "trial": i, "params": json.dumps({"C": c}),
         "last_pauc_train": level, "last_epoch": 5.0, "seconds": seconds, "chosen": i == 1}
        for i, (c, level, seconds) in enumerate(grid)
    ]  # fmt: skip
    frames = {
        "summaries": pd.DataFrame(
            [{**RUN, "method": "agd_sbcd", "seed": s, "seconds": 6.0} for s in (0, 1)]
        ),
        "traces": traces.assign(**RUN, method="agd_sbcd"),
        "trials": pd.DataFrame(trials),
    }
    return load_collected(write_few(tmp_path, **frames))


def test_each_trial_of_the_rival_is_passed_at_the_first_look_above_it_or_never(collected):
    rows = against_each_trial(collected, load_reports(REPORTS, "default"))
    assert rows.rival_params.tolist() == ["C = 0.1", "C = 1", "C = 10"]
    assert rows.chosen.tolist() == [False, True, False]
    assert rows.seconds_to_exceed[:2].tolist() == [4.0, 6.0]
    assert rows.epochs_to_exceed[:2].tolist() == [2.0, 3.0]
    assert rows.ratio_to_exceed[:2].tolist() == [2.0, 2.0]
    assert rows.epochs_to_exceed_at_w[0] == 1.0
    never = ["seconds_to_exceed", "epochs_to_exceed", "ratio_to_exceed"]
    assert rows.loc[2, never].isna().all()
    # At w the second trial is never passed, at the average it is.
    assert rows.loc[1, [f"{name}_at_w" for name in never]].isna().all()


def test_time_is_counted_once_for_fits_and_once_for_trials(collected):
    rows = time_spent(collected).set_index("method")
    assert rows.loc["agd_sbcd", ["fits", "fit_seconds", "trials"]].tolist() == [2, 12.0, 0]
    assert rows.loc["svm_pauc_tight", ["fits", "trials", "trial_seconds"]].tolist() == [0, 3, 40.0]
    assert rows.share.sum() == pytest.approx(1.0)
