"""What is run, as data: catalogues, one overlay a scale, and sentences for mistakes in them."""

from __future__ import annotations

import difflib
import importlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema
import yaml


class ConfigurationError(ValueError):
    """A mistake in the configuration, in one sentence."""

    def __init__(self, sentence: str) -> None:
        # Reasons of other libraries are quoted in it and may run over several lines.
        super().__init__(" ".join(sentence.split()))


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One experiment at one scale, everything resolved."""

    name: str
    track: str
    title: str
    goal: str
    band: dict[str, float]
    loss: str
    model: str
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    epochs: float
    scaling: str = "standardise"
    augmentation: str = "none"
    valid_share: float = 0.1
    use_all: bool = False
    seeds_per_job: int = 1
    looks: int = 30
    step_epochs: float = 0.25
    look_rows: int | None = None
    threads: int = 1
    precision: str = "float32"
    minutes: float = 60.0
    memory_mb: int = 16000
    tune: bool = False
    tune_epochs: float | None = None
    tune_on: str | None = None
    tune_cores: int = 2
    params: dict[str, dict[str, Any]] = field(default_factory=dict)
    grids: dict[str, dict[str, list[Any]]] = field(default_factory=dict)

    def seed_groups(self, once: bool = False) -> list[tuple[int, int]]:
        """First and last seed of each job; a job's seeds are consecutive members of ``seeds``.

        ``once`` is for a method without chance in it on data without chance: one seed says all.
        """
        ordered = sorted(self.seeds)[: 1 if once else None]
        size = self.seeds_per_job
        groups = [ordered[i : i + size] for i in range(0, len(ordered), size)]
        return [(group[0], group[-1]) for group in groups]

    def seeds_between(self, first: int, last: int) -> list[int]:
        return [seed for seed in sorted(self.seeds) if first <= seed <= last]


@dataclass(frozen=True, kw_only=True)
class Suite:
    """The whole configuration of one scale."""

    settings: dict[str, Any]
    scale: str
    digests: bool
    features: dict[str, Any]
    datasets: dict[str, dict[str, Any]]
    methods: dict[str, dict[str, Any]]
    experiments: dict[str, Experiment]

    @property
    def results(self) -> str:
        """Folder of this scale; a subset's results can't mix with whole ones."""
        subset = self.settings.get("subset")
        return f"{self.settings['results']}/{self.scale}" + (f"-subset-{subset}" if subset else "")

    def base_dataset(self, reference: str) -> str:
        """The stored dataset behind ``name`` or ``name@task``."""
        return reference.partition("@")[0]

    def entry(self, name: str) -> dict[str, Any]:
        """A dataset's entry with the user's path for it, where one was given."""
        path = (self.settings.get("paths") or {}).get(name)
        return {**self.datasets[name], **({"path": path} if path else {})}

    def stored_datasets(self) -> list[str]:
        """Every dataset that the scale's experiments need, and what those are made from."""
        todo = [self.base_dataset(d) for e in self.experiments.values() for d in e.datasets]
        found: dict[str, None] = {}
        while todo:
            name = todo.pop(0)
            found[name] = None
            origin = self.datasets[name].get("of")
            if origin:
                todo.append(origin)
        return list(found)

    def folds(self, reference: str) -> int:
        """Folds of a dataset or of what it is made from; 1 where it has none."""
        entry = self.datasets[self.base_dataset(reference)]
        return self.folds(entry["of"]) if "of" in entry else int(entry.get("folds", 1))

    def tuning_seeds(self, experiment: Experiment, dataset: str) -> list[int]:
        """The seeds tuned on: 0, or one a fold, whose training rows are others' test rows."""
        return sorted({seed % self.folds(dataset) for seed in experiment.seeds})

    def fit_params(self, experiment: Experiment, method: str) -> dict[str, Any]:
        """Hyper-parameters of a method before tuning: its line, then the scale's changes."""
        return {**self.methods[method].get("params", {}), **experiment.params.get(method, {})}

    def grid(self, experiment: Experiment, method: str) -> dict[str, list[Any]]:
        return experiment.grids.get(method, self.methods[method].get("grid", {}))

    def groups(self, experiment: Experiment, method: str) -> list[tuple[int, int]]:
        """The seeds of each job of a method's runs."""
        deterministic = self.methods[method].get("deterministic", False)
        return experiment.seed_groups(once=deterministic and experiment.use_all)

    def tuned(self, experiment: Experiment, method: str) -> bool:
        return experiment.tune and bool(self.grid(experiment, method))


