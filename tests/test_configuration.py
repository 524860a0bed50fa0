"""Mistakes in the configuration are one sentence with file, key and the nearest known name."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import pytest
import yaml

from pauc_core.suite import reduced
from pauc_core.suite.configuration import load, settings
from pauc_core.suite.named_code import check_names, check_outside
from pauc_core.suite.run_spec import look_epochs, run_of, trial_of
from pauc_core.suite.yaml_files import ConfigurationError, read_mapping

ROOT = Path(__file__).parents[1]
SCALES = sorted(path.stem for path in (ROOT / "config/scales").glob("*.yaml"))
GIVEN = {"scale": "default", "results": "results", "raw": "data/raw"}


@pytest.fixture
def tree(tmp_path):
    """A copy of what is configured, to break."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    shutil.copytree(ROOT / "workflow/schemas", tmp_path / "workflow/schemas")
    return tmp_path


def change(tree: Path, name: str, edit) -> None:
    path = tree / "config" / name
    content = yaml.safe_load(path.read_text())
    edit(content)
    path.write_text(yaml.safe_dump(content, sort_keys=False))


@pytest.mark.parametrize("scale", SCALES)
def test_every_scale_loads_and_its_methods_fit(scale):
    suite = load(ROOT, {**GIVEN, "scale": scale})
    check_names(suite)
    assert suite.results == f"results/{scale}"
    assert suite.stored_datasets()


def test_results_of_a_subset_lie_apart():
    assert load(ROOT, {**GIVEN, "subset": 500}).results == "results/default-subset-500"


def first(content):
    return content[next(iter(content))]


