"""Write the report: tables, figures, comparison, claims and page."""

from pathlib import Path
from typing import TYPE_CHECKING

from pauc_core.report.report import build_report, write_report
from pauc_core.suite.jobs import job

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with job(snakemake.log[0]):
    report = build_report(
        Path(snakemake.input.meta).parent,
        Path(snakemake.input.reference).parent,
        Path(snakemake.input.reports),
    )
    write_report(report, Path(snakemake.output.comparison).parent)
