"""Collect all runs and write the tables."""

from pathlib import Path
from typing import TYPE_CHECKING

from pauc_core.report.tables import make_tables
from pauc_core.suite.collect import collect
from pauc_core.suite.jobs import job

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with job(snakemake.log[0]):
    collected = Path(snakemake.output.meta).parent
    collect(
        map(Path, snakemake.input.summaries),
        map(Path, snakemake.input.trials),
        map(Path, snakemake.input.datasets),
        collected,
        scale=snakemake.params.scale,
        settings=snakemake.params.settings,
        root=Path(snakemake.params.root),
    )
    make_tables(
        collected,
        Path(snakemake.input.reference).parent,
        Path(snakemake.input.reports),
        Path(snakemake.output.tables),
    )
