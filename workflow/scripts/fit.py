"""Run the seeds of one cell."""

from pathlib import Path
from typing import TYPE_CHECKING

from pauc_core.suite.jobs import job
from pauc_core.suite.runner import cell_from, run_seeds
from pauc_core.suite.tuning import tuned_params

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with job(snakemake.log[0]):
    cell = cell_from(snakemake.params.cell)
    tuned = snakemake.input.get("tuned")
    run_seeds(
        cell,
        tuned_params(cell, Path(tuned) if tuned else None),
        snakemake.params.seeds,
        Path(snakemake.input.data).parent,
        Path(snakemake.output[0]).parent,
    )
