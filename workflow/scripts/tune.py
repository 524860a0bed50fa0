"""Run one method's grid on one dataset and write the chosen values and every trial."""

from pathlib import Path
from typing import TYPE_CHECKING

from pauc_core.suite.jobs import job
from pauc_core.suite.tuning import tune

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with job(snakemake.log[0]):
    tune(
        snakemake.params.spec,
        Path(snakemake.input[0]).parent,
        Path(snakemake.output.chosen),
        Path(snakemake.output.trials),
        at_once=snakemake.threads,
        seeds=snakemake.params.seeds,
    )
