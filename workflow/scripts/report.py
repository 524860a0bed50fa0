"""Write the self-contained report page."""

from pathlib import Path
from typing import TYPE_CHECKING

from pauc_core.report.page import make_page
from pauc_core.suite.jobs import job

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with job(snakemake.log[0]):
    make_page(
        Path(snakemake.input.meta).parent,
        Path(snakemake.input.tables),
        Path(snakemake.input.figures),
        Path(snakemake.input.comparison),
        Path(snakemake.input.claims),
        Path(snakemake.input.reports),
        Path(snakemake.output[0]),
    )
