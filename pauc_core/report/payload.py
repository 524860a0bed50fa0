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
    "seed", "chosen_by", "outcome", "pauc_test", "test_low", "test_high", "pauc_valid",
    "pauc_train", "pauc_test_w", "last_pauc_train", "objective", "epoch", "last_epoch", "seconds",
    "peak_mb", "params", "tuned", "code_digest", "stale", "data_checksum", "m", "n", "n_train_pos",
    "n_train_neg", "n_test", "path",
)  # fmt: skip
SHORT = ("code_digest", "data_checksum")  # their first twelve characters are shown
STEPS = 1000  # a ROC curve's rates are whole thousandths


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


def curves(collected: Collected, floors: dict[str, float]) -> dict[str, Any]:
    """Mean and deviation over seeds of every measure at each look.

    An objective is told above the lowest on its data: what is near it keeps its digits.
    """
    out: dict[str, Any] = {}
    for key, traces in collected.of_validation("traces").groupby(KEYS, sort=True):
        entry: dict[str, Any] = {"x": {}, "y": {}, "n": int(traces.seed.nunique())}
        for name in ("seconds", "work", *MEASURES):
            curves = bundle(traces, "epoch", name)
            if curves is None:
                continue
            entry["x"].setdefault("epoch", column(curves.x, 4))
            if name not in MEASURES:
                entry["x"][name] = column(curves.mean, 4)
            else:
                floor = floors[key_of(key[:2])] if name == "objective" else 0.0
                mean = column(curves.mean - floor, 4)
                entry["y"][name] = {"mean": mean, "deviation": column(curves.deviation, 2)}
        if entry["y"]:
            out[key_of(key)] = entry
    return out


def roc(collected: Collected) -> dict[str, Any]:
    """Mean and deviation over seeds of each ROC curve, in thousandths; the mean as its steps."""
    out: dict[str, Any] = {}
    grid = np.linspace(0.0, 1.0, 101)
    for key, part in collected.of_validation("roc").groupby(KEYS, sort=True):
        curves = bundle(part, "fpr", "tpr", grid)
        if curves is not None:
            mean, deviation = (
                np.rint(STEPS * np.nan_to_num(part)).astype(int)
                for part in (curves.mean, curves.deviation)
            )
            rises = np.diff(mean, prepend=0)
            out[key_of(key)] = {"rises": rises.tolist(), "deviation": deviation.tolist()}
    return out


def runs(collected: Collected) -> dict[str, Any]:
    """Provenance of every number, a column a field; what all seeds share is told once."""
    versions: dict[str, int] = {}
    found: dict[str, Any] = {}
    for key, part in collected.summaries.groupby(KEYS, sort=True):
        part = part.sort_values("seed")
        columns = {name: column(part[name]) for name in RUN_FIELDS}
        for name in SHORT:
            columns[name] = [text and text[:12] for text in columns[name]]
        columns["versions"] = [
            versions.setdefault(str(text), len(versions)) for text in part.versions
        ]
        same = {name: v[0] for name, v in columns.items() if all(x == v[0] for x in v)}
        whose = str(part.provenance.iloc[0])
        found[key_of(key)] = {
            "data": PROVENANCE.get(whose, whose),
            "n": len(part),
            "same": same,
            "seeds": {name: v for name, v in columns.items() if name not in same},
        }
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
    """Without curves and trials that the league alone shows: they would fill half of the page."""
    named = {source.experiment for source in reports.sources.values()}
    left_out = set(collected.bands.experiment) - named
    frames = {
        name: frame[~frame.experiment.isin(left_out)]
        for name in ("traces", "roc", "trials")
        for frame in [getattr(collected, name)]
    }
    return replace(collected, **frames)


def payload(collected: Collected, reports: Reports) -> dict[str, Any]:
    """Everything the page's script reads."""
    low = {key_of(key): float(value) for key, value in lowest(collected.traces).items()}
    detailed = with_details(collected, reports)
    return {
        "scale": reports.scale,
        "checksums": dict(
            zip(collected.datasets.dataset, collected.datasets.checksum, strict=True)
        ),
        "tasks": tasks(collected, reports),
        "methods": methods(collected, reports),
        "curves": curves(detailed, low),
        "lowest": low,
        "roc": roc(detailed),
        "bands": bands(collected),
        "runs": runs(collected),
        "trials": trials(detailed),
    }
