"""Measured beside paper: cells, comparison, tables."""

from __future__ import annotations

import re
import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy import stats

from pauc_core.report.budgets import sentence
from pauc_core.report.compare import COLUMNS
from pauc_core.report.frames import ReportError, load_collected, load_reference, load_reports
from pauc_core.report.layout import Cell, Row, Table, show
from pauc_core.report.measured import exceed_times
from pauc_core.report.readme import BEGIN, END, update_readme
from pauc_core.report.report import Report, build_report, write_tables
from pauc_core.report.tables import plain_md, to_latex, to_markdown
from pauc_core.suite import configuration
from tests.collected_fixture import write_collected

ROOT = Path(__file__).resolve().parents[1]
REFERENCE, REPORTS = ROOT / "reference", ROOT / "config" / "reports.yaml"
FAILED = ("gen-chest-features@D3", "dca")


@pytest.fixture(scope="module")
def default(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("default")
    return write_collected(folder, fail=(FAILED,), stale=("dca",))


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_collected(tmp_path_factory.mktemp("open"), "open", drop=("chest-nih",))


@cache
def report_of(folder: Path) -> Report:
    return build_report(folder, REFERENCE, REPORTS)


def table_of(folder: Path, name: str) -> Table:
    (table,) = [table for table in report_of(folder).tables if table.name == name]
    return table


def compared(folder: Path) -> pd.DataFrame:
    return report_of(folder).comparison


def test_every_number_of_the_paper_is_in_the_comparison_once(default: Path) -> None:
    frame = compared(default)
    reference = load_reference(REFERENCE).numbers
    key = ["artifact", "dataset", "method", "metric"]
    assert not frame.duplicated(key).any()
    joined = reference.merge(frame, on=key, how="left")
    np.testing.assert_array_equal(joined["mean"], joined.paper)


def test_means_deviations_and_gaps_are_those_of_the_seeds(default: Path) -> None:
    collected = load_collected(default)
    runs = collected.runs("linear-gen", "gen-chest-features@D1", "agd_sbcd").pauc_test
    frame = compared(default).set_index(["artifact", "dataset", "method", "metric"])
    row = frame.loc[("table2", "D1", "agd_sbcd", "test_pauc")]
    assert row.ours == pytest.approx(runs.mean())
    assert row.ours_deviation == pytest.approx(runs.std(ddof=1))
    ours, paper = runs.var(ddof=1) / 3, 0.0081**2 / 5
    df = (ours + paper) ** 2 / (ours**2 / 2 + paper**2 / 4)
    low, high = stats.t.interval(0.95, df, runs.mean() - 0.6721, np.sqrt(ours + paper))
    assert (row.gap_low, row.gap_high) == pytest.approx((low, high))
    assert (row.margin, row.verdict) == ("0.01", "differs" if high < -0.01 else "undecided")


def test_seconds_and_epochs_are_compared_as_ratios(default: Path) -> None:
    frame = compared(default).set_index(["artifact", "dataset", "method", "metric"])
    row = frame.loc[("table1", "D1", "agd_sbcd", "epochs_to_exceed")]
    assert row.gap == pytest.approx(row.ours / row.paper)
    assert row.margin == "x 1.25"
    error = row.ours_deviation / row.ours / np.sqrt(3)
    reach = np.exp(stats.t.ppf(0.975, 2) * error)
    assert (row.gap_low, row.gap_high) == pytest.approx((row.gap / reach, row.gap * reach))


def test_only_the_papers_own_data_are_comparable(default: Path, real: Path) -> None:
    generated = compared(default)
    assert not generated.comparable.any()
    frame = compared(real)
    chest = frame[frame.artifact.isin(["table1", "table2", "table6"])]
    assert not chest.comparable.any()
    assert set(chest[chest.ours.notna()].data) == {"an open stand-in"}
    sets = frame[(frame.artifact == "table4") & frame.ours.notna()]
    assert sets.comparable.all()
    assert set(sets.verdict) == {"agrees"}
    tails = frame[(frame.artifact == "table3") & frame.paper.notna()].set_index("dataset")
    assert tails.comparable["cifar10-lt"].all()
    assert not tails.comparable["tiny-imagenet-lt"].any()  # at 32 px


def test_table_5_names_the_classes_that_the_data_room_takes(default: Path) -> None:
    table = table_of(default, "table5")
    catalogue = yaml.safe_load((ROOT / "config/datasets.yaml").read_text())
    assert table.columns[:2] == ["Pos. class ID", "Pos. class name"]
    shown = [row.cells[0].text for row in table.rows if row.kind == "measured"]
    taken = [catalogue[name]["positive"] for name in ("cifar10-lt", "tiny-imagenet-lt")]
    assert shown == [", ".join(map(str, ids)) for ids in taken]


def test_one_run_has_no_standard_error(tmp_path: Path) -> None:
    folder = write_collected(tmp_path)
    frame = pd.read_parquet(folder / "summaries.parquet")
    frame[(frame.seed == 0) | (frame.method != "minibatch")].to_parquet(
        folder / "summaries.parquet"
    )
    rows = compared(folder).set_index(["artifact", "dataset", "method"])
    assert np.isnan(rows.gap_low["table2", "D1", "minibatch"])
    assert rows.verdict["table2", "D1", "minibatch"] == "undecided"
    assert np.isfinite(rows.gap_low["table2", "D1", "cross_entropy"])


def test_a_failed_cell_is_a_row_and_a_missing_one_says_not_run(default: Path, real: Path) -> None:
    frame = compared(default).set_index(["artifact", "dataset", "method"])
    row = frame.loc[("table2", "D3", "dca")]
    assert (row.status, row.verdict) == ("failed", "only paper")
    assert "nonfinite 3" in row.note
    table = table_of(default, "table2")
    assert "failed" in to_markdown(table)
    table = table_of(real, "table2")
    deep = [row for row in table.rows if row.block == "Deep model" and row.kind == "measured"]
    assert [c.text for row in deep for c in row.cells] == ["not run"] * 20


def test_exceeding_is_the_first_look_above_the_rival_of_the_same_seed(default: Path) -> None:
    collected, reports = report_of(default).collected, report_of(default).reports
    dataset = "gen-chest-features@D2"
    when = exceed_times(collected, reports.source("linear"), dataset, "agd_sbcd", "svm_pauc_tight")
    assert when.seed.tolist() == [0, 1, 2]
    for row in when.itertuples():
        trace = collected.traces.query(
            "experiment == 'linear-gen' and dataset == @dataset and method == 'agd_sbcd'"
        )
        trace = trace[trace.seed == row.seed].sort_values("epoch")
        rival = collected.runs("linear-gen", dataset, "svm_pauc_tight").set_index("seed")
        above = trace.pauc_train.to_numpy() > rival.last_pauc_train[row.seed]
        assert row.epoch == trace.epoch.iloc[int(np.argmax(above))]
    never = exceed_times(collected, reports.source("linear"), dataset, "random_scores", "dca")
    assert never.seconds.isna().all()


def test_a_rival_never_exceeded_says_never(default: Path, tmp_path: Path) -> None:
    folder = write_collected(tmp_path)
    frame = pd.read_parquet(folder / "summaries.parquet")
    frame.loc[frame.method == "svm_pauc_tight", "last_pauc_train"] = 0.999
    frame.to_parquet(folder / "summaries.parquet")
    table = table_of(folder, "table1")
    assert table.rows[0].cells[2].text == "never"


def test_best_is_bold_and_a_better_control_is_marked(default: Path) -> None:
    table = table_of(default, "table2")
    linear = [r for r in table.rows if r.block == "Linear model" and r.kind == "measured"]
    for i in range(5):
        listed = [r for r in linear if not r.extra and np.isfinite(r.cells[i].mean)]
        top = max(listed, key=lambda r: r.cells[i].mean)
        assert [r.label for r in listed if r.cells[i].best] == [top.label]
        for row in linear:
            if row.extra:
                assert row.cells[i].above == (row.cells[i].mean > top.cells[i].mean)
                assert not row.cells[i].best
    printed = [r for r in table.rows if r.kind == "paper" and r.block == "Linear model"]
    assert [c.best for c in printed[0].cells] == [False, False, False, True, False]


def test_an_unlisted_baseline_appears_below_the_line(tmp_path: Path) -> None:
    folder = write_collected(tmp_path)
    frame = pd.read_parquet(folder / "summaries.parquet")
    new = frame[(frame.method == "dca")].assign(method="new", label="Brand new")
    pd.concat([frame, new]).to_parquet(folder / "summaries.parquet")
    table = table_of(folder, "table2")
    (row,) = [r for r in table.rows if r.label == "Brand new"]
    assert row.extra


def test_files_of_every_table_carry_the_mark_of_generated_data(
    default: Path, tmp_path: Path
) -> None:
    write_tables(report_of(default), tmp_path)
    tables = tmp_path / "tables"
    for number in range(1, 7):
        for ending in ("md", "tex"):
            assert "GENERATED DATA" in (tables / f"table{number}.{ending}").read_text()
        assert (tables / f"table{number}.csv").is_file()
    shown = pd.read_csv(tables / "table2.csv")
    assert {"D1", "D1 deviation", "D1 n"} <= set(shown.columns)


def test_a_table_of_mixed_data_names_the_columns_that_are_generated(tmp_path: Path) -> None:
    folder = write_collected(tmp_path, "open")
    frame = pd.read_parquet(folder / "summaries.parquet")
    big = frame[(frame.experiment == "race-open") & (frame.dataset == "a9a")].assign(
        experiment="race-big", dataset="gen-features-220k", provenance="generated"
    )
    pd.concat([frame, big]).to_parquet(folder / "summaries.parquet")
    (warning,) = table_of(folder, "race").warnings
    assert warning.startswith("gen-features-220k: GENERATED DATA")


def test_latex_is_balanced_and_escaped(real: Path) -> None:
    for table in report_of(real).tables:
        text = to_latex(table)
        assert text.count("{") == text.count("}")
        body = text[text.index(r"\toprule") : text.index(r"\bottomrule")]
        widths = {
            line.replace(r"\&", "").count("&") for line in body.splitlines() if line.endswith(r"\\")
        }
        assert widths == {len(table.columns) + 2}
        assert "_" not in body.replace(r"\_", "")


def test_labels_with_marks_stay_text_in_markdown_and_latex() -> None:
    label = r"a|b <b>x</b> *y* `z` _w_ [l](u) 5%_of {all} \alpha ^~"
    row = Row(label, label, "measured", [Cell(label, best=True)])
    table = Table("own", label, "Method", [label], [row], [label], [label])
    text = to_markdown(table)
    cells = [line for line in text.splitlines() if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in cells} == {5}
    assert "<b>" not in text
    assert "SVM_pAUC" in plain_md("SVM_pAUC")
    for mark in ("*y", "`z", "_w", "](u)"):
        assert text.count(mark) == text.count("\\" + mark)
    tex = to_latex(table)
    for name in ("textbar", "textless", "textgreater", "textbackslash", "textasciitilde"):
        assert rf"\{name}{{}}" in tex
    assert r"\textbackslash{}alpha \^{}\textasciitilde{}" in tex


def test_comparison_file_has_its_columns(real: Path, tmp_path: Path) -> None:
    write_tables(report_of(real), tmp_path)
    frame = pd.read_csv(tmp_path / "comparison.csv")
    assert list(frame.columns) == COLUMNS
    assert set(frame.verdict) <= {"agrees", "differs", "undecided", "only paper", "only ours"}


def test_an_unknown_scale_and_an_empty_folder_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="expected one of default, open, smoke, paper, full"):
        load_reports(REPORTS, "tiny")
    with pytest.raises(ReportError, match=r"no summaries\.parquet"):
        load_collected(tmp_path)


