"""What the settings name is looked up before the first job: classes, losses, kinds, folders.

``python -m pauc_core.suite.named_code module:Class [PARAMS]`` looks at one class from outside, for
`make check-baseline`.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from pauc_core.data.generate import MAKERS
from pauc_core.data.prepare import LOADERS
from pauc_core.data.sources import MADE_IN_PREPARE
from pauc_core.objective import LOSSES
from pauc_core.suite.configuration import Experiment, Suite, method_class
from pauc_core.suite.guests import is_guest, program_of
from pauc_core.suite.yaml_files import ConfigurationError, unknown

# Kinds of entries that no loader reads: features made by a network, and a network's weights.
KINDS = (*dict.fromkeys((*LOADERS, *MADE_IN_PREPARE)), "weights")
KINDS_OF: dict[str, Any] = {
    "int": int,
    "float": int | float,
    "str": str,
    "bool": bool,
    "None": type(None),
}


def check_names(suite: Suite) -> None:
    """Raise the first name of the settings that no code or folder answers to (imports torch)."""
    from pauc_core.models.networks import NETWORKS

    check_mirror(suite.settings.get("mirror"), "config/config.yaml: mirror")
    check_mirror(os.environ.get("PAUC_MIRROR"), "environment: PAUC_MIRROR")
    for name, entry in suite.datasets.items():
        if entry["kind"] not in KINDS:
            raise unknown("config/datasets.yaml", f"{name}.kind", entry["kind"], KINDS)
        for key, known in (("network", NETWORKS), ("weights", suite.datasets)):
            if key in entry and entry[key] not in known:
                raise unknown("config/datasets.yaml", f"{name}.{key}", entry[key], known)
        maker = entry.get("generate", {}).get("maker")
        if maker is not None and maker not in MAKERS:
            raise unknown("config/datasets.yaml", f"{name}.generate.maker", maker, MAKERS)
    for name, entry in suite.catalogue.items():
        for key, names in (("loss", list(LOSSES)), ("model", ["linear", *NETWORKS])):
            if entry[key] not in names:
                raise unknown("config/experiments.yaml", f"{name}.{key}", entry[key], names)
    for experiment in suite.experiments.values():
        for name in experiment.methods:
            check = _check_guest if is_guest(suite.methods[name]["use"]) else _check_method
            check(suite, experiment, name)


def check_mirror(mirror: str | None, place: str) -> None:
    """Raise where a mirror that is no address is no folder either."""
    if mirror and "://" not in mirror and not Path(mirror).expanduser().is_dir():
        raise ConfigurationError(
            f"{place}: {mirror!r} is not there; expected a folder or an address (https://...)."
        )


def _check_method(suite: Suite, experiment: Experiment, name: str) -> None:
    """See that a class is a method, handles what it is used for and has its hyper-parameters."""
    use = suite.methods[name]["use"]
    cls = method_class(use, f"config/methods.yaml: {name}.use")
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
    overlay = f"config/scales/{suite.scale}.yaml"
    for place, key, given in (
        ("config/methods.yaml", f"{name}.params", _each(suite.methods[name].get("params", {}))),
        (
            overlay,
            f"experiments.{experiment.name}.params.{name}",
            _each(experiment.params.get(name, {})),
        ),
        (
            overlay if name in experiment.grids else "config/methods.yaml",
            f"experiments.{experiment.name}.grids.{name}"
            if name in experiment.grids
            else f"{name}.grid",
            {k: v for grid in suite.stages(experiment, name) for k, v in grid.items()},
        ),
    ):
        for param, values in given.items():
            if param not in known:
                raise unknown(place, key, param, sorted(known))
            for value in values:
                _check_type(f"{place}: {key}.{param}", cls.__dataclass_fields__[param].type, value)
    params = suite.fit_params(experiment, name)
    for grid in suite.stages(experiment, name):
        params.update({param: values[0] for param, values in grid.items()})
    try:
        cls(**params)
    except Exception as error:
        raise ConfigurationError(
            f"config/methods.yaml: {name}.params: {use} does not take them ({error}); expected its "
            "hyper-parameters."
        ) from error


def _each(params: dict[str, Any]) -> dict[str, list[Any]]:
    return {name: [value] for name, value in params.items()}


def _check_type(place: str, wanted: Any, value: Any) -> None:
    """Raise where a field that is a plain number, word or truth is given something else."""
    words = wanted if isinstance(wanted, str) else getattr(wanted, "__name__", "")
    names = [word.strip() for word in words.split("|")]
    if not set(names) <= set(KINDS_OF):  # a kind that cannot be told from its name alone
        return
    kinds = [KINDS_OF[name] for name in names]
    fits = (isinstance(value, kind) and (kind is bool) == isinstance(value, bool) for kind in kinds)
    if not any(fits):
        raise ConfigurationError(f"{place}: expected {words}, got {value!r}.")


def _check_guest(suite: Suite, experiment: Experiment, name: str) -> None:
    """See that a guest's program can be started and is asked for what it can give."""
    use = suite.methods[name]["use"]
    place = f"config/methods.yaml: {name}.use: {use}"
    program = program_of(use)
    if not program.is_file():
        raise ConfigurationError(
            f"{place} is not there; expected module:Class, or the path of a guest's program below "
            "the project's folder."
        )
    if not os.access(program, os.X_OK):
        raise ConfigurationError(f"{place} cannot be executed; make it so with chmod +x {use}.")
    if suite.stages(experiment, name):
        raise ConfigurationError(
            f"config/methods.yaml: {name}.grid: a guest is not tuned; expected params alone: it "
            "may choose by the validation rows itself."
        )
    if (experiment.goal, experiment.model) != ("pauc", "linear"):
        raise ConfigurationError(
            f"config/experiments.yaml: {experiment.name}.methods: {name} is a guest, for the goal "
            f"pauc and rows of features; expected a method for {experiment.goal} and the model "
            f"{experiment.model}."
        )


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


def check_outside(use: str, params: str) -> None:
    """Raise where a class of `make check-baseline` is no method, or does not take its params."""
    try:
        cls = method_class(use, "USE")
    except ConfigurationError as error:
        raise ConfigurationError(
            f"{str(error).rstrip('.')}; IN=folder says where the module lies."
        ) from error
    check_contract(cls, f"USE: {use}")
    try:
        cls(**json.loads(params or "{}"))
    except json.JSONDecodeError as error:
        raise ConfigurationError(
            f"PARAMS: {params!r} is no JSON ({error}); expected something like '{{\"c\": 1}}'."
        ) from error
    except Exception as error:
        raise ConfigurationError(
            f"PARAMS: {use} does not take {params or 'no params'} ({error}); expected its "
            "hyper-parameters as JSON."
        ) from error


if __name__ == "__main__":
    try:
        check_outside(*(*sys.argv[1:], "", "")[:2])
    except ConfigurationError as mistake:
        sys.exit(str(mistake))
