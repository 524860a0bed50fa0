"""The league: every method on every task, with intervals, and who cannot be told from the best."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit, stdtr, stdtrit

from pauc_core.repeats import holm
from pauc_core.report.frames import FINE, VALIDATION, Collected, Reports, Source
from pauc_core.report.layout import dataset_label, method_label
from pauc_core.report.regimes import facts
from pauc_core.report.verdicts import LEVEL

LINEAR, NETWORK = "linear model", "network"
BEST, TIED, OPEN = "best", "tied", "open"
Number = tuple[float, float, float]  # with its standard error and degrees of freedom


@dataclass(frozen=True)
class Standing:
    """A method on a task: its test pAUC with an interval, and whether another one is better.

    ``place`` is BEST for the highest, TIED for those that cannot be told apart from it row by row,
    OPEN for those that were not compared so and whose own intervals do not decide, else empty;
    methods that are not ranked, or whose runs failed in part, have none.
    """

    method: str
    pauc: float
    low: float
    high: float
    seeds: int
    runs: int
    ranked: bool
    stale: bool
    standard_error: float = math.nan
    df: float = math.nan
    p_holm: float = math.nan
    place: str = ""

    @property
    def number(self) -> Number:
        return self.pauc, self.standard_error, self.df


@dataclass(frozen=True)
class Task:
    """A dataset with a band, in one experiment."""

    experiment: str
    dataset: str
    league: str
    band: tuple[float, float]
    kind: str
    regime: str
    provenance: str
    standings: dict[str, Standing] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return dataset_label(self.dataset)

    def above(self, standing: Standing) -> bool:
        """Whether what is not ranked lies above the best of those that are."""
        best = [s.pauc for s in self.standings.values() if s.place == BEST]
        return bool(best) and not standing.ranked and standing.pauc > best[0]


def band_label(band: tuple[float, float]) -> str:
    return f"[{band[0]:g}, {band[1]:g}]"


def interval(value: float, standard_error: float, df: float) -> tuple[float, float]:
    """Student's interval of a pAUC on the logit scale; NaN where nothing is known of its spread."""
    if not (0.0 < value < 1.0 and 0.0 < standard_error < math.inf and df > 0.0):
        return math.nan, math.nan
    reach = float(stdtrit(df, (1.0 + LEVEL) / 2.0)) * standard_error / (value * (1.0 - value))
    middle = float(logit(value))
    return float(expit(middle - reach)), float(expit(middle + reach))


def p_value(difference: float, standard_error: float, df: float) -> float:
    """Two-sided, of no difference; 1 where nothing is known of its spread."""
    if not (0.0 < standard_error < math.inf and df > 0.0):
        return 1.0
    return 2.0 * float(stdtr(df, -abs(difference) / standard_error))


def league(collected: Collected, reports: Reports) -> list[Task]:
    """All tasks of all leagues: linear models first, then by band, league and dataset."""
    own = collected.bands[collected.bands.own_band]
    tasks = [
        _task(collected, reports, str(experiment), str(dataset), part)
        for (experiment, dataset), part in own.groupby(["experiment", "dataset"], sort=True)
    ]
    return sorted(tasks, key=lambda t: (t.kind, t.band, t.league, t.dataset))


def _task(
    collected: Collected, reports: Reports, experiment: str, dataset: str, rows: pd.DataFrame
) -> Task:
    s = collected.of_validation("summaries")
    runs = s[(s.experiment == experiment) & (s.dataset == dataset)]
    source = Source(experiment, (dataset,), "{}", {}, "")
    kind = LINEAR if str(runs.model.iloc[0]) == "linear" else NETWORK
    found = {}
    for row in rows.to_dict("records"):
        method = str(row["method"])
        mine = runs[runs.method == method]
        low, high = interval(row["pauc"], row["standard_error"], row["df"])
        found[method] = Standing(
            method=method,
            pauc=float(row["pauc"]),
            low=low,
            high=high,
            seeds=int(row["seeds"]),
            runs=len(mine),
            ranked=method not in reports.unranked and bool(mine.outcome.isin(FINE).all()),
            stale=bool(mine.stale.fillna(False).astype(bool).any()),
            standard_error=float(row["standard_error"]),
            df=float(row["df"]),
        )
    order = sorted(found, key=lambda m: (m in reports.unranked, reports.order(m)))
    standings = {name: found[name] for name in order}
    return Task(
        experiment=experiment,
        dataset=dataset,
        league=str(rows.league.iloc[0]),
        band=(float(rows.fpr_low.iloc[0]), float(rows.fpr_high.iloc[0])),
        kind=kind,
        # What the paper claims on its own data of a league's kind is of networks.
        regime=facts(collected, reports, source, dataset, own=kind == NETWORK).regime,
        provenance=str(collected.provenance(experiment, dataset)),
        standings=placed(standings, differences(collected, experiment, dataset)),
    )


