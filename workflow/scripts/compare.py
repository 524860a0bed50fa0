"""Set the measured numbers beside the paper's and judge its claims."""

from pathlib import Path
from typing import TYPE_CHECKING

from pauc_core.report.claims import make_claims
from pauc_core.report.compare import make_comparison
from pauc_core.suite.jobs import job

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with job(snakemake.log[0]):
    inputs = (
        Path(snakemake.input.meta).parent,
        Path(snakemake.input.reference).parent,
        Path(snakemake.input.reports),
    )
    make_comparison(*inputs, Path(snakemake.output.comparison))
    make_claims(*inputs, Path(snakemake.output.claims))
