"""The real workflow in a copied folder: one smoke run, what re-runs, guests, mistakes."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

ROOT = Path(__file__).parents[1]
SMOKE = {
    "linear-gen": {"epochs": 10, "looks": 6},
    "race-gen": {
        "epochs": 6,
        "looks": 6,
        "tune": True,
        "grids": {
            "agd_sbcd": {"c": [0.1, 1]},
            "dca": {"c": [0.1, 1]},
            "logistic_regression": {"C": [1]},
        },
    },
    "sorr-gen": {"epochs": 6, "looks": 6},
    "chest-gen": {"epochs": 1, "looks": 3},
}
METHODS = {
    "linear-gen": ["agd_sbcd", "dca", "svm_pauc_tight", "random_scores"],
    "race-gen": ["agd_sbcd", "dca", "svm_pauc_tight", "logistic_regression", "random_scores"],
    "sorr-gen": ["agd_sbcd_sorr", "dca_changing_sorr"],
    "chest-gen": ["agd_sbcd_deep", "cross_entropy"],
}
DATASETS = {
    "linear-gen": ["gen-chest-features@D1"],
    "race-gen": ["gen-a9a"],
    "sorr-gen": ["gen-a9a"],
    "chest-gen": ["gen-chest@D1"],
}


def copy_project(target: Path) -> Path:
    """What git would hand to a new user, without history or results."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
    )
    names = listed.stdout.split("\n") if not listed.returncode else []
    for name in names:
        source = ROOT / name
        if name and source.is_file() and not name.startswith(("results/", "tests/")):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name)
    # What numba compiled is valid for equal files: compiling it again would take most of the time.
    for compiled in [*ROOT.glob("pauc_core/**/*.nb[ic]"), *ROOT.glob("baselines/**/*.nb[ic]")]:
        place = target / compiled.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # numba is writing it anew at this moment
            shutil.copy2(compiled, place)
    return target


def edit(path: Path, change) -> None:
    content = yaml.safe_load(path.read_text())
    change(content)
    path.write_text(yaml.safe_dump(content, sort_keys=False))


def small(project: Path, experiments: dict) -> None:
    """Cut the default scale to the named experiments, one dataset each."""

    def overlay(content):
        content["experiments"] = {
            name: {"seeds": [0, 1], "seeds_per_job": 2, **budget}
            for name, budget in experiments.items()
        }

    def catalogue(content):
        for name in experiments:
            content[name].update(datasets=DATASETS[name], methods=METHODS[name])

    edit(project / "config/scales/default.yaml", overlay)
    edit(project / "config/experiments.yaml", catalogue)


def snakemake(project: Path, *arguments: str, launch: bool = False) -> subprocess.CompletedProcess:
    program = ["-m", "pauc_core.suite.launch"] if launch else ["-m", "snakemake"]
    return subprocess.run(
        [sys.executable, *program, "--cores", "2", *arguments],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(project), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )


