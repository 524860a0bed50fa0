"""Columns are declared once: a wrong one is a sentence, and frames of before are still read."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pandas as pd
import pytest

from pauc_core.report.frames import load_collected
from pauc_core.suite.collect import collect
from pauc_core.suite.columns import COLUMNS, FRAMES, ColumnError, check, names
from pauc_core.suite.frames import RENAMED_1, VERSION, make_frame, read_frames
from pauc_core.suite.runner import run_seeds
from tests.collected_fixture import write_collected
from tests.test_runner import data, lines, spec  # noqa: F401

PUBLISHED = Path(__file__).resolve().parents[1] / "results" / "published" / "collected"


@pytest.fixture
def run(data, tmp_path):  # noqa: F811
    """The files of one small run, below a scale's folder."""
    out = tmp_path / "scale/runs/e/tiny/m/seeds-0-0"
    run_seeds(spec(), {}, [0], data, out)
    return out


def gather(run: Path) -> Path:
    folder = run.parents[4] / "collected"
    collect(
        [run / "summary.jsonl"],
        [],
        [],
        folder,
        scale="default",
        settings={},
        root=folder,
        leagues={},
    )
    return folder


def rewrite(run: Path, change) -> None:
    (line,) = lines(run)
    change(line)
    (run / "summary.jsonl").write_text(json.dumps(line) + "\n")


def test_every_column_is_declared_once_with_a_meaning():
    for frame, columns in COLUMNS.items():
        assert len(set(names(frame))) == len(columns), frame
        assert all(column.meaning for column in columns), frame


def test_a_run_is_collected_with_every_declared_column(run):
    frames, meta = read_frames(gather(run))
    assert meta["frames"] == VERSION
    for name in FRAMES:
        assert list(frames[name].columns[: len(names(name))]) == names(name)
    (row,) = frames["summaries"].to_dict("records")
    (line,) = lines(run)
    assert {key: row[key] for key in ("pauc_test", "own_norm", "epoch_w", "outcome")} == {
        key: line[key] for key in ("pauc_test", "own_norm", "epoch_w", "outcome")
    }
    assert "own_norm" in frames["traces"]


def test_a_misspelt_column_of_a_summary_is_one_sentence(run):
    rewrite(run, lambda line: line.update(pauc_tset=line.pop("pauc_test")))
    wanted = r"summary\.jsonl: summaries: the column 'pauc_tset' is unknown.* is 'pauc_test'"
    with pytest.raises(ColumnError, match=wanted) as caught:
        gather(run)
    assert "\n" not in str(caught.value)
    assert not (run.parents[4] / "collected").exists()


def test_a_missing_column_of_a_summary_is_one_sentence(run):
    rewrite(run, lambda line: line.pop("outcome"))
    with pytest.raises(ColumnError, match=r"summary\.jsonl: summaries: the column 'outcome'.*miss"):
        gather(run)


def test_a_number_that_is_none_is_one_sentence(run):
    rewrite(run, lambda line: line.update(pauc_test="high"))
    with pytest.raises(ColumnError, match=r"the column 'pauc_test' .* holds no numbers"):
        gather(run)


@pytest.mark.parametrize(
    ("name", "new", "sentence"),
    [
        ("pauc_train", "pauc_trian", r"traces: the column 'pauc_trian' is unknown"),
        ("own_norm", "norm", r"'norm' is unknown.* own begin with 'own_'"),
        ("wall", "own_wall", r"the column 'wall' .* is missing"),
    ],
)
def test_a_misspelt_column_of_a_trace_is_one_sentence(run, name, new, sentence):
    rows = list(csv.reader((run / "traces.csv").open()))
    rows[0][rows[0].index(name)] = new
    with (run / "traces.csv").open("w", newline="") as handle:
        csv.writer(handle).writerows(rows)
    with pytest.raises(ColumnError, match=rf"traces\.csv: .*{sentence}"):
        gather(run)


@pytest.mark.parametrize("frame", ["summaries", "traces"])
def test_a_method_brings_iterates_and_numbers_of_its_own(frame):
    check(frame, [*names(frame), "pauc_test_kept", "own_gap"], "here", every=True)
    with pytest.raises(ColumnError, match=r"here: roc: the column 'own_gap' is unknown"):
        check("roc", [*names("roc"), "own_gap"], "here")


def test_the_report_reads_no_frame_with_a_renamed_column(tmp_path):
    folder = write_collected(tmp_path, seeds=1)
    path = folder / "summaries.parquet"
    frame = pd.read_parquet(path)
    frame.drop(columns="pauc_test_w").to_parquet(path)
    with pytest.raises(ColumnError, match=r"summaries\.parquet: .*'pauc_test_w' .* is missing"):
        load_collected(folder)
    frame.rename(columns={"last_pauc_train": "final_pauc_train"}).to_parquet(path)
    with pytest.raises(ColumnError, match=r"'final_pauc_train' is unknown; .*'last_pauc_train'"):
        load_collected(folder)


def test_frames_of_the_first_publication_are_read_by_their_new_names(tmp_path):
    folder = write_collected(tmp_path, seeds=1)
    frames, meta = read_frames(folder)
    for name, renamed in RENAMED_1.items():
        before = frames[name].rename(columns={new: old for old, new in renamed.items()})
        before = before.assign(gap=1.5) if name == "traces" else before
        before.drop(columns="epoch_w", errors="ignore").to_parquet(folder / f"{name}.parquet")
    del meta["frames"]
    (folder / "meta.json").write_text(json.dumps(meta))
    again, _ = read_frames(folder)
    assert (again["traces"]["own_gap"] == 1.5).all()
    for name in ("last_objective", "epoch"):
        pd.testing.assert_series_equal(again["trials"][name], frames["trials"][name])
    (folder / "meta.json").write_text(json.dumps({**meta, "frames": VERSION}))
    with pytest.raises(ColumnError, match=r"'epoch_w' .* is missing"):
        read_frames(folder)
    (folder / "meta.json").write_text(json.dumps({**meta, "frames": VERSION + 1}))
    with pytest.raises(ColumnError, match="a later version of this program"):
        read_frames(folder)


def test_what_is_published_is_readable():
    collected = load_collected(PUBLISHED)
    assert collected.trials.last_objective.notna().any()
    assert collected.summaries.pauc_test_w.notna().any()


def test_an_empty_frame_has_its_columns():
    frame = make_frame("trials", pd.DataFrame([]), "nowhere")
    assert list(frame.columns) == names("trials")
    assert frame["chosen"].dtype == bool
