"""Every claim of the paper judged on what was measured: supported, contradicted or undecided."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from pauc_core.repeats import holm
from pauc_core.report.frames import (
    FINE,
    OBJECTIVE,
    PROVENANCE,
    VALIDATION,
    Collected,
    Reference,
    ReportError,
    Reports,
    Source,
)
from pauc_core.report.headlines import counted, headline, tally
from pauc_core.report.judges import INCLUSIVE, JUDGES, SEEDS, Case, Evidence
from pauc_core.report.layout import dataset_label, method_label
from pauc_core.report.regimes import facts, order
from pauc_core.report.verdicts import (
    ANSWERED,
    CONTRADICTED,
    NOT_RUN,
    SUPPORTED,
    UNDECIDED,
    after_failures,
    judge,
    on_all,
)

COLUMNS = [
    "claim", "kind", "regime", "scope", "rival", "verdict", "quantity", "value", "value_before",
    "low", "high", "limit", "ours", "theirs", "standard_error", "df", "seeds_share", "rows_share",
    "basis", "n", "p_value", "p_holm", "smallest_shown", "chosen_by", "check", "data",
    "measured_on", "experiment", "method", "rival_method", "rows", "rows_per_column", "prevalence",
    "separable", "test_positives", "test_standard_error", "paper_ours", "paper_theirs",
    "paper_value", "paper_meets", "statement", "place", "note", "headline",
]  # fmt: skip


class Judge:
    """Judges the claims of one scale."""

    def __init__(self, collected: Collected, reports: Reports, numbers: pd.DataFrame) -> None:
        self.collected, self.reports = collected, reports
        self.numbers = numbers.set_index(["artifact", "dataset", "method", "metric"])["mean"]
        self._facts: dict[tuple[str, str, bool], dict[str, Any]] = {}

    def claim(self, claim: dict[str, Any]) -> list[dict[str, Any]]:
        """For each regime the claim as a whole, then each task and rival in it."""
        rows: list[dict[str, Any]] = []
        for check in (False, True):
            tasks = [{"check": check, **row} for row in self._tasks(claim, check=check)]
            for regime in sorted({row["regime"] for row in tasks}, key=order):
                here = [row for row in tasks if row["regime"] == regime]
                rows += [{"check": check, **self._whole(claim, regime, here)}, *here]
        said = {"headline": headline([row for row in rows if row["scope"] == "all"])}
        known = {key: claim[key] for key in ("kind", "statement", "place")}
        return [{"claim": claim["name"], **known, **said, **row} for row in rows]

    def _tasks(self, claim: dict[str, Any], *, check: bool) -> list[dict[str, Any]]:
        """Each task and rival with the values of the rule that the claim names.

        Where only one rule's values were run, with those. A check is the same with the other
        rule's, on the tasks that were run with both.
        """
        named = claim.get("chosen_by", VALIDATION)
        other = VALIDATION if named == OBJECTIVE else OBJECTIVE
        rows = []
        for place, name in enumerate(claim["sources"]):
            if name not in self.reports.sources:
                continue
            source = self.reports.source(name)
            for column in source.columns:
                dataset = source.measured(column)
                both = self.collected.both_ways(source.experiment, dataset)
                if check and not both:
                    continue
                rule = (other if check else named) if both else VALIDATION
                for rival in self._rivals(claim, source, first=place == 0):
                    case = Case(claim, self.collected, source, dataset, rival, rule)
                    rows.append(self._task(case, column, own=place == 0))
        return rows

    def _rivals(self, claim: dict[str, Any], source: Source, *, first: bool) -> list[str]:
        """Rivals to judge against; beside the paper's own setting only those that took part."""
        s = self.collected.summaries
        here = s[s.experiment == source.experiment]
        there = set(here[here.dataset.isin([source.measured(c) for c in source.columns])].method)
        if first or not there:
            return list(claim["rivals"]) if first else []
        return [rival for rival in claim["rivals"] if rival in there]

    def _task(self, case: Case, column: str, *, own: bool) -> dict[str, Any]:
        """One claim on one task against one rival."""
        claim, source = case.claim, case.source
        evidence = JUDGES[claim["judge"]](case)
        row: dict[str, Any] = {
            "scope": dataset_label(column),
            "rival": method_label(self.reports, case.rival),
            "quantity": evidence.quantity,
            "limit": evidence.natural(0.0),
            "n": len(evidence.seeds),
            "basis": evidence.basis,
            "chosen_by": case.rule,
            "measured_on": case.dataset,
            "experiment": source.experiment,
            "method": case.method,
            "rival_method": case.rival,
            "note": "",
            "runs": [],
            "unit": evidence.unit,
            **self._known(source, column, own=own),
            **self._printed(claim, column, case.rival),
        }
        ours, theirs = (case.runs(m) for m in (case.method, case.rival))
        if ours.empty or theirs.empty:
            return row | {"verdict": NOT_RUN, "contradicting": 1.0}
        failed = {
            name: int((~runs.outcome.isin(FINE)).sum())
            for name, runs in (("ours", ours), ("theirs", theirs))
        }
        notes = [
            f"{failed[side]} of {len(runs)} runs of {method_label(self.reports, method)} failed"
            for side, runs, method in (
                ("ours", ours, case.method),
                ("theirs", theirs, case.rival),
            )
            if failed[side]
        ]
        row["note"] = "; ".join(notes)
        if not len(evidence.seeds):
            return row | self._without_numbers(row, len(ours), len(theirs), failed)
        return row | self._numbers(claim, evidence, failed, row["note"])

    def _known(self, source: Source, column: str, *, own: bool) -> dict[str, Any]:
        """The task's facts; the same for every rival and claim."""
        key = (source.experiment, column, own)
        if key not in self._facts:
            whose = str(self.collected.provenance(source.experiment, source.measured(column)))
            found = facts(self.collected, self.reports, source, column, own=own)
            self._facts[key] = {"data": PROVENANCE.get(whose, "none"), **found.as_row()}
        return self._facts[key]

    def _without_numbers(
        self, row: dict[str, Any], ours: int, theirs: int, failed: dict[str, int]
    ) -> dict[str, Any]:
        """Decided by a failure of all runs of one side, or not comparable at all."""
        if failed["ours"] == ours and failed["theirs"] < theirs:
            return {"verdict": CONTRADICTED, "contradicting": 0.0}
        if failed["theirs"] == theirs and failed["ours"] < ours:
            return {"verdict": SUPPORTED, "contradicting": 1.0}
        if row["note"]:
            return {"verdict": UNDECIDED, "contradicting": 1.0}
        return {"verdict": NOT_RUN, "contradicting": 1.0, "note": "no seed was run by both"}

    def _numbers(
        self, claim: dict[str, Any], evidence: Evidence, failed: dict[str, int], note: str
    ) -> dict[str, Any]:
        worst, best = evidence.estimates()
        verdict = judge(worst.low, best.high, inclusive=claim["judge"] in INCLUSIVE)
        verdict = after_failures(verdict, **failed)
        ends = sorted(float(evidence.natural(gain)) for gain in (worst.low, best.high))
        notes = [note] if note else []
        if len(evidence.seeds) == 1 and not worst.known:
            notes.append("one seed decides nothing")
        elif not (worst.known and best.known):
            notes.append(
                "never seen in some seeds"
                if math.isinf(worst.value) or math.isinf(best.value)
                else "the seeds do not differ, which decides nothing"
            )
        nearest = best if best.value < 0 else worst
        return {
            "verdict": ANSWERED if claim["kind"] == "question" else verdict,
            "value": float(evidence.natural(worst.value)),
            "value_before": float(evidence.natural(best.value)),
            "low": ends[0],
            "high": ends[1],
            "ours": evidence.ours,
            "theirs": evidence.theirs,
            "standard_error": worst.standard_error,
            "df": worst.df,
            "seeds_share": worst.seeds_share,
            "rows_share": worst.rows_share,
            "p_value": nearest.p_value,
            "contradicting": best.p_value if best.value < 0 and best.known else 1.0,
            "smallest_shown": _smallest(evidence, worst.smallest),
            "note": "; ".join(notes),
            "runs": [float(evidence.natural(gain)) for gain in evidence.worst],
        }

    def _printed(self, claim: dict[str, Any], column: str, rival: str) -> dict[str, Any]:
        """The paper's own two numbers, where a table prints them, and whether they meet it."""

        def number(method: str, metric: str) -> float:
            key = (claim.get("artifact", ""), column, method, metric)
            return float(self.numbers.get(key, math.nan))

        method, limit = claim["method"], float(claim.get("limit", math.nan))
        if claim["judge"] == "exceeds_within":
            ours, theirs = number(method, "epochs_to_exceed"), limit
            value, gain = ours, limit - ours
        elif claim["judge"] == "times_sooner":
            ours = number(rival, "cpu_seconds") / number(method, "cpu_seconds_to_exceed")
            value, theirs, gain = ours, limit, ours - limit
        elif "metric" in claim:
            ours, theirs = (number(m, claim["metric"]) for m in (method, rival))
            value = gain = ours - theirs
            if claim["judge"] == "relative_gain":
                value = ours / theirs - 1.0
                gain = value - limit
            elif claim["judge"] == "moves":
                value = theirs - ours
        else:
            ours = theirs = value = gain = math.nan
        meets = judge(gain, gain, inclusive=claim["judge"] in INCLUSIVE) == SUPPORTED
        asked = claim["kind"] == "question" or math.isnan(gain)
        return {
            "paper_ours": ours,
            "paper_theirs": theirs,
            "paper_value": value,
            "paper_meets": "" if asked else "yes" if meets else "no",
        }

    def _whole(
        self, claim: dict[str, Any], regime: str, rows: list[dict[str, Any]]
    ) -> dict[str, Any]:
        """The claim on all tasks of a regime; Holm's p-values are put beside each of them."""
        ran = [row for row in rows if row["verdict"] != NOT_RUN]
        # Over all, as the verdict is: what was not run is in the family too.
        for row, p in zip(rows, holm([row["contradicting"] for row in rows]), strict=True):
            row["p_holm"] = p if row["verdict"] != NOT_RUN else math.nan
        verdict = on_all([r["verdict"] for r in rows], [r["contradicting"] for r in rows])
        printed = [row["paper_meets"] for row in rows if row["paper_meets"]]
        return {
            "regime": regime,
            "scope": "all",
            "rival": ", ".join(dict.fromkeys(row["rival"] for row in rows)),
            "verdict": verdict,
            "quantity": next((row["quantity"] for row in ran), rows[0]["quantity"]),
            "limit": rows[0]["limit"],
            "basis": ", ".join(dict.fromkeys(row["basis"] for row in ran)) or SEEDS,
            "chosen_by": ", ".join(dict.fromkeys(row["chosen_by"] for row in rows)),
            "n": max((row["n"] for row in rows), default=0),
            "p_holm": min((row["p_holm"] for row in ran), default=math.nan),
            "data": ", ".join(dict.fromkeys(row["data"] for row in rows)),
            "measured_on": ", ".join(dict.fromkeys(row["measured_on"] for row in rows)),
            "paper_meets": f"{printed.count('yes')} of {len(printed)}" if printed else "",
            "tally": tally(claim, rows),
            "note": counted(claim, rows),
            "runs": [],
            "unit": rows[0]["unit"],
        }


def _smallest(evidence: Evidence, gain: float) -> float:
    """The smallest difference, or factor, from the limit that these seeds and rows could show."""
    return math.exp(gain) if evidence.unit in ("ratio", "share") else gain


def judge_all(collected: Collected, reports: Reports, reference: Reference) -> pd.DataFrame:
    """Every claim: regime by regime the claim as a whole, each followed by its tasks and rivals.

    ``runs`` (what each seed has shown) and ``unit`` stand beside what is written as a file.
    """
    for claim in reference.claims:
        for name in claim["sources"]:
            if name not in reports.known_sources:
                raise ReportError(
                    f"reference/claims.yaml: {claim['name']}: source {name!r} is at no scale; "
                    f"expected one of {', '.join(sorted(reports.known_sources))}."
                )
    judge = Judge(collected, reports, reference.numbers)
    rows = [row for claim in reference.claims for row in judge.claim(claim)]
    return pd.DataFrame(rows).reindex(columns=[*COLUMNS, "runs", "unit"])
