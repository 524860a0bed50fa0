"""Claims: verdicts regime by regime, what they rest on, ranks."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pauc_core.report import regimes
from pauc_core.report.frames import ReportError, load_collected
from pauc_core.report.report import Report, build_report
from tests.collected_fixture import write_collected

ROOT = Path(__file__).resolve().parents[1]
REFERENCE, REPORTS = ROOT / "reference", ROOT / "config" / "reports.yaml"
GENERATED = "generated data"
BEST = "best_linear_test_pauc"
D1 = "gen-chest-features@D1"


def report_on(folder: Path, *names: str) -> Report:
    """The report with the named claims, or with all of them."""
    report = build_report(folder, REFERENCE, REPORTS)
    kept = [claim for claim in report.reference.claims if claim["name"] in names or not names]
    return replace(report, reference=replace(report.reference, claims=kept))


def judged(folder: Path, *names: str) -> pd.DataFrame:
    return report_on(folder, *names).claims


def change(folder: Path, frame: str, function: Any) -> Path:
    """Put another frame in the place of a collected one."""
    path = folder / f"{frame}.parquet"
    function(pd.read_parquet(path)).to_parquet(path)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_collected(tmp_path_factory.mktemp("default"), seeds=6)


@pytest.fixture(scope="module")
def claims(folder: Path) -> pd.DataFrame:
    return judged(folder)


def whole(claims: pd.DataFrame, regime: str = GENERATED) -> pd.Series:
    here = claims[(claims.scope == "all") & (claims.regime == regime)]
    return here.set_index("claim").verdict


def part(claims: pd.DataFrame, claim: str, scope: str) -> pd.DataFrame:
    return claims[(claims.claim == claim) & (claims.scope == scope)].set_index("rival_method")


def test_verdicts_follow_the_fabricated_numbers(claims: pd.DataFrame) -> None:
    found = whole(claims)
    assert found[BEST] == "supported"
    assert found["faster_per_epoch_than_dca"] == "supported"
    assert found["train_pauc_12_percent_over_svm"] == "contradicted"
    assert found["test_pauc_over_mu"] == "answered"
    assert not (found == "not run").any()
    assert set(claims.verdict) <= {"supported", "contradicted", "undecided", "answered"}


def test_every_row_carries_its_interval_and_what_it_rests_on(claims: pd.DataFrame) -> None:
    rows = claims[claims.scope != "all"]
    assert (rows.low <= rows.value).all()
    assert (rows.value <= rows.high).all()
    assert set(rows.basis) == {"seeds alone"}
    row = part(claims, BEST, "D1").loc["dca"]
    assert row.high - row.value == pytest.approx(stats.t.ppf(0.975, 5) * row.standard_error)
    assert row.smallest_shown > row.high - row.value
    assert (row.seeds_share, row.rows_share) == (1.0, 0.0)


def test_the_papers_own_numbers_are_counted(claims: pd.DataFrame) -> None:
    own = claims[claims.scope == "all"].groupby("claim").paper_meets.first()
    assert own["train_pauc_12_percent_over_svm"] == "4 of 5"  # its D1 is 11.9 %
    assert own[BEST] == "14 of 15"  # its D4 is the SVM's
    assert own["best_deep_test_pauc"] == "15 of 15"
    assert own["exceeds_svm_within_one_epoch"] == "5 of 5"
    assert own["time_to_exceed_svm"] == "5 of 5"
    gain = part(claims, "train_pauc_12_percent_over_svm", "D1").paper_value
    assert gain.item() == pytest.approx(0.7005 / 0.6259 - 1)


def test_within_an_epoch_is_met_at_one_epoch_and_higher_is_not_at_equality(folder: Path) -> None:
    report = report_on(folder, "exceeds_svm_within_one_epoch", BEST)
    numbers = report.reference.numbers.copy()
    numbers.loc[numbers.metric == "epochs_to_exceed", "mean"] = 1.0
    numbers.loc[numbers.artifact == "table2", "mean"] = 0.7
    found = replace(report, reference=replace(report.reference, numbers=numbers)).claims
    meets = found[found.scope == "D1"].groupby("claim").paper_meets.first()
    assert meets["exceeds_svm_within_one_epoch"] == "yes"
    assert meets[BEST] == "no"


def test_a_worse_method_is_contradicted_in_each_claim(tmp_path: Path) -> None:
    folder = write_collected(tmp_path, seeds=6)

    def lower(summaries: pd.DataFrame) -> pd.DataFrame:
        mine = summaries.method.isin(["agd_sbcd", "agd_sbcd_deep"])
        summaries.loc[mine, ["pauc_test", "last_pauc_train"]] -= 0.2
        return summaries

    def slower(traces: pd.DataFrame) -> pd.DataFrame:
        mine = traces.method.str.startswith("agd_sbcd")
        traces.loc[mine, "objective"] += 1.0
        traces.loc[mine, "pauc_train"] -= 0.4
        return traces

    change(change(folder, "summaries", lower), "traces", slower)
    found = whole(judged(folder)).drop("test_pauc_over_mu")
    # Never above the rival within the budget is a ratio below 20: it says nothing against 8.8.
    assert found.pop("time_to_exceed_svm") == "undecided"
    assert set(found) == {"contradicted"}


def test_what_was_not_run_is_in_the_family_of_those_that_were(tmp_path: Path) -> None:
    folder = write_collected(tmp_path, seeds=6)

    def lower(summaries: pd.DataFrame) -> pd.DataFrame:
        summaries["pauc_test"] -= 0.02 * (summaries.method == "agd_sbcd")
        gone = (summaries.dataset == D1) & (summaries.method == "dca")
        return summaries[~gone]

    change(folder, "summaries", lower)
    rows = judged(folder, BEST)
    tasks = rows[(rows.scope != "all") & (rows.experiment == "linear-gen")]
    assert list(tasks[tasks.verdict == "not run"].measured_on) == [D1]
    everyone = rows[(rows.scope != "all") & ~rows.check.astype(bool)]
    least = everyone[(everyone.value < 0) & (everyone.p_holm < 1)].sort_values("p_value").iloc[0]
    assert least.p_holm == pytest.approx(least.p_value * len(everyone))


def test_a_move_goes_from_the_papers_own_mu_to_the_others(tmp_path: Path) -> None:
    folder = write_collected(tmp_path, seeds=6)

    def rises(summaries: pd.DataFrame) -> pd.DataFrame:
        summaries["pauc_test"] += 0.1 * (summaries.method == "agd_sbcd_mu10")
        return summaries

    change(folder, "summaries", rises)
    row = part(judged(folder, "test_pauc_over_mu"), "test_pauc_over_mu", "D1").loc["agd_sbcd_mu10"]
    assert row.value == pytest.approx(row.theirs - row.ours)
    assert 0.05 < row.low < row.value < row.high
    assert row.paper_value == pytest.approx(0.6636 - 0.6721)


def test_what_did_not_run_is_not_run_and_a_failure_decides(tmp_path: Path) -> None:
    failing = [("gen-cifar10-lt", "agd_sbcd_deep"), ("gen-chest-features@D2", "dca")]
    folder = write_collected(tmp_path, seeds=6, drop=("sorr-gen",), fail=tuple(failing))
    frame = judged(folder)
    found = whole(frame)
    assert found["sorr_falls_faster_than_dca"] == "not run"
    assert found["best_on_long_tails"] == "contradicted"
    assert found["train_pauc_over_dca"] == "supported"
    row = part(frame, "train_pauc_over_dca", "D2").loc["dca"]
    assert (row.verdict, row.note) == ("supported", "6 of 6 runs of DCA failed")
    row = frame[(frame.claim == "train_pauc_over_dca") & (frame.scope == "all")]
    assert "1 with failed runs" in row.note.item()


def test_some_failed_runs_take_the_support_away(tmp_path: Path) -> None:
    folder = write_collected(tmp_path, seeds=6)

    def fail(summaries: pd.DataFrame) -> pd.DataFrame:
        bad = (summaries.method == "agd_sbcd") & (summaries.seed == 0) & (summaries.dataset == D1)
        summaries.loc[bad, "outcome"] = "timeout"
        return summaries

    frame = judged(change(folder, "summaries", fail), BEST)
    row = part(frame, BEST, "D1").loc["dca"]
    assert (row.verdict, row.note) == ("undecided", "1 of 6 runs of AGD-SBCD failed")
    assert row.low > 0


def test_one_seed_decides_nothing(tmp_path: Path) -> None:
    frame = judged(write_collected(tmp_path, seeds=1))
    assert set(frame[frame.kind == "claim"].verdict) == {"undecided"}
    row = part(frame, BEST, "D1").loc["dca"]
    assert row.note == "one seed decides nothing"
    assert np.isnan(row.smallest_shown)


def test_runs_without_a_common_seed_decide_nothing(tmp_path: Path) -> None:
    folder = write_collected(tmp_path)

    def apart(summaries: pd.DataFrame) -> pd.DataFrame:
        mine = summaries.method == "agd_sbcd_deep"
        theirs = (summaries.method == "minibatch") & (summaries.seed == 0)
        return summaries[~theirs & (~mine | (summaries.seed == 0))]

    frame = judged(change(folder, "summaries", apart), "best_deep_test_pauc")
    rows = part(frame, "best_deep_test_pauc", "D1")
    assert rows.verdict["minibatch"] == "not run"
    assert rows.note["minibatch"] == "no seed was run by both"
    assert rows.verdict["cross_entropy"] == "undecided"


@pytest.mark.parametrize(
    ("error", "difference", "verdict"),
    [(0.002, 0.02, "supported"), (0.02, 0.02, "undecided"), (0.002, -0.02, "contradicted")],
)
def test_test_rows_join_the_interval_where_they_were_kept(
    tmp_path: Path, error: float, difference: float, verdict: str
) -> None:
    """The pair is kept in one order; asked in the other, the sign turns."""
    folder = write_collected(tmp_path, seeds=6)
    row = {
        "experiment": "linear-gen", "dataset": D1, "method": "dca", "rival": "agd_sbcd",
        "chosen_by": "validation", "seeds": 6, "difference": -difference, "standard_error": error,
        "df": 30.0, "seeds_share": 0.25, "rows_share": 0.75, "design": "fixed rows",
    }  # fmt: skip
    pd.DataFrame([row]).to_parquet(folder / "pairwise.parquet")
    frame = judged(folder, BEST, "train_pauc_over_dca")
    found = part(frame, BEST, "D1").loc["dca"]
    assert (found.verdict, found.basis) == (verdict, "seeds and test rows")
    assert found.value == pytest.approx(difference)
    assert (found.seeds_share, found.rows_share) == (0.25, 0.75)
    assert part(frame, BEST, "D1").basis["svm_pauc_tight"] == "seeds alone"
    assert part(frame, "train_pauc_over_dca", "D1").basis["dca"] == "seeds alone"


@pytest.mark.parametrize(
    ("crossing", "verdict", "before", "after"),
    [
        (0.25, "supported", 0.0, 0.5),
        (0.75, "undecided", 0.5, 1.0),
        (1.25, "undecided", 1.0, 1.5),
        (3.25, "contradicted", 3.0, 3.5),
        (99.0, "contradicted", 10.0, np.inf),
    ],
)
def test_what_happens_between_two_looks_is_judged_by_the_end_that_speaks_against(
    tmp_path: Path, crossing: float, verdict: str, before: float, after: float
) -> None:
    folder = write_collected(tmp_path, seeds=6)

    def cross(traces: pd.DataFrame) -> pd.DataFrame:
        mine = traces.method == "agd_sbcd"
        traces.loc[mine, "pauc_train"] = (traces.epoch > crossing).astype(float)
        return traces

    frame = judged(
        change(folder, "traces", cross), "exceeds_svm_within_one_epoch", "time_to_exceed_svm"
    )
    row = part(frame, "exceeds_svm_within_one_epoch", "D1").iloc[0]
    assert (row.verdict, row.value_before, row.value) == (verdict, before, after)
    sooner = part(frame, "time_to_exceed_svm", "D1").iloc[0]
    # The rival takes 80 s and the last look is after 4 s: never until then is no less than 8.8.
    assert sooner.verdict == ("undecided" if crossing == 99.0 else "supported")


def test_no_task_outweighs_another(tmp_path: Path) -> None:
    folder = write_collected(tmp_path, seeds=6)

    def worse(traces: pd.DataFrame) -> pd.DataFrame:
        mine = (traces.method == "agd_sbcd") & (traces.dataset == D1)
        traces.loc[mine, "objective"] += 1000.0
        return traces

    frame = judged(change(folder, "traces", worse), "faster_per_epoch_than_dca")
    assert whole(frame)["faster_per_epoch_than_dca"] == "contradicted"
    assert (part(frame, "faster_per_epoch_than_dca", "D2").verdict == "supported").all()


def test_a_claim_is_judged_in_each_regime_and_the_headline_says_where(tmp_path: Path) -> None:
    folder = write_collected(tmp_path, "open", seeds=6)

    def facts(summaries: pd.DataFrame) -> pd.DataFrame:
        best = (summaries.method == "exact_lbfgs") & (summaries.dataset == "nih-features@D3")
        summaries.loc[best, "last_pauc_train"] = 1.0
        worse = (summaries.method == "agd_sbcd") & (summaries.dataset == "a9a")
        summaries.loc[worse, "pauc_test"] -= 0.1
        return summaries

    def few(datasets: pd.DataFrame) -> pd.DataFrame:
        datasets.loc[datasets.task.isin(["D2", "D3"]), "test_positives"] = 60
        datasets.loc[datasets.task == "D4", "kind"] = "features"
        return datasets

    names = (BEST, "sorr_falls_faster_than_dca", "best_on_long_tails")
    frame = judged(change(change(folder, "summaries", facts), "datasets", few), *names)
    best = frame[frame.claim == BEST]
    tasks = best[best.scope != "all"].groupby("scope").regime.first()
    assert tasks["D1"] == "many rows and few columns"  # 4,500 rows, 64 columns
    assert tasks["D4"] == "many rows of network features"
    assert tasks["D2"] == "small test part, many rows and few columns"
    assert tasks["D3"] == "separable, small test part, many rows and few columns"
    verdicts = best[best.scope == "all"].set_index("regime").verdict
    assert verdicts["many rows and few columns"] == "contradicted"  # a9a alone is enough
    assert verdicts[tasks["D2"]] == "supported"
    (said,) = best.headline.unique()
    assert said.startswith("Supported on data with many rows of network features (all 3 comp")
    assert "contradicted on data with many rows and few columns (" in said
    assert "on data with a small test part and many rows and few columns (all 3 comp" in said
    row = best[best.scope == "D3"].iloc[0]
    assert (row.rows, row.prevalence, row.test_positives) == (4500, 500 / 4500, 60)
    assert row.separable
    assert row.test_standard_error == pytest.approx(0.04 / 3.92)
    sorr = frame[frame.claim == "sorr_falls_faster_than_dca"]
    assert set(sorr.regime) == {"the paper's own data"}
    assert set(sorr.chosen_by) == {"objective"}  # there is no validation pAUC to choose by
    tails = frame[(frame.claim == "best_on_long_tails") & (frame.scope != "all")]
    own = tails.groupby("scope").regime.first() == "the paper's own data"
    assert own.to_dict() == {"CIFAR-10-LT": True, "Tiny-ImageNet-200-LT": False}  # 32 px


def test_no_two_regimes_share_a_place() -> None:
    parts = regimes.SEPARABLE, regimes.SMALL, regimes.TALL, regimes.FEATURES
    named = [", ".join(some) for n in (1, 2, 3) for some in itertools.combinations(parts, n)]
    named += [regimes.OWN, regimes.GENERATED, regimes.OTHER]
    assert len({regimes.order(name) for name in named}) == len(named)
    ends = regimes.OWN, regimes.TALL, regimes.SMALL, f"{regimes.SMALL}, {regimes.TALL}"
    assert sorted({*ends}, key=regimes.order) == list(ends)


def test_values_lowest_in_training_objective_are_judged_first_where_they_were_run(
    tmp_path: Path,
) -> None:
    folder = write_collected(tmp_path, seeds=6)

    def both(frame: pd.DataFrame) -> pd.DataFrame:
        linear = frame[frame.experiment == "linear-gen"].assign(chosen_by="objective")
        if "last_pauc_train" in linear:
            linear.loc[linear.method == "agd_sbcd", "last_pauc_train"] += 0.2
        return pd.concat([frame.assign(chosen_by="validation"), linear])

    change(change(folder, "summaries", both), "traces", both)
    report = report_on(folder, BEST, "train_pauc_12_percent_over_svm")
    gain = report.claims[report.claims.claim == "train_pauc_12_percent_over_svm"]
    wholes = gain[gain.scope == "all"]
    # Run with one rule's values alone, the sets of the race are judged by them, once.
    assert wholes.chosen_by.tolist() == ["objective, validation", "validation"]
    assert wholes.check.tolist() == [False, True]
    assert gain[gain.scope == "a9a"].chosen_by.tolist() == ["validation"]
    assert gain[gain.scope == "D1"].verdict.tolist() == ["supported", "contradicted"]
    test = report.claims[report.claims.claim == BEST]
    assert test[test.scope == "all"].chosen_by.tolist() == ["validation", "objective"]
    assert test[test.scope == "all"].check.tolist() == [False, True]
    table = next(table for table in report.tables if table.name == "table1")
    first, second = table.rows[:2]
    assert second.label == "D1, values lowest in training objective"
    assert second.cells[5].mean == pytest.approx(first.cells[5].mean + 0.2)
    labels = [row.label for row in next(t for t in report.tables if t.name == "table2").rows]
    assert "AGD-SBCD, values lowest in training objective" in labels


def test_a_source_at_no_scale_is_one_sentence(folder: Path) -> None:
    report = build_report(folder, REFERENCE, REPORTS)
    wrong = [{**report.reference.claims[0], "sources": ["linaer"]}]
    with pytest.raises(ReportError, match="source 'linaer' is at no scale"):
        _ = replace(report, reference=replace(report.reference, claims=wrong)).claims


def test_ranks_average_over_tasks_and_put_failures_last(tmp_path: Path) -> None:
    folder = write_collected(tmp_path, fail=((D1, "exact_lbfgs"),))
    ranks = build_report(folder, REFERENCE, REPORTS).ranks
    linear = ranks[ranks.group == "linear models"].set_index("method")
    assert linear.tasks.unique().tolist() == [9]
    summaries = load_collected(folder).summaries
    wanted = ["linear-gen", "race-gen"]
    here = summaries[summaries.experiment.isin(wanted)]
    here = here[here.method != "random_scores"]  # not ranked: chance would tell any field apart
    means = here.groupby(["experiment", "dataset", "method"]).pauc_test.mean().unstack()
    position = {
        m: np.mean([
            1 + (row.drop(m) > row[m]).sum() if np.isfinite(row[m]) else len(row)
            for _, row in means.iterrows()
        ])
        for m in means
    }  # fmt: skip
    for method, value in position.items():
        assert linear.average_rank[method] == pytest.approx(value)
    assert set(linear.index) == set(position)
    assert not set(linear.letters["svm_pauc_tight"]) & set(linear.letters["agd_sbcd"])
    mine, theirs = (
        here[here.method == m].set_index(["dataset", "seed"]).pauc_test for m in ("agd_sbcd", "dca")
    )
    won = (mine > theirs).groupby("dataset").mean()
    assert linear.improvement["dca"] == pytest.approx(won.mean())
    assert linear.improvement_low["dca"] < won.mean() <= linear.improvement_high["dca"] <= 1.0
