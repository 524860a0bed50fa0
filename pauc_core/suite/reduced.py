"""A scale that is another one made small: all of its experiments, on a few rows each."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pauc_core.suite.yaml_files import unknown

Entries = dict[str, dict[str, Any]]


def reduce_experiments(
    overlay: Mapping[str, Any], whole: Mapping[str, Any], catalogue: Entries, place: str
) -> tuple[Entries, Entries]:
    """Budgets and catalogue of a scale that is ``like`` another, whose overlay is ``whole``.

    Each experiment of the other has the settings of ``every`` and its own; of a set with several
    tasks the first few are run; networks become small; a band of ranks fits into few rows.
    """
    own = overlay.get("experiments", {})
    for name in own:
        if name not in whole["experiments"]:
            raise unknown(place, "experiments", name, whole["experiments"])
    budgets = {name: {**overlay["every"], **own.get(name, {})} for name in whole["experiments"]}
    reduced = dict(catalogue)
    for name in budgets:
        if name in catalogue:
            entry = dict(catalogue[name])
            entry["datasets"] = _first_tasks(entry["datasets"], overlay["tasks"])
            if entry["model"] != "linear":
                entry["model"] = overlay["network"]
            if "m" in entry["band"]:
                entry["band"] = overlay["ranks"]
            reduced[name] = entry
    return budgets, reduced


def reduce_datasets(
    datasets: Entries, overlay: Mapping[str, Any], raw: Path, mirror: str | None
) -> Entries:
    """The datasets with small extractors; generated twins of those whose files cannot be had."""
    return {
        name: _with_network(_present(name, datasets, raw, mirror), overlay["network"])
        for name in datasets
    }


def _first_tasks(references: list[str], count: int) -> list[str]:
    kept: dict[str, list[str]] = {}
    for reference in references:
        kept.setdefault(reference.partition("@")[0], []).append(reference)
    return [reference for tasks in kept.values() for reference in tasks[:count]]


def _present(name: str, datasets: Entries, raw: Path, mirror: str | None) -> dict[str, Any]:
    """An entry, or its twin's under its name where it is larger than needed or out of reach."""
    entry = datasets[name]
    if "twin" not in entry or not (
        entry["provenance"] == "generated" or not (mirror or _at_hand(entry, raw))
    ):
        return entry
    twin = datasets[entry["twin"]]
    title = f"{entry['title']}: generated twin"
    return {**twin, "title": title, "provenance": "generated"}


def _at_hand(entry: Mapping[str, Any], raw: Path) -> bool:
    """Whether npm, PyPI or the raw folder has every file of an entry."""
    if "npm" in entry and shutil.which("npm"):
        return True
    return all(
        any(
            "pypi" in file or (raw / item.get("folder", entry["folder"]) / file["name"]).exists()
            for file in item.get("any_of", [item])
        )
        for item in entry["files"]
    )


def _with_network(entry: dict[str, Any], network: str) -> dict[str, Any]:
    """Published weights are used as they are: they fit no other network."""
    return {**entry, "network": network} if "network" in entry and "weights" not in entry else entry
