"""What was found, in one sentence a claim, written from the numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pauc_core.report.regimes import FEATURES, GENERATED, OTHER, OWN, SEPARABLE, SMALL, TALL
from pauc_core.report.verdicts import CONTRADICTED, NOT_RUN, SUPPORTED, UNDECIDED

PARTS = {SMALL: "a small test part", FEATURES: FEATURES, TALL: TALL}


def phrase(regime: str) -> str:
    """A regime inside a sentence."""
    if regime in (OWN, GENERATED, OTHER):
        return regime
    names = regime.split(", ")
    parts = [PARTS[name] for name in names if name in PARTS]
    kind = "separable data" if SEPARABLE in names else "data"
    return kind + (f" with {' and '.join(parts)}" if parts else "")


def spelt(value: float) -> str:
    return "never" if math.isinf(value) else f"{value:.3g}"


def tally(claim: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """How many tasks and rivals answered what."""
    ran = [row for row in rows if row["verdict"] != NOT_RUN]
    noun = "comparison" if len({row["rival"] for row in rows}) > 1 else "task"
    if not ran:
        return f"none of {len(rows)} {noun}s was run"
    if claim["kind"] == "question":
        values = [row["value"] for row in ran if "value" in row]
        apart = sum(row["low"] > 0 or row["high"] < 0 for row in ran if "low" in row)
        return (
            f"moves by {_span(values)}, with an interval that leaves 0 out in {apart} of "
            f"{len(ran)} {noun}s"
        )
    counts = {v: sum(r["verdict"] == v for r in ran) for v in (SUPPORTED, CONTRADICTED, UNDECIDED)}
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    alike = max(counts.values()) == len(ran)
    text = f"all {len(ran)} {noun}s" if alike else f"{told} of {len(ran)} {noun}s"
    text = text if len(ran) > 1 else f"one {noun}"
    return text + (f", {len(rows) - len(ran)} not run" if len(ran) < len(rows) else "")


def counted(claim: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """The tally, the range of what was measured and what could not have been seen."""
    text = tally(claim, rows)
    values = [row["value"] for row in rows if "value" in row]
    if claim["kind"] != "question" and values:
        text += f"; {rows[0]['quantity'].partition(' over ')[0]} {_span(values)}"
        text += _too_small([row for row in rows if row["verdict"] == UNDECIDED])
    failures = sum("failed" in row["note"] for row in rows)
    return text + (f"; {failures} with failed runs" if failures else "")


def _span(values: list[float]) -> str:
    least, most = spelt(min(values)), spelt(max(values))
    return least if least == most else f"{least} to {most}"


def _too_small(rows: list[dict[str, Any]]) -> str:
    """What the undecided ones would have shown four times in five, if they could show anything."""
    shown = [row["smallest_shown"] for row in rows if row.get("smallest_shown", math.nan) > 0]
    if not shown:
        return "; one seed shows no difference" if rows and rows[0]["n"] == 1 else ""
    kind = "factor" if rows[0]["unit"] in ("ratio", "share") else "difference"
    return f"; to be seen, a {kind} of {_span(shown)} was needed"


def headline(wholes: list[dict[str, Any]]) -> str:
    """What holds where: the verdicts, each with its regimes and their tallies; then the check's."""
    first, again = ([row for row in wholes if row["check"] == check] for check in (False, True))
    text = _sentence(first, [f" ({row['tally']})" for row in first])
    if again:
        told = _sentence(again, [f" ({row['tally']})" for row in again])
        text += f" With values by {again[0]['chosen_by']} instead: {told[:1].lower()}{told[1:]}"
    return text


def answer(wholes: list[dict[str, Any]]) -> str:
    """The same without tallies and check; what was measured, where nothing was claimed."""
    wholes = [row for row in wholes if not row["check"]]
    if wholes[0]["kind"] == "question":
        told = "; ".join(f"on {phrase(row['regime'])} it {row['note']}" for row in wholes)
        return told[:1].upper() + told[1:] + "."
    return _sentence(wholes, [""] * len(wholes))


def _sentence(wholes: list[dict[str, Any]], endings: list[str]) -> str:
    parts: dict[str, list[str]] = {}
    for row, ending in zip(wholes, endings, strict=True):
        where = f"on {phrase(row['regime'])}{ending}"
        parts.setdefault(row["verdict"], []).append(where)
    text = "; ".join(f"{verdict} {_listed(where)}" for verdict, where in parts.items())
    return text[:1].upper() + text[1:] + "." if text else ""


def overall(wholes: Sequence[Mapping[Any, Any]]) -> str:
    """All claims in one sentence: how many there are, and how often each verdict was reached."""
    judged = [row for row in wholes if row["kind"] == "claim" and not row["check"]]
    claims = list(dict.fromkeys(row["claim"] for row in judged))
    ran = [row for row in judged if row["verdict"] != NOT_RUN]
    verdicts = (SUPPORTED, CONTRADICTED, UNDECIDED)
    told = ", ".join(f"{sum(r['verdict'] == v for r in ran)} {v}" for v in verdicts)
    through = [
        name
        for name in claims
        if {row["verdict"] for row in ran if row["claim"] == name} == {SUPPORTED}
    ]
    whole = f"{len(through)} of {len(claims)} claims" if through else "None of the claims"
    verb = "is" if len(through) < 2 else "are"
    return (
        f"{whole} {verb} supported on every kind of data that it was judged on; of "
        f"{len(ran)} verdicts ({len(claims)} claims, each by kind of data) {told}."
    )


def _listed(parts: list[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
