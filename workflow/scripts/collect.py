"""Collect all runs into a few frames."""

from pathlib import Path
from typing import TYPE_CHECKING

from pauc_core.suite.collect import collect
from pauc_core.suite.jobs import job

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with job(snakemake.log[0]):
    collect(
        map(Path, snakemake.input.summaries),
        map(Path, snakemake.input.trials),
        map(Path, snakemake.input.datasets),
        Path(snakemake.output.meta).parent,
        scale=snakemake.params.scale,
        settings=snakemake.params.settings,
        root=Path(snakemake.params.root),
        leagues=snakemake.params.leagues,
    )
