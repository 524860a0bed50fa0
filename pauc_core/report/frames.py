"""What the report is handed: collected results, the paper's numbers, and what goes where."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from pauc_core.suite import columns
from pauc_core.suite.choice import OBJECTIVE, VALIDATION
from pauc_core.suite.frames import read_frames

KEYS = list(columns.KEYS)
CHOSEN = ("summaries", "traces", "roc")  # frames whose runs say by what
PROVENANCE = {
    "paper": "the paper's data",
    "stand-in": "an open stand-in",
    "generated": "generated data",
    "own": "own data",
}
OF_THE_PAPER = re.compile(r"(table|figure)\d+")  # shown whatever ran
FINE = ("converged", "budget")  # outcomes of a run that went as it should


class ReportError(ValueError):
    """Something the report cannot work with, in one sentence."""


@dataclass(frozen=True)
class Collected:
    """The collected frames of one scale; their columns are in pauc_core/suite/columns.py."""

    summaries: pd.DataFrame
    traces: pd.DataFrame
    roc: pd.DataFrame
    trials: pd.DataFrame
    datasets: pd.DataFrame
    pairwise: pd.DataFrame
    bands: pd.DataFrame
    across: pd.DataFrame
    meta: dict[str, Any]

    def runs(
        self, experiment: str, dataset: str, method: str, chosen_by: str = VALIDATION
    ) -> pd.DataFrame:
        """Summary rows of a method on a dataset, one a seed."""
        return self._pick("summaries", experiment, dataset, method, chosen_by)

    def trace(
        self, experiment: str, dataset: str, method: str, chosen_by: str = VALIDATION
    ) -> pd.DataFrame:
        """Looks of a method on a dataset, all seeds."""
        return self._pick("traces", experiment, dataset, method, chosen_by)

    def curve(self, experiment: str, dataset: str, method: str) -> pd.DataFrame:
        """ROC points of a method on a dataset, all seeds."""
        return self._pick("roc", experiment, dataset, method, VALIDATION)

    def _pick(self, name: str, *key: str) -> pd.DataFrame:
        return self._by_key[name].get(key, getattr(self, name).iloc[:0])

    @cached_property
    def _by_key(self) -> dict[str, dict[tuple[str, ...], pd.DataFrame]]:
        """Rows by key: comparing names row by row for every key takes most of a report's time."""
        return {
            name: {
                tuple(map(str, k)): part
                for k, part in getattr(self, name).groupby([*KEYS, "chosen_by"])
            }
            for name in CHOSEN
        }

    def of_validation(self, name: str) -> pd.DataFrame:
        """The rows of a frame whose values were chosen on validation."""
        frame: pd.DataFrame = getattr(self, name)
        return frame[frame.chosen_by == VALIDATION]

    def both_ways(self, experiment: str, dataset: str) -> bool:
        """Whether a dataset was run with the values of either rule of choice."""
        s = self.summaries
        here = s[(s.experiment == experiment) & (s.dataset == dataset)]
        return bool((here.chosen_by == OBJECTIVE).any())

    def provenance(self, experiment: str, dataset: str) -> str | None:
        """Whose data a dataset is, from its runs or, before any ran, from the catalogue."""
        s = self.summaries
        found = s.provenance[(s.experiment == experiment) & (s.dataset == dataset)].dropna()
        if len(found):
            return str(found.iloc[0])
        row = self.dataset_row(dataset)
        return None if row is None else str(row["provenance"])

    def dataset_row(self, dataset: str) -> pd.Series | None:
        """The catalogue's row of ``name`` or ``name@task``."""
        name, _, task = dataset.partition("@")
        d = self.datasets
        rows = d[(d.dataset == dataset) | ((d.dataset == name) & (d.task == task))]
        if rows.empty and not task:
            rows = d[d.dataset == name]
        return None if rows.empty else rows.iloc[0]


@dataclass(frozen=True)
class Source:
    """Where a table or figure takes its columns from at this scale."""

    experiment: str
    columns: tuple[str, ...]
    dataset: str
    datasets: Mapping[str, str]
    note: str

    def measured(self, column: str) -> str:
        """The dataset measured for a column of the paper."""
        return self.datasets.get(column, self.dataset.format(column))


