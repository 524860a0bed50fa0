"""The report page: one HTML file that opens from disk and needs no network."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path

import jinja2
import pandas as pd
import plotly.offline

from pauc_core.report import league_page, payload, seen
from pauc_core.report.frames import Collected, ReportError, Reports
from pauc_core.report.headlines import overall
from pauc_core.report.layout import Table
from pauc_core.report.league_tables import LeagueTables
from pauc_core.report.page_rows import (
    HEADS,
    claim_rows,
    comparison_rows,
    dataset_rows,
    experiment_rows,
    number,
    percent,
    runs_of,
    span_of,
)
from pauc_core.report.tables import blocks, heading

LIMIT = 4_000_000  # bytes
TEMPLATES = Path(__file__).parent
# In the order of the page; each has a template of its name.
SECTIONS = {
    "claims": "Claims",
    "tables": "Tables",
    "league": "League",
    "svm_race": "Race",
    "curves": "Curves",
    "roc": "ROC",
    "figures": "Figures",
    "tuning": "Tuning",
    "failures": "Failures",
    "comparison": "Comparison",
    "run": "What was run",
}


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
    league: LeagueTables,
    pictures: dict[str, bytes],
) -> str:
    """The page as text."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined
    )
    for function in (number, percent, span_of, runs_of):
        environment.filters[function.__name__] = function
    frames = {
        **payload.payload(collected, reports),
        "comparison": {"heads": HEADS, "rows": comparison_rows(comparison)},
        "league": league_page.payload(league),
    }
    judged = claim_rows(claims)
    tasks = environment.get_template("claim_tasks.html.j2")
    frames["fills"] = {
        group["id"]: tasks.render(group=group) for claim in judged for group in claim["groups"]
    }
    frames["pictures"] = {name: drawing.decode("utf-8") for name, drawing in pictures.items()}
    data = json.dumps(frames, separators=(",", ":"), allow_nan=False)
    stale = collected.summaries[collected.summaries.stale.fillna(False).astype(bool)]
    text: str = environment.get_template("page.html.j2").render(
        meta=collected.meta,
        scale=reports.scale,
        sections=[
            {"id": name, "title": title}
            for name, title in SECTIONS.items()
            if name != "league" or league.tasks
        ],
        league=league_page.section(league),
        overall=overall(claims[claims.scope == "all"].to_dict("records")),
        marks=_marks([warning for table in tables for warning in table.warnings]),
        datasets=dataset_rows(collected),
        experiments=experiment_rows(collected),
        claims=judged,
        ranks=[
            (name, part.to_dict("records")) for name, part in ranks.groupby("group", sort=False)
        ],
        tables=[
            {
                "table": table,
                "heading": heading(table),
                "blocks": blocks(table),
                "see": seen.seen(table, reports.tables[table.name]["form"]),
            }
            for table in tables
        ],
        race=race.to_dict("records"),
        raced=seen.raced(race),
        ratios=paper_ratios(comparison),
        time=time.to_dict("records"),
        spent=seen.spent(time),
        pictures=[{"name": name, "title": reports.figures[name]["title"]} for name in pictures],
        comparison=comparison,
        compared=seen.compared(comparison),
        failures=payload.failures(collected),
        stale=sorted({"/".join(c) for c in stale[payload.KEYS].itertuples(index=False)}),
        runs=len(collected.summaries),
        data=packed(data),
        plotly=packed(plotly.offline.get_plotlyjs()),
        script="\n".join(
            (TEMPLATES / name).read_text(encoding="utf-8") for name in ("league.js", "page.js")
        ),
        style=(TEMPLATES / "page.css").read_text(encoding="utf-8"),
    )
    return small_enough(text)
