"""What the page's interactive parts draw from: small, rounded, one entry a method and dataset."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from pauc_core.report.curves import bundle, lowest
from pauc_core.report.frames import FINE, KEYS, PROVENANCE, Collected, Reports
from pauc_core.report.layout import method_label
from pauc_core.report.style import PLOTLY_LINE, PLOTLY_MARKER, style_of

MEASURES = ("objective", "pauc_train", "pauc_valid", "pauc_test")
RUN_FIELDS = (
    "seed", "chosen_by", "outcome", "reason", "pauc_test", "test_low", "test_high", "pauc_valid",
    "pauc_train", "pauc_test_w", "last_pauc_train", "objective", "epoch", "last_epoch", "seconds",
    "wall", "peak_mb", "params", "tuned", "code_digest", "stale", "data_checksum", "m", "n",
    "fpr_low", "fpr_high", "n_train_pos", "n_train_neg", "n_test", "path",
)  # fmt: skip


def rounded(value: Any, digits: int = 5) -> Any:
    """JSON-ready: numpy scalars plain, floats to a few digits, what is not finite as null."""
    if isinstance(value, str):
        return value
    if value is None or value is pd.NA:
        return None
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    number = float(value)
    if not math.isfinite(number):
        return None
    return (
        int(number)
        if number == int(number) and abs(number) < 1e15
        else float(f"{number:.{digits}g}")
    )


def column(values: Any, digits: int = 5) -> list[Any]:
    return [rounded(value, digits) for value in values]


def key_of(names: Any) -> str:
    """A name on the page: experiment|dataset|method."""
    return "|".join(str(part) for part in names)


def curves(collected: Collected) -> dict[str, Any]:
    """Mean and deviation over seeds of every measure at each look."""
    out: dict[str, Any] = {}
    for key, traces in collected.of_validation("traces").groupby(KEYS, sort=True):
        entry: dict[str, Any] = {"x": {}, "y": {}, "n": int(traces.seed.nunique())}
        for name in ("seconds", "work", *MEASURES):
            curves = bundle(traces, "epoch", name)
            if curves is None:
                continue
            entry["x"].setdefault("epoch", column(curves.x))
            if name not in MEASURES:
                entry["x"][name] = column(curves.mean)
            else:
                # The page takes the lowest objective off the others: that costs digits.
                mean = column(curves.mean, 8 if name == "objective" else 5)
                entry["y"][name] = {"mean": mean, "deviation": column(curves.deviation, 3)}
        if entry["y"]:
            out[key_of(key)] = entry
    return out


def roc(collected: Collected) -> dict[str, Any]:
    """Mean and deviation over seeds of each ROC curve."""
    out: dict[str, Any] = {}
    grid = np.linspace(0.0, 1.0, 101)
    for key, part in collected.of_validation("roc").groupby(KEYS, sort=True):
        curves = bundle(part, "fpr", "tpr", grid)
        if curves is not None:
            mean, deviation = column(curves.mean, 4), column(curves.deviation, 3)
            out[key_of(key)] = {"tpr": mean, "deviation": deviation}
    return out


def runs(collected: Collected) -> dict[str, Any]:
    """Provenance of every number: one entry a seed; package versions once."""
    versions: dict[str, int] = {}
    found: dict[str, Any] = {}
    for key, part in collected.summaries.groupby(KEYS, sort=True):
        entries = []
        for row in part.sort_values("seed").to_dict("records"):
            text = str(row["versions"])
            entry = {name: rounded(row[name]) for name in RUN_FIELDS}
            entries.append({**entry, "versions": versions.setdefault(text, len(versions))})
        whose = str(part.provenance.iloc[0])
        found[key_of(key)] = {"data": PROVENANCE.get(whose, whose), "seeds": entries}
    return {"cells": found, "versions": [_versions(text) for text in versions]}


def _versions(text: str) -> str:
    try:
        found = json.loads(text)
    except ValueError:
        return text
    return ", ".join(f"{name} {version}" for name, version in sorted(found.items()))


def trials(collected: Collected) -> dict[str, list[dict[str, Any]]]:
    """Every tuning trial."""
    out: dict[str, list[dict[str, Any]]] = {}
    for key, part in collected.trials.groupby(KEYS, sort=True):
        names = (
            "trial",
            "params",
            "pauc_valid",
            "last_objective",
            "epoch",
            "seconds",
            "outcome",
            "chosen",
        )
        rows = part.sort_values("trial")[list(names)].to_dict("records")
        out[key_of(key)] = [{str(k): rounded(v) for k, v in row.items()} for row in rows]
    return out


def methods(collected: Collected, reports: Reports) -> dict[str, Any]:
    """Looks of every method, in the order used everywhere."""
    s = collected.summaries
    labels = dict(zip(s.method, s.label.fillna(s.method), strict=True))
    out = {}
    for method in sorted(s.method.unique(), key=reports.order):
        style = style_of(reports, method, labels[method])
        out[method] = {
            "label": method_label(reports, method, labels),
            "colour": style.colour,
            "dash": PLOTLY_LINE[style.line],
            "symbol": PLOTLY_MARKER.get(style.marker, "circle"),
        }
    return out


def bands(collected: Collected) -> dict[str, list[Any]]:
    """FPR band of each experiment and dataset."""
    firsts = collected.summaries.groupby(["experiment", "dataset"])[["fpr_low", "fpr_high"]].first()
    return {
        key_of(key): column(row) for key, row in zip(firsts.index, firsts.to_numpy(), strict=True)
    }


def failures(collected: Collected) -> list[dict[str, Any]]:
    """Runs that did not end well, each a row."""
    s = collected.summaries
    bad = s[~s.outcome.isin(FINE)].sort_values([*KEYS, "seed"])
    names = [*KEYS, "seed", "outcome", "reason", "seconds", "pauc_test"]
    return [{str(k): rounded(v) for k, v in row.items()} for row in bad[names].to_dict("records")]


def tasks(collected: Collected, reports: Reports) -> list[str]:
    """Every experiment and dataset that ran: the paper's first, in its order."""
    s = collected.summaries
    known = [
        key_of((source.experiment, source.measured(name)))
        for source in reports.sources.values()
        for name in source.columns
    ]
    found = sorted({key_of(key) for key in s[["experiment", "dataset"]].itertuples(index=False)})
    return [t for t in dict.fromkeys(known) if t in found] + [t for t in found if t not in known]


def with_details(collected: Collected, reports: Reports) -> Collected:
    """Without runs that the league alone shows: their curves would fill half of the page."""
    named = {source.experiment for source in reports.sources.values()}
    left_out = set(collected.bands.experiment) - named
    frames = {
        name: frame[~frame.experiment.isin(left_out)]
        for name in ("summaries", "traces", "roc", "trials")
        for frame in [getattr(collected, name)]
    }
    return replace(collected, **frames)


def payload(collected: Collected, reports: Reports) -> dict[str, Any]:
    """Everything the page's script reads."""
    detailed = with_details(collected, reports)
    return {
        "scale": reports.scale,
        "checksums": dict(
            zip(collected.datasets.dataset, collected.datasets.checksum, strict=True)
        ),
        "tasks": tasks(collected, reports),
        "methods": methods(collected, reports),
        "curves": curves(detailed),
        "lowest": {key_of(key): float(v) for key, v in lowest(collected.traces).items()},
        "roc": roc(detailed),
        "bands": bands(collected),
        "runs": runs(detailed),
        "trials": trials(detailed),
    }
