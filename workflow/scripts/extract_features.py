"""Train the feature extractor and write its features as a dataset."""

from pathlib import Path
from typing import TYPE_CHECKING

from pauc_core.data.features import extract_features
from pauc_core.data.sources import fetch
from pauc_core.suite.checked_data import check_data
from pauc_core.suite.jobs import job

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with job(snakemake.log[0]):
    entry, weights = snakemake.params.entry, snakemake.params.weights
    if weights is not None:
        weights = fetch(entry["weights"], weights, Path(snakemake.params.raw))[0]
    extract_features(
        check_data(Path(snakemake.input.source).parent).folder,
        Path(snakemake.output[0]).parent,
        network=entry["network"],
        weights=weights,
        resize=entry.get("resize"),
        random_control=entry.get("random", False),
        seed=0,
        device=snakemake.params.device,
        **snakemake.params.settings,
    )
