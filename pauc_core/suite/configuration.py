"""What is run, as data: catalogues, one overlay a scale, and sentences for mistakes in them."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pauc_core.suite.reduced import reduce_datasets, reduce_experiments
from pauc_core.suite.references import check_dataset, check_entry, check_ranges, check_scale
from pauc_core.suite.report_settings import check_reports, shown_datasets
from pauc_core.suite.yaml_files import ConfigurationError, check_schema, read_mapping, unknown

Grid = dict[str, list[Any]]  # values to try of each hyper-parameter


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
    league: str | None = None
    training_claims: bool = True
    params: dict[str, dict[str, Any]] = field(default_factory=dict)
    grids: dict[str, Grid | list[Grid]] = field(default_factory=dict)

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
    catalogue: dict[str, dict[str, Any]]  # of all scales
    subset: int | None = None

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

    def stages(self, experiment: Experiment, method: str) -> list[Grid]:
        """The grids that are tried one after the other, each from the values chosen before."""
        return _stages(experiment.grids.get(method, self.methods[method].get("grid", {})))

    def groups(self, experiment: Experiment, method: str) -> list[tuple[int, int]]:
        """The seeds of each job of a method's runs."""
        deterministic = self.methods[method].get("deterministic", False)
        return experiment.seed_groups(once=deterministic and experiment.use_all)

    def leagues(self) -> dict[str, dict[str, Any]]:
        """Of each experiment in a league: the league's name and the bands that it has there."""
        found = {name: e.league for name, e in self.experiments.items() if e.league is not None}
        bands: dict[str, list[list[float]]] = {}
        for name, league in found.items():
            band = self.experiments[name].band
            pair = [float(band["fpr_low"]), float(band["fpr_high"])]
            bands[league] = sorted([*(b for b in bands.get(league, []) if b != pair), pair])
        return {name: {"league": league, "bands": bands[league]} for name, league in found.items()}

    def tuned(self, experiment: Experiment, method: str) -> bool:
        return experiment.tune and bool(self.stages(experiment, method))


def load(root: str | Path, settings: Mapping[str, Any]) -> Suite:
    """Read catalogues and the overlay of ``settings['scale']``; raise one sentence on a mistake."""
    root = Path(root)
    schemas = root / "workflow" / "schemas"
    settings = dict(settings)
    check_schema(settings, schemas / "settings.schema.yaml", "config/config.yaml")
    methods = read_mapping(root / "config/methods.yaml")
    check_schema(methods, schemas / "methods.schema.yaml", "config/methods.yaml")
    ranges = schemas / "hyperparameters.schema.yaml"
    for name, line in methods.items():
        grid = _stages(line.get("grid", {}))
        check_ranges(line.get("params", {}), grid, ranges, "methods.yaml", name)
    catalogue = _inherit(read_mapping(root / "config/experiments.yaml"))
    check_schema(catalogue, schemas / "experiments.schema.yaml", "config/experiments.yaml")
    _invite(catalogue, methods)
    datasets = read_mapping(root / "config/datasets.yaml")
    check_schema(datasets, schemas / "datasets.schema.yaml", "config/datasets.yaml")
    plain = [name for name, entry in datasets.items() if "of" not in entry]
    for name, entry in datasets.items():
        for key, known in (("of", plain), ("twin", datasets)):
            if key in entry and entry[key] not in known:
                raise unknown("config/datasets.yaml", f"{name}.{key}", entry[key], known)
        for key in ("positive", "negative"):
            if key in entry and not isinstance(entry[key], list):
                entry[key] = [entry[key]]
    for name, entry in catalogue.items():
        check_entry(name, entry, methods, datasets)
    scales = sorted(path.stem for path in (root / "config/scales").glob("*.yaml"))
    if settings["scale"] not in scales:
        raise unknown("config/config.yaml", "scale", settings["scale"], scales)
    reports = read_mapping(root / "config/reports.yaml")
    check_schema(reports, schemas / "reports.schema.yaml", "config/reports.yaml")
    check_reports(reports, methods=methods, experiments=catalogue, scales=scales)
    for key, reference in shown_datasets(reports):
        check_dataset("config/reports.yaml", key, reference, datasets)
    overlays = {name: read_mapping(root / f"config/scales/{name}.yaml") for name in scales}
    for name, other in overlays.items():
        place = f"config/scales/{name}.yaml"
        check_scale(place, other, schemas / "scale.schema.yaml", catalogue)
    place = f"config/scales/{settings['scale']}.yaml"
    overlay = overlays[settings["scale"]]
    if overlay["scale"] != settings["scale"]:
        raise ConfigurationError(
            f"{place}: key scale: expected {settings['scale']!r} like the file's name, "
            f"got {overlay['scale']!r}."
        )
    budgets = overlay.get("experiments", {})
    if "like" in overlay:
        if overlay["like"] not in scales:
            raise unknown(place, "like", overlay["like"], scales)
        whole = overlays[overlay["like"]]
        budgets, catalogue = reduce_experiments(overlay, whole, catalogue, place)
        mirror = settings.get("mirror") or os.environ.get("PAUC_MIRROR")
        datasets = reduce_datasets(datasets, overlay, Path(settings["raw"]), mirror)
        methods = {name: _without(line, "grid") for name, line in methods.items()}
    # Who stands in for a set is no part of what is prepared.
    datasets = {name: _without(entry, "twin") for name, entry in datasets.items()}
    experiments = {}
    for name, budget in budgets.items():
        if name not in catalogue:
            raise unknown(place, "experiments", name, catalogue)
        experiments[name] = _experiment(name, catalogue[name], budget, datasets, place)
        for method in (*budget.get("params", {}), *budget.get("grids", {})):
            params, grid = (budget.get(key, {}).get(method, {}) for key in ("params", "grids"))
            check_ranges(params, _stages(grid), ranges, f"scales/{settings['scale']}.yaml", method)
    return Suite(
        settings=settings,
        scale=overlay["scale"],
        digests=overlay["digests"],
        features=overlay.get("features", {}),
        datasets=datasets,
        methods=methods,
        experiments=experiments,
        catalogue=catalogue,
        subset=settings.get("subset") or overlay.get("subset"),
    )