def planned(project: Path, *arguments: str) -> dict[str, int]:
    """The jobs of a dry run by rule."""
    done = snakemake(project, "-n", "--quiet", "host", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    table = re.findall(r"^(\w+) +(\d+)$", done.stdout + done.stderr, re.M)
    return {rule: int(count) for rule, count in table if rule not in ("total", "all")}


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """The whole default DAG on small inputs, run once."""
    project = copy_project(tmp_path_factory.mktemp("smoke"))
    small(project, SMOKE)
    done = snakemake(project, launch=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    return project


def test_the_smoke_run_makes_everything(smoke):
    results = smoke / "results/default"
    for number in range(1, 7):
        assert list((results / "tables").glob(f"table{number}*")), f"table {number}"
    for number in range(1, 8):
        assert list((results / "figures").glob(f"figure{number}*.png")), f"figure {number}"
    page = (results / "report/index.html").read_text()
    assert "generated" in page.lower()
    frame = pd.read_parquet(results / "collected/summaries.parquet")
    assert set(frame["outcome"]) <= {"budget", "converged"}, frame[["method", "outcome", "reason"]]
    assert set(frame["provenance"]) == {"generated"}


def test_generated_sets_are_honest_test_beds(smoke):
    frame = pd.read_parquet(smoke / "results/default/collected/summaries.parquet")
    frame = frame[frame["experiment"] == "race-gen"]
    means = frame.groupby(["dataset", "method"])["pauc_test"].mean().unstack()
    chance = (0.05 + 0.5) / 2  # the mean of the rates in the band
    assert (means["random_scores"] - chance).abs().max() < 0.05
    trained = means.drop(columns="random_scores")
    assert trained.max().max() <= 0.98
    assert (trained.max(axis=1) - trained.min(axis=1)).min() >= 0.03


def test_a_number_leads_back_to_its_line(smoke):
    results = smoke / "results/default"
    row = pd.read_parquet(results / "collected/summaries.parquet").iloc[0]
    lines = [json.loads(x) for x in (results / row["path"]).read_text().splitlines()]
    line = next(x for x in lines if x["seed"] == row["seed"])
    assert line["code_digest"] == row["code_digest"]
    assert json.loads(row["params"]) == line["params"]
    meta = json.loads((results / "data" / row["dataset"].split("@")[0] / "meta.json").read_text())
    assert line["data_checksum"] == meta["checksum"]


def explain(project: Path, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "pauc_core.suite.explain", *arguments],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(project)},
        capture_output=True,
        text=True,
    )


def test_a_run_is_explained_and_run_again_seed_by_seed(smoke):
    done = explain(smoke, "race-gen/gen-a9a/agd_sbcd")
    assert done.returncode == 0, done.stdout + done.stderr
    for seed in (0, 1):
        assert f"again, seed {seed}:" in done.stdout
    assert "recorded: " not in done.stdout
    lost = explain(smoke, "race-gen/gen-a9a/nobody")
    assert lost.returncode == 1
    assert "No run is recorded for 'race-gen/gen-a9a/nobody'" in lost.stderr


def test_a_published_run_is_explained_without_its_data(tmp_path):
    run, folder = "linear-nih/nih-features@D1/agd_sbcd", "published/collected"
    (tmp_path / folder).mkdir(parents=True)
    shutil.copy(ROOT / "results" / folder / "summaries.parquet", tmp_path / folder)
    asked = (f"{run}/3", "--results", str(tmp_path))
    done = explain(ROOT, *asked, "--scale", "open")
    assert done.returncode == 1
    assert "seed 3" in done.stdout
    assert "open/data/nih-features is not prepared" in done.stderr
    assert "has no experiment 'linear-nih'" in explain(ROOT, *asked).stderr


def test_snakemake_writes_its_own_report(smoke):
    done = snakemake(smoke, "--report", "own-report.html")
    assert done.returncode == 0, done.stdout + done.stderr
    text = (smoke / "own-report.html").read_text()
    for name in ("index.html", "claims.csv", "comparison.csv", "figure1.png", "table1.md"):
        assert name in text, name


def test_a_second_start_has_nothing_to_do(smoke):
    assert planned(smoke) == {}


def test_changing_a_hyper_parameter_runs_just_what_uses_it(smoke):
    path = smoke / "config/methods.yaml"
    kept = path.read_text()
    edit(path, lambda c: c["dca_changing_sorr"]["params"].update(c=0.5))
    jobs = planned(smoke)
    path.write_text(kept)
    assert jobs.pop("fit_dca_changing_sorr") == 1
    assert not [rule for rule in jobs if rule.startswith(("fit", "tune", "prepare", "fetch"))]


@contextlib.contextmanager
def changed(project: Path, name: str, edit=lambda text: text + "\nCHANGED = True\n"):
    """A file of the project with another text, for a while."""
    path = project / name
    kept = path.read_text()
    path.write_text(edit(kept))
    try:
        yield
    finally:
        path.write_text(kept)


