"""What the settings files name in each other, and the ranges of hyper-parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pauc_core.suite.yaml_files import ConfigurationError, check_schema, unknown


def check_entry(
    name: str, entry: Mapping[str, Any], methods: Mapping[str, Any], datasets: Mapping[str, Any]
) -> None:
    """Raise what an experiment of any scale names that is not there."""
    place = "config/experiments.yaml"
    for method in entry["methods"]:
        if method not in methods:
            raise unknown(place, f"{name}.methods", method, methods)
    for reference in entry["datasets"]:
        check_dataset(place, f"{name}.datasets", reference, datasets)
    _check_band(place, name, entry["band"])
    if "league" in entry and set(entry["band"]) != {"fpr_low", "fpr_high"}:
        raise ConfigurationError(
            f"{place}: {name}.league: expected a band of rates in a league, fpr_low and fpr_high; "
            f"got {dict(entry['band'])}."
        )


def check_scale(
    place: str, overlay: Mapping[str, Any], schema: Path, catalogue: Mapping[str, Any]
) -> None:
    """Raise what any scale names that is not there, be it the one that is run or not."""
    check_schema(overlay, schema, place)
    for name in overlay.get("experiments", {}):
        if name not in catalogue:
            raise unknown(place, "experiments", name, catalogue)


def check_dataset(place: str, key: str, reference: str, datasets: Mapping[str, Any]) -> None:
    base, _, task = reference.partition("@")
    if base not in datasets:
        raise unknown(place, key, base, datasets)
    tasks = _tasks(datasets, base)
    if (task or tasks) and task not in tasks:
        raise unknown(place, f"{key}: task of {base}", task, tasks)


def check_ranges(
    params: Mapping[str, Any],
    stages: list[dict[str, list[Any]]],
    ranges: Path,
    file: str,
    method: str,
) -> None:
    """Raise a hyper-parameter, fixed or of a grid, that lies outside its range."""
    check_schema(params, ranges, f"config/{file}: {method}.params")
    for name, values in ((name, values) for grid in stages for name, values in grid.items()):
        for value in values:
            check_schema({name: value}, ranges, f"config/{file}: {method}.grid")


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
