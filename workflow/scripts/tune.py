"""Run one method's grid on one dataset and write the chosen values and every trial."""

from pathlib import Path
from typing import TYPE_CHECKING

from pauc_core.suite.served import do

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

do(
    "tune_grid",
    spec=snakemake.params.spec,
    log=snakemake.log[0],
    data=Path(snakemake.input[0]).parent,
    chosen=Path(snakemake.output.chosen),
    trials=Path(snakemake.output.trials),
    at_once=snakemake.threads,
    seeds=snakemake.params.seeds,
)