def solving(jobs: dict[str, int]) -> dict[str, int]:
    """The jobs before any table is made."""
    stages = ("fit", "tune", "prepare", "fetch", "extract")
    return {rule: count for rule, count in jobs.items() if rule.startswith(stages)}


def test_changing_a_comment_runs_nothing(smoke):
    def edit(text):
        return "# another comment\n" + text.replace('"""\n', '"""  # and one more\n', 1)

    with changed(smoke, "pauc_core/agd_sbcd/compiled.py", edit):
        assert planned(smoke) == {}


def test_changing_a_method_runs_what_uses_it(smoke):
    with changed(smoke, "baselines/svm_pauc_tight.py"):
        assert solving(planned(smoke)) == {"fit_svm_pauc_tight": 2, "tune": 1}


def test_changing_the_rule_of_choice_runs_what_was_tuned(smoke):
    with changed(smoke, "pauc_core/suite/choice.py"):
        jobs = solving(planned(smoke))
    tuned = ("agd_sbcd", "dca", "svm_pauc_tight", "logistic_regression")
    assert jobs == {"tune": 4, **{f"fit_{name}": 1 for name in tuned}}


def test_changing_the_split_runs_everything_and_prepares_nothing(smoke):
    with changed(smoke, "pauc_core/data/splits.py"):
        jobs = solving(planned(smoke))
    assert jobs.pop("tune") == 4
    assert "prepare" not in jobs
    jobs.pop("extract_features", None)
    assert sum(jobs.values()) == sum(map(len, METHODS.values()))


def test_changing_a_network_leaves_linear_runs_alone(smoke):
    """But for those on the features of one, which are extracted anew."""
    with changed(smoke, "pauc_core/models/densenet.py"):
        jobs = solving(planned(smoke))
    assert jobs.pop("extract_features") == 1
    again = [*METHODS["chest-gen"], *METHODS["linear-gen"]]
    assert jobs == {f"fit_{name}": 1 for name in again}


def test_every_line_of_the_methods_is_a_rule_and_shows_in_the_graph(smoke):
    listed = snakemake(smoke, "--list-rules").stdout.split()
    methods = yaml.safe_load((smoke / "config/methods.yaml").read_text())
    assert {f"fit_{name}" for name in methods} <= set(listed)
    targets = {"data", "linear", "sorr", "deep", "tables", "figures", "report", "all"}
    stages = {"fetch", "prepare", "extract_features", "tune", "collect"}
    assert targets | stages <= set(listed)
    graph = snakemake(smoke, "--rulegraph").stdout
    assert "fit_svm_pauc_tight" in graph


def test_a_mistake_stops_before_any_job(smoke):
    done = snakemake(smoke, "-n", "--config", "scale=opne")
    assert done.returncode != 0
    assert "the nearest known name is 'open'" in done.stdout + done.stderr


def test_a_failed_attempt_leaves_what_stood_and_ends_with_its_reason(smoke, tmp_path):
    project = tmp_path / "project"
    shutil.copytree(smoke, project, ignore=shutil.ignore_patterns("served"))  # sockets
    results = project / "results/default"
    shown = [*results.glob("tables/*"), *results.glob("figures/*"), results / "report/index.html"]
    before = {path: path.read_bytes() for path in shown}
    line = "def write_report(report: Report, out: str | Path) -> None:\n"
    wrong = f'{line}    write_tables(report, out)\n    raise ValueError("It broke.")\n'
    with changed(project, "pauc_core/report/report.py", lambda text: text.replace(line, wrong)):
        done = snakemake(project)
    assert done.returncode != 0
    assert {path: path.read_bytes() for path in shown} == before
    said = [line for line in done.stderr.splitlines() if "It broke." in line]
    assert said[0] == "ValueError: It broke."
    assert (
        done.stderr.splitlines()[-1]
        == "Failed: results/default/logs/report.log: ValueError: It broke."
    )
    # A fault in what is collected: hundreds of inputs, of which the screen shows one.
    path = next(results.glob("runs/*/*/*/seeds-0-1/summary.jsonl"))
    path.write_text(path.read_text().replace('"label"', '"lable"'))
    done = snakemake(project)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("Failed: results/default/logs/collect.log: results/default/runs/")
    assert "the column 'lable' is unknown; the nearest known name is 'label'" in last
    assert max(map(len, done.stderr.splitlines())) < 700
    log = max((project / ".snakemake/log").glob("*.log")).read_text()
    assert str(next(results.glob("runs/sorr-gen/*/*/seeds-0-1/traces.csv")).name) in log
    assert len(max(log.splitlines(), key=len)) > 2000, "the log has the inputs"
    assert {path: path.read_bytes() for path in shown} == before


