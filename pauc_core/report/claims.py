"""Every claim of the paper judged on what was measured: holds, fails or not run."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from pauc_core.report.curves import bundle
from pauc_core.report.frames import (
    FINE,
    PROVENANCE,
    Collected,
    Reference,
    Reports,
    Source,
)
from pauc_core.report.layout import dataset_label, method_label
from pauc_core.report.measured import SUMMARY_COLUMN, exceed_times
from pauc_core.report.paired import limits, paired_p

HOLDS, FAILS, NOT_RUN, ANSWERED = "holds", "fails", "not run", "answered"
COLUMNS = [
    "claim", "kind", "scope", "rival", "verdict", "ours", "theirs", "difference", "quantity", "n",
    "seeds_in_favour", "p_value", "limits", "data", "measured_on", "paper_ours", "paper_theirs",
    "paper_verdict", "statement", "place", "note",
]  # fmt: skip
Pairs = pd.DataFrame  # columns seed, ours, theirs


class Case:
    """One claim at one scale, with access to what its judges need."""

    def __init__(
        self, claim: dict[str, Any], collected: Collected, reports: Reports, reference: pd.DataFrame
    ) -> None:
        self.claim, self.collected, self.reports = claim, collected, reports
        self.source: Source = reports.source(claim["source"])
        self.reference = reference.set_index(["artifact", "dataset", "method", "metric"])["mean"]

    def seeds(self, dataset: str, method: str) -> pd.Series:
        """A summary number per seed."""
        runs = self.collected.runs(self.source.experiment, dataset, method)
        column = SUMMARY_COLUMN[self.claim["metric"]]
        return runs.set_index("seed")[column].astype(float)

    def paper(self, column: str, method: str, metric: str) -> float:
        key = (self.claim.get("artifact", ""), column, method, metric)
        return float(self.reference.get(key, math.nan))


def pair(ours: pd.Series, theirs: pd.Series) -> Pairs:
    """Seeds of both sides together; a side with one seed (nothing random in it) serves all."""
    if len(theirs) == 1 and len(ours) > 1:
        theirs = pd.Series(theirs.iloc[0], index=ours.index)
    return pd.DataFrame({"ours": ours, "theirs": theirs}).dropna().reset_index()


def exceeds_within(case: Case, dataset: str, rival: str) -> tuple[Pairs, str]:
    """Epochs until the rival's training pAUC is exceeded, against the limit; never is infinite."""
    when = exceed_times(case.collected, case.source, dataset, case.claim["method"], rival)
    pairs = pd.DataFrame({"seed": when.seed, "ours": when.epoch.fillna(math.inf)})
    return pairs.assign(theirs=float(case.claim["limit"])), "epochs to exceed"


def times_sooner(case: Case, dataset: str, rival: str) -> tuple[Pairs, str]:
    """The rival's whole time over the time to exceed it; never is a ratio of 0."""
    when = exceed_times(case.collected, case.source, dataset, case.claim["method"], rival)
    ratio = (when.rival_seconds / when.seconds).fillna(0.0)
    pairs = pd.DataFrame({"seed": when.seed, "ours": ratio})
    return pairs.assign(theirs=float(case.claim["limit"])), "times sooner"


def higher(case: Case, dataset: str, rival: str) -> tuple[Pairs, str]:
    """Both numbers per seed."""
    pairs = pair(case.seeds(dataset, case.claim["method"]), case.seeds(dataset, rival))
    return pairs, case.claim["metric"].replace("_", " ").replace("pauc", "pAUC")


def relative_gain(case: Case, dataset: str, rival: str) -> tuple[Pairs, str]:
    """The gain over the rival as a share of the rival's number, against the limit."""
    pairs, _ = higher(case, dataset, rival)
    gain = pairs.ours / pairs.theirs - 1.0
    return pairs.assign(ours=gain, theirs=float(case.claim["limit"])), "relative gain"


