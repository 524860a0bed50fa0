"""Tables as rows and columns: what goes where, before anything is written in a format."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from pauc_core.report.budgets import sentence
from pauc_core.report.frames import PROVENANCE, Collected, Reports
from pauc_core.report.measured import AT_W, BY_OBJECTIVE, KEY, extra_methods, plain

DATASET_LABEL = {
    "cifar10-lt": "CIFAR-10-LT",
    "tiny-imagenet-lt": "Tiny-ImageNet-200-LT",
    "gen-features-220k": "220,000 x 1,024",
    "w8a-split": "w8a, split anew",
    "creditcard": "Card fraud",
    "cifar10-features": "CIFAR-10 features",
    "chexnet-scores": "CheXNet's outputs",
}
METRIC_LABEL = {
    "samples": "# Samples",
    "features": "# Features",
    "positives": "# Pos. samples",
    "negatives": "# Neg. samples",
}
WITH_OBJECTIVE = ", values lowest in training objective"
DIGITS = {"test_pauc": 4, "train_pauc": 4, "valid_pauc": 4, "epochs_to_exceed": 2}
NOT_THE_PAPERS = {
    "generated": "GENERATED DATA: reproduces nothing.",
    "stand-in": "OPEN STAND-IN, not CheXpert: not a reproduction of the paper's rows beside it.",
    "own": "OWN DATA: not a reproduction of the paper's rows beside it.",
}


@dataclass
class Cell:
    """One number as shown, and the key under which its provenance is found."""

    text: str
    mean: float = math.nan
    deviation: float = math.nan
    n: int = 0
    best: bool = False
    above: bool = False  # not one of the paper's methods, and better than the best of them
    stale: bool = False
    note: str = ""
    key: str = ""


@dataclass
class Row:
    """One line of a table; ``kind`` is ``measured`` or ``paper``, ``extra`` is below the line."""

    block: str
    label: str
    kind: str
    cells: list[Cell]
    extra: bool = False


@dataclass
class Table:
    """A table with its notes, ready for any format."""

    name: str
    title: str
    stub: str
    columns: list[str]
    rows: list[Row] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    provenance: list[str] = field(default_factory=list)
    line: str = "not in the paper"  # what is said of the rows below the line


def method_label(reports: Reports, method: str, labels: dict[str, str] | None = None) -> str:
    base = plain(method)
    label = reports.methods.get(base, {}).get("label") or (labels or {}).get(base, base)
    label += " at w" if AT_W in method else ""
    return label + (WITH_OBJECTIVE if method.endswith(BY_OBJECTIVE) else "")


def dataset_label(column: str) -> str:
    """A dataset's name in tables; a task's stands behind it."""
    name, _, task = column.partition("@")
    return ", ".join(filter(None, [DATASET_LABEL.get(name, name), task]))


def show(metric: str, value: float, deviation: float = math.nan) -> str:
    """A number with the digits of its kind."""
    if not math.isfinite(value):
        return ""
    if metric in METRIC_LABEL:
        return f"{value:,.0f}"
    if metric in DIGITS:
        text = f"{value:.{DIGITS[metric]}f}"
        if math.isfinite(deviation):
            text += f" ± {deviation:.{DIGITS[metric]}f}"
        return text
    if 0 < value < 0.1:
        return f"{value:.2g}"
    return f"{value:.2f}" if value < 1000 else f"{value:,.0f}"


class Builder:
    """Makes the tables of one comparison."""

    def __init__(self, collected: Collected, reports: Reports, comparison: pd.DataFrame) -> None:
        self.collected, self.reports = collected, reports
        self.rows: dict[tuple[str, ...], Any] = {}
        for row in comparison.itertuples():
            key = tuple(str(getattr(row, name)) for name in KEY)
            self.rows.setdefault(key, row)
            # A control may stand in two blocks of a table, measured by two experiments.
            self.rows.setdefault((*key, str(row.experiment)), row)
        s = collected.summaries
        self.labels = dict(zip(s.method, s.label.fillna(s.method), strict=True))

    def table(self, name: str) -> Table:
        config = self.reports.tables[name]
        table = FORMS[config["form"]](self, name, config)
        self._note(table, name, config)
        return table

    def measured(
        self, name: str, dataset: str, method: str, *metrics: str, experiment: str = ""
    ) -> Cell:
        """A measured cell, of one experiment where it is named; a second metric is in brackets."""
        cell = (name, dataset, method, metrics[0])
        row = self.rows.get((*cell, experiment) if experiment else cell)
        if row is None or row.status != "measured":
            return Cell("not run") if row is None else Cell(row.status, note=row.note)
        text = show(metrics[0], row.ours, row.ours_deviation)
        for metric in metrics[1:]:
            more = self.rows.get((name, dataset, method, metric))
            text += f" ({show(metric, more.ours)})" if more is not None else ""
        if row.n < row.runs:
            text += f" [{row.n} of {row.runs}]"
        key = "|".join((row.experiment, row.measured_on, plain(method)))
        return Cell(
            text, row.ours, row.ours_deviation, row.n, stale=row.stale, note=row.note, key=key
        )

    def paper(self, name: str, dataset: str, method: str, *metrics: str) -> Cell:
        row = self.rows.get((name, dataset, method, metrics[0]))
        if row is None or not math.isfinite(row.paper):
            return Cell("")
        text = show(metrics[0], row.paper, row.paper_deviation)
        for metric in metrics[1:]:
            more = self.rows.get((name, dataset, method, metric))
            text += f" ({show(metric, more.paper)})" if more is not None else ""
        return Cell(text, row.paper, row.paper_deviation, note=str(row.place))

    def _grid(self, name: str, config: dict[str, Any]) -> Table:
        metric = config["metric"]
        columns = list(
            dict.fromkeys(
                c for p in config["parts"] for c in self.reports.source(p["source"]).columns
            )
        )
        table = Table(name, config["title"], "Method", [dataset_label(c) for c in columns])
        for part in config["parts"]:
            source = self.reports.source(part["source"])
            extra = extra_methods(self.collected, self.reports, source, part["methods"])
            first = len(table.rows)
            for method in [*part["methods"], *extra]:
                label = method_label(self.reports, method, self.labels)
                cells = [
                    self.measured(name, c, method, metric, experiment=source.experiment)
                    if c in source.columns
                    else Cell("")
                    for c in columns
                ]
                paper = [
                    self.paper(name, c, method, metric) if c in source.columns else Cell("")
                    for c in columns
                ]
                table.rows.append(Row(part["title"], label, "measured", cells, method in extra))
                if any(cell.text for cell in paper):
                    table.rows.append(Row(part["title"], label, "paper", paper, method in extra))
            for i in range(len(columns)):
                _mark([(row, row.cells[i]) for row in table.rows[first:]])
        return table

    def _transposed(self, name: str, config: dict[str, Any]) -> Table:
        sources = {p["source"]: self.reports.source(p["source"]) for p in config["parts"]}
        extras = {
            p["source"]: extra_methods(
                self.collected, self.reports, sources[p["source"]], p["methods"]
            )
            for p in config["parts"]
        }
        listed = list(dict.fromkeys(m for p in config["parts"] for m in p["methods"]))
        extra = list(dict.fromkeys(m for more in extras.values() for m in more))
        methods = [*listed, *extra]
        labels = [
            method_label(self.reports, m, self.labels) + (" *" if m in extra else "")
            for m in methods
        ]
        table = Table(name, config["title"], "Dataset", labels)
        for part, column in (
            (p, column) for p in config["parts"] for column in sources[p["source"]].columns
        ):
            there = {*part["methods"], *extras[part["source"]]}
            for kind, cell_of in (("measured", self.measured), ("paper", self.paper)):
                cells = [
                    cell_of(name, column, m, config["metric"]) if m in there else Cell("")
                    for m in methods
                ]
                for side in (False, True):
                    some = [c for m, c in zip(methods, cells, strict=True) if (m in extra) == side]
                    _mark([(Row("", "", kind, [], side), c) for c in some])
                if kind == "measured" or any(cell.text for cell in cells):
                    table.rows.append(Row(part["title"], dataset_label(column), kind, cells))
        if extra:
            table.notes.append("* not in the paper.")
        return table

    def _exceed(self, name: str, config: dict[str, Any]) -> Table:
        part = config["parts"][0]
        rival, method = part["rival"], part["method"]
        them = method_label(self.reports, rival)
        us = method_label(self.reports, method)
        when = ("cpu_seconds_to_exceed", "epochs_to_exceed")
        keys: list[tuple[str, tuple[str, ...], str]] = [
            (rival, ("train_pauc",), f"{them}: pAUC"),
            (rival, ("cpu_seconds",), f"{them}: CPU s"),
            (method, when, f"{us}: CPU s (epoch) to exceed"),
            (method + AT_W, when, f"{us} at w: CPU s (epoch) to exceed"),
            (method, ("gpu_seconds_to_exceed",), f"{us}: GPU s to exceed"),
            (method, ("train_pauc",), f"{us}: pAUC"),
            (method + AT_W, ("train_pauc",), f"{us} at w: pAUC"),
            (method, ("cpu_seconds",), f"{us}: CPU s"),
            (method, ("gpu_seconds",), f"{us}: GPU s"),
        ]
        table = Table(name, config["title"], "Task", [label for _, _, label in keys])
        for each in config["parts"]:
            source = self.reports.source(each["source"])
            for column in source.columns:
                cells = [self.measured(name, column, m, *metrics) for m, metrics, _ in keys]
                table.rows.append(Row("", dataset_label(column), "measured", cells))
                if self.collected.both_ways(source.experiment, source.measured(column)):
                    cells = [self.measured(name, column, m + BY_OBJECTIVE, *k) for m, k, _ in keys]
                    label = dataset_label(column) + WITH_OBJECTIVE
                    table.rows.append(Row("", label, "measured", cells))
                cells = [self.paper(name, column, m, *metrics) for m, metrics, _ in keys]
                if any(cell.text for cell in cells):
                    table.rows.append(Row("", dataset_label(column), "paper", cells))
        table.notes.append(
            "pAUC on training rows, at the last look; exceeded at the first look above, so after "
            "the look before it (both are in claims.csv)."
        )
        return table

    def _statistics(self, name: str, config: dict[str, Any]) -> Table:
        metrics, words = config["metrics"], config.get("words", {})
        table = Table(
            name, config["title"], "Dataset", [*words, *(METRIC_LABEL[m] for m in metrics)]
        )
        for part in config["parts"]:
            for column in self.reports.source(part["source"]).columns:
                for kind, cell_of in (("measured", self.measured), ("paper", self.paper)):
                    cells = [Cell(known[column]) for known in words.values()]
                    cells += [cell_of(name, column, "", metric) for metric in metrics]
                    table.rows.append(Row("", dataset_label(column), kind, cells))
        return table

    def _note(self, table: Table, name: str, config: dict[str, Any]) -> None:
        found: dict[str, list[str]] = {}
        for part in config["parts"]:
            source = self.reports.source(part["source"])
            for column in source.columns:
                measured = source.measured(column)
                whose = self.collected.provenance(source.experiment, measured)
                if whose is not None:
                    found.setdefault(whose, []).append(measured)
            given = (
                ""
                if config["form"] == "statistics"
                else sentence(self.collected, source.experiment)
            )
            for note in (source.note, given):
                if note and note not in table.notes:
                    table.notes.append(note)
        table.provenance = list(found)
        # Real data of others mislead only where the paper's numbers stand beside them.
        beside = any(row.kind == "paper" for row in table.rows)
        table.warnings = [
            # Where only some columns are meant, they are named.
            (f"{listed(names)}: " if len(found) > 1 else "") + NOT_THE_PAPERS[whose]
            for whose, names in found.items()
            if whose == "generated" or (beside and whose in NOT_THE_PAPERS)
        ]
        for whose, names in found.items():
            table.notes.insert(0, f"Measured on {PROVENANCE[whose]}: {listed(names)}.")
        if any(c.n > 1 for r in table.rows for c in r.cells if r.kind == "measured"):
            table.notes.append("Mean ± standard deviation over seeds; one seed has no deviation.")
        notes = [
            f"{row.label}, {column}: {cell.note}."
            for row in table.rows
            for column, cell in zip(table.columns, row.cells, strict=True)
            if row.kind == "measured" and cell.note and cell.note != cell.text
        ]
        table.notes += list(dict.fromkeys(notes))
        if any(cell.above for row in table.rows for cell in row.cells):
            table.notes.append("Underlined: not in the paper, yet above the best of its methods.")
        if any(cell.stale for row in table.rows for cell in row.cells):
            table.notes.append("† stale: the code has changed since these runs.")


FORMS = {
    "grid": Builder._grid,
    "transposed": Builder._transposed,
    "exceed": Builder._exceed,
    "statistics": Builder._statistics,
}


def listed(names: list[str]) -> str:
    """Dataset names, the tasks of one dataset together: ``nih-features@D1, D2``."""
    tasks: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        base, _, task = name.partition("@")
        tasks.setdefault(base, []).extend([task] if task else [])
    return "; ".join(f"{k}@{', '.join(v)}" if v else k for k, v in tasks.items())


def _mark(cells: list[tuple[Row, Cell]]) -> None:
    """Best of a column in bold, measured and printed; what is better below the line is marked."""
    for kind in ("measured", "paper"):
        listed = [c for r, c in cells if r.kind == kind and not r.extra and math.isfinite(c.mean)]
        if not listed:
            continue
        top = max(c.mean for c in listed)
        for cell in listed:
            cell.best = cell.mean == top
        for row, cell in cells:
            cell.above = cell.above or (row.kind == kind and row.extra and cell.mean > top)