def load(root: str | Path, settings: Mapping[str, Any]) -> Suite:
    """Read catalogues and the overlay of ``settings['scale']``; raise one sentence on a mistake."""
    root = Path(root)
    schemas = root / "workflow" / "schemas"
    settings = dict(settings)
    _check(settings, schemas / "settings.schema.yaml", "config/config.yaml")
    methods = _read(root / "config/methods.yaml")
    _check(methods, schemas / "methods.schema.yaml", "config/methods.yaml")
    catalogue = _inherit(_read(root / "config/experiments.yaml"))
    _check(catalogue, schemas / "experiments.schema.yaml", "config/experiments.yaml")
    datasets = _read(root / "config/datasets.yaml")
    _check(datasets, schemas / "datasets.schema.yaml", "config/datasets.yaml")
    plain = [name for name, entry in datasets.items() if "of" not in entry]
    for name, entry in datasets.items():
        if "of" in entry and entry["of"] not in plain:
            raise _unknown("config/datasets.yaml", f"{name}.of", entry["of"], plain)
    scales = sorted(path.stem for path in (root / "config/scales").glob("*.yaml"))
    if settings["scale"] not in scales:
        raise _unknown("config/config.yaml", "scale", settings["scale"], scales)
    place = f"config/scales/{settings['scale']}.yaml"
    overlay = _read(root / place)
    _check(overlay, schemas / "scale.schema.yaml", place)
    if overlay["scale"] != settings["scale"]:
        raise ConfigurationError(
            f"{place}: key scale: expected {settings['scale']!r} like the file's name, "
            f"got {overlay['scale']!r}."
        )
    experiments = {}
    for name, budget in overlay["experiments"].items():
        if name not in catalogue:
            raise _unknown(place, "experiments", name, catalogue)
        experiments[name] = _experiment(name, catalogue[name], budget, methods, datasets, place)
    return Suite(
        settings=settings,
        scale=overlay["scale"],
        digests=overlay["digests"],
        features=overlay.get("features", {}),
        datasets=datasets,
        methods=methods,
        experiments=experiments,
    )


def method_class(use: str) -> Any:
    """The class behind ``module:Class``."""
    module, _, name = use.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(
            f"config/methods.yaml: use: {use!r} cannot be imported ({error}); expected "
            f"'module:Class' of an importable module."
        ) from error


def check_methods(suite: Suite) -> None:
    """Import every method that is used and see that it fits its experiments (imports torch)."""
    place = "config/methods.yaml"
    for experiment in suite.experiments.values():
        kind = "linear" if experiment.model == "linear" else "module"
        for name in experiment.methods:
            line = suite.methods[name]
            if "use" not in line:
                continue
            cls = method_class(line["use"])
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
            used = {*suite.fit_params(experiment, name), *suite.grid(experiment, name)}
            for param in sorted(used - known):
                raise _unknown(place, f"{name}.params", param, known)


