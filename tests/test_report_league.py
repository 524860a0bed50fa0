"""The league: ties, what training for a band is worth, time to target, and a rival of one line."""

from __future__ import annotations

import dataclasses
import json
import math
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy.special import expit, logit
from scipy.stats import t as student

from pauc_core.data.prepare import prepare
from pauc_core.repeats import holm
from pauc_core.report import league_page
from pauc_core.report.clock import (
    OBJECTIVE,
    PAUC,
    Target,
    factors,
    profile,
    time_to,
    times,
    tuning_seconds,
)
from pauc_core.report.frames import PROVENANCE, load_collected
from pauc_core.report.league import (
    BEST,
    LINEAR,
    OPEN,
    TIED,
    Standing,
    interval,
    league,
    p_value,
    placed,
    unpaired,
    worth,
)
from pauc_core.report.league_tables import LeagueTables, at_ends
from pauc_core.report.report import build_report, write_report
from pauc_core.suite.collect import collect
from pauc_core.suite.columns import ColumnError
from pauc_core.suite.configuration import load
from pauc_core.suite.run_spec import run_of
from pauc_core.suite.runner import run_seeds
from pauc_core.suite.targets import COLUMNS, add_targets, read_targets, reference_targets
from tests.browser import opened
from tests.collected_fixture import write_collected

ROOT = Path(__file__).parents[1]
WIDE, LOW = (0.05, 0.5), (0.0, 0.3)


def standing(method: str, pauc: float, **changes) -> Standing:
    given = {"low": math.nan, "high": math.nan, "seeds": 5, "runs": 5, "ranked": True}
    return Standing(method=method, pauc=pauc, **{**given, "stale": False, **changes})


def marks(standings: list[Standing], pairs: dict) -> dict[str, str]:
    both = {**pairs, **{(b, a): (-d, e, n) for (a, b), (d, e, n) in pairs.items()}}
    return {name: s.place for name, s in placed({s.method: s for s in standings}, both).items()}


def test_who_cannot_be_told_from_the_best_is_tied_after_holm():
    each = [standing(name, value) for name, value in (("a", 0.9), ("b", 0.89), ("c", 0.8))]
    # Alone the gap of b has p = 0.03; after Holm over two rivals, 0.06 or less as c's is smaller.
    gap = float(student.ppf(1 - 0.015, 20))
    pairs = {("a", "b"): (gap, 1.0, 20.0), ("a", "c"): (9.0, 1.0, 20.0)}
    assert marks(each, pairs) == {"a": BEST, "b": "", "c": ""}
    pairs["a", "c"] = (gap, 1.0, 20.0)
    assert holm([0.03, 0.03])[0] == pytest.approx(0.06)
    assert marks(each, pairs) == {"a": BEST, "b": TIED, "c": TIED}


def test_one_seed_ties_with_everyone():
    each = [standing(name, value) for name, value in (("a", 0.9), ("b", 0.5))]
    assert marks(each, {("a", "b"): (0.4, math.inf, 0.0)}) == {"a": BEST, "b": TIED}
    assert marks(each, {}) == {"a": BEST, "b": OPEN}  # nothing is known of either


def test_who_was_not_compared_row_by_row_is_compared_as_on_other_rows():
    spread = {"standard_error": 0.03, "df": 8.0}
    one, two = standing("a", 0.9, **spread), standing("b", 0.8, standard_error=0.04, df=20.0)
    gap, error, df = unpaired(one.number, two.number)
    assert (gap, error) == pytest.approx((0.1, 0.05))
    assert df == pytest.approx(0.05**4 / (0.03**4 / 8 + 0.04**4 / 20))
    assert p_value(gap, error, df) == pytest.approx(2 * student.sf(2.0, df))
    assert marks([one, two], {}) == {"a": BEST, "b": OPEN}
    far = standing("c", 0.7, **spread)
    assert marks([one, far], {}) == {"a": BEST, "c": ""}


def test_what_is_not_ranked_is_never_best():
    each = [standing("a", 0.9), standing("trees", 0.95, ranked=False)]
    assert marks(each, {("a", "trees"): (-0.05, 0.001, 9.0)}) == {"a": BEST, "trees": ""}


