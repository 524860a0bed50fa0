"""Turn a dataset's raw files into checked arrays."""

from pathlib import Path
from typing import TYPE_CHECKING

from pauc_core.data.prepare import prepare
from pauc_core.suite.jobs import job

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with job(snakemake.log[0]):
    prepare(
        snakemake.wildcards.stored,
        snakemake.params.entry,
        Path(snakemake.params.raw),
        Path(snakemake.output[0]).parent,
        subset=snakemake.params.subset,
    )
