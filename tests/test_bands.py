"""Runs of a league scored on the bands of the others, and what training for a band is worth."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from pauc_core.influence import row_standard_error
from pauc_core.metrics import pauc
from pauc_core.repeats import folds_interval, seeds_interval
from pauc_core.suite.bands import OnBands
from pauc_core.suite.collect import collect
from pauc_core.suite.evidence import SeedResult, alone, compare, record
from pauc_core.suite.frames import read_frames
from pauc_core.suite.merging import merge
from pauc_core.suite.runner import run_seeds
from tests.test_runner import EXPERIMENT, data, spec  # noqa: F401

LOW, WIDE = (0.0, 0.3), (0.05, 0.5)
BANDS = [list(LOW), list(WIDE)]
LEAGUES = {name: {"league": "l", "bands": BANDS} for name in ("e", "e-low")}


def scores(seed: int, shift: float, rows: np.ndarray | None = None) -> pd.DataFrame:
    rows = np.arange(300) if rows is None else rows
    labels = rows % 3 == 0
    values = np.random.default_rng([seed, int(10 * shift)]).standard_normal(len(rows))
    values += shift * labels
    return pd.DataFrame({"row": rows, "label": labels.astype(int), "score": values})


def line(experiment: str, seed: int, band: tuple[float, float]) -> dict:
    return {"experiment": experiment, "seed": seed, "fpr_low": band[0], "fpr_high": band[1]}


@pytest.fixture
def found() -> OnBands:
    found = OnBands("tiny", "m", LEAGUES)
    for seed in range(4):
        found.add(line("e", seed, WIDE), scores(seed, 1.0))
        found.add(line("e-low", seed, LOW), scores(seed, 1.4))
    found.add(line("elsewhere", 0, WIDE), scores(0, 1.0))
    return found


def test_a_run_is_scored_on_every_band_of_its_league(found):
    frame = pd.DataFrame(found.rows(None)["bands"]).set_index(["experiment", "fpr_low"])
    assert len(frame) == 4
    assert frame.own_band.to_dict() == {
        ("e", 0.0): False, ("e", 0.05): True, ("e-low", 0.0): True, ("e-low", 0.05): False,
    }  # fmt: skip
    for (experiment, _), row in frame.iterrows():
        each = [scores(seed, 1.0 if experiment == "e" else 1.4) for seed in range(4)]
        band = {"fpr_low": row.name[1], "fpr_high": row.fpr_high}
        wanted = [pauc(s.label == 1, s.score, **band) for s in each]
        assert row.pauc == pytest.approx(np.mean(wanted))
        assert 0 < row.standard_error < 0.1
        assert (row.seeds, row.design, row.league) == (4, "seeds", "l")


def test_training_for_a_band_is_compared_on_that_band(found):
    rows = found.rows(None)["across"]
    assert [(r["experiment"], r["rival_experiment"], r["fpr_low"]) for r in rows] == [
        ("e", "e-low", 0.05), ("e-low", "e", 0.0),
    ]  # fmt: skip
    for row in rows:
        band = {"fpr_low": row["fpr_low"], "fpr_high": row["fpr_high"]}
        shifts = (1.0, 1.4) if row["experiment"] == "e" else (1.4, 1.0)
        mine, theirs = (
            record([SeedResult.of({"seed": s, **band}, scores(s, shift)) for s in range(4)], "")
            for shift in shifts
        )
        wanted = compare(mine, theirs)
        assert row["difference"] == pytest.approx(wanted.value)
        assert row["standard_error"] == pytest.approx(wanted.standard_error)
    assert rows[0]["difference"] < 0 < rows[1]["difference"]


def test_one_method_alone_has_the_interval_of_its_seeds_and_rows():
    band = {"fpr_low": 0.0, "fpr_high": 0.3}
    each = [SeedResult.of({"seed": s, **band}, scores(s, 1.0)) for s in range(5)]
    mean = np.mean([one.values for one in each], axis=0)
    wanted = seeds_interval([r.pauc for r in each], row_standard_error(each[0].labels, mean))
    assert alone(record(each, "")).standard_error == pytest.approx(wanted.standard_error, rel=1e-5)
    patients = np.repeat(np.arange(100), 3)
    grouped = seeds_interval(
        [r.pauc for r in each], row_standard_error(each[0].labels, mean, groups=patients)
    )
    found = alone(record(each, ""), patients)
    assert found.standard_error == pytest.approx(grouped.standard_error, rel=1e-5)
    folds = [
        SeedResult.of({"seed": s, **band}, scores(s, 1.0, np.arange(300 * s, 300 * (s + 1))))
        for s in range(5)
    ]
    errors = [row_standard_error(one.labels, one.values.astype(float)) for one in folds]
    wanted = folds_interval([one.pauc for one in folds], errors)
    assert alone(record(folds, "")).standard_error == pytest.approx(wanted.standard_error, rel=1e-5)


def gather(tmp_path, data, names):  # noqa: F811
    """Collected frames of runs of the named experiments of one league."""
    scale, paths = tmp_path / "scale", []
    for name in names:
        band = LOW if name == "e-low" else WIDE
        out = scale / f"runs/{name}/tiny/m/seeds-0-1"
        changed = {"name": name, "band": dict(zip(("fpr_low", "fpr_high"), band, strict=True))}
        run = spec()
        run = dataclasses.replace(run, experiment=dataclasses.replace(EXPERIMENT, **changed))
        run_seeds(run, {}, [0, 1], data, out)
        paths.append(out / "summary.jsonl")
    folder = scale / f"collected-{'-'.join(names)}"
    collect(paths, [], [], folder, scale="default", settings={}, root=tmp_path, leagues=LEAGUES)
    return folder


def test_collected_runs_have_their_own_bands_number_in_both_places(data, tmp_path):  # noqa: F811
    frames, _ = read_frames(gather(tmp_path, data, ["e", "e-low"]))
    own = frames["bands"][frames["bands"].own_band].set_index("experiment").pauc
    said = frames["summaries"].groupby("experiment").pauc_test.mean()
    assert own.to_dict() == pytest.approx(said.to_dict())
    assert set(frames["across"].experiment) == {"e", "e-low"}


def test_what_is_compared_with_a_replaced_experiment_is_replaced_too(data, tmp_path):  # noqa: F811
    published = tmp_path / "published"
    merge(gather(tmp_path, data, ["e", "e-low"]), published)
    merge(gather(tmp_path, data, ["e-low"]), published)
    frames, _ = read_frames(published)
    assert len(frames["bands"]) == 4
    # The other half of each comparison was not at hand.
    assert frames["across"].empty
    assert not frames["bands"].duplicated(["experiment", "fpr_low"]).any()


def of_methods(tmp_path, data, names):  # noqa: F811
    """Collected frames of runs of the named methods, which differ in their seeds' scores."""
    scale, paths = tmp_path / "scale", []
    for name in names:
        out = scale / f"runs/e/tiny/{name}/seeds-0-1"
        run = dataclasses.replace(spec(), method=name, params={})
        run_seeds(run, {}, [0, 1], data, out)
        paths.append(out / "summary.jsonl")
    folder = scale / f"collected-{'-'.join(names)}"
    collect(paths, [], [], folder, scale="default", settings={}, root=tmp_path, leagues={})
    return folder