@pytest.mark.parametrize("scale", ["default", "open", "full", "paper"])
def test_a_scales_sources_are_experiments_it_runs(scale: str) -> None:
    settings = {"scale": scale, "results": "results", "raw": "data/raw"}
    experiments = configuration.load(ROOT, settings).experiments
    for source in load_reports(REPORTS, scale).sources.values():
        assert source.experiment in experiments
        for name in source.columns:
            assert source.measured(name) in experiments[source.experiment].datasets


def test_a_table_tells_what_its_runs_were_given(tmp_path: Path) -> None:
    folder = write_collected(tmp_path, "open")
    summaries = pd.read_parquet(folder / "summaries.parquet")
    deep = summaries.experiment == "chest-nih"
    summaries.loc[deep, "precision"] = "bfloat16"
    summaries.to_parquet(folder / "summaries.parquet")
    trials = pd.read_parquet(folder / "trials.parquet")
    trials = trials[(trials.experiment != "chest-nih") | (trials.dataset == "nih@D1")]
    trials.to_parquet(folder / "trials.parquet")
    collected = load_collected(folder)
    assert sentence(collected, "chest-nih") == (
        "chest-nih: n = 3 seeds; 10 epochs a run, trained in bfloat16; "
        "3 trials a method, on nih@D1 alone, of 2 epochs; "
        "values with the best validation pAUC unless said otherwise."
    )
    assert sentence(collected, "race-open") == (
        "race-open: n = 3 seeds; 10 epochs a run; 3 trials a method, of 2 epochs; "
        "values with the best validation pAUC unless said otherwise."
    )
    assert sentence(collected, "race-gen") == ""
    for name in ("longtail-open", "tiny-open"):
        assert sentence(collected, name) in table_of(folder, "table3").notes
    assert not any("epochs a run" in note for note in table_of(folder, "table5").notes)


