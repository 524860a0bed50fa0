"""What the page's tables show, row by row, and the filters that write single numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd
from markupsafe import Markup

from pauc_core.report import budgets
from pauc_core.report.compare import AGREES, DIFFERS
from pauc_core.report.frames import PROVENANCE, Collected
from pauc_core.report.headlines import answer
from pauc_core.report.strips import Scale, scale_of, strip
from pauc_core.report.verdicts import UNDECIDED


def number(value: Any, digits: int = 4) -> str:
    """A number for reading: few digits, nothing where there is none."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float) and math.isinf(value):
        return "never"
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def dataset_rows(collected: Collected) -> list[dict[str, Any]]:
    """Datasets that were run, each with whose data they are."""
    rows = []
    for row in collected.datasets.to_dict("records"):
        name = row["dataset"] + (f"@{row['task']}" if row.get("task") else "")
        rows.append({
            "name": name,
            "title": row["title"],
            "data": PROVENANCE.get(str(row["provenance"]), str(row["provenance"])),
            "whose": row["provenance"],
            "n": f"{int(row['n']):,}",
            "width": f"{int(row['width']):,}",
            "positives": f"{int(row['positives']):,}",
            "checksum": str(row["checksum"])[:12],
        })  # fmt: skip
    return rows


def experiment_rows(collected: Collected) -> list[dict[str, Any]]:
    """Each experiment with how much of it was run, and the code and machine that it ran with."""
    made = collected.meta.get("experiments", {})
    rows = []
    for name, runs in collected.summaries.groupby("experiment"):
        origins = made.get(name, [])
        seeds = sorted(set(runs.seed.astype(int)))
        rows.append({
            "name": name,
            "runs": len(runs),
            "seeds": ", ".join(map(str, seeds)),
            "epochs": budgets.epochs(runs),
            "precision": ", ".join(budgets.precisions(runs)),
            "commit": _each(origin["commit"] for origin in origins),
            "machine": _each(_pairs(origin["machine"]) for origin in origins),
            "versions": _each(_pairs(origin["versions"]) for origin in origins),
        })  # fmt: skip
    return rows


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def _each(texts: Iterable[str]) -> str:
    """Those that differ: an experiment may have been run in pieces."""
    return "; ".join(dict.fromkeys(texts))


def percent(share: float | None) -> str:
    return "" if share is None or math.isnan(share) else f"{100 * share:.3g} %"


def span_of(row: dict[str, Any]) -> str:
    """What was measured; both looks where it was seen between two."""
    value, before = number(row["value"], 3), number(row["value_before"], 3)
    return value if value == before else f"{before} to {value}"


def runs_of(row: dict[str, Any], method: str, side: str) -> Markup:
    """One side's number as a button that opens its runs."""
    key = "|".join((row["experiment"], row["measured_on"], row[method]))
    text = number(row[side]) or ("runs" if row["n"] else "")
    return Markup('<button class="open" data-key="{}">{}</button>').format(key, text)


def claim_rows(claims: pd.DataFrame) -> list[dict[str, Any]]:
    """Each claim with its regimes below it, each of these with its tasks and their lines."""
    plain = claims.astype(object).where(claims.notna(), None)
    out: list[dict[str, Any]] = []
    for name, part in plain.groupby("claim", sort=False):
        groups: list[dict[str, Any]] = []
        for row in part.to_dict("records"):
            if row["scope"] == "all":
                groups.append({**{str(k): v for k, v in row.items()}, "parts": []})
            else:
                groups[-1]["parts"].append(row)
        scale = scale_of(claims[(claims.claim == name) & (claims.scope != "all")])
        for i, group in enumerate(groups):
            group["id"] = f"{name}-{i}"
            group["strip"] = strip(scale, group["parts"]) if scale else {"lines": []}
            group["tally"] = str(group["note"]).partition(";")[0]
        known = {key: groups[0][key] for key in ("claim", "statement", "place")}
        out.append({**known, "answer": answer(groups), "groups": groups} | _axis(scale, groups[0]))
    return out


def _axis(scale: Scale | None, group: dict[str, Any]) -> dict[str, Any]:
    if scale is None:
        return {"ticks": [], "limit": 0, "quantity": ""}
    words = str(group["quantity"]).partition(" over ")[0]
    return {"ticks": scale.ticks, "limit": scale.at(group["limit"]), "quantity": words}


HEADS = (
    "Table", "Column", "Method", "Metric", "Ours", "n", "Paper", "Gap", "95 % interval", "Margin",
    "Verdict", "Data", "Measured on",
)  # fmt: skip


def comparison_rows(comparison: pd.DataFrame) -> list[list[str]]:
    """Every measured number beside the printed one, as shown."""
    rows = []
    for row in comparison.to_dict("records"):
        ends = [number(row[name], 3) for name in ("gap_low", "gap_high")]
        other = row["verdict"] in (AGREES, DIFFERS, UNDECIDED) and not row["comparable"]
        rows.append([
            row["artifact"], row["dataset"], row["method"], row["metric"],
            number(row["ours"], 5) or row["status"], number(row["n"]), number(row["paper"], 6),
            number(row["gap"], 3), " to ".join(ends) if all(ends) else "", row["margin"],
            row["verdict"] + (" (other data)" if other else ""), row["data"], row["measured_on"],
        ])  # fmt: skip
    return [[str(value) for value in row] for row in rows]
