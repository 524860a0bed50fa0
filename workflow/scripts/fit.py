"""Run one method on one dataset, a few seeds."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pauc_core.suite.jobs import job
from pauc_core.suite.runner import run_seeds
from pauc_core.suite.tuning import tuned_params

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with job(snakemake.log[0]):
    run = snakemake.params.spec
    tuned = snakemake.input.get("tuned")
    run_seeds(
        run,
        partial(tuned_params, run, Path(tuned) if tuned else None),
        snakemake.params.seeds,
        Path(snakemake.input.data).parent,
        Path(snakemake.output[0]).parent,
        snakemake.params.digest,
    )
