"""A method's test scores on every band of its league, and what training for a band is worth."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from pauc_core.suite.evidence import Record, SeedResult, alone, compare, record

Band = tuple[float, float]


class OnBands:
    """One method on one dataset: its seeds, by the experiment that trained it and the band."""

    def __init__(self, dataset: str, method: str, leagues: Mapping[str, Mapping[str, Any]]) -> None:
        self.dataset, self.method, self.leagues = dataset, method, leagues
        self.results: dict[tuple[str, Band], list[SeedResult]] = {}
        self.trained: dict[str, Band] = {}

    def add(self, line: Mapping[str, Any], scores: pd.DataFrame) -> None:
        """A seed's test scores, on each band of its experiment's league."""
        experiment = str(line["experiment"])
        if experiment not in self.leagues:
            return
        self.trained[experiment] = (float(line["fpr_low"]), float(line["fpr_high"]))
        for low, high in self.leagues[experiment]["bands"]:
            found = SeedResult.of({**line, "fpr_low": low, "fpr_high": high}, scores)
            self.results.setdefault((experiment, (low, high)), []).append(found)

    def rows(self, groups: np.ndarray | None) -> dict[str, list[dict[str, Any]]]:
        """Rows of the frames ``bands`` and ``across``; ``groups`` as in `evidence.compare`."""
        records = {
            key: record(found, f"{key[0]}/{self.dataset}/{self.method}")
            for key, found in self.results.items()
        }
        return {
            "bands": list(self._bands(records, groups)),
            "across": list(self._across(records, groups)),
        }

    def _bands(
        self, records: Mapping[tuple[str, Band], Record], groups: np.ndarray | None
    ) -> Iterable[dict[str, Any]]:
        for (experiment, band), seen in records.items():
            found = alone(seen, groups)
            yield {
                **self._place(experiment, band),
                "own_band": band == self.trained[experiment],
                "seeds": len(seen.seeds),
                "pauc": found.value,
                "standard_error": found.standard_error,
                "df": found.df,
                "design": seen.design,
            }

    def _across(
        self, records: Mapping[tuple[str, Band], Record], groups: np.ndarray | None
    ) -> Iterable[dict[str, Any]]:
        """Each experiment on its own band against those of its league that are for others."""
        for one, other in itertools.permutations(self.trained, 2):
            band = self.trained[one]
            same = self.leagues[one]["league"] == self.leagues[other]["league"]
            if not same or self.trained[other] == band:
                continue
            mine, theirs = records[one, band], records[other, band]
            found = compare(mine, theirs, groups)
            if found is not None:
                yield {
                    **self._place(one, band),
                    "rival_experiment": other,
                    "seeds": len(np.intersect1d(mine.seeds, theirs.seeds)),
                    "difference": found.value,
                    "standard_error": found.standard_error,
                    "df": found.df,
                    "design": mine.design,
                }

    def _place(self, experiment: str, band: Band) -> dict[str, Any]:
        return {
            "experiment": experiment,
            "dataset": self.dataset,
            "method": self.method,
            "league": self.leagues[experiment]["league"],
            "fpr_low": band[0],
            "fpr_high": band[1],
        }
