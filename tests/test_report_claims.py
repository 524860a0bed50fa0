"""Claims: verdicts, paired tests, ranks."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pauc_core.report.frames import load_collected
from pauc_core.report.paired import limits, paired_p
from pauc_core.report.report import build_report
from tests.collected_fixture import write_collected

ROOT = Path(__file__).resolve().parents[1]
REFERENCE, REPORTS = ROOT / "reference", ROOT / "config" / "reports.yaml"


def judged(folder: Path) -> pd.DataFrame:
    return build_report(folder, REFERENCE, REPORTS).claims


@pytest.fixture(scope="module")
def claims(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    return judged(write_collected(tmp_path_factory.mktemp("default")))


def whole(claims: pd.DataFrame) -> pd.Series:
    return claims[claims.scope == "all"].set_index("claim").verdict


def test_verdicts_follow_the_fabricated_numbers(claims: pd.DataFrame) -> None:
    found = whole(claims)
    assert found["best_linear_test_pauc"] == "holds"
    assert found["faster_per_epoch_than_dca"] == "holds"
    assert found["train_pauc_12_percent_over_svm"] == "fails"
    assert found["test_pauc_over_mu"] == "answered"
    assert not (found == "not run").any()


def test_the_papers_own_numbers_are_judged_too(claims: pd.DataFrame) -> None:
    own = claims[claims.scope == "all"].set_index("claim").paper_verdict
    assert own["train_pauc_12_percent_over_svm"] == "fails"  # its D1 is 11.9 %
    assert own["best_linear_test_pauc"] == "fails"  # its D4 is the SVM's
    assert own["best_deep_test_pauc"] == "holds"
    assert own["exceeds_svm_within_one_epoch"] == "holds"
    assert own["time_to_exceed_svm"] == "holds"
    gain = claims[(claims.claim == "train_pauc_12_percent_over_svm") & (claims.scope == "D1")]
    assert gain.paper_ours.item() == pytest.approx(0.7005 / 0.6259 - 1)


def test_a_worse_method_fails_each_claim(tmp_path: Path) -> None:
    folder = write_collected(tmp_path)
    summaries = pd.read_parquet(folder / "summaries.parquet")
    mine = summaries.method.isin(["agd_sbcd", "agd_sbcd_deep"])
    for name in ("pauc_test", "last_pauc_train"):
        summaries.loc[mine, name] -= 0.2
    summaries.to_parquet(folder / "summaries.parquet")
    traces = pd.read_parquet(folder / "traces.parquet")
    mine = traces.method.str.startswith("agd_sbcd")
    traces.loc[mine, "objective"] += 1.0
    traces.loc[mine, "pauc_train"] -= 0.4
    traces.to_parquet(folder / "traces.parquet")
    found = whole(judged(folder)).drop("test_pauc_over_mu")
    assert set(found) == {"fails"}


def test_what_did_not_run_is_not_run_and_a_failure_decides(tmp_path: Path) -> None:
    failing = [("gen-cifar10-lt", "agd_sbcd_deep"), ("gen-chest-features@D2", "dca")]
    folder = write_collected(tmp_path, drop=("sorr-gen",), fail=tuple(failing))
    frame = judged(folder)
    found = whole(frame)
    assert found["sorr_falls_faster_than_dca"] == "not run"
    assert found["best_on_long_tails"] == "fails"
    assert found["train_pauc_over_dca"] == "holds"
    note = frame[(frame.claim == "train_pauc_over_dca") & (frame.scope == "all")].note.item()
    assert "1 because the rival failed" in note


def test_runs_without_a_common_seed_decide_nothing(tmp_path: Path) -> None:
    folder = write_collected(tmp_path)
    summaries = pd.read_parquet(folder / "summaries.parquet")
    mine = summaries.method == "agd_sbcd_deep"
    theirs = (summaries.method == "minibatch") & (summaries.seed == 0)
    kept = summaries[~theirs & (~mine | (summaries.seed == 0))]
    kept.to_parquet(folder / "summaries.parquet")
    frame = judged(folder)
    part = frame[(frame.claim == "best_deep_test_pauc") & (frame.scope == "D1")].set_index("rival")
    assert part.verdict["MB"] == "not run"
    assert part.note["MB"] == "no seed was run by both"
    assert part.verdict["CE"] == "holds"


def test_sign_flips_against_the_obvious_enumeration() -> None:
    rng = np.random.default_rng(0)
    for n in (2, 3, 5, 8):
        d = rng.normal(0.5, 1.0, n)
        flipped = [abs(np.dot(s, d)) for s in itertools.product((1, -1), repeat=n)]
        expected = np.mean(np.array(flipped) >= abs(d.sum()) - 1e-12)
        assert paired_p(d) == pytest.approx(expected)
    assert paired_p(np.full(5, 0.3)) == pytest.approx(2 / 32)
    assert paired_p(np.zeros(4)) == 1.0
    assert np.isnan(paired_p(np.array([1.0])))
    assert "0.0625, so 0.05 cannot be reached" in limits(5)
    assert paired_p(np.array([2.0, -np.inf, 1.0])) == paired_p(np.array([2.0, -2.0, 1.0]))
    assert paired_p(np.full(3, -np.inf)) == pytest.approx(2 / 8)


def test_never_exceeding_is_said_and_tested(tmp_path: Path) -> None:
    folder = write_collected(tmp_path)
    traces = pd.read_parquet(folder / "traces.parquet")
    traces.loc[traces.method == "agd_sbcd", "pauc_train"] = 0.01
    traces.to_parquet(folder / "traces.parquet")
    frame = judged(folder)
    part = frame[frame.claim == "exceeds_svm_within_one_epoch"].set_index("scope")
    assert "epochs to exceed never to never" in part.note["all"]
    assert part.p_value["D1"] == pytest.approx(2 ** (1 - 3))
    assert part.seeds_in_favour["all"] == "0 of 3"


def test_no_task_outweighs_another_in_the_claim_as_a_whole(tmp_path: Path) -> None:
    folder = write_collected(tmp_path)
    traces = pd.read_parquet(folder / "traces.parquet")
    mine = (traces.method == "agd_sbcd") & (traces.dataset == "gen-chest-features@D1")
    traces.loc[mine, "objective"] += 1000.0
    traces.to_parquet(folder / "traces.parquet")
    frame = judged(folder)
    row = frame[(frame.claim == "faster_per_epoch_than_dca") & (frame.scope == "all")]
    assert row.verdict.item() == "fails"
    assert row.seeds_in_favour.item() == "3 of 3"  # four tasks of five are won


def test_ranks_average_over_tasks_and_put_failures_last(tmp_path: Path) -> None:
    folder = write_collected(tmp_path, fail=(("gen-chest-features@D1", "exact_lbfgs"),))
    ranks = build_report(folder, REFERENCE, REPORTS).ranks
    linear = ranks[ranks.group == "linear models"].set_index("method")
    assert linear.tasks.unique().tolist() == [9]
    summaries = load_collected(folder).summaries
    wanted = ["linear-gen", "race-gen"]
    cells = summaries[summaries.experiment.isin(wanted)]
    means = cells.groupby(["experiment", "dataset", "method"]).pauc_test.mean().unstack()
    position = {
        m: np.mean([
            1 + (row.drop(m) > row[m]).sum() if np.isfinite(row[m]) else len(row)
            for _, row in means.iterrows()
        ])
        for m in means
    }  # fmt: skip
    for method, value in position.items():
        assert linear.average_rank[method] == pytest.approx(value)