@dataclass(frozen=True)
class Reports:
    """The report's configuration at one scale."""

    scale: str
    sources: dict[str, Source]
    tables: dict[str, dict[str, Any]]
    figures: dict[str, dict[str, Any]]
    methods: dict[str, dict[str, str]]
    assumed_repeats: int
    margins: dict[str, float]
    regimes: dict[str, float]
    known_sources: frozenset[str]  # of any scale
    league: dict[str, Any]  # references, targets and titles of its tables
    notes: dict[str, str]  # remarks beside methods' names
    unranked: frozenset[str]  # methods that the league prints below the line
    minimising: frozenset[str]  # methods that minimise the experiment's objective

    def source(self, name: str) -> Source:
        if name not in self.sources:
            raise ReportError(
                f"config/reports.yaml: scale {self.scale} has no source {name!r}; it has "
                f"{', '.join(self.sources)}."
            )
        return self.sources[name]

    def filled(self, ran: set[str], in_league: bool) -> Reports:
        """Without tables and figures that are not the paper's and of whose sources nothing ran."""

        def shown(name: str, sources: list[str]) -> bool:
            found = {self.sources[source].experiment for source in sources}
            if self.figures.get(name, {}).get("form") == "profile":
                return in_league
            return bool(OF_THE_PAPER.fullmatch(name) or not found or found & ran)

        return replace(
            self,
            tables={
                name: entry
                for name, entry in self.tables.items()
                if shown(name, [part["source"] for part in entry["parts"]])
            },
            figures={
                name: entry
                for name, entry in self.figures.items()
                if shown(name, [entry["source"]] if "source" in entry else [])
            },
        )

    def order(self, method: str) -> tuple[int, str]:
        """Place of a method in every list: as configured, then by name."""
        known = list(self.methods)
        return (known.index(method) if method in known else len(known), method)


def load_collected(folder: str | Path) -> Collected:
    """Read a scale's collected folder."""
    folder = Path(folder)
    if not (folder / "summaries.parquet").is_file():
        raise ReportError(
            f"{folder}: no summaries.parquet; collect the runs first (the rule collect writes it)."
        )
    frames, meta = read_frames(folder)
    for name in CHOSEN:
        said = frames[name]["chosen_by"].astype(object)
        frames[name]["chosen_by"] = said.where(said.notna(), VALIDATION)
    return Collected(**frames, meta=meta)


def load_reports(path: str | Path, scale: str) -> Reports:
    """Read config/reports.yaml, and methods.yaml beside it, for one scale or a subset of it."""
    config: Mapping[str, Any] = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    name = scale.partition("-subset-")[0]
    if name not in config["scales"]:
        raise ReportError(
            f"{path}: scale {name!r} is not there; expected one of "
            f"{', '.join(config['scales'])}: add it under scales."
        )
    sources = {
        key: Source(
            experiment=value["experiment"],
            columns=tuple(value["columns"]),
            dataset=value["dataset"],
            datasets=value.get("datasets", {}),
            note=value.get("note", ""),
        )
        for key, value in config["scales"][name].items()
    }
    lines: Mapping[str, Any] = yaml.safe_load(
        Path(path).with_name("methods.yaml").read_text(encoding="utf-8")
    )
    everywhere = {key for scale_sources in config["scales"].values() for key in scale_sources}
    tables = {}
    for table, entry in config["tables"].items():
        for part in entry["parts"]:
            if part["source"] not in everywhere:
                raise ReportError(
                    f"{path}: tables: {table}: source {part['source']!r} is at no scale; expected "
                    f"one of {', '.join(sorted(everywhere))}."
                )
        parts = [part for part in entry["parts"] if part["source"] in sources]
        if parts:
            tables[table] = {**entry, "parts": parts}
    return Reports(
        scale=scale,
        sources=sources,
        tables=tables,
        figures={
            name: entry
            for name, entry in config["figures"].items()
            if entry.get("source") is None or entry["source"] in sources
        },
        methods=config["methods"],
        assumed_repeats=int(config["assumed_repeats"]),
        margins=config["margins"],
        regimes=config["regimes"],
        known_sources=frozenset(everywhere),
        league=config["league"],
        notes={name: line["note"] for name, line in lines.items() if "note" in line},
        unranked=frozenset(n for n, line in lines.items() if not line.get("ranked", True)),
        minimising=frozenset(n for n, line in lines.items() if line.get("minimises", False)),
    )


@dataclass(frozen=True)
class Reference:
    """What the paper says: its numbers, its claims, and the groups whose methods are ranked."""

    numbers: pd.DataFrame
    claims: list[dict[str, Any]]
    ranks: list[dict[str, Any]]


def load_reference(folder: str | Path) -> Reference:
    """Read reference/."""
    path = Path(folder) / "tables.csv"
    if not path.is_file():
        raise ReportError(f"{path}: not found; expected the paper's numbers, one a row.")
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    for name in ("mean", "deviation"):
        frame[name] = pd.to_numeric(frame[name])
    said = yaml.safe_load((Path(folder) / "claims.yaml").read_text(encoding="utf-8"))
    return Reference(numbers=frame, claims=said["claims"], ranks=said["ranks"])