def _experiment(
    name: str,
    entry: dict[str, Any],
    budget: dict[str, Any],
    methods: Mapping[str, Any],
    datasets: Mapping[str, Any],
    place: str,
) -> Experiment:
    catalogue = "config/experiments.yaml"
    for method in entry["methods"]:
        if method not in methods:
            raise _unknown(catalogue, f"{name}.methods", method, methods)
    for key in ("params", "grids"):
        for method in budget.get(key, {}):
            if method not in entry["methods"]:
                raise _unknown(place, f"experiments.{name}.{key}", method, entry["methods"])
    for reference in [*entry["datasets"], *([budget["tune_on"]] if "tune_on" in budget else [])]:
        base, _, task = reference.partition("@")
        if base not in datasets:
            raise _unknown(catalogue, f"{name}.datasets", base, datasets)
        tasks = _tasks(datasets, base)
        if (task or tasks) and task not in tasks:
            raise _unknown(catalogue, f"{name}.datasets: task of {base}", task, tasks)
    _check_band(catalogue, name, entry["band"])
    merged = {**entry, **budget}
    merged["datasets"], merged["methods"] = tuple(entry["datasets"]), tuple(entry["methods"])
    merged["seeds"] = tuple(budget["seeds"])
    return Experiment(name=name, **merged)


def _tasks(datasets: Mapping[str, Any], base: str) -> list[str]:
    entry = datasets[base]
    if "of" in entry:
        return _tasks(datasets, entry["of"])
    return list(entry.get("task_titles", []))


def _check_band(place: str, name: str, band: Mapping[str, float]) -> None:
    if set(band) == {"fpr_low", "fpr_high"}:
        low, high, keys = band["fpr_low"], band["fpr_high"], "fpr_low < fpr_high"
    elif set(band) == {"m", "n"}:
        low, high, keys = band["m"], band["n"], "m < n"
    else:
        raise ConfigurationError(
            f"{place}: {name}.band: expected fpr_low and fpr_high, or m and n; got {dict(band)}."
        )
    if not low < high or math.isnan(low):
        raise ConfigurationError(f"{place}: {name}.band: expected {keys}; got {low} and {high}.")


def _inherit(catalogue: dict[str, Any]) -> dict[str, Any]:
    """Fill in ``like``: an experiment takes over another one's keys and changes some."""
    resolved: dict[str, Any] = {}
    for name, entry in catalogue.items():
        entry = dict(_mapping(entry, "config/experiments.yaml", name))
        parent = entry.pop("like", None)
        if parent is not None and parent not in list(resolved):
            raise _unknown("config/experiments.yaml", f"{name}.like", parent, resolved)
        resolved[name] = {**(resolved[parent] if parent else {}), **entry}
    return resolved


def _mapping(entry: Any, place: str, key: Any) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise ConfigurationError(f"{place}: {key}: expected a mapping, got {type(entry).__name__}.")
    return entry


def _read(path: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(path.read_text())
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ConfigurationError(
            f"{path}: cannot be read as YAML ({error}); repair the file."
        ) from error
    if not isinstance(content, dict):
        raise ConfigurationError(
            f"{path}: expected a mapping of names, got {type(content).__name__}."
        )
    return content


def _check(content: Any, schema_path: Path, place: str) -> None:
    schema = yaml.safe_load(schema_path.read_text())
    errors = sorted(jsonschema.Draft202012Validator(schema).iter_errors(content), key=_depth)
    if not errors:
        return
    error = errors[0]
    key = ".".join(str(step) for step in error.absolute_path) or "(top)"
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        known = list(error.schema.get("properties", {}))
        extra = next(name for name in error.instance if name not in known)
        raise _unknown(place, key, extra, known)
    raise ConfigurationError(f"{place}: {key}: {error.message[:200]}; see {schema_path.name}.")


def _depth(error: jsonschema.ValidationError) -> int:
    return -len(error.absolute_path)


def _unknown(place: str, key: str, name: Any, known: Iterable[Any]) -> ConfigurationError:
    names = [str(x) for x in known]
    near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.0)
    hint = f"; the nearest known name is {near[0]!r}" if near else ""
    return ConfigurationError(
        f"{place}: {key}: {str(name)!r} is unknown; expected one of {len(names)} known names{hint}."
    )


def settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as they arrive from the command line: words that mean nothing or numbers."""
    found = dict(given)
    for key in ("mirror", "subset"):
        if found.get(key) in ("", "null", "None"):
            found[key] = None
    if isinstance(found.get("subset"), str) and found["subset"].isdigit():
        found["subset"] = int(found["subset"])
    return found
