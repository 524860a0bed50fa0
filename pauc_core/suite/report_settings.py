"""The names in config/reports.yaml: a table of an experiment or method that is not there."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pauc_core.suite.yaml_files import unknown

PLACE = "config/reports.yaml"


def check_reports(
    reports: Mapping[str, Any],
    *,
    methods: Collection[str],
    experiments: Collection[str],
    scales: Collection[str],
) -> None:
    """Raise the first name that no other file knows; the schema has checked the rest."""
    columns: dict[str, set[str]] = {}
    for scale, sources in reports["scales"].items():
        if scale not in scales:
            raise unknown(PLACE, "scales", scale, scales)
        for name, source in sources.items():
            columns.setdefault(name, set()).update(source["columns"])
            if source["experiment"] not in experiments:
                key = f"scales.{scale}.{name}.experiment"
                raise unknown(PLACE, key, source["experiment"], experiments)
            for column in source.get("datasets", {}):
                if column not in source["columns"]:
                    key = f"scales.{scale}.{name}.datasets"
                    raise unknown(PLACE, key, column, source["columns"])
    for method in reports["methods"]:
        if method not in methods:
            raise unknown(PLACE, "methods", method, methods)
    for kind, method in reports["league"]["references"].items():
        if method not in methods:
            raise unknown(PLACE, f"league.references.{kind}", method, methods)
    used = {part["source"] for _, part in _parts(reports)}
    for scale, sources in reports["scales"].items():
        for name in sources:
            if name not in used:
                raise unknown(PLACE, f"scales.{scale}", name, sorted(used))
    for key, part in _parts(reports):
        if part["source"] not in columns:
            raise unknown(PLACE, f"{key}.source", part["source"], columns)
        for column in part.get("columns", []):
            if column not in columns[part["source"]]:
                raise unknown(PLACE, f"{key}.columns", column, sorted(columns[part["source"]]))
        for role in ("rival", "method"):
            if role in part and part[role] not in methods:
                raise unknown(PLACE, f"{key}.{role}", part[role], methods)
        for role in ("methods", "lines"):
            for method in part.get(role, []):
                if method not in methods:
                    raise unknown(PLACE, f"{key}.{role}", method, methods)


def shown_datasets(reports: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every dataset that a column stands for, with its place."""
    for scale, sources in reports["scales"].items():
        for name, source in sources.items():
            for column in source["columns"]:
                dataset = source.get("datasets", {}).get(column)
                key = f"scales.{scale}.{name}.columns"
                yield key, dataset or source["dataset"].replace("{}", column)


def _parts(reports: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Whatever names a source: the parts of tables, and figures."""
    for name, table in reports["tables"].items():
        for number, part in enumerate(table["parts"]):
            yield f"tables.{name}.parts.{number}", part
    for name, figure in reports["figures"].items():
        if "source" in figure:
            yield f"figures.{name}", figure