def falls_faster(case: Case, dataset: str, rival: str) -> tuple[Pairs, str]:
    """Mean training loss over the epochs that both have run: lower has fallen faster."""
    sides = [
        bundle(case.collected.trace(case.source.experiment, dataset, m), "epoch", "objective")
        for m in (case.claim["method"], rival)
    ]
    if sides[0] is None or sides[1] is None:
        return pd.DataFrame(columns=["seed", "ours", "theirs"]), "mean loss over epochs"
    end = min(float(side.x[-1]) for side in sides if side)
    grid = np.linspace(0.0, end, 201)
    ours, theirs = (
        pd.Series({
            seed: np.interp(grid, side.x, values).mean()
            for seed, values in zip(side.seeds, side.values, strict=True)
        }).rename_axis("seed")
        for side in sides
        if side
    )  # fmt: skip
    return pair(ours, theirs), f"mean loss over {end:.3g} epochs"


JUDGES: dict[str, Callable[[Case, str, str], tuple[Pairs, str]]] = {
    "exceeds_within": exceeds_within,
    "times_sooner": times_sooner,
    "relative_gain": relative_gain,
    "higher": higher,
    "falls_faster": falls_faster,
    "moves": higher,
}
LOWER_IS_BETTER = ("exceeds_within", "falls_faster")
AGAINST_A_LIMIT = ("exceeds_within", "times_sooner", "relative_gain")


def _gain(judge: str, ours: Any, theirs: Any) -> Any:
    return theirs - ours if judge in LOWER_IS_BETTER else ours - theirs


def _verdict(claim: dict[str, Any], ours: float, theirs: float) -> str:
    if claim["kind"] == "question":
        return ANSWERED
    gain = _gain(claim["judge"], ours, theirs)
    enough = gain >= 0 if claim["judge"] in AGAINST_A_LIMIT else gain > 0
    return HOLDS if enough else FAILS


def _paper_numbers(case: Case, column: str, rival: str) -> tuple[float, float]:
    """The paper's own two numbers, where a table prints them."""
    claim, method = case.claim, case.claim["method"]
    limit = float(claim.get("limit", math.nan))
    if claim["judge"] == "exceeds_within":
        return case.paper(column, method, "epochs_to_exceed"), limit
    if claim["judge"] == "times_sooner":
        seconds = case.paper(column, method, "cpu_seconds_to_exceed")
        return case.paper(column, rival, "cpu_seconds") / seconds, limit
    if "metric" not in claim:
        return math.nan, math.nan
    ours, theirs = (case.paper(column, m, claim["metric"]) for m in (method, rival))
    return (ours / theirs - 1.0, limit) if claim["judge"] == "relative_gain" else (ours, theirs)


def judge_row(case: Case, column: str, rival: str) -> tuple[dict[str, Any], Pairs]:
    """One claim on one task against one rival."""
    claim = case.claim
    dataset = case.source.measured(column)
    pairs, quantity = JUDGES[claim["judge"]](case, dataset, rival)
    ours, theirs = (float(pairs[s].mean()) if len(pairs) else math.nan for s in ("ours", "theirs"))
    paper_ours, paper_theirs = _paper_numbers(case, column, rival)
    row: dict[str, Any] = {
        "scope": dataset_label(column),
        "rival": method_label(case.reports, rival),
        "quantity": quantity,
        "n": len(pairs),
        "measured_on": dataset,
        "data": PROVENANCE.get(
            str(case.collected.provenance(case.source.experiment, dataset)), "none"
        ),
        "paper_ours": paper_ours,
        "paper_theirs": paper_theirs,
        "paper_verdict": ""
        if math.isnan(paper_ours)
        else _verdict(claim, paper_ours, paper_theirs),
        "note": "",
    }
    if pairs.empty:
        row |= _without(case, dataset, rival)
        return row, pairs
    gains = _gain(claim["judge"], pairs.ours, pairs.theirs).to_numpy(dtype=float)
    row |= {
        "verdict": _verdict(claim, ours, theirs),
        "ours": ours,
        "theirs": theirs,
        "difference": ours - theirs,
        "seeds_in_favour": f"{int((gains > 0).sum())} of {len(gains)}",
        "p_value": paired_p(gains),
        "limits": limits(len(gains)),
    }
    return row, pairs.assign(gain=gains)


