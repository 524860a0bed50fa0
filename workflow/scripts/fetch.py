"""Bring a dataset's raw files to the raw folder."""

from pathlib import Path
from typing import TYPE_CHECKING

from pauc_core.data.sources import fetch
from pauc_core.suite.jobs import job

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with job(snakemake.log[0]):
    fetch(snakemake.wildcards.stored, snakemake.params.entry, Path(snakemake.params.raw))