def method_class(use: str, place: str = "config/methods.yaml: use") -> Any:
    """The class behind ``module:Class``, which is named at ``place``."""
    module, _, name = use.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except Exception as error:  # a module may raise anything when it is imported
        raise ConfigurationError(
            f"{place}: {use!r} cannot be imported ({type(error).__name__}: {error}); expected "
            "'module:Class' of an importable module."
        ) from error


def _experiment(
    name: str,
    entry: dict[str, Any],
    budget: dict[str, Any],
    datasets: Mapping[str, Any],
    place: str,
) -> Experiment:
    for key in ("params", "grids"):
        for method in budget.get(key, {}):
            if method not in entry["methods"]:
                raise unknown(place, f"experiments.{name}.{key}", method, entry["methods"])
    if "tune_on" in budget:
        check_dataset(place, f"experiments.{name}.tune_on", budget["tune_on"], datasets)
    merged = {**entry, **budget}
    merged["datasets"], merged["methods"] = tuple(entry["datasets"]), tuple(entry["methods"])
    merged["seeds"] = tuple(budget["seeds"])
    return Experiment(name=name, **merged)


def _stages(grid: Grid | list[Grid]) -> list[Grid]:
    return grid if isinstance(grid, list) else [grid] if grid else []


def _without(entry: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != key}


def _inherit(catalogue: dict[str, Any]) -> dict[str, Any]:
    """Fill in ``like``: an experiment takes over another one's keys and changes some."""
    resolved: dict[str, Any] = {}
    for name, entry in catalogue.items():
        entry = dict(_mapping(entry, "config/experiments.yaml", name))
        parent = entry.pop("like", None)
        if parent is not None and parent not in list(resolved):
            raise unknown("config/experiments.yaml", f"{name}.like", parent, resolved)
        resolved[name] = {**(resolved[parent] if parent else {}), **entry}
    return resolved


def _invite(catalogue: dict[str, Any], methods: Mapping[str, Any]) -> None:
    """Add to each experiment the methods that join what it invites: a new guest is one line."""
    for entry in catalogue.values():
        invited = entry.pop("guests", [])
        joining = [name for name, line in methods.items() if line.get("joins") in invited]
        entry["methods"] = list(dict.fromkeys([*entry["methods"], *joining]))


def _mapping(entry: Any, place: str, key: Any) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise ConfigurationError(f"{place}: {key}: expected a mapping, got {type(entry).__name__}.")
    return entry


def settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as they arrive from the command line: words that mean nothing or numbers."""
    found = dict(given)
    for key in ("mirror", "subset"):
        if found.get(key) in ("", "null", "None"):
            found[key] = None
    if isinstance(found.get("subset"), str) and found["subset"].isdigit():
        found["subset"] = int(found["subset"])
    return found
