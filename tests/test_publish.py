"""Publishing: an experiment replaces the published one whole; what is published is up to date."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from pauc_core.report.readme import BEGIN, END, findings, results
from pauc_core.report.report import build_report, write_tables
from pauc_core.suite.columns import FRAMES
from pauc_core.suite.configuration import load
from pauc_core.suite.frames import VERSION, read_frames
from pauc_core.suite.merging import merge
from pauc_core.suite.provenance import is_stale, run_digest
from pauc_core.suite.publish import finished, mark_stale, publish, trials_of
from tests.collected_fixture import write_collected

LINEAR = "linear-gen"
ROOT = Path(__file__).resolve().parents[1]
PUBLISHED = ROOT / "results" / "published"
REFERENCE, REPORTS = ROOT / "reference", ROOT / "config" / "reports.yaml"


@pytest.fixture
def published(tmp_path: Path) -> Path:
    merge(write_collected(tmp_path / "first", seeds=2), tmp_path / "published")
    return tmp_path / "published"


def only(folder: Path, experiment: str, **values: object) -> Path:
    """Leave one experiment in collected frames, with other values in its summaries."""
    for path in folder.glob("*.parquet"):
        frame = pd.read_parquet(path)
        if path.stem == "datasets":
            frame = frame[frame["dataset"] == "gen-chest-features"]
        else:
            frame = frame[frame["experiment"] == experiment]
        frame = frame.assign(**(values if path.stem == "summaries" else {}))
        frame.to_parquet(path)
    meta = json.loads((folder / "meta.json").read_text())
    ran = pd.read_parquet(folder / "summaries.parquet")
    cells = sorted(set(ran["dataset"] + "/" + ran["method"]))
    meta["experiments"] = {experiment: [{"commit": "later", "cells": cells}]}
    (folder / "meta.json").write_text(json.dumps(meta))
    return folder


def test_a_first_publication_takes_all(published: Path, tmp_path: Path) -> None:
    first, taken = (
        pd.read_parquet(folder / "traces.parquet") for folder in (tmp_path / "first", published)
    )
    pd.testing.assert_frame_equal(first, taken, check_dtype=False, rtol=1e-6)
    assert len(taken) > 0


def test_an_experiment_is_replaced_whole(published: Path, tmp_path: Path) -> None:
    before = pd.read_parquet(published / "summaries.parquet")
    merge(only(write_collected(tmp_path / "later", seeds=1), LINEAR, pauc_test=0.5), published)
    after = pd.read_parquet(published / "summaries.parquet")
    mine = after["experiment"] == LINEAR
    assert set(after[mine]["seed"]) == {0}, "seeds of the former runs are gone"
    assert (after[mine]["pauc_test"] == 0.5).all()
    others = before[before["experiment"] != LINEAR]
    assert len(after[~mine]) == len(others) > 0
    assert after[~mine]["pauc_test"].sum() == pytest.approx(others["pauc_test"].sum())
    for name in ("traces", "roc", "trials"):
        frame = pd.read_parquet(published / f"{name}.parquet")
        assert set(frame["experiment"]) == set(before["experiment"])
    traces = pd.read_parquet(published / "traces.parquet")
    assert set(traces[traces["experiment"] == LINEAR]["seed"]) == {0}
    datasets = pd.read_parquet(published / "datasets.parquet")
    assert not datasets.duplicated(["dataset", "task"]).any()
    made = json.loads((published / "meta.json").read_text())["experiments"]
    assert [entry["commit"] for entry in made[LINEAR]] == ["later"]
    assert [entry["commit"] for entry in made["mu-gen"]] == ["0" * 12]


def leave(folder: Path, method: str) -> Path:
    """Leave one method in collected frames."""
    for path in folder.glob("*.parquet"):
        frame = pd.read_parquet(path)
        if "method" in frame:
            frame[frame["method"] == method].to_parquet(path)
    meta = json.loads((folder / "meta.json").read_text())
    for entries in meta["experiments"].values():
        entries[0]["cells"] = [c for c in entries[0]["cells"] if c.endswith(f"/{method}")]
    (folder / "meta.json").write_text(json.dumps(meta))
    return folder


def test_an_experiment_that_was_run_in_pieces_keeps_its_former_methods(
    published: Path, tmp_path: Path
) -> None:
    later = only(write_collected(tmp_path / "later", seeds=1), LINEAR, pauc_test=0.5)
    before = pd.read_parquet(published / "summaries.parquet")
    merge(leave(later, "agd_sbcd"), published)
    after = pd.read_parquet(published / "summaries.parquet")
    mine = (after["experiment"] == LINEAR) & (after["method"] == "agd_sbcd")
    assert set(after[mine]["seed"]) == {0}
    assert (after[mine]["pauc_test"] == 0.5).all()
    there = (before["experiment"] == LINEAR) & (before["method"] == "agd_sbcd")
    assert len(after[~mine]) == len(before[~there]) > 0
    made = json.loads((published / "meta.json").read_text())["experiments"][LINEAR]
    assert [entry["commit"] for entry in made] == ["0" * 12, "later"]
    cells = [set(entry["cells"]) for entry in made]
    assert not cells[0] & cells[1]
    assert cells[0] | cells[1] == set(
        (after["dataset"] + "/" + after["method"])[after["experiment"] == LINEAR]
    )


def test_what_the_configuration_has_no_more_goes(published: Path, tmp_path: Path) -> None:
    before = pd.read_parquet(published / "summaries.parquet")
    keys = ["experiment", "dataset", "method"]
    wanted = set(before[before["method"] != "dca"][keys].itertuples(index=False, name=None))
    later = only(write_collected(tmp_path / "later", seeds=1), LINEAR)
    merge(leave(later, "agd_sbcd"), published, wanted=wanted)
    for name in ("summaries", "traces", "roc", "trials"):
        methods = set(pd.read_parquet(published / f"{name}.parquet")["method"])
        assert "dca" not in methods
        assert "agd_sbcd" in methods


def test_what_is_stale_is_found_anew(published: Path, tmp_path: Path) -> None:
    use = "baselines.controls:RandomScores"
    present = run_digest(use, model="linear", params={}, tuned=True)
    later = write_collected(tmp_path / "later", stale=("agd_sbcd",))
    merge(only(later, LINEAR, code_digest=present), published)
    mark_stale(published)
    frame = pd.read_parquet(published / "summaries.parquet")
    assert not frame[frame["experiment"] == LINEAR]["stale"].any()
    assert frame[frame["experiment"] != LINEAR]["stale"].all(), "no code has the digest abc123"


def test_frames_published_before_are_marked_and_written_by_their_new_names(tmp_path: Path) -> None:
    shutil.copytree(PUBLISHED / "collected", tmp_path / "collected")
    mark_stale(tmp_path / "collected")
    (before, _), (after, meta) = (
        read_frames(folder) for folder in (PUBLISHED / "collected", tmp_path / "collected")
    )
    assert meta["frames"] == VERSION
    told = after["summaries"]["stale"].tolist()[::23]
    assert told == [is_stale(line) for line in before["summaries"].iloc[::23].to_dict("records")]
    assert True in told or not after["summaries"]["stale"].any()
    for name in FRAMES:
        pd.testing.assert_frame_equal(
            before[name].drop(columns="stale", errors="ignore"),
            after[name].drop(columns="stale", errors="ignore"),
        )


def test_a_published_cell_waits_for_all_jobs_and_rows_for_their_groups(
    published: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = load(ROOT, {"scale": "default", "results": "results", "raw": "data/raw"})
    split = replace(suite.experiments[LINEAR], seeds_per_job=1)
    suite = replace(suite, experiments={**suite.experiments, LINEAR: split})
    scale = tmp_path / "results" / "default"
    jobs = suite.groups(split, "dca")
    assert len(jobs) > 1
    there, new = f"{LINEAR}/gen-chest-features@D1/dca", f"{LINEAR}/digits/dca"

    def end(cell: str, first: int, last: int) -> Path:
        job = scale / "runs" / cell / f"seeds-{first}-{last}" / "summary.jsonl"
        job.parent.mkdir(parents=True)
        job.touch()
        return job

    done = [end(there, *job) for job in jobs[1:]]
    others = [end(new, *jobs[0])]
    assert finished(scale, suite, published) == others, "it replaces nothing"
    told = capsys.readouterr().err
    assert (
        told
        == f"{there}: {len(jobs) - 1} of {len(jobs)} jobs have ended; what is published stays.\n"
    )
    done.append(end(there, *jobs[0]))
    assert set(finished(scale, suite, published)) == {*others, *done}
    assert set(finished(scale, suite, tmp_path / "nothing")) == {*others, *done}
    for cell in (there, f"{LINEAR}/digits/agd_sbcd", "mu-gen/digits/dca"):
        tried = scale / "tuned" / f"{cell}.trials.json"
        tried.parent.mkdir(parents=True, exist_ok=True)
        tried.touch()
    assert trials_of(done, scale) == [scale / "tuned" / f"{there}.trials.json"]
    with pytest.raises(SystemExit, match="lacks digits, gen-chest-features: which rows belong"):
        publish(tmp_path, scale)


def test_two_scales_do_not_mix(published: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="two scales can't mix"):
        merge(write_collected(tmp_path / "open", "open"), published)


def test_what_is_published_is_what_the_present_code_makes_of_the_runs(tmp_path: Path) -> None:
    write_tables(build_report(PUBLISHED / "collected", REFERENCE, REPORTS), tmp_path)
    made = [p.relative_to(tmp_path) for p in tmp_path.rglob("*") if p.is_file()]
    assert len(made) > 30
    for name in made:
        if name.suffix == ".csv":  # of full precision, whose last bits differ between processors
            ours, theirs = (pd.read_csv(folder / name) for folder in (tmp_path, PUBLISHED))
            pd.testing.assert_frame_equal(
                ours, theirs, rtol=1e-9, obj=f"{name}: run make published"
            )
        else:
            ours, theirs = ((folder / name).read_text() for folder in (tmp_path, PUBLISHED))
            assert ours == theirs, f"{name}: run make published"


def test_the_readme_shows_what_is_published() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = text.partition(BEGIN)[2].partition(END)[0].strip()
    assert shown == findings(PUBLISHED).strip(), "run make readme"
    assert len(text.splitlines()) <= 150
    written = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert written == results(PUBLISHED), "run make readme"


def test_results_hold_every_verdict_and_every_table() -> None:
    text = results(PUBLISHED)
    claims = pd.read_csv(PUBLISHED / "claims.csv", keep_default_na=False)
    for row in claims[claims.scope == "all"].itertuples():
        values = row.chosen_by + (" (check)" if row.check else "")
        assert f"| {row.regime} | {values} | **{row.verdict}** | {row.note} |" in text
    tables = [path.read_text().strip() for path in PUBLISHED.glob("tables/*.md")]
    assert len(tables) >= 6
    assert all(table in text for table in tables)
    assert text.index("### Table 1") < text.index("### Table 6")