def test_a_control_of_two_blocks_has_the_numbers_of_each(tmp_path: Path) -> None:
    folder = write_collected(tmp_path)
    summaries = pd.read_parquet(folder / "summaries.parquet")
    deep = summaries[(summaries.experiment == "chest-gen") & (summaries.method == "minibatch")]
    deep = deep.assign(method="random_scores", pauc_test=0.25)
    pd.concat([summaries, deep]).to_parquet(folder / "summaries.parquet")
    rows = [row for row in table_of(folder, "table2").rows if row.label == "Random scores"]
    assert [row.block for row in rows] == ["Linear model", "Deep model"]
    linear = load_collected(folder).runs("linear-gen", "gen-chest-features@D1", "random_scores")
    assert rows[0].cells[0].mean == pytest.approx(linear.pauc_test.mean())
    assert rows[1].cells[0].mean == 0.25


def test_validation_pauc_of_the_long_tails_stands_beside_no_paper(real: Path) -> None:
    table = table_of(real, "longtail_valid")
    assert [row.kind for row in table.rows] == ["measured", "measured"]
    runs = load_collected(real).runs("longtail-open", "cifar10-lt", "minibatch")
    assert table.rows[0].cells[0].mean == pytest.approx(runs.pauc_valid.mean())


def test_readme_is_filled_between_its_markers_and_again_the_same(
    real: Path, tmp_path: Path
) -> None:
    write_tables(report_of(real), tmp_path)
    shutil.copytree(real, tmp_path / "collected")
    runs = pd.read_parquet(real / "summaries.parquet")
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    update_readme(readme, tmp_path)
    first = readme.read_text()
    assert first.startswith(f"before\n{BEGIN}\n")
    assert first.count("\n- **") == 10, "one line a claim"
    assert f"Of {len(runs):,} runs {runs.stale.sum()} are stale" in first
    assert first.endswith(f"{END}\nafter\n")
    assert "\nold\n" not in first
    update_readme(readme, tmp_path)
    assert readme.read_text() == first
    readme.write_text("no markers")
    with pytest.raises(ReportError, match="expected one line"):
        update_readme(readme, tmp_path)


@pytest.mark.parametrize(
    ("metric", "value", "text"),
    [
        ("seconds", 0.0034, "0.0034"),
        ("seconds", 0.0, "0.00"),
        ("seconds", 0.472, "0.47"),
        ("seconds", 1234.5, "1,234"),
        ("seconds", float("nan"), ""),
    ],
)
def test_a_short_time_keeps_its_digits(metric: str, value: float, text: str) -> None:
    assert show(metric, value) == text