def test_a_folder_with_a_space_is_refused_in_a_sentence(tmp_path):
    done = snakemake(copy_project(tmp_path / "a folder"), "-n")
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert "has a space in it, with which no job can start: move the project" in said
    assert "Traceback" not in said


def test_make_run_hands_settings_and_arguments_to_the_launcher():
    words = ("SCALE=open", "CONFIG=mirror=somewhere", "ARGS=-n -- linear")
    done = subprocess.run(["make", "-n", "run", *words], cwd=ROOT, capture_output=True, text=True)
    launched = (
        "pauc_core.suite.launch --cores all --config scale=open mirror=somewhere -n -- linear"
    )
    assert launched in done.stdout, done.stdout + done.stderr


NEW = '''"""Scores by the first feature."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pauc_core.solver import State


@dataclass(kw_only=True)
class NewState(State):
    w: np.ndarray

    def iterates(self):
        return {"scored": self.w}


@dataclass(frozen=True, kw_only=True)
class New:
    sign: float
    goals: ClassVar[frozenset[str]] = frozenset({"pauc"})
    models: ClassVar[frozenset[str]] = frozenset({"linear"})

    def init(self, problem, rng):
        w = problem.model.start(rng)
        w[0] = self.sign
        return NewState(w=w, finished=True)

    def step(self, problem, state, rng):
        return state
'''
GUESTS = """
new: {use: "baselines.new:New", label: New, params: {sign: 1.0}}
class_means: {use: workflow/rules/baselines/class_means.awk, label: Class means}
liblinear: {use: workflow/rules/baselines/liblinear.sh, label: LIBLINEAR, params: {C: 0.01}}
"""


def test_a_baseline_is_one_file_and_one_line_and_a_guest_needs_no_python(tmp_path):
    project = copy_project(tmp_path)
    small(project, {"race-gen": {"epochs": 1, "looks": 2}})
    (project / "baselines/new.py").write_text(NEW)
    with (project / "config/methods.yaml").open("a") as handle:
        handle.write(GUESTS)
    # Where LIBLINEAR is not installed its row says so, in the table like any other.
    methods = ["new", "class_means", "liblinear", "random_scores"]
    edit(project / "config/experiments.yaml", lambda c: c["race-gen"].update(methods=methods))
    jobs = planned(project)
    assert jobs["fit_new"] == jobs["fit_class_means"] == jobs["fit_liblinear"] == 1
    done = snakemake(project, "tables")
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    frame = pd.read_parquet(project / "results/default/collected/summaries.parquet")
    assert set(frame["method"]) == set(methods)
    found = {str(name): part for name, part in frame.groupby("method")}
    chance = found["random_scores"]["pauc_test"].max()
    assert len(found["class_means"]) == 2
    assert found["class_means"]["pauc_test"].min() > chance + 0.1
    if shutil.which("liblinear-train"):
        assert found["liblinear"]["pauc_test"].min() > chance + 0.1
    else:
        assert found["liblinear"]["reason"].str.contains("liblinear-train is not installed").all()
    table = (project / "results/default/tables/race.csv").read_text()
    for label in ("New", "Class means", "LIBLINEAR"):
        assert label in table
    explained = explain(project, "race-gen/gen-a9a/class_means/1")
    assert explained.returncode == 0, explained.stdout + explained.stderr
    assert "as recorded" in explained.stdout
    with (project / "workflow/rules/baselines/class_means.awk").open("a") as handle:
        handle.write("# edited\n")
    assert solving(planned(project)) == {"fit_class_means": 1}


