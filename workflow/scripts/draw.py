"""Draw the figures from the collected frames."""

from pathlib import Path
from typing import TYPE_CHECKING

from pauc_core.report.figures import make_figures
from pauc_core.suite.jobs import job

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with job(snakemake.log[0]):
    make_figures(
        Path(snakemake.input.meta).parent,
        Path(snakemake.input.reference).parent,
        Path(snakemake.input.reports),
        Path(snakemake.output[0]),
    )