def test_intervals_lie_on_the_logit_scale():
    low, high = interval(0.9, 0.02, 7.0)
    reach = student.ppf(0.975, 7.0) * 0.02 / (0.9 * 0.1)
    assert (low, high) == pytest.approx((expit(logit(0.9) - reach), expit(logit(0.9) + reach)))
    assert all(math.isnan(x) for x in interval(0.9, math.inf, 0.0))
    assert all(math.isnan(x) for x in interval(1.0, 0.0, 5.0))


# ---- the clock ------------------------------------------------------------------------------


def looks(paucs, objectives) -> dict[str, np.ndarray]:
    given = {"pauc_valid": paucs, "objective": objectives, "seconds": np.arange(len(paucs)) + 0.5}
    return {name: np.array(values, dtype=float) for name, values in given.items()}


def test_the_first_look_that_reaches_a_target_counts_and_a_miss_is_infinite():
    level = {"pauc_valid": 0.9, "objective_start": 0.7, "objective_best": 0.2}
    seen = looks([0.5, 0.89, 0.7, 0.91], [0.7, 0.4, 0.25, 0.19])
    assert time_to(seen, Target(PAUC, 0.01), level) == 1.5
    assert time_to(seen, Target(PAUC, 0.002), level) == 3.5
    assert time_to(seen, Target(OBJECTIVE, 0.1), level) == 2.5  # 0.05 / 0.5
    assert time_to(seen, Target(OBJECTIVE, 0.01), level) == 3.5  # lower than the reference
    assert time_to(looks([0.5], [0.7]), Target(PAUC, 0.01), level) == math.inf
    assert time_to(looks([], []), Target(PAUC, 0.01), level) == math.inf


