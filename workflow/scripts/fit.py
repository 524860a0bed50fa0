"""Run one method on one dataset, a few seeds."""

from pathlib import Path
from typing import TYPE_CHECKING

from pauc_core.suite.served import do

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

do(
    "fit",
    spec=snakemake.params.spec,
    log=snakemake.log[0],
    tuned=snakemake.input.get("tuned"),
    seeds=snakemake.params.seeds,
    data=Path(snakemake.input.data).parent,
    out=Path(snakemake.output[0]).parent,
    digest=snakemake.params.digest,
)
