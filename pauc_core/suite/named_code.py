"""What the settings name is looked up before the first job: classes, losses, kinds, folders."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pauc_core.data.prepare import LOADERS
from pauc_core.data.sources import MADE_IN_PREPARE
from pauc_core.objective import LOSSES
from pauc_core.suite.configuration import Experiment, Suite, method_class
from pauc_core.suite.yaml_files import ConfigurationError, unknown

# Kinds of entries that no loader reads: features made by a network, and a network's weights.
KINDS = (*dict.fromkeys((*LOADERS, *MADE_IN_PREPARE)), "weights")


def check_names(suite: Suite) -> None:
    """Raise the first name of the settings that no code or folder answers to (imports torch)."""
    check_mirror(suite.settings.get("mirror"), "config/config.yaml: mirror")
    check_mirror(os.environ.get("PAUC_MIRROR"), "environment: PAUC_MIRROR")
    for name, entry in suite.datasets.items():
        if entry["kind"] not in KINDS:
            raise unknown("config/datasets.yaml", f"{name}.kind", entry["kind"], KINDS)
    for experiment in suite.experiments.values():
        if experiment.loss not in LOSSES:
            place = "config/experiments.yaml"
            raise unknown(place, f"{experiment.name}.loss", experiment.loss, LOSSES)
        _check_model(experiment)
        for name in experiment.methods:
            if "use" in suite.methods[name]:
                _check_method(suite, experiment, name)


def check_mirror(mirror: str | None, place: str) -> None:
    """Raise where a mirror that is no address is no folder either."""
    if mirror and "://" not in mirror and not Path(mirror).expanduser().is_dir():
        raise ConfigurationError(
            f"{place}: {mirror!r} is not there; expected a folder or an address (https://...)."
        )


def _check_model(experiment: Experiment) -> None:
    if experiment.model == "linear":
        return
    from pauc_core.models.networks import NETWORKS

    if experiment.model not in NETWORKS:
        known = ["linear", *NETWORKS]
        raise unknown(
            "config/experiments.yaml", f"{experiment.name}.model", experiment.model, known
        )


def _check_method(suite: Suite, experiment: Experiment, name: str) -> None:
    """See that a class is a method, handles what it is used for and has its hyper-parameters."""
    use = suite.methods[name]["use"]
    cls = method_class(use)
    check_contract(cls, f"config/methods.yaml: {name}.use: {use}")
    kind = "linear" if experiment.model == "linear" else "module"
    for what, have, want in (
        ("goal", cls.goals, experiment.goal),
        ("model", cls.models, kind),
    ):
        if want not in have:
            raise ConfigurationError(
                f"config/experiments.yaml: {experiment.name}.methods: {name} does not "
                f"handle the {what} {want!r}; expected a method for it, {name} handles "
                f"{', '.join(sorted(have))}."
            )
    known = set(cls.__dataclass_fields__)
    tried = (key for grid in suite.stages(experiment, name) for key in grid)
    used = {*suite.fit_params(experiment, name), *tried}
    for param in sorted(used - known):
        raise unknown("config/methods.yaml", f"{name}.params", param, known)


def check_contract(cls: Any, place: str) -> None:
    """Raise where a class lacks what every method says of itself."""
    if not hasattr(cls, "__dataclass_fields__"):
        raise ConfigurationError(
            f"{place} is no dataclass; expected a frozen, keyword-only dataclass whose fields are "
            "its hyper-parameters."
        )
    for attribute, words in (("goals", "pauc and sorr"), ("models", "linear and module")):
        if not isinstance(getattr(cls, attribute, None), frozenset):
            raise ConfigurationError(
                f"{place} has no {attribute!r}; expected a class attribute, the frozenset of those "
                f"of {words} that it handles."
            )
