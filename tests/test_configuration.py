"""Mistakes in the configuration are one sentence with file, key and the nearest known name."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from pauc_core.suite.configuration import (
    ConfigurationError,
    check_methods,
    load,
    settings,
)
from pauc_core.suite.run_spec import look_epochs, run_of, trial_of

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
    check_methods(suite)
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
        check_methods(load(tree, GIVEN))


def test_a_linear_method_on_a_network(tree):
    change(tree, "experiments.yaml", lambda c: c["race-gen"].update(model="small"))
    with pytest.raises(ConfigurationError, match="does not handle the model 'module'"):
        check_methods(load(tree, GIVEN))


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
