"""The league on the page: what its section shows and what its script filters and draws."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pauc_core.report.clock import Target, all_targets
from pauc_core.report.league import BEST, OPEN, TIED, Standing, Task, band_label
from pauc_core.report.league_tables import LeagueTables
from pauc_core.report.payload import key_of, rounded
from pauc_core.report.tables import blocks
from pauc_core.report.verdicts import LEVEL

STANDINGS = ("league", "league_networks")


def section(tables: LeagueTables) -> dict[str, Any] | None:
    """What the template shows; None where no experiment has a league."""
    if not tables.tasks:
        return None
    made = {table.name: table for table in tables.all()}
    standings = [made[name] for name in STANDINGS if name in made]
    kinds = dict.fromkeys(task.kind for task in tables.tasks)
    return {
        "standings": [_standings(tables, kind) for kind in kinds],
        "notes": list(dict.fromkeys(note for table in standings for note in table.notes)),
        "warnings": [warning for table in standings for warning in table.warnings],
        "others": [
            {"table": table, "blocks": blocks(table), "see": SEE[name](tables)}
            for name, table in made.items()
            if name not in STANDINGS
        ],
        "bands": [band_label(band) for band in sorted({task.band for task in tables.tasks})],
        "kinds": list(kinds),
        "regimes": list(dict.fromkeys(task.regime for task in tables.tasks)),
        "measures": set(tables.times.measure),
        "targets": [
            {"value": _name(target), "label": target.label}
            for target in all_targets(tables.reports)
            if (tables.times.measure == target.measure).any()
        ],
    }


def _standings(tables: LeagueTables, kind: str) -> dict[str, Any]:
    """The tasks of one kind of model; methods that ran on none of them are left out."""
    tasks = [task for task in tables.tasks if task.kind == kind]
    methods = tables.methods(tasks)
    unranked = tables.reports.unranked
    return {
        "kind": kind,
        "see": _most(tables, tasks),
        "heads": [{"label": tables.label(m), "below": m in unranked} for m in methods],
        "rows": [
            {
                "task": task,
                "band": band_label(task.band),
                "cells": [
                    _cell(task, task.standings[m]) if m in task.standings else None for m in methods
                ],
            }
            for task in tasks
        ],
    }


def _most(tables: LeagueTables, tasks: list[Task]) -> str:
    """Who is most often the best or tied with it, on the tasks where all of them ran."""
    ranked = [m for m in tables.methods(tasks) if m not in tables.reports.unranked]
    shared = [task for task in tasks if task.standings.keys() >= set(ranked)]
    won = Counter(
        s.method for task in shared for s in task.standings.values() if s.place in (BEST, TIED)
    )
    most = max(won.values(), default=0)
    who = ", ".join(tables.label(m) for m in ranked if most and won[m] == most)
    whole = "" if shared == tasks else f" that all methods ran, of {len(tasks)}"
    count = f"{most} of {len(shared)} tasks{whole}"
    return f"Best, or not to be told from it, most often: {who or 'nobody'} ({count})."


def _worth(tables: LeagueTables) -> str:
    """How often training for the band that is scored on pays."""
    unranked = tables.reports.unranked
    ranked = [row for row in tables.worth if row.method not in unranked]
    pairs = [(row.gains[o][0], row.p_holm[o]) for row in ranked for o in row.gains]
    told = [gain for gain, p in pairs if p <= 1 - LEVEL]
    better = sum(gain > 0 for gain in told)
    return (
        f"Training for the band that is scored on is better than training for another one in "
        f"{better} of {len(pairs)} comparisons of ranked methods and worse in "
        f"{len(told) - better}; the rest is undecided."
    )


def _quickest(tables: LeagueTables) -> str:
    """Who is most often the fastest to a target."""
    times = tables.times
    first = Counter(times.method[times.factor == 1.0])
    solved = times[times.factor == 1.0].groupby(["experiment", "dataset", "measure", "target"])
    most = max(first.values(), default=0)
    who = ", ".join(
        tables.label(m) for m in tables.methods(tables.tasks) if most and first[m] == most
    )
    return f"Fastest most often: {who or 'nobody'} ({most} of {solved.ngroups} tasks and targets)."


SEE = {"league_bands": _worth, "league_time": _quickest}


def _cell(task: Task, standing: Standing) -> dict[str, Any]:
    known = standing.low == standing.low
    told = standing.p_holm == standing.p_holm
    failed = standing.seeds < standing.runs
    notes = [
        f"{standing.seeds} of {standing.runs} seeds" if failed else f"{standing.seeds} seeds",
        f"p = {standing.p_holm:.2g} against the best, after Holm" if told else "",
    ]
    return {
        "text": f"{standing.pauc:.4f}" + (f" [{standing.seeds}/{standing.runs}]" if failed else ""),
        "range": f"{standing.low:.4f} to {standing.high:.4f}" if known else "",
        "mark": standing.place if standing.place in (TIED, OPEN) else "",
        "best": standing.place in (BEST, TIED),
        "above": task.above(standing),
        "stale": standing.stale,
        "key": key_of((task.experiment, task.dataset, standing.method)),
        "note": "; ".join(filter(None, notes)),
    }


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