def race(seconds: dict[str, list[float]]) -> pd.DataFrame:
    """A row a method and task; NaN: the method did not run there."""
    rows = [
        {"experiment": "e", "dataset": f"d{i}", "measure": PAUC, "target": 0.01, "method": m,
         "seconds": s}
        for m, each in seconds.items()
        for i, s in enumerate(each)
        if not math.isnan(s)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def share_within(frame: pd.DataFrame, method: str, factor: float) -> float:
    """One task after the other: slow and obvious."""
    solved, ran = 0, 0
    for _, task in frame.groupby("dataset"):
        mine = task[task.method == method].seconds
        if len(mine):
            ran += 1
            best = task.seconds.min()
            solved += bool(math.isfinite(mine.iloc[0]) and mine.iloc[0] <= factor * best)
    return solved / ran


@pytest.mark.parametrize("without", [None, "a"])
def test_a_profile_is_the_share_of_tasks_within_a_factor_of_the_fastest(without):
    inf = math.inf
    frame = race({
        "a": [1.0, 2.0, inf, 4.0, inf], "b": [3.0, 1.0, 5.0, inf, inf],
        "c": [2.0, inf, math.nan, 3.0, inf],
    })  # fmt: skip
    frame = frame[frame.method != without]
    curves = profile(frame)
    assert set(curves) == {"a", "b", "c"} - {without}
    for method, (found, shares, ran) in curves.items():
        assert ran == (4 if method == "c" else 5)
        for factor in (1.0, 1.3, 2.0, 3.5, 100.0):
            share = shares[np.searchsorted(found, factor, side="right") - 1] if len(found) else 0.0
            share = share if len(found) and factor >= found[0] else 0.0
            assert share == pytest.approx(share_within(frame, method, factor))
    missed = ~np.isfinite(frame.seconds)
    assert np.isinf(factors(frame)[missed]).all()


def references(pauc: float = 0.9, seeds=(0, 1)) -> tuple[pd.DataFrame, ...]:
    key = {"experiment": "e", "dataset": "d", "chosen_by": "validation"}
    runs, rows = [], []
    for method, gain in (("exact_lbfgs", 0.0), ("dca", 0.05)):
        for seed in seeds:
            run = {**key, "method": method, "seed": seed, "model": "linear"}
            runs.append({**run, "pauc_valid": pauc + gain, "data_checksum": "f" * 64})
            runs[-1]["stale"] = False
            rows += [
                {**run, "step": i, "objective": value} for i, value in enumerate((0.7, 0.1, 0.2))
            ]
    return pd.DataFrame(runs), pd.DataFrame(rows), pd.DataFrame({"experiment": ["e"]})


NAMES = {"linear": "exact_lbfgs", "network": "agd_sbcd_deep"}


def test_targets_are_the_reference_runs_and_no_rivals():
    found = reference_targets(*references(), NAMES)
    assert list(found.seed) == [0, 1]
    assert set(found.reference) == {"exact_lbfgs"}
    row = found.iloc[0]
    assert (row.pauc_valid, row.objective_start, row.objective_best) == (0.9, 0.7, 0.1)
    summaries, traces, _ = references()
    nothing = pd.DataFrame({"experiment": ["another"]})
    assert reference_targets(summaries, traces, nothing, NAMES).empty
    summaries["stale"] = summaries.seed == 0  # of code that is no more
    assert list(reference_targets(summaries, traces, references()[2], NAMES).seed) == [1]


def test_a_stored_target_stays_whatever_the_reference_does_later(tmp_path):
    path = tmp_path / "targets/default.csv"
    assert read_targets(path).empty
    assert add_targets(path, reference_targets(*references(0.9), NAMES)) == 2
    before = path.read_text()
    assert add_targets(path, reference_targets(*references(0.99), NAMES)) == 0
    assert path.read_text() == before
    assert add_targets(path, reference_targets(*references(0.99, seeds=(0, 1, 2)), NAMES)) == 1
    assert read_targets(path).pauc_valid.tolist() == [0.9, 0.9, 0.99]


def test_two_targets_for_one_run_are_refused(tmp_path):
    path = tmp_path / "default.csv"
    add_targets(path, reference_targets(*references(), NAMES))
    path.write_text(path.read_text() + path.read_text().splitlines()[1] + "\n")
    with pytest.raises(ColumnError, match="two targets for e/d/0"):
        read_targets(path)
    path.write_text("experiment,dataset\n")
    with pytest.raises(ColumnError, match="expected"):
        read_targets(path)


def test_a_value_at_the_end_of_its_grid_is_counted():
    tried = [{"c": c, "mu": mu, "policy": "p"} for c in (1, 2, 3) for mu in (10, 20)]
    frame = pd.DataFrame({"params": [json.dumps(params) for params in tried], "chosen": False})
    for place, wanted in ((0, (1, 1)), (2, (0, 1)), (5, (1, 1))):  # mu has two values: always ends
        chosen = frame.assign(chosen=np.arange(6) == place)
        assert at_ends(chosen) == wanted
    assert at_ends(frame) == (0, 0)


# ---- a rival of one file and one line, from the configuration to the page ---------------------

RIVAL = '''
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pauc_core.solver import State


@dataclass(kw_only=True)
class Mean(State):
    w: np.ndarray

    def iterates(self):
        return {"scored": self.w}


@dataclass(frozen=True, kw_only=True)
class Rival:
    """The difference of the classes' means."""

    goals: ClassVar[frozenset] = frozenset({"pauc"})
    models: ClassVar[frozenset] = frozenset({"linear"})

    def init(self, problem, rng):
        return Mean(w=problem.model.start(rng))

    def step(self, problem, state, rng):
        train = problem.train
        y = train.labels
        state.w = problem.model.pull(train, np.where(y, 1 / y.sum(), -1 / (~y).sum()))
        state.epochs += 1
        state.finished = True
        return state
'''
LINE = {
    "use": "one_file_rival:Rival", "label": "Rival", "joins": "linear",
    "note": "trained for nothing",
}  # fmt: skip
RAN = ("exact_lbfgs", "logistic_regression", "boosted_trees", "rival")


@pytest.fixture(scope="module")
def joined(tmp_path_factory):
    """What is configured with one line more, a few methods of its league run, and the report."""
    root = tmp_path_factory.mktemp("league")
    patch = pytest.MonkeyPatch()
    for name in ("config", "workflow/schemas"):
        shutil.copytree(ROOT / name, root / name)
    (root / "one_file_rival.py").write_text(RIVAL)
    patch.syspath_prepend(str(root))
    with (root / "config/methods.yaml").open("a") as file:
        file.write("\n" + yaml.safe_dump({"rival": LINE}))
    suite = load(root, {"scale": "default", "results": "results", "raw": "raw"})
    scale = root / "results/default"
    data = scale / "data/breast-cancer"
    prepare("breast-cancer", suite.entry("breast-cancer"), root / "raw", data)
    paths = []
    for name in ("league-gen", "league-gen-030"):
        experiment = dataclasses.replace(suite.experiments[name], epochs=5)
        for method in [m for m in experiment.methods if m in RAN]:
            out = scale / f"runs/{name}/breast-cancer/{method}/seeds-0-1"
            run = run_of(suite, experiment, "breast-cancer", method)
            run_seeds(run, run.params, [0, 1], data, out)
            paths.append(out / "summary.jsonl")
    collect(
        paths, [], [data / "meta.json"], scale / "collected", scale="default", settings={},
        root=root, leagues=suite.leagues(),
    )  # fmt: skip
    collected = load_collected(scale / "collected")
    targets = root / "config/targets/default.csv"
    frames = (collected.summaries, collected.traces, collected.bands)
    targets.unlink(missing_ok=True)
    add_targets(targets, reference_targets(*frames, NAMES))
    report = build_report(scale / "collected", ROOT / "reference", root / "config/reports.yaml")
    write_report(report, scale)
    yield scale, report
    patch.undo()


def test_a_rival_of_one_line_is_in_every_table(joined):
    scale, report = joined
    for name in ("league", "league_bands", "league_time"):
        for ending in ("csv", "md", "tex"):
            text = (scale / f"tables/{name}.{ending}").read_text()
            assert "Rival (trained for nothing)" in text, f"{name}.{ending}"
    assert {task.band for task in report.league.tasks} == {WIDE, LOW}
    assert all(set(task.standings) == set(RAN) for task in report.league.tasks)
    gains = pd.read_csv(scale / "tables/league_gains.csv")
    assert set(gains[gains.method == "rival"].fpr_low) == {0.0, 0.05}
    # It is not trained for any band: the scores are the same, and so is what they are worth.
    assert (gains[gains.method == "rival"].gain == 0.0).all()


def test_a_rival_of_one_line_is_in_the_profile_and_on_the_page(joined):
    scale, report = joined
    times_of = pd.read_csv(scale / "tables/league_targets.csv")
    assert "rival" in set(times_of.method)
    assert "rival" in profile(report.league.times)
    assert (scale / "figures/profile.png").stat().st_size > 10_000
    payload = league_page.payload(report.league)
    assert all("rival" in task["pauc-0.02"] for task in payload["times"].values())
    page = (scale / "report/index.html").read_text()
    assert '<section id="league">' in page
    assert "Rival (trained for nothing)" in page
    tasks, gains = report.league.tasks, pd.read_csv(scale / "tables/league_gains.csv")
    won = [sum(task.standings[m].place in ("best", "tied") for task in tasks) for m in RAN]
    assert f"({max(won)} of {len(tasks)} tasks)" in page
    gains = gains[~gains.method.isin(report.reports.unranked)]
    told = gains[gains.p_holm <= 0.05].gain
    counted = f"{(told > 0).sum()} of {len(gains)} comparisons of ranked methods"
    assert f"{counted} and worse in {(told < 0).sum()};" in page
    assert "No targets are stored" not in page
    assert "Fastest most often:" in page
    json.dumps(payload, allow_nan=False)


def test_wins_are_counted_where_all_methods_ran(joined):
    _, report = joined
    first, *others = report.league.tasks
    winner = next(s.method for s in first.standings.values() if s.place == "best")
    missing = {m: s for m, s in first.standings.items() if m != winner}
    tasks = [dataclasses.replace(first, standings=missing), *others]
    told = league_page._most(report.league, tasks)
    assert f" of {len(others)} tasks that all methods ran, of {len(tasks)})" in told


def test_objective_targets_are_for_methods_that_minimise_it(joined):
    _, report = joined
    clock = report.league.times
    assert set(clock[clock.measure == OBJECTIVE].method) == {"exact_lbfgs"}
    own = clock[(clock.measure == PAUC) & (clock.method == "exact_lbfgs")]
    assert np.isfinite(own.seconds).all(), "the reference reaches what it reached"


def test_targets_of_other_data_do_not_count(joined):
    _, report = joined
    stored = report.targets.assign(data_checksum="0" * 12)
    found = times(report.collected, report.reports, report.league.tasks, stored)
    assert found.empty
    nothing = pd.DataFrame(columns=COLUMNS)
    tables = LeagueTables(
        report.collected, report.reports, report.league.tasks, report.league.worth, found
    )
    assert times(report.collected, report.reports, report.league.tasks, nothing).empty
    assert [table.name for table in tables.all()] == ["league", "league_bands"]
    assert league_page.section(tables)["targets"] == []


def tables_of(report, **others) -> LeagueTables:
    league = report.league
    given = {"collected": report.collected, "tasks": league.tasks, "worth": league.worth,
             "times": league.times}  # fmt: skip
    return LeagueTables(reports=report.reports, **{**given, **others})


def test_where_the_reference_lowers_nothing_there_is_no_target_of_the_objective(joined):
    _, report = joined
    stored, (first, *_) = report.targets, report.league.tasks
    flat = stored.objective_start * (1 - 1e-9)
    here = (stored.experiment == first.experiment) & (stored.dataset == first.dataset)
    changed = stored.assign(objective_best=stored.objective_best.where(~here, flat))
    found = times(report.collected, report.reports, report.league.tasks, changed)
    asked = set(found[found.measure == OBJECTIVE].experiment)
    assert asked == {task.experiment for task in report.league.tasks} - {first.experiment}
    assert set(found[found.measure == PAUC].experiment) >= {first.experiment}
    notes = " ".join(tables_of(report, times=found).time().notes)
    assert "No targets of the objective on 1 of the others" in notes
    assert "No targets of the objective" not in " ".join(report.league.time().notes)


def test_runs_of_different_days_are_compared_as_if_on_different_rows(joined):
    _, report = joined
    nothing = dataclasses.replace(report.collected, across=report.collected.across.iloc[:0])
    paired = {(r.method, r.band): r for r in report.league.worth}
    rows = worth(nothing, report.reports)
    assert {(r.method, r.band) for r in rows} == set(paired)
    for row in rows:
        assert (row.apart, paired[row.method, row.band].apart) == (1, 0)
        (other,) = row.gains
        gap, error, _ = row.gains[other]
        assert gap == pytest.approx(row.trained[row.band] - row.trained[other])
        assert gap == pytest.approx(paired[row.method, row.band].gains[other][0], abs=1e-9)
        here = report.collected.bands.query("method == @row.method and fpr_low == @row.band[0]")
        assert error == pytest.approx(math.hypot(*here.standard_error))
    notes = " ".join(tables_of(report, worth=rows).bands().notes)
    assert f"{len(rows)} of {len(rows)} comparisons are of runs" in notes
    assert "different days" not in " ".join(report.league.bands().notes)


def test_a_table_names_the_data_that_it_was_measured_on_and_what_is_not_in_it(joined):
    _, report = joined
    first = report.league.tasks[0]
    named = f"Measured on {PROVENANCE[first.provenance]}: {first.dataset}."
    assert named in report.league.bands().notes
    elsewhere = [dataclasses.replace(task, league="another") for task in report.league.tasks]
    assert named not in tables_of(report, tasks=elsewhere).bands().notes
    nothing = report.league.times.iloc[:0]
    assert named not in tables_of(report, times=nothing).time().notes
    b = report.collected.bands
    less = dataclasses.replace(report.collected, bands=b[b.method != "rival"])
    assert any("not in it" in note for note in tables_of(report, collected=less)
               .standings("league", LINEAR).notes)  # fmt: skip
    assert not any("not in it" in note for note in report.league.standings("league", LINEAR).notes)


def test_seconds_of_tuning_are_those_before_one_run(joined):
    _, report = joined
    summaries = report.collected.summaries.assign(tuned=True)
    trials = pd.DataFrame(
        [("league-gen", "breast-cancer", "rival", seed, seconds)
         for seed, seconds in ((0, 1.0), (0, 2.0), (1, 4.0), (1, 5.0), (2, 1.0))],
        columns=["experiment", "dataset", "method", "seed", "seconds"],
    )  # fmt: skip
    spent = tuning_seconds(dataclasses.replace(report.collected, trials=trials))
    assert spent["league-gen", "breast-cancer", "rival"] == 3.0, "folds are tuned each by itself"
    assert spent["league-gen", "breast-cancer", "exact_lbfgs"] == 0.0
    elsewhere = dataclasses.replace(report.collected, trials=trials, summaries=summaries)
    assert math.isnan(tuning_seconds(elsewhere)["league-gen", "breast-cancer", "exact_lbfgs"])


def test_the_diagonal_is_what_the_runs_for_the_band_score_on_it(joined):
    _, report = joined
    (table,) = [t for t in report.league.all() if t.name == "league_bands"]
    rows = {(row.block, row.label): row for row in table.rows}
    for task in report.league.tasks:
        for method, found in task.standings.items():
            band = f"[{task.band[0]:g}, {task.band[1]:g}]"
            cells = rows[report.league.label(method), band].cells
            place = sorted([LOW, WIDE]).index(task.band)
            assert cells[place].best
            assert cells[place].mean == pytest.approx(found.pauc)
            assert not cells[1 - place].best


def test_better_and_worse_are_counted_where_they_are_told_apart(joined):
    _, report = joined
    (first, *_) = worth(report.collected, report.reports)
    other = next(iter(first.gains))
    told = {
        "better": dataclasses.replace(first, gains={other: (0.1, 0.01, 9)}, p_holm={other: 0.01}),
        "worse": dataclasses.replace(first, gains={other: (-0.1, 0.01, 9)}, p_holm={other: 0.01}),
        "same": dataclasses.replace(first, gains={other: (0.1, 0.01, 9)}, p_holm={other: 0.06}),
    }
    for names, wanted in ((["better"], (1, 0)), (["worse", "same"], (0, 1)), (["same"], (0, 0))):
        rows = [told[name] for name in names]
        made = report.league._worth_row(first.method, first.band, sorted(first.trained), rows)
        assert (made.cells[-2].mean, made.cells[-1].mean) == wanted, names


def test_trees_that_part_the_classes_make_no_task_separable(joined):
    _, report = joined
    s = report.collected.summaries

    def regimes(method: str) -> set[bool]:
        """With a training pAUC of 1 for one method alone."""
        perfect = s.method == method
        ends = s.assign(last_pauc_train=perfect.astype(float), last_objective=1.0)
        collected = dataclasses.replace(report.collected, summaries=ends)
        return {"separable" in task.regime for task in league(collected, report.reports)}

    assert regimes("boosted_trees") == {False}
    assert regimes("exact_lbfgs") == {True}


def test_without_a_league_nothing_is_shown(tmp_path):
    folder = write_collected(tmp_path / "collected", seeds=1)
    report = build_report(folder, ROOT / "reference", ROOT / "config/reports.yaml")
    assert league(report.collected, report.reports) == []
    assert report.league.all() == []
    assert "profile" not in report.reports.figures
    assert '<section id="league">' not in report.page


@pytest.mark.slow
def test_the_page_filters_tasks_and_hiding_a_method_draws_the_profile_anew(joined, tmp_path):
    scale, report = joined
    curves = "return document.getElementById('profile-chart').data.map((c) => [c.meta, c.x, c.y])"
    choose = (
        "const box = document.getElementById(arguments[0]); box.value = arguments[1];"
        "box.dispatchEvent(new Event('change'))"
    )
    shown = "return document.querySelectorAll('#league tr.task:not([hidden])').length"
    with opened(tmp_path) as browser:
        browser.open(scale / "report/index.html", 1200)
        assert browser.run(shown) == 2
        drawn = {meta: (x, y) for meta, x, y in browser.run(curves)}
        clock = report.league.times[report.league.times.measure == PAUC]
        for hidden in (None, "rival"):
            wanted = profile(clock[clock.method != hidden])
            assert set(drawn) == set(wanted)
            for method, (found, shares, _) in wanted.items():
                x, y = drawn[method]
                np.testing.assert_allclose(x[1:-1], found, rtol=1e-3)  # seconds have four digits
                np.testing.assert_allclose(y[1:-1], shares)
            browser.run("document.querySelector('#profile-methods [data-method=rival]').click()")
            drawn = {meta: (x, y) for meta, x, y in browser.run(curves)}
        browser.run(choose, "league-band", "[0, 0.3]")
        assert browser.run(shown) == 1
        browser.run(choose, "league-band", "")
        assert browser.run(shown) == 2
        assert not browser.complaints()