BREAKS = {
    "unknown key of a method": (
        "methods.yaml", lambda c: first(c).update(parms={}),
        r"config/methods.yaml: agd_sbcd: 'parms' is unknown.*nearest known name is 'params'",
    ),
    "wrong type": (
        "scales/default.yaml", lambda c: first(c["experiments"]).update(epochs="many"),
        r"config/scales/default.yaml: experiments\.[\w-]+\.epochs: 'many' is not of type 'number'",
    ),
    "unknown dataset": (
        "experiments.yaml", lambda c: c["race-gen"].update(datasets=["gen-a8a"]),
        r"experiments.yaml: race-gen.datasets: 'gen-a8a' is unknown.*'gen-\w+'",
    ),
    "unknown task": (
        "experiments.yaml", lambda c: c["linear-gen"].update(datasets=["gen-chest-features@D9"]),
        r"linear-gen.datasets: task of gen-chest-features: 'D9' is unknown",
    ),
    "missing task": (
        "experiments.yaml", lambda c: c["linear-gen"].update(datasets=["gen-chest-features"]),
        r"linear-gen.datasets: task of gen-chest-features: '' is unknown",
    ),
    "unknown method": (
        "experiments.yaml", lambda c: c["linear-gen"].update(methods=["agd_sbdc"]),
        r"experiments.yaml: linear-gen.methods: 'agd_sbdc' is unknown.*'agd_sbcd'",
    ),
    "unknown experiment": (
        "scales/default.yaml",
        lambda c: c["experiments"].update({"linear-genn": {"seeds": [0], "epochs": 1}}),
        r"config/scales/default.yaml: experiments: 'linear-genn' is unknown.*'linear-gen'",
    ),
    "unknown parent": (
        "experiments.yaml", lambda c: c["linear-nih"].update(like="nothing"),
        r"linear-nih.like: 'nothing' is unknown",
    ),
    "empty band": (
        "experiments.yaml", lambda c: c["linear-gen"].update(band={"fpr_low": 1, "fpr_high": 1}),
        r"linear-gen.band: expected fpr_low < fpr_high; got 1 and 1",
    ),
    "half a band": (
        "experiments.yaml", lambda c: c["linear-gen"].update(band={"fpr_low": 0.5}),
        r"linear-gen.band: expected fpr_low and fpr_high, or m and n",
    ),
    "rate above one": (
        "experiments.yaml", lambda c: c["linear-gen"].update(band={"fpr_low": 0.5, "fpr_high": 2}),
        r"[\w-]+\.band\.fpr_high: 2 is greater than the maximum of 1",
    ),
    "scale under another name": (
        "scales/default.yaml", lambda c: c.update(scale="open"),
        r"key scale: expected 'default' like the file's name, got 'open'",
    ),
    "params for a method that is not run": (
        "scales/default.yaml",
        lambda c: c["experiments"]["race-gen"].update(params={"minibatch": {"lr": 1}}),
        r"experiments.race-gen.params: 'minibatch' is unknown",
    ),
    "unknown form of a table": (
        "reports.yaml", lambda c: c["tables"]["table2"].update(form="gird"),
        r"config/reports.yaml: tables.table2.form: 'gird' is unknown.*nearest known name is 'grid'",
    ),
    "table of an unknown method": (
        "reports.yaml", lambda c: c["tables"]["table1"]["parts"][0].update(rival="svm_pauc"),
        r"tables.table1.parts.0.rival: 'svm_pauc' is unknown.*'svm_pauc_tight'",
    ),
    "figure of an unknown source": (
        "reports.yaml", lambda c: c["figures"]["figure1"].update(source="liner"),
        r"config/reports.yaml: figures.figure1.source: 'liner' is unknown.*'linear'",
    ),
    "figure of an unknown column": (
        "reports.yaml", lambda c: c["figures"]["figure1"].update(columns=["D1", "D6"]),
        r"config/reports.yaml: figures.figure1.columns: 'D6' is unknown.*'D\d'",
    ),
    "report on an unknown experiment": (
        "reports.yaml", lambda c: c["scales"]["open"]["linear"].update(experiment="linear-nhi"),
        r"scales.open.linear.experiment: 'linear-nhi' is unknown.*'linear-nih'",
    ),
    "table without a metric": (
        "reports.yaml", lambda c: c["tables"]["table2"].pop("metric"),
        r"config/reports.yaml: tables.table2: 'metric' is a required property",
    ),
    "a download without a checksum": (
        "datasets.yaml", lambda c: c["a9a"]["files"][0].pop("sha256"),
        r"config/datasets.yaml: a9a.files.0: 'sha256' is a required property",
    ),
    "negative mu": (
        "methods.yaml", lambda c: c["agd_sbcd"]["params"].update(mu=-1),
        r"config/methods.yaml: agd_sbcd.params: mu: -1 is less than or equal to the minimum of 0",
    ),
    "negative step in a grid": (
        "methods.yaml", lambda c: c["agd_sbcd"]["grid"].update(c=[1, -5]),
        r"config/methods.yaml: agd_sbcd.grid: c: -5 is less than or equal to the minimum of 0",
    ),
    "no number at all": (
        "methods.yaml", lambda c: c["agd_sbcd"]["params"].update(gamma=float("nan")),
        r"config/methods.yaml: agd_sbcd.params.gamma: expected a finite number, got nan",
    ),
    "endless epochs": (
        "scales/default.yaml", lambda c: c["experiments"]["race-gen"].update(epochs=float("inf")),
        r"default.yaml: experiments.race-gen.epochs: expected a finite number, got inf",
    ),
    "no step at a scale": (
        "scales/default.yaml",
        lambda c: c["experiments"]["race-gen"].update(params={"agd_sbcd": {"T": 0}}),
        r"config/scales/default.yaml: agd_sbcd.params: T: 0 is less than the minimum of 1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BREAKS)
def test_a_mistake_is_one_sentence(tree, case):
    name, edit, sentence = BREAKS[case]
    change(tree, name, edit)
    with pytest.raises(ConfigurationError, match=sentence) as caught:
        load(tree, GIVEN)
    assert "\n" not in str(caught.value)


def test_a_hyper_parameter_that_the_method_lacks(tree):
    change(tree, "methods.yaml", lambda c: c["agd_sbcd"]["params"].update(gama=1))
    with pytest.raises(ConfigurationError, match=r"agd_sbcd.params: 'gama' is unknown.*'gamma'"):
        check_names(load(tree, GIVEN))


def test_a_linear_method_on_a_network(tree):
    change(tree, "experiments.yaml", lambda c: c["race-gen"].update(model="small"))
    with pytest.raises(ConfigurationError, match="does not handle the model 'module'"):
        check_names(load(tree, GIVEN))


def write_guest(tree: Path, change_line) -> None:
    """A guest in the race, with a change to its line."""
    line = {"use": "workflow/rules/baselines/class_means.awk", "label": "Class means"}
    change_line(line)
    change(tree, "methods.yaml", lambda c: c.update(guest=line))
    change(tree, "experiments.yaml", lambda c: c["race-gen"].update(methods=["guest"]))
    change(tree, "scales/default.yaml", lambda c: c["experiments"]["race-gen"].pop("grids"))


GUESTS = {
    "no use": (lambda line: line.pop("use"), r"methods.yaml: guest: 'use' is a required property"),
    "a class without its colon": (
        lambda line: line.update(use="baselines.dca.DCA"),
        r"methods.yaml: guest.use: baselines.dca.DCA is not there; expected module:Class, or the",
    ),
    "no program": (
        lambda line: line.update(use="README.md"),
        r"guest.use: README.md cannot be executed; .*chmod",
    ),
    "a grid": (
        lambda line: line.update(grid={"C": [1, 2]}),
        r"methods.yaml: guest.grid: a guest is not tuned",
    ),
    "a path outside": (
        lambda line: line.update(use="/bin/sh"),
        r"guest.use: '/bin/sh' does not match",
    ),
}


@pytest.mark.parametrize("case", GUESTS)
def test_a_guest_that_cannot_be_one(tree, case):
    edit, sentence = GUESTS[case]
    write_guest(tree, edit)
    with pytest.raises(ConfigurationError, match=sentence):
        check_names(load(tree, GIVEN))


def test_a_guest_has_no_place_in_a_sorr_experiment(tree):
    write_guest(tree, lambda line: None)
    check_names(load(tree, GIVEN))
    change(tree, "experiments.yaml", lambda c: c["race-gen"].update(goal="sorr", track="sorr"))
    with pytest.raises(
        ConfigurationError, match=r"race-gen.methods: guest is a guest, for the goal"
    ):
        check_names(load(tree, GIVEN))


NAMES = {
    "loss": (
        "experiments.yaml", lambda c: c["race-gen"].update(loss="logisitc"),
        r"config/experiments.yaml: race-gen.loss: 'logisitc' is unknown.*'logistic'",
    ),
    "network": (
        "experiments.yaml", lambda c: c["longtail-gen"].update(model="resnet21"),
        r"config/experiments.yaml: longtail-gen.model: 'resnet21' is unknown.*'resnet20'",
    ),
    "kind of data": (
        "datasets.yaml", lambda c: c["a9a"].update(kind="libsmv"),
        r"config/datasets.yaml: a9a.kind: 'libsmv' is unknown.*'libsvm'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NAMES)
def test_a_name_that_no_code_answers_to(tree, case):
    name, edit, sentence = NAMES[case]
    change(tree, name, edit)
    with pytest.raises(ConfigurationError, match=sentence):
        check_names(load(tree, GIVEN))


def test_a_class_that_is_no_method(tree):
    change(tree, "methods.yaml", lambda c: c["dca"].update(use="pauc_core.solver:Budget"))
    sentence = r"config/methods.yaml: dca.use: pauc_core.solver:Budget has no 'goals'"
    with pytest.raises(ConfigurationError, match=sentence):
        check_names(load(tree, GIVEN))


OUTSIDE = {
    "nothing": ("", "", r"USE: '' cannot be imported .* IN=folder says where the module lies"),
    "no module": ("mine:Mine", "", r"USE: 'mine:Mine' cannot be imported \(ModuleNotFoundError"),
    "no class": ("outside:Nobody", "", r"USE: 'outside:Nobody' cannot be imported \(AttributeErr"),
    "broken": ("broken:Method", "", r"USE: 'broken:Method' cannot be imported \(SyntaxError"),
    "no dataclass": ("outside:Plain", "", r"USE: outside:Plain is no dataclass"),
    "no goals": ("outside:NoGoals", "", r"USE: outside:NoGoals has no 'goals'; expected a class"),
    "no models": ("outside:NoModels", "", r"USE: outside:NoModels has no 'models'; expected a"),
    "no JSON": ("outside:Good", "{c: 1}", r"PARAMS: '{c: 1}' is no JSON"),
    "other params": ("outside:Good", '{"d": 1}', r"PARAMS: outside:Good does not take .*'d'"),
    "no params": ("outside:Good", "", r"PARAMS: outside:Good does not take no params .*'c'"),
}  # fmt: skip
OUTSIDE_CODE = """
from dataclasses import dataclass
from typing import ClassVar

class Plain: ...

@dataclass(frozen=True, kw_only=True)
class NoGoals:
    c: float

@dataclass(frozen=True, kw_only=True)
class NoModels:
    goals: ClassVar[frozenset[str]] = frozenset({"pauc"})

@dataclass(frozen=True, kw_only=True)
class Good:
    c: float
    goals: ClassVar[frozenset[str]] = frozenset({"pauc"})
    models: ClassVar[frozenset[str]] = frozenset({"linear"})
"""


@pytest.mark.parametrize("case", OUTSIDE)
def test_a_class_from_outside_is_looked_at_before_its_tests(tmp_path, monkeypatch, case):
    use, params, sentence = OUTSIDE[case]
    (tmp_path / "outside.py").write_text(OUTSIDE_CODE)
    (tmp_path / "broken.py").write_text("class Method(:\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigurationError, match=sentence) as caught:
        check_outside(use, params)
    assert "\n" not in str(caught.value)
    assert "config/methods.yaml" not in str(caught.value)
    check_outside("outside:Good", '{"c": 1}')


def test_a_mirror_that_is_not_there(tmp_path, monkeypatch):
    with pytest.raises(ConfigurationError, match=r"config.yaml: mirror: .* is not there"):
        check_names(load(ROOT, {**GIVEN, "mirror": str(tmp_path / "nowhere")}))
    monkeypatch.setenv("PAUC_MIRROR", str(tmp_path / "nowhere"))
    with pytest.raises(ConfigurationError, match=r"PAUC_MIRROR: .* is not there"):
        check_names(load(ROOT, GIVEN))
    monkeypatch.setenv("PAUC_MIRROR", "https://example.org/mirror")
    check_names(load(ROOT, {**GIVEN, "mirror": str(tmp_path)}))


def test_one_label_needs_no_list(tree):
    change(tree, "datasets.yaml", lambda c: c["a9a"].update(positive=1, negative="-1"))
    entry = load(tree, GIVEN).entry("a9a")
    assert (entry["positive"], entry["negative"]) == ([1], ["-1"])


def test_a_key_twice_is_refused_and_a_merged_one_replaced(tmp_path):
    path = tmp_path / "some.yaml"
    path.write_text("a: {b: 1}\nc: 2\na: 3\n")
    with pytest.raises(ConfigurationError, match=r"some.yaml: .*'a' of line 1 again in line 3"):
        read_mapping(path)
    path.write_text("a: &a {b: 1}\nc: &c {<<: *a, b: 2}\nd: {<<: *c, b: 3}\n")
    assert read_mapping(path) == {"a": {"b": 1}, "c": {"b": 2}, "d": {"b": 3}}


def test_the_reports_schema_knows_what_the_report_can_draw():
    """Its words are the report's; a form that only one of them has would pass or be refused."""
    from pauc_core.report.figures import AXIS
    from pauc_core.report.layout import DIGITS, FORMS, METRIC_LABEL
    from pauc_core.report.style import PLOTLY_LINE, PLOTLY_MARKER

    schema = yaml.safe_load((ROOT / "workflow/schemas/reports.schema.yaml").read_text())
    table, figure, method = (
        schema["properties"][name]["additionalProperties"]["properties"]
        for name in ("tables", "figures", "methods")
    )
    assert set(table["form"]["enum"]) == set(FORMS)
    assert set(table["metric"]["enum"]) <= set(DIGITS)
    assert set(table["metrics"]["items"]["enum"]) == set(METRIC_LABEL)
    assert set(figure["panels"]["items"]["enum"]) | set(figure["x"]["enum"]) == set(AXIS) - {"sorr"}
    assert set(method["line"]["enum"]) == set(PLOTLY_LINE)
    assert set(method["marker"]["enum"]) == set(PLOTLY_MARKER)


def test_a_guest_of_one_line_runs_wherever_such_guests_are_invited(tree):
    line = {"use": "baselines.controls:RandomScores", "label": "New", "joins": "linear"}
    change(tree, "methods.yaml", lambda c: c.update(new=line))
    suite = load(tree, GIVEN)
    inviting = {name for name, e in suite.experiments.items() if "new" in e.methods}
    assert inviting == {"league-gen", "league-gen-030"}
    assert suite.experiments["league-gen"].methods.count("pauc_path") == 1
    change(tree, "methods.yaml", lambda c: c["new"].update(joins="networks"))
    opened = load(tree, {**GIVEN, "scale": "open"}).experiments
    assert {name for name, e in opened.items() if "new" in e.methods} == {"longtail-open"}


def test_the_bands_of_a_league_are_those_of_its_experiments(tree):
    change(
        tree,
        "experiments.yaml",
        lambda c: c["league-gen"].update(band={"fpr_low": 0.01, "fpr_high": 0.2}),
    )
    leagues = load(tree, GIVEN).leagues()
    assert leagues["league-gen"] == {"league": "small", "bands": [[0.0, 0.3], [0.01, 0.2]]}
    assert leagues["league-gen-030"] == leagues["league-gen"]
    assert "linear-gen" not in leagues


def test_a_league_of_ranks_is_refused(tree):
    change(tree, "experiments.yaml", lambda c: c["sorr-gen"].update(league="small"))
    with pytest.raises(ConfigurationError, match=r"sorr-gen.league: expected a band of rates"):
        load(tree, GIVEN)


def test_the_bands_of_a_league_have_the_same_methods_grids_and_looks():
    suite = load(ROOT, {**GIVEN, "scale": "open"})
    by_league = {}
    for experiment in suite.experiments.values():
        if experiment.league is not None and experiment.track == "linear":
            by_league.setdefault(experiment.league, []).append(experiment)
    assert all(len(found) == 3 for found in by_league.values())
    for found in by_league.values():
        first = run_of(suite, found[0], found[0].datasets[0], "agd_sbcd")
        for other in found[1:]:
            assert set(other.datasets) <= set(found[0].datasets)
            assert other.methods == found[0].methods
            run = run_of(suite, other, other.datasets[0], "agd_sbcd")
            assert (run.looks, run.stages, run.budget) == (first.looks, first.stages, first.budget)
            assert (other.seeds, other.grids) == (found[0].seeds, found[0].grids)


def test_an_unknown_scale_and_an_unknown_setting():
    with pytest.raises(ConfigurationError, match=r"'defualt' is unknown.*'default'"):
        load(ROOT, {**GIVEN, "scale": "defualt"})
    with pytest.raises(ConfigurationError, match=r"'mirrror' is unknown.*'mirror'"):
        load(ROOT, {**GIVEN, "mirrror": "x"})


def test_settings_from_the_command_line():
    given = settings({**GIVEN, "subset": "200", "mirror": ""})
    assert given["subset"] == 200
    assert given["mirror"] is None


def test_looks_are_increasing_and_end_with_the_budget():
    looks = look_epochs(20, 12, "linear")
    assert list(looks) == sorted(looks)
    assert len(looks) == 12
    assert looks[-1] == 20
    assert looks[0] <= 0.05


def test_networks_are_looked_at_evenly_and_once_is_allowed():
    assert look_epochs(5, 5, "deep") == (1, 2, 3, 4, 5)
    assert look_epochs(1, 1, "deep") == (1,)
    assert look_epochs(1, 1, "linear") == (1,)


def test_a_method_with_a_budget_of_its_own_is_looked_at_all_along_it():
    suite = load(ROOT, GIVEN)
    experiment = suite.experiments["sorr-gen"]
    run = run_of(suite, experiment, "gen-a9a", "exact_lbfgs_sorr")
    assert run.looks[-1] == run.budget["epochs"] > experiment.epochs
    assert run_of(suite, experiment, "gen-a9a", "agd_sbcd_sorr").looks[-1] == experiment.epochs


@pytest.mark.parametrize(
    ("experiment", "method"),
    [
        ("race-open", "logistic_regression"),  # a control
        ("race-open", "sopa"),  # a guest
        ("league-libsvm-005", "agd_sbcd"),  # a band that the paper does not train for
    ],
)
def test_what_the_paper_does_not_compare_in_training_is_chosen_on_validation_alone(
    experiment, method
):
    suite = load(ROOT, {**GIVEN, "scale": "open"})
    paper = run_of(suite, suite.experiments["race-open"], "a9a", "agd_sbcd")
    assert paper.choices == ("validation", "objective")
    other = run_of(suite, suite.experiments[experiment], "a9a", method)
    assert other.tuned
    assert other.choices == ("validation",)


def test_a_trial_is_looked_at_where_its_run_is(tree):
    suite = load(tree, GIVEN)
    experiment = suite.experiments["race-gen"]
    run = run_of(suite, experiment, "gen-a9a", "agd_sbcd")
    shorter = trial_of(suite, experiment, "digits", "agd_sbcd")
    assert (shorter.dataset, shorter.budget) == ("gen-a9a", {"epochs": 10})
    assert shorter.looks[-1] == 10 > shorter.looks[-2]
    assert shorter.looks[:-1] == run.looks[: len(shorter.looks) - 1]
    # A method with a stopping rule of its own has its own budget, as a trial too.
    own = trial_of(suite, experiment, "gen-a9a", "svm_pauc_tight")
    assert own == run_of(suite, experiment, "gen-a9a", "svm_pauc_tight")
    change(tree, "scales/default.yaml", lambda c: c["experiments"]["race-gen"].pop("tune_epochs"))
    suite = load(tree, GIVEN)
    given = (suite, suite.experiments["race-gen"], "gen-a9a", "agd_sbcd")
    assert trial_of(*given) == run_of(*given)


def test_what_decides_a_run_leaves_the_others_out(tree):
    def decides():
        suite = load(tree, GIVEN)
        return run_of(suite, suite.experiments["race-gen"], "digits", "dca").decides()

    before = decides()
    change(tree, "experiments.yaml", lambda c: c["race-gen"]["datasets"].remove("gen-a9a"))
    change(tree, "experiments.yaml", lambda c: c["race-gen"].update(title="Another title"))
    change(tree, "scales/default.yaml", lambda c: c["experiments"]["race-gen"].update(seeds=[7]))
    change(tree, "methods.yaml", lambda c: c["agd_sbcd"]["params"].update(c=3))
    assert decides() == before
    seen = [before]
    for name, edit in (
        ("experiments.yaml", lambda c: c["race-gen"].update(loss="squared_hinge")),
        ("scales/default.yaml", lambda c: c["experiments"]["race-gen"].update(looks=7)),
        ("scales/default.yaml", lambda c: c["experiments"]["race-gen"].update(threads=2)),
        ("methods.yaml", lambda c: c["dca"]["params"].update(c=3)),
    ):
        change(tree, name, edit)
        assert decides() not in seen
        seen.append(decides())


def test_the_smoke_scale_has_all_of_the_open_one_made_small(monkeypatch):
    monkeypatch.delenv("PAUC_MIRROR", raising=False)
    whole = load(ROOT, {**GIVEN, "scale": "open"})
    given = {**GIVEN, "scale": "smoke", "raw": "no/such/folder"}
    for small in (load(ROOT, given), load(ROOT, {**given, "mirror": str(ROOT)})):
        assert set(small.experiments) == set(whole.experiments)
        assert set(small.stored_datasets()) >= set(whole.stored_datasets())
        for name, experiment in small.experiments.items():
            assert experiment.methods == whole.experiments[name].methods
            assert set(experiment.datasets) <= set(whole.experiments[name].datasets)
            assert experiment.seeds == (0,)
            assert experiment.model in ("linear", "small")
        grids = [
            math.prod(map(len, grid.values()))
            for experiment in small.experiments.values()
            for method in experiment.methods
            for grid in small.stages(experiment, method)
            if small.tuned(experiment, method)
        ]
        assert grids == [2]
        assert small.subset == 300
        assert small.results == "results/smoke"
    sources = yaml.safe_load((ROOT / "config/reports.yaml").read_text())["scales"]
    assert sources["smoke"] == sources["open"]


def test_twins_take_the_place_of_sets_that_cannot_be_had(tmp_path, monkeypatch):
    monkeypatch.delenv("PAUC_MIRROR", raising=False)
    (tmp_path / "libsvm").mkdir()
    for name in ("a9a", "a9a.t"):
        (tmp_path / "libsvm" / name).touch()
    given = {**GIVEN, "scale": "smoke", "raw": str(tmp_path)}
    found = load(ROOT, given).datasets
    assert found["a9a"]["provenance"] == "paper"  # it lies in the raw folder
    for name in ("w8a", "ijcnn1", "covtype", "nih", "chexnet-scores", "tiny-imagenet-lt-32"):
        assert found[name]["provenance"] == "generated", name
        assert found[name]["title"].endswith("generated twin"), name
    assert found["creditcard"]["provenance"] == "stand-in"  # PyPI has it
    for here, made in (("/usr/bin/npm", False), (None, True)):
        monkeypatch.setattr(reduced.shutil, "which", lambda _, here=here: here)
        found = load(ROOT, given).datasets
        for name in ("cifar10", "cifar10-lt"):
            assert (found[name]["provenance"] == "generated") is made, name
    mirrored = load(ROOT, {**given, "mirror": "https://mirror.example"}).datasets
    assert mirrored["nih"] == load(ROOT, {**GIVEN, "scale": "open"}).datasets["nih"]
    assert "generate" in mirrored["gen-features-220k"]
    assert mirrored["gen-features-220k"]["generate"]["rows"] < 20000
    assert not any("twin" in entry for entry in found.values())