def test_methods_that_were_published_apart_are_compared_all_the_same(data, tmp_path):  # noqa: F811
    published = tmp_path / "published"
    merge(of_methods(tmp_path, data, ["m", "k"]), published)
    merge(of_methods(tmp_path, data, ["j"]), published)
    apart = read_frames(published)[0]["pairwise"]
    together = read_frames(of_methods(tmp_path, data, ["j", "k", "m"]))[0]["pairwise"]
    assert apart[["method", "rival"]].to_numpy().tolist() == [["j", "k"], ["j", "m"], ["k", "m"]]
    assert len(set(together["standard_error"])) == 3
    for name in ("difference", "standard_error", "df", "rows_share"):
        np.testing.assert_allclose(apart[name], together[name], rtol=1e-3)


def test_an_experiment_of_the_league_alone_keeps_what_its_tables_need(data, tmp_path):  # noqa: F811
    fresh, published = gather(tmp_path, data, ["e", "e-low"]), tmp_path / "published"
    merge(fresh, published, shown=["e"])
    frames, whole = read_frames(published)[0], read_frames(fresh)[0]
    assert set(frames["roc"].experiment) == {"e"}
    traces = frames["traces"].set_index(["experiment", "seed", "step"])
    wanted = whole["traces"].set_index(["experiment", "seed", "step"])
    for name in ("seconds", "objective", "pauc_valid"):
        np.testing.assert_allclose(traces[name], wanted[name], rtol=1e-6)
    assert traces.loc["e"].pauc_train.notna().all()
    assert traces.loc["e-low"].pauc_train.isna().all()
    assert {path.stem for path in (published / "influence").iterdir()} == {"e"}
