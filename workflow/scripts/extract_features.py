"""Train the feature extractor and write its features as a dataset."""

from pathlib import Path
from typing import TYPE_CHECKING

from pauc_core.data.features import extract_features
from pauc_core.suite.jobs import job
from pauc_core.suite.runner import check_data

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with job(snakemake.log[0]):
    entry = snakemake.params.entry
    extract_features(
        check_data(Path(snakemake.input[0]).parent).folder,
        Path(snakemake.output[0]).parent,
        network=entry["network"],
        weights=Path(entry["weights"]) if "weights" in entry else None,
        random_control=entry.get("random", False),
        seed=0,
        device=snakemake.params.device,
        **snakemake.params.settings,
    )
