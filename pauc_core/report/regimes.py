"""What kind of data a task is: facts beside each verdict, and the regime that follows from them."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from pauc_core.report.frames import Collected, Reports, Source

OWN, GENERATED, OTHER = "the paper's own data", "generated data", "other data"
SEPARABLE, SMALL, TALL = "separable", "small test part", "many rows and few columns"
FEATURES = "many rows of network features"  # as the paper's, where it judges linear models
ORDER = (OWN, FEATURES, TALL, OTHER, SMALL, SEPARABLE, GENERATED)  # what decides most, first


@dataclass(frozen=True)
class Facts:
    """Numbers that say what a task can show."""

    rows: float
    rows_per_column: float
    prevalence: float
    separable: bool
    test_positives: float
    test_standard_error: float
    regime: str

    def as_row(self) -> dict[str, Any]:
        return asdict(self)


def facts(
    collected: Collected, reports: Reports, source: Source, column: str, *, own: bool
) -> Facts:
    """The facts of one task, from its runs and from the catalogue.

    ``own``: the paper made its claim on the data of this source, where they are at hand.
    """
    dataset = source.measured(column)
    s = collected.summaries
    runs = s[(s.experiment == source.experiment) & (s.dataset == dataset)]
    entry = collected.dataset_row(dataset)
    positives, negatives = (
        runs[name].astype(float).max() for name in ("n_train_pos", "n_train_neg")
    )
    rows = positives + negatives
    width = math.nan if entry is None else float(entry["width"])
    # Rows to score are held back for claims on test alone.
    tested = bool(runs.n_test.astype(float).max() > 0) and runs.pauc_test.notna().any()
    found = math.nan if entry is None or not tested else float(entry["test_positives"])
    width_of = (runs.test_high.astype(float) - runs.test_low.astype(float)).mean()
    limits = reports.regimes
    # What is not ranked is no model of the experiment's kind: trees part what no line does.
    models = s[(s.dataset == dataset) & ~s.method.isin(reports.unranked)]
    separable = _separable(models, limits)
    tall = rows / width >= limits["many_rows_per_column"]
    extracted = entry is not None and entry["kind"] == "features"
    kinds = {
        SEPARABLE: separable,
        SMALL: found < limits["small_test_positives"],
        FEATURES: tall and extracted,
        TALL: tall and not extracted,
    }
    regime = ", ".join(name for name, true in kinds.items() if true) or OTHER
    whose = collected.provenance(source.experiment, dataset)
    if whose == "generated":
        regime = GENERATED
    elif whose == "paper" and own and column not in source.datasets:
        regime = OWN
    return Facts(
        rows=rows,
        rows_per_column=rows / width,
        prevalence=positives / rows,
        separable=separable,
        test_positives=found,
        test_standard_error=float(width_of) / (2 * 1.96),
        regime=regime,
    )


def _separable(runs: pd.DataFrame, limits: dict[str, float]) -> bool:
    """Whether some method, in any experiment, ends with a training pAUC of 1 or a loss of 0."""
    ends = runs.groupby("method")[["last_pauc_train", "last_objective"]].mean().astype(float)
    top = ends.last_pauc_train >= limits["separable_train_pauc"]
    return bool((top | (ends.last_objective <= limits["separable_loss"])).any())


def order(regime: str) -> tuple[int, ...]:
    """Place of a regime in every list, another for each: the paper's own data first."""
    names = (regime, *regime.split(", "))
    return tuple(place for place in reversed(range(len(ORDER))) if ORDER[place] in names)
