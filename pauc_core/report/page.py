"""The report page: one HTML file that opens from disk and needs no network."""

from __future__ import annotations

import base64
import gzip
import json
import math
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
import plotly.offline
from markupsafe import Markup

from pauc_core.report import budgets, payload
from pauc_core.report.frames import PROVENANCE, Collected, ReportError, Reports
from pauc_core.report.layout import Table
from pauc_core.report.tables import blocks, heading

LIMIT = 8_000_000  # bytes
TEMPLATES = Path(__file__).parent


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
        origin = made.get(name, {})
        seeds = sorted(set(runs.seed.astype(int)))
        rows.append({
            "name": name,
            "runs": len(runs),
            "seeds": ", ".join(map(str, seeds)),
            "epochs": budgets.epochs(runs),
            "precision": ", ".join(budgets.precisions(runs)),
            "commit": origin.get("commit", ""),
            "machine": ", ".join(f"{k} {v}" for k, v in origin.get("machine", {}).items()),
            "versions": ", ".join(f"{k} {v}" for k, v in origin.get("versions", {}).items()),
        })  # fmt: skip
    return rows


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
    """Each claim with its regimes below it, each of these with its tasks."""
    claims = claims.astype(object).where(claims.notna(), None)
    out: list[dict[str, Any]] = []
    for _, part in claims.groupby("claim", sort=False):
        groups: list[dict[str, Any]] = []
        for row in part.to_dict("records"):
            if row["scope"] == "all":
                groups.append({**{str(k): v for k, v in row.items()}, "parts": []})
            else:
                groups[-1]["parts"].append(row)
        known = {name: groups[0][name] for name in ("claim", "statement", "place", "headline")}
        out.append({**known, "groups": groups})
    return out


def paper_ratios(comparison: pd.DataFrame) -> list[float]:
    """The SVM's time over the time to pass it in the paper's Table 1, lowest and highest."""
    table1 = comparison[comparison.artifact == "table1"]

    def column(metric: str, method: str) -> pd.Series:
        rows = table1[(table1.metric == metric) & (table1.method == method)]
        return rows.set_index("dataset").paper

    whole, passed = ("cpu_seconds", "svm_pauc_tight"), ("cpu_seconds_to_exceed", "agd_sbcd")
    ratios = (column(*whole) / column(*passed)).dropna()
    return [float(ratios.min()), float(ratios.max())]


def _marks(warnings: list[str]) -> list[str]:
    """Each warning once; one that names columns gives way to the same one about whole tables."""
    each = list(dict.fromkeys(warnings))
    return [w for w in each if not any(w != other and w.endswith(other) for other in each)]


def small_enough(page: str) -> str:
    """The page itself, or a sentence where a browser would not like to open it."""
    size = len(page.encode("utf-8"))
    if size > LIMIT:
        raise ReportError(
            f"The page has {size:,} bytes; at most {LIMIT:,} are meant: lower the number of looks "
            "of the largest experiment."
        )
    return page


def packed(text: str) -> str:
    """A text for the page's script to unpack: browsers know gzip themselves."""
    return base64.b64encode(gzip.compress(text.encode("utf-8"), mtime=0)).decode("ascii")


def embed(png: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")


def render(
    collected: Collected,
    reports: Reports,
    *,
    comparison: pd.DataFrame,
    claims: pd.DataFrame,
    ranks: pd.DataFrame,
    tables: list[Table],
    race: pd.DataFrame,
    time: pd.DataFrame,
    pictures: dict[str, bytes],
) -> str:
    """The page as text."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined
    )
    for function in (number, percent, span_of, runs_of):
        environment.filters[function.__name__] = function
    data = json.dumps(payload.payload(collected, reports), separators=(",", ":"), allow_nan=False)
    drawn = [
        {
            "name": name,
            "title": reports.figures[name]["title"],
            "form": reports.figures[name].get("form", ""),
            "data": embed(png),
        }
        for name, png in pictures.items()
    ]
    stale = collected.summaries[collected.summaries.stale.fillna(False).astype(bool)]
    text: str = environment.get_template("page.html.j2").render(
        meta=collected.meta,
        scale=reports.scale,
        marks=_marks([warning for table in tables for warning in table.warnings]),
        datasets=dataset_rows(collected),
        experiments=experiment_rows(collected),
        claims=claim_rows(claims),
        ranks=[
            (name, part.to_dict("records")) for name, part in ranks.groupby("group", sort=False)
        ],
        tables=[{"table": t, "heading": heading(t), "blocks": blocks(t)} for t in tables],
        race=race.to_dict("records"),
        ratios=paper_ratios(comparison),
        time=time.to_dict("records"),
        forest=next(shown for shown in drawn if shown["form"] == "forest"),
        pictures=[shown for shown in drawn if shown["form"] != "forest"],
        comparison=comparison.to_dict("records"),
        failures=payload.failures(collected),
        stale=sorted({"/".join(c) for c in stale[payload.KEYS].itertuples(index=False)}),
        runs=len(collected.summaries),
        data=packed(data),
        plotly=packed(plotly.offline.get_plotlyjs()),
        script=(TEMPLATES / "page.js").read_text(encoding="utf-8"),
        style=(TEMPLATES / "page.css").read_text(encoding="utf-8"),
    )
    return small_enough(text)