def differences(
    collected: Collected, experiment: str, dataset: str
) -> dict[tuple[str, str], Number]:
    """Difference, standard error and degrees of freedom of each pair of methods, both ways."""
    p = collected.pairwise
    here = p[(p.experiment == experiment) & (p.dataset == dataset) & (p.chosen_by == VALIDATION)]
    found = {}
    for row in here.to_dict("records"):
        d, error, df = _number(row, "difference")
        found[str(row["method"]), str(row["rival"])] = (d, error, df)
        found[str(row["rival"]), str(row["method"])] = (-d, error, df)
    return found


def unpaired(one: Number, two: Number) -> Number:
    """Their difference as if on different test rows.

    For cells that were published on different days, where what each row said is not kept. Methods
    mostly err on the same rows, so it is wider than a paired one and decides less. Satterthwaite's
    degrees of freedom.
    """
    values, errors, degrees = np.array([one, two]).T
    with np.errstate(divide="ignore", invalid="ignore"):
        df = (errors**2).sum() ** 2 / (errors**4 / degrees).sum()
    return float(values[0] - values[1]), math.hypot(*errors), float(df)


def placed(
    standings: dict[str, Standing], pairs: dict[tuple[str, str], Number]
) -> dict[str, Standing]:
    """Mark the best and what cannot be told apart from it, by paired intervals after Holm."""
    ranked = [s for s in standings.values() if s.ranked]
    if not ranked:
        return standings
    best = max(ranked, key=lambda s: s.pauc)
    rivals = [s for s in ranked if s is not best]
    found = [pairs.get((best.method, s.method)) or unpaired(best.number, s.number) for s in rivals]
    adjusted = np.asarray(holm([p_value(*gap) for gap in found]), dtype=float)
    told = dict(zip([s.method for s in rivals], adjusted, strict=True))
    marked = {}
    for name, standing in standings.items():
        place = BEST if name == best.method else ""
        p = float(told.get(name, math.nan))
        if p > 1.0 - LEVEL:
            place = TIED if (best.method, name) in pairs else OPEN
        marked[name] = replace(standing, p_holm=p, place=place)
    return marked


@dataclass(frozen=True)
class Worth:
    """What training for a band is worth: the method on that band, by what it was trained for."""

    method: str
    kind: str
    league: str
    dataset: str
    band: tuple[float, float]
    trained: dict[tuple[float, float], float]  # band trained for -> test pAUC on ``band``
    gains: dict[tuple[float, float], Number]  # over training for that band
    p_holm: dict[tuple[float, float], float]
    apart: int  # of the gains: between runs that were published on different days


def worth(collected: Collected, reports: Reports) -> list[Worth]:
    """A row a method, dataset and band of leagues with several bands; Holm over all its rows.

    Runs that were published on different days are compared as if on different test rows.
    """
    b = collected.bands
    own = b[b.own_band]
    bands = zip(own.fpr_low, own.fpr_high, strict=True)
    trained = dict(zip(own.experiment, bands, strict=True))
    model = collected.summaries.groupby("experiment").model.first()
    paired = {
        (row["experiment"], row["dataset"], row["method"], row["rival_experiment"]): _number(
            row, "difference"
        )
        for row in collected.across.to_dict("records")
    }
    rows = []
    for key, part in b.groupby(["method", "league", "dataset", "fpr_low", "fpr_high"], sort=True):
        method, name, dataset, low, high = map(str, key)
        band = float(low), float(high)
        seen = {str(row["experiment"]): _number(row, "pauc") for row in part.to_dict("records")}
        mine = next((e for e in seen if trained[e] == band), None)
        others = {trained[e]: (mine, dataset, method, e) for e in seen if trained[e] != band}
        if mine is None or not others:
            continue
        gains = {
            other: paired.get(pair) or unpaired(seen[mine], seen[pair[3]])
            for other, pair in others.items()
        }
        adjusted = holm([p_value(*gain) for gain in gains.values()])
        rows.append(
            Worth(
                method=method,
                kind=LINEAR if model[mine] == "linear" else NETWORK,
                league=name,
                dataset=dataset,
                band=band,
                trained={trained[e]: number[0] for e, number in seen.items()},
                gains=gains,
                p_holm=dict(zip(gains, map(float, adjusted), strict=True)),
                apart=sum(pair not in paired for pair in others.values()),
            )
        )
    order = {m: reports.order(m) for m in {row.method for row in rows}}
    return sorted(rows, key=lambda r: (order[r.method], r.band, r.league, r.dataset))


def _number(row: Mapping[Hashable, Any], name: str) -> Number:
    return float(row[name]), float(row["standard_error"]), float(row["df"])


def league_label(reports: Reports, method: str, labels: dict[str, str]) -> str:
    """A method's name with the remark that goes with it."""
    note = reports.notes.get(method, "")
    return method_label(reports, method, labels) + (f" ({note})" if note else "")
