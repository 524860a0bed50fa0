"""The league on the page: what its section shows and what its script filters and draws."""

from __future__ import annotations

from typing import Any

from pauc_core.report.clock import Target, all_targets
from pauc_core.report.layout import Cell, Row, Table
from pauc_core.report.league import Task, band_label
from pauc_core.report.league_tables import LeagueTables
from pauc_core.report.payload import key_of, rounded
from pauc_core.report.tables import blocks


def section(tables: LeagueTables) -> dict[str, Any] | None:
    """What the template shows; None where no experiment has a league."""
    if not tables.tasks:
        return None
    made = {table.name: table for table in tables.all()}
    kinds = dict.fromkeys(task.kind for task in tables.tasks)
    return {
        "standings": [_standings(tables, made["league"], kind) for kind in kinds],
        "notes": made["league"].notes,
        "warnings": made["league"].warnings,
        "others": [
            {"table": table, "blocks": blocks(table)}
            for name, table in made.items()
            if name != "league"
        ],
        "bands": [band_label(band) for band in sorted({task.band for task in tables.tasks})],
        "kinds": list(kinds),
        "regimes": list(dict.fromkeys(task.regime for task in tables.tasks)),
        "targets": [
            {"value": _name(target), "label": target.label}
            for target in all_targets(tables.reports)
            if (tables.times.measure == target.measure).any()
        ],
    }


def _standings(tables: LeagueTables, table: Table, kind: str) -> dict[str, Any]:
    """The tasks of one kind of model; methods that ran on none of them are left out."""
    tasks = [task for task in tables.tasks if task.kind == kind]
    methods, all_methods = tables.methods(tasks), tables.methods(tables.tasks)
    places = [all_methods.index(method) for method in methods]
    return {
        "kind": kind,
        "heads": [
            {
                "method": method,
                "label": tables.label(method),
                "below": method in tables.reports.unranked,
            }
            for method in methods
        ],
        "rows": [
            {"task": task, "band": band_label(task.band), "cells": _some(row, places)}
            for task, row in zip(tables.tasks, table.rows, strict=True)
            if task.kind == kind
        ],
    }


def _some(row: Row, places: list[int]) -> list[Cell]:
    return [row.cells[place] for place in places]


def _name(target: Target) -> str:
    return f"{target.measure}-{target.within:g}"


def payload(tables: LeagueTables) -> dict[str, Any]:
    """Seconds to each target for the profile, and what its tasks are filtered by."""
    facts: dict[str, Task] = {key_of((t.experiment, t.dataset)): t for t in tables.tasks}
    times: dict[str, dict[str, dict[str, Any]]] = {}
    for row in tables.times.to_dict("records"):
        target = _name(Target(str(row["measure"]), float(row["target"])))
        task = times.setdefault(key_of((row["experiment"], row["dataset"])), {})
        # A miss is null: JSON has no infinity.
        task.setdefault(target, {})[str(row["method"])] = rounded(row["seconds"], 4)
    return {
        "times": times,
        "tasks": {
            key: {"band": band_label(t.band), "kind": t.kind, "regime": t.regime}
            for key, t in facts.items()
            if key in times
        },
    }
