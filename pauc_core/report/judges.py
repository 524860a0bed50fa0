"""What a claim is judged by: at each seed, the gain over the claim's limit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from pauc_core.report.curves import bundle
from pauc_core.report.frames import OBJECTIVE, VALIDATION, Collected, Source
from pauc_core.report.measured import SUMMARY_COLUMN, exceed_times
from pauc_core.report.verdicts import Estimate, over_seeds

SEEDS, ROWS, FOLDS = "seeds alone", "seeds and test rows", "folds"


@dataclass(frozen=True)
class Evidence:
    """Gains over the limit, one a seed, positive in the claim's favour.

    Where a value was seen between two looks, ``worst`` and ``best`` are its two ends: support is
    judged by the worst and contradiction by the best. ``natural`` turns a gain into the quantity
    that is printed.
    """

    quantity: str
    seeds: np.ndarray
    worst: np.ndarray
    best: np.ndarray
    natural: Callable[[Any], Any]
    ours: float = math.nan
    theirs: float = math.nan
    rows: Estimate | None = None
    basis: str = SEEDS
    unit: str = "difference"

    def estimates(self) -> tuple[Estimate, Estimate]:
        """By the worst ends and by the best."""
        if self.rows is not None:
            return self.rows, self.rows
        with np.errstate(invalid="ignore"):
            step = np.abs(self.best - self.worst)
        # Never, or from the start: all that is known is on which side of a look it lies, and the
        # spread is taken to be even between that look and the limit.
        worst, best = (
            np.where(np.isfinite(step), step, np.abs(ends)) for ends in (self.worst, self.best)
        )
        return over_seeds(self.worst, worst), -over_seeds(-self.best, best)


@dataclass(frozen=True)
class Case:
    """One claim against one rival on one task, with what its judge needs."""

    claim: dict[str, Any]
    collected: Collected
    source: Source
    dataset: str
    rival: str
    chosen_by: str = VALIDATION

    @property
    def method(self) -> str:
        return str(self.claim["method"])

    @property
    def limit(self) -> float:
        return float(self.claim.get("limit", 0.0))

    @property
    def rule(self) -> str:
        """By what the values were chosen: SoRR has no validation pAUC, so by the objective."""
        sorr = (self.runs(self.method).goal == "sorr").any()
        return OBJECTIVE if sorr else self.chosen_by

    def runs(self, method: str) -> pd.DataFrame:
        return self.collected.runs(self.source.experiment, self.dataset, method, self.chosen_by)

    def trace(self, method: str) -> pd.DataFrame:
        return self.collected.trace(self.source.experiment, self.dataset, method, self.chosen_by)

    def numbers(self) -> pd.DataFrame:
        """Columns seed, ours, theirs: the claim's metric where both have it."""
        column = SUMMARY_COLUMN[self.claim["metric"]]
        sides = (
            self.runs(m).set_index("seed")[column].astype(float) for m in (self.method, self.rival)
        )
        return pair(*sides)


def pair(ours: pd.Series, theirs: pd.Series) -> pd.DataFrame:
    """Seeds of both sides together; a side with one seed (nothing random in it) serves all."""
    if len(theirs) == 1 and len(ours) > 1:
        theirs = pd.Series(theirs.iloc[0], index=ours.index)
    return pd.DataFrame({"ours": ours, "theirs": theirs}).dropna().reset_index()


def higher(case: Case) -> Evidence:
    """The difference of both numbers; on test with the spread of its rows, where it was kept."""
    pairs = case.numbers()
    gains = (pairs.ours - pairs.theirs).to_numpy(dtype=float)
    rows, basis = None, SEEDS
    if case.claim["metric"] == "test_pauc":
        rows, basis = paired_on_rows(case)
    return Evidence(
        quantity=_words(case.claim["metric"]),
        seeds=pairs.seed.to_numpy(),
        worst=gains,
        best=gains,
        natural=lambda gain: gain,
        ours=pairs.ours.mean(),
        theirs=pairs.theirs.mean(),
        rows=rows,
        basis=basis,
    )


def moves(case: Case) -> Evidence:
    """The same difference told the other way: how far it is from our number to the rival's."""
    return replace(higher(case), natural=lambda gain: 0.0 - gain)


