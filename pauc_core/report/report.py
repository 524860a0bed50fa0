"""The report: computed once from collected frames, written in all its formats."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from pauc_core.files import atomic_path
from pauc_core.report import claims as judged
from pauc_core.report.clock import times
from pauc_core.report.compare import compare
from pauc_core.report.figures import Painter, pictures
from pauc_core.report.forest import forest
from pauc_core.report.frames import (
    Collected,
    Reference,
    Reports,
    load_collected,
    load_reference,
    load_reports,
)
from pauc_core.report.layout import Builder, Table
from pauc_core.report.league import league, worth
from pauc_core.report.league_tables import LeagueTables
from pauc_core.report.page import render
from pauc_core.report.profile import draw_profile
from pauc_core.report.race import against_each_trial, time_spent
from pauc_core.report.ranks import average_ranks
from pauc_core.report.tables import FORMATS
from pauc_core.suite.targets import read_targets


@dataclass(frozen=True)
class Report:
    """Everything that is said about one scale; each part is worked out when first asked for."""

    collected: Collected
    reports: Reports
    reference: Reference
    targets: pd.DataFrame  # of the league's clock

    @cached_property
    def comparison(self) -> pd.DataFrame:
        """Every measured number beside the paper's."""
        return compare(self.collected, self.reports, self.reference.numbers)

    @cached_property
    def claims(self) -> pd.DataFrame:
        """The paper's claims with their verdicts."""
        return judged.judge_all(self.collected, self.reports, self.reference)

    @cached_property
    def ranks(self) -> pd.DataFrame:
        """Average ranks of the methods."""
        return average_ranks(self.collected, self.reports, self.reference.ranks)

    @cached_property
    def tables(self) -> list[Table]:
        """Every table of the configuration, filled."""
        builder = Builder(self.collected, self.reports, self.comparison)
        return [builder.table(name) for name in self.reports.tables]

    @cached_property
    def race(self) -> pd.DataFrame:
        """When the method passes each trial of its rival."""
        return against_each_trial(self.collected, self.reports)

    @cached_property
    def league(self) -> LeagueTables:
        """Tasks by methods, what training for a band is worth, and the time to each target."""
        tasks = league(self.collected, self.reports)
        clock = times(self.collected, self.reports, tasks, self.targets)
        rows = worth(self.collected, self.reports)
        return LeagueTables(self.collected, self.reports, tasks, rows, clock)

    @cached_property
    def time(self) -> pd.DataFrame:
        """CPU seconds inside the solvers."""
        return time_spent(self.collected)

    @cached_property
    def figures(self) -> dict[str, dict[str, bytes]]:
        """Every figure as PNG, PDF and, for the page, SVG."""
        painter = Painter(self.collected, self.reports)
        forms = {
            "forest": lambda title: forest(self.claims, title),
            "profile": lambda title: draw_profile(self.league, title),
        }
        return {
            name: pictures(
                forms[entry["form"]](entry["title"]) if "form" in entry else painter.figure(name)
            )
            for name, entry in self.reports.figures.items()
        }

    @cached_property
    def page(self) -> str:
        """The page as text."""
        return render(
            self.collected,
            self.reports,
            comparison=self.comparison,
            claims=self.claims,
            ranks=self.ranks,
            tables=self.tables,
            race=self.race,
            time=self.time,
            league=self.league,
            pictures={
                name: made["svg"]
                for name, made in self.figures.items()
                # The page draws the others itself.
                if "form" not in self.reports.figures[name]
            },
        )


def build_report(
    collected_dir: str | Path, reference_dir: str | Path, reports_config: str | Path
) -> Report:
    """The report on the collected frames of a scale."""
    collected = load_collected(collected_dir)
    reports = load_reports(reports_config, str(collected.meta.get("scale", "default")))
    ran = set(collected.summaries.experiment)
    reports = reports.filled(ran, in_league=len(collected.bands) > 0)
    targets = read_targets(Path(reports_config).parent / "targets" / f"{reports.scale}.csv")
    return Report(collected, reports, load_reference(reference_dir), targets)


def write_report(report: Report, out: str | Path) -> None:
    """Write tables, figures, comparison.csv, claims.csv, ranks.csv and the page below ``out``.

    Everything is worked out before the first file is written, and what an earlier report left in
    the folders of tables and figures goes.
    """
    out = Path(out)
    files: dict[str, str | bytes] = {
        **_tables(report),
        **{
            f"figures/{name}.{ending}": content
            for name, made in report.figures.items()
            for ending, content in made.items()
            if ending != "svg"
        },
        "report/index.html": report.page,
    }
    _write(out, files)
    for path in [*out.glob("tables/*"), *out.glob("figures/*")]:
        if str(path.relative_to(out)) not in files and path.is_file():
            path.unlink()


def write_tables(report: Report, out: str | Path) -> None:
    """Write the tables in every format and the frames that are files of their own."""
    _write(Path(out), _tables(report))


def _tables(report: Report) -> dict[str, str | bytes]:
    found: dict[str, str | bytes] = {
        f"tables/{table.name}.{ending}": text_of(table)
        for table in [*report.tables, *report.league.all()]
        for ending, text_of in FORMATS.items()
    }
    for name, frame in {
        "tables/against_each_trial": report.race,
        "tables/time": report.time,
        **report.league.frames(),
        "comparison": report.comparison,
        "claims": report.claims[judged.COLUMNS],
        "ranks": report.ranks,
    }.items():
        found[f"{name}.csv"] = frame.to_csv(index=False, lineterminator="\n")
    return found


def _write(out: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        with atomic_path(out / name) as path:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
