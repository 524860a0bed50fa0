"""Figures: panels as in the paper, equal bytes, marks, nothing empty without a word."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pauc_core.report.figures import Painter, pictures
from pauc_core.report.forest import MARKS, forest
from pauc_core.report.report import build_report, write_report
from pauc_core.report.style import style_of
from tests.collected_fixture import write_collected

ROOT = Path(__file__).resolve().parents[1]
REPORTS = ROOT / "config" / "reports.yaml"
PANELS = {1: 4, 2: 8, 3: 6, 4: 5, 5: 5, 6: 10, 7: 5}  # the paper's; twice in Figure 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_collected(
        tmp_path_factory.mktemp("default"),
        seeds=2,
        drop=("chest-gen",),
        fail=(("gen-chest-features@D2", "dca"),),
    )


def painter_of(folder: Path) -> Painter:
    report = build_report(folder, ROOT / "reference", REPORTS)
    return Painter(report.collected, report.reports)


@pytest.fixture(scope="module")
def painter(folder: Path) -> Painter:
    return painter_of(folder)


@pytest.mark.parametrize("number", PANELS)
def test_panels_are_the_papers_and_marked(painter: Painter, number: int) -> None:
    figure = painter.figure(f"figure{number}")
    shown = [axis for axis in figure.axes if axis.axison]
    assert len(shown) == PANELS[number]
    assert any("GENERATED DATA" in text.get_text() for text in figure.texts)
    for axis in shown:
        words = " ".join(text.get_text() for text in axis.texts)
        assert len(axis.lines) >= 2 or "not run" in words, axis.get_title()
        if number == 5:
            assert "not run" in words
        if "D2" in axis.get_title() and number in (1, 4, 7):
            assert "DCA: nonfinite" in words


@pytest.mark.parametrize(
    ("seeds", "words"), [(1, "one seed, no bands"), (2, "bands: deviation, 2 seeds")]
)
def test_a_figure_says_how_many_seeds_it_shows(tmp_path: Path, seeds: int, words: str) -> None:
    one = write_collected(tmp_path, seeds=seeds)
    figure = painter_of(one).figure("figure5")
    assert any(words in text.get_text() for text in figure.texts)


def test_lines_are_means_over_seeds(painter: Painter) -> None:
    axis = painter.figure("figure7").axes[0]
    traces = painter.collected.traces.query(
        "experiment == 'linear-gen' and dataset == 'gen-chest-features@D1' and method == 'agd_sbcd'"
    )
    expected = traces.groupby("seconds").pauc_train.mean().to_numpy()
    blue = style_of(painter.reports, "agd_sbcd").colour
    (line,) = [line for line in axis.lines if line.get_color() == blue]
    assert line.get_ydata() == pytest.approx(expected)


def test_a_method_looks_the_same_everywhere_and_apart_in_grey(painter: Painter) -> None:
    for entry in painter.reports.figures.values():
        if entry.get("form") == "forest":
            continue
        styles = [style_of(painter.reports, m) for m in entry["methods"]]
        for name in ("colour", "marker", "line"):
            assert len({getattr(s, name) for s in styles}) == len(styles), entry["title"]
    assert style_of(painter.reports, "unheard_of") == style_of(painter.reports, "unheard_of")


def test_files_are_the_same_bytes_when_made_again(painter: Painter) -> None:
    first, second = (pictures(painter.figure("figure2")) for _ in range(2))
    assert first == second
    assert b"CreationDate" not in first["pdf"]


@pytest.mark.slow
def test_all_figures_are_written(folder: Path, tmp_path: Path) -> None:
    write_report(build_report(folder, ROOT / "reference", REPORTS), tmp_path)
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        f"figure{n}.{ending}" for n in (0, *PANELS) for ending in ("png", "pdf")
    }
    drawn = (tmp_path / "figures" / "figure1.pdf").read_bytes()
    streams = re.findall(rb"stream\r?\n(x.*?)endstream", drawn, re.DOTALL)
    assert b"".join(map(zlib.decompress, streams))


def test_suboptimality_is_the_loss_above_the_lowest_of_all_methods(painter: Painter) -> None:
    axes = painter.figure("figure2").axes
    loss, gap = axes[0], axes[4]
    lowest = painter.lowest["sorr-gen", "gen-a9a"]
    style = painter.reports.methods["agd_sbcd_sorr"]["colour"]
    above, below = (
        next(line for line in axis.lines if line.get_color() == style) for axis in (loss, gap)
    )
    shown = np.isin(above.get_xdata(), below.get_xdata())
    assert (
        shown.sum() >= len(shown) - 1
    )  # where a seed has the lowest itself, the mean has no point
    expected = above.get_ydata()[shown] - lowest
    np.testing.assert_allclose(expected, below.get_ydata(), atol=1e-12)


def test_the_lowest_loss_itself_is_left_out_of_a_log_axis(tmp_path: Path) -> None:
    folder = write_collected(tmp_path, seeds=2)
    traces = pd.read_parquet(folder / "traces.parquet")
    start = (traces.method == "agd_sbcd_sorr") & (traces.epoch == 0)
    traces.loc[start, "objective"] = traces.objective.min() - 1
    traces.to_parquet(folder / "traces.parquet")
    painter = painter_of(folder)
    style = painter.reports.methods["agd_sbcd_sorr"]["colour"]
    gap = painter.figure("figure2").axes[4]
    line = next(line for line in gap.lines if line.get_color() == style)
    assert line.get_xdata()[0] > 0
    assert min(line.get_ydata()) > 0


def test_bands_stay_within_the_seeds_and_a_level_below_the_axis_is_named(tmp_path: Path) -> None:
    folder = write_collected(tmp_path, seeds=2)
    traces = pd.read_parquet(folder / "traces.parquet")
    apart = (traces.method == "dca") & (traces.epoch > 0) & (traces.seed == 0)
    traces.loc[apart, "objective"] *= 500.0
    traces.loc[traces.method == "exact_lbfgs", "objective"] = 1e-9
    traces.to_parquet(folder / "traces.parquet")
    axis = painter_of(folder).figure("figure1").axes[0]
    assert axis.get_yscale() == "log"
    assert "Exact L-BFGS: 1e-09, below" in [text.get_text() for text in axis.texts]
    for band in axis.collections:
        assert band.get_paths()[0].vertices[:, 1].min() > 0


def test_the_forest_has_a_panel_a_claim_and_a_row_a_task_and_rival(folder: Path) -> None:
    report = build_report(folder, ROOT / "reference", REPORTS)
    figure = forest(report.claims, "claims")
    tasks = report.claims[report.claims.scope != "all"]
    assert len(figure.axes) == tasks.claim.nunique() == 10
    for axis, (_, rows) in zip(figure.axes, tasks.groupby("claim", sort=False), strict=True):
        named = [label.get_text() for label in axis.get_yticklabels() if label.get_text()]
        assert len(named) == len(rows)
        shown = [line for line in axis.lines if len(line.get_xdata()) == 1]
        shown = [
            line for line in shown if line.get_marker() in {m["marker"] for m in MARKS.values()}
        ]
        assert len(shown) == rows.value.notna().sum()
        words = " ".join(text.get_text() for text in axis.texts)
        for regime in rows.regime.unique():
            assert f"{regime}: " in words
        assert ("not run" in words) == (rows.verdict == "not run").any()
    looks = {(mark["marker"], mark["mfc"] == "white") for mark in MARKS.values()}
    assert len(looks) == len(MARKS), "told apart in grey"


def test_a_point_of_the_forest_has_its_interval_its_verdict_and_the_papers_mark(
    folder: Path,
) -> None:
    report = build_report(folder, ROOT / "reference", REPORTS)
    axis = forest(report.claims, "claims").axes[5]
    rows = report.claims[report.claims.claim == "best_linear_test_pauc"]
    row = rows[rows.scope == "D1"].iloc[0]
    here = [line for line in axis.lines if list(line.get_ydata()) == [1] * len(line.get_ydata())]
    mark = MARKS[row.verdict]
    (point,) = [line for line in here if line.get_marker() == mark["marker"]]
    assert point.get_xdata()[0] == pytest.approx(row.value)
    assert point.get_color() == mark["color"]
    (paper,) = [line for line in here if line.get_marker() == "|"]
    assert paper.get_xdata()[0] == pytest.approx(row.paper_value)
    left, right = axis.get_xlim()
    (interval,) = [line for line in here if line.get_marker() == "None"]
    assert list(interval.get_xdata()) == pytest.approx(
        list(np.clip([row.low, row.high], left, right))
    )
    (runs,) = [line for line in here if line.get_marker() == "."]
    assert list(runs.get_xdata()) == pytest.approx(row.runs)