def paired_on_rows(case: Case) -> tuple[Estimate | None, str]:
    """The difference with seeds and test rows together, from the collected frame ``pairwise``."""
    p = case.collected.pairwise
    here = p[(p.experiment == case.source.experiment) & (p.dataset == case.dataset)]
    here = here[here.chosen_by.fillna(VALIDATION) == case.chosen_by]
    for method, rival, sign in ((case.method, case.rival, 1), (case.rival, case.method, -1)):
        row = here[(here.method == method) & (here.rival == rival)]
        if len(row):
            first = row.iloc[0]
            numbers = (float(first[n]) for n in ("standard_error", "df"))
            shares = (float(first[n]) for n in ("seeds_share", "rows_share"))
            basis = FOLDS if first.design == "folds" else ROWS
            return Estimate(sign * float(first.difference), *numbers, *shares), basis
    return None, SEEDS


def relative_gain(case: Case) -> Evidence:
    """The gain as a share of the rival's number, on the log scale."""
    pairs = case.numbers()
    with np.errstate(divide="ignore"):
        gains = np.log((pairs.ours / pairs.theirs).to_numpy(dtype=float))
    gains -= math.log1p(case.limit)
    return Evidence(
        quantity="relative gain",
        seeds=pairs.seed.to_numpy(),
        worst=gains,
        best=gains,
        natural=lambda gain: np.expm1(gain + math.log1p(case.limit)),
        ours=pairs.ours.mean(),
        theirs=pairs.theirs.mean(),
        unit="share",
    )


def exceeds_within(case: Case) -> Evidence:
    """Epochs until the rival's training pAUC is exceeded; never is infinite."""
    when = _exceeded(case)
    return Evidence(
        quantity="epochs to exceed",
        seeds=when.seed.to_numpy(),
        worst=case.limit - when.epoch.fillna(math.inf).to_numpy(dtype=float),
        best=case.limit - when.epoch_before.to_numpy(dtype=float),
        natural=lambda gain: np.maximum(case.limit - gain, 0.0),
        unit="epochs",
    )


def times_sooner(case: Case) -> Evidence:
    """The rival's whole time over the time to exceed it, on the log scale; never is a ratio of 0.

    A method that was never seen above its rival did not exceed it before its last look.
    """
    when = _exceeded(case)
    rival = when.rival_seconds.to_numpy(dtype=float)
    with np.errstate(divide="ignore"):
        worst = np.log(rival / when.seconds.fillna(math.inf).to_numpy(dtype=float))
        best = np.log(rival / when.seconds_before.to_numpy(dtype=float))
    return Evidence(
        quantity="times sooner",
        seeds=when.seed.to_numpy(),
        worst=worst - math.log(case.limit),
        best=best - math.log(case.limit),
        natural=lambda gain: case.limit * np.exp(gain),
        unit="ratio",
    )


def _exceeded(case: Case) -> pd.DataFrame:
    return exceed_times(
        case.collected, case.source, case.dataset, case.method, case.rival, "", case.chosen_by
    )


def falls_faster(case: Case) -> Evidence:
    """The rival's mean training loss over ours, over the epochs that both have run.

    Lower has fallen faster; on the log scale, because losses of two tasks have no common unit.
    """
    sides = [bundle(case.trace(m), "epoch", "objective") for m in (case.method, case.rival)]
    pairs = pd.DataFrame({"seed": [], "ours": [], "theirs": []}, dtype=float)
    end = math.nan
    if sides[0] is not None and sides[1] is not None:
        end = min(float(side.x[-1]) for side in sides if side)
        grid = np.linspace(0.0, end, 201)
        means = [
            pd.Series({
                seed: np.interp(grid, side.x, values).mean()
                for seed, values in zip(side.seeds, side.values, strict=True)
            }).rename_axis("seed")
            for side in sides
            if side
        ]  # fmt: skip
        pairs = pair(*means)
    gains = np.log((pairs.theirs / pairs.ours).to_numpy(dtype=float))
    return Evidence(
        quantity=f"rival's mean loss to ours over {end:.3g} epochs",
        seeds=pairs.seed.to_numpy(),
        worst=gains,
        best=gains,
        natural=np.exp,
        ours=pairs.ours.mean(),
        theirs=pairs.theirs.mean(),
        unit="ratio",
    )


def _words(metric: str) -> str:
    return metric.replace("_", " ").replace("pauc", "pAUC") + ", difference"


JUDGES: dict[str, Callable[[Case], Evidence]] = {
    "exceeds_within": exceeds_within,
    "times_sooner": times_sooner,
    "relative_gain": relative_gain,
    "higher": higher,
    "falls_faster": falls_faster,
    "moves": moves,
}
INCLUSIVE = ("exceeds_within", "times_sooner", "relative_gain")  # the limit itself is enough
