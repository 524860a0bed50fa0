"""What the runs of an experiment were given: seeds, epochs, precision, trials."""

from __future__ import annotations

import json
import math

import pandas as pd

from pauc_core.report.frames import Collected


def epochs(runs: pd.DataFrame) -> float:
    """Epochs of most methods; those with a stopping rule have a budget of their own."""
    limits = runs.budget.map(lambda text: json.loads(text).get("epochs", math.nan))
    return float(limits.mode().iloc[0])


def precisions(runs: pd.DataFrame) -> list[str]:
    """In which precision models were trained; lines from before there was a choice are float32."""
    return sorted(set(runs.precision.fillna("float32")))


def repeats(runs: pd.DataFrame) -> str:
    """How many seeds stand behind a number, dataset by dataset where it differs."""
    counts = (
        runs.groupby(["dataset", "method"]).seed.nunique().groupby("dataset").agg(["min", "max"])
    )
    each = {name: span(low, high) for name, low, high in counts.itertuples()}
    if len(set(each.values())) == 1:
        count = next(iter(each.values()))
        return f"n = {count} seed" + ("s" if count != "1" else "")
    return "n seeds: " + ", ".join(f"{n} on {name}" for name, n in each.items())


def span(low: int, high: int) -> str:
    return f"{low}" if low == high else f"{low} to {high}"


def sentence(collected: Collected, experiment: str) -> str:
    """The budget of an experiment for the foot of a table; nothing where nothing ran."""
    runs = collected.summaries[collected.summaries.experiment == experiment]
    if runs.empty:
        return ""
    text = f"{experiment}: {repeats(runs)}; {epochs(runs):g} epochs a run"
    lowered = [name for name in precisions(runs) if name != "float32"]
    text += f", trained in {', '.join(lowered)}" if lowered else ""
    trials = collected.trials[collected.trials.experiment == experiment]
    if trials.empty:
        return f"{text}; nothing was tuned."
    counts = trials.groupby(["dataset", "method", "seed"], dropna=False).size()
    text += f"; {span(counts.min(), counts.max())} trials a method"
    where = sorted(set(trials.dataset))
    text += f", on {', '.join(where)} alone" if len(where) < runs.dataset.nunique() else ""
    length = trials.last_epoch.astype(float).median()
    text += f", of {length:.3g} epochs" if math.isfinite(length) else ""
    sorr = (runs.goal == "sorr").all()
    best = "lowest final training loss" if sorr else "best validation pAUC unless said otherwise"
    return f"{text}; values with the {best}."