def _without(case: Case, dataset: str, rival: str) -> dict[str, Any]:
    """A row without pairs: not run, or decided by a failure."""
    runs = {
        side: case.collected.runs(case.source.experiment, dataset, method)
        for side, method in (("method", case.claim["method"]), ("rival", rival))
    }
    if any(found.empty for found in runs.values()):
        return {"verdict": NOT_RUN, "limits": limits(0)}
    for side, found in runs.items():
        if not found.outcome.isin(FINE).any():
            return {
                "verdict": FAILS if side == "method" else HOLDS,
                "note": f"the {side} has no number: {found.outcome.iloc[0]}",
                "limits": limits(0),
            }
    return {"verdict": NOT_RUN, "note": "no seed was run by both", "limits": limits(0)}


def judge_claim(case: Case) -> list[dict[str, Any]]:
    """The claim as a whole first, then each task and rival."""
    claim = case.claim
    judged = [
        judge_row(case, column, rival)
        for column in case.source.columns
        for rival in claim["rivals"]
    ]
    rows = [row for row, _ in judged]
    none = pd.DataFrame({"seed": [], "gain": []}, dtype=float)
    by_seed = pd.concat([p[["seed", "gain"]] for _, p in judged if len(p)] or [none])
    verdicts = [row["verdict"] for row in rows]
    whole: dict[str, Any] = {
        "scope": "all",
        "rival": ", ".join(method_label(case.reports, r) for r in claim["rivals"]),
        "quantity": next((row["quantity"] for row in rows if row["n"]), ""),
        "verdict": _together(verdicts),
        "data": ", ".join(dict.fromkeys(row["data"] for row in rows)),
        "measured_on": ", ".join(dict.fromkeys(row["measured_on"] for row in rows)),
        "paper_verdict": _together([v for v in (r["paper_verdict"] for r in rows) if v] or [""]),
        "note": _counted(case, rows),
    }
    # Tasks of one seed share split and start, so a seed flips as a whole. Losses of two tasks have
    # no common unit: a seed counts with the share of its comparisons won less those lost.
    won = by_seed.assign(gain=np.sign(by_seed.gain)).groupby("seed").gain.mean().to_numpy()
    whole |= {
        "n": len(won),
        "seeds_in_favour": f"{int((won > 0).sum())} of {len(won)}" if len(won) else "",
        "p_value": paired_p(won),
        "limits": limits(len(won)),
    }
    facts = {k: claim[k] for k in ("kind", "statement", "place")}
    return [{"claim": claim["name"], **facts, **row} for row in [whole, *rows]]


def _together(verdicts: list[str]) -> str:
    for verdict in (FAILS, NOT_RUN, HOLDS, ANSWERED):
        if verdict in verdicts:
            return verdict
    return ""


def _counted(case: Case, rows: list[dict[str, Any]]) -> str:
    if case.claim["kind"] == "question":
        moves = [abs(r["difference"]) for r in rows if r.get("n")]
        paper = [abs(r["paper_ours"] - r["paper_theirs"]) for r in rows]
        text = f"largest move measured {max(moves):.4f}; " if moves else ""
        return text + f"largest in the paper {max(paper):.4f}"
    held = sum(row["verdict"] == HOLDS for row in rows)
    ran = sum(row["verdict"] != NOT_RUN for row in rows)
    noun = "comparison" if len(case.claim["rivals"]) > 1 else "task"
    text = f"holds in {held} of {ran} {noun}s" + (
        f", {len(rows) - ran} not run" if ran < len(rows) else ""
    )
    failed = sum(row["verdict"] == HOLDS and not row["n"] for row in rows)
    text += f" ({failed} because the rival failed)" if failed else ""
    values = [row["ours"] for row in rows if row.get("n")]
    if case.claim["judge"] in AGAINST_A_LIMIT and values:
        least, most = ("never" if math.isinf(v) else f"{v:.3g}" for v in (min(values), max(values)))
        text += f"; {rows[0]['quantity']} {least} to {most}"
    return text


def judge_all(collected: Collected, reports: Reports, reference: Reference) -> pd.DataFrame:
    """Every claim, each followed by its tasks and rivals."""
    rows = [
        row
        for claim in reference.claims
        for row in judge_claim(Case(claim, collected, reports, reference.numbers))
    ]
    return pd.DataFrame(rows).reindex(columns=COLUMNS)