def mirror() -> Path | None:
    given = Path(os.environ.get("PAUC_MIRROR") or ROOT.parent / "shared/data")
    return given if given.is_dir() else None


@pytest.mark.slow
@pytest.mark.skipif(mirror() is None, reason="no mirror of the real data is at hand")
def test_tiny_subsets_of_real_data(tmp_path):
    project = copy_project(tmp_path)

    def overlay(content):
        seeds = {"seeds": [0], "epochs": 2, "looks": 3}
        content["features"] = {"epochs": 1, "lr": 0.001, "batch": 16, "threads": 1}
        content["experiments"] = {
            "race-open": dict(seeds),
            "linear-nih": dict(seeds),
        }

    edit(project / "config/scales/open.yaml", overlay)
    edit(
        project / "config/experiments.yaml",
        lambda c: (
            c["race-open"].update(datasets=["a9a", "w8a-split", "ijcnn1"]),
            c["linear-nih"].update(datasets=["nih-features@D5"]),
        ),
    )
    settings = ["scale=open", "subset=400", f"mirror={mirror()}"]
    done = snakemake(project, "--config", *settings)
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    frame = pd.read_parquet(project / "results/open-subset-400/collected/summaries.parquet")
    assert set(frame["outcome"]) <= {"budget", "converged"}
    assert set(frame["provenance"]) == {"paper", "stand-in"}


@pytest.mark.slow
def test_the_papers_scale_on_a_fabricated_chexpert(tmp_path):
    """Sizes alone are reduced: pictures, patients, epochs, grids, tasks."""
    from pauc_core.data.generated_pictures import make_chest

    project = copy_project(tmp_path / "project")
    tree = tmp_path / "CheXpert-v1.0-small"
    tree.mkdir()
    make_chest(tree, ["train.csv", "valid.csv"], patients=[90, 30], size=32, seed=0)
    small_deep = {
        "agd_sbcd_deep": {"c": [0.1]},
        "minibatch": {"lr": [0.1]},
        "cross_entropy": {"lr": [0.001]},
        "auc_margin": {"lr": [0.1]},
    }
    small_linear = {name: {"c": [1]} for name in ("agd_sbcd", "dca", "proximal_dca")}
    small_linear["proximal_dca_normalised"] = {"c": [1]}

    def overlay(content):
        experiments = content["experiments"]
        for name in set(experiments) - {"linear-chexpert", "mu-chexpert", "chest-chexpert"}:
            del experiments[name]
        for budget in experiments.values():
            budget.update(seeds=[0], epochs=1, looks=2, look_rows=40, step_epochs=0.25)
            budget.update(threads=1, tune_cores=2)
        experiments["linear-chexpert"] = {**experiments["linear-chexpert"], "grids": small_linear}
        experiments["mu-chexpert"] = {**experiments["mu-chexpert"], "tune": False}
        experiments["chest-chexpert"] = {**experiments["chest-chexpert"], "grids": small_deep}
        content["features"].update(epochs=1, threads=1)

    def catalogue(content):
        content["linear-chexpert"]["datasets"] = ["chexpert-features@D5"]
        content["mu-chexpert"]["datasets"] = ["chexpert-features@D5"]
        content["chest-chexpert"]["datasets"] = ["chexpert@D5"]

    edit(project / "config/scales/paper.yaml", overlay)
    edit(project / "config/experiments.yaml", catalogue)
    edit(project / "config/datasets.yaml", lambda c: c["chexpert"].update(size=32, expect=None))
    settings = ["scale=paper", f"paths={{chexpert: {tree}}}"]
    done = snakemake(project, "--config", *settings)
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    frame = pd.read_parquet(project / "results/paper/collected/summaries.parquet")
    assert set(frame["outcome"]) <= {"budget", "converged"}
    assert set(frame["provenance"]) == {"paper"}
    assert (project / "results/paper/report/index.html").exists()
