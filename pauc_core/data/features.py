"""Pooled features of a network, as a dataset of their own."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import torch

from pauc_core.data.errors import DataError
from pauc_core.data.extractor import Extractor, Recipe
from pauc_core.data.folds import by_rarest_finding
from pauc_core.data.prepared import (
    TRAIN,
    VALID,
    Blocks,
    Prepared,
    cut,
    load_prepared,
    write_prepared,
)
from pauc_core.solver.streams import stream

VALID_SHARE = 0.1


def extract_features(
    prepared_dir: Path,
    out_dir: Path,
    *,
    network: str,
    epochs: float,
    lr: float,
    batch: int,
    seed: int,
    threads: int,
    weights: Path | None = None,
    resize: int | None = None,
    device: str = "auto",
    random_control: bool = False,
    progress: bool = True,
) -> dict[str, float]:
    """Train a network on all findings at once and write its pooled features as a dataset.

    One sigmoid output a finding, cross-entropy, Adam, small random affine maps. Validation rows
    (a tenth of the groups, drawn with seed 0) are never trained on and are marked as the fixed
    validation part of the new dataset. With folds each fold has an extractor of its own that has
    seen neither its test nor its validation rows. A killed call goes on from its last checkpoint.

    Parameters
    ----------
    prepared_dir, out_dir : the prepared pictures, and the folder of the features (named like it)
    weights : a state dict to start from; with ``epochs=0`` it is used as it is, no row is learned
        from, and the parts stay as they are
    resize : side that pictures are enlarged or reduced to, bilinearly
    random_control : leave the weights random, as a control; only batch-norm statistics are set

    Returns
    -------
    Validation AUC by finding, the mean over folds; NaN where a class is missing or the last layer
    was never trained
    """
    out_dir = Path(out_dir)
    source = load_prepared(Path(prepared_dir))
    if source.x.ndim != 4 or source.x.dtype != np.uint8:
        raise DataError(
            f"{source.folder} holds {source.x.dtype} of shape {source.x.shape}; features are "
            "extracted from uint8 pictures of shape (n, channels, height, width)."
        )
    recipe = Recipe(
        network=network,
        epochs=0.0 if random_control else float(epochs),
        lr=lr,
        batch=batch,
        seed=seed,
        threads=threads,
        resize=resize,
        weights=None if weights is None else hashlib.sha256(weights.read_bytes()).hexdigest(),
        random_control=random_control,
    )
    by_fold = recipe.learns and source.part.ndim == 2
    with _threads(threads):
        jobs = []
        for fold in range(len(source.part) if by_fold else 1):
            view, own = source.for_seed(fold), replace(recipe, seed=seed + fold)
            seen = fixed_validation(view) if recipe.learns else view.part
            jobs.append(Extractor(view, seen, own, weights, device, out_dir, progress))
            jobs[-1].run()
        auc = {task: float(np.mean([job.auc[task] for job in jobs])) for task in source.tasks}
        if progress and recipe.learns:
            print("validation AUC: " + ", ".join(f"{k} {v:.4f}" for k, v in auc.items()))
        part = np.asarray(source.part)
        if recipe.learns:
            part = np.stack([job.part for job in jobs]) if by_fold else jobs[0].part
        shape = jobs[0].features.shape
        write_prepared(
            out_dir,
            name=out_dir.name,
            kind="features",
            x=Blocks(
                (len(jobs), *shape) if by_fold else shape,
                np.float32,
                (block for job in jobs for block in cut(job.features)),
            ),
            y=source.y,
            part=part,
            tasks=source.tasks,
            provenance=source.meta["provenance"],
            group=source.group,
            more={
                "title": f"{source.meta.get('title', source.name)}, {shape[1]} features",
                "source": {"name": source.name, "checksum": source.checksum},
                "extractor": asdict(recipe),
                # JSON knows no NaN
                "valid_auc": {k: None if np.isnan(v) else v for k, v in auc.items()},
            },
        )
        for job in jobs:
            job.clean()
    return auc


def fixed_validation(source: Prepared) -> np.ndarray:
    """Parts with a fixed validation part: a tenth of the groups, by their rarest finding."""
    part = np.array(source.part, dtype=np.uint8)
    if np.any(part == VALID):
        return part
    pool = np.flatnonzero(part == TRAIN)
    group = pool if source.group is None else np.asarray(source.group)[pool]
    ids, member, rarest = by_rarest_finding(group, np.asarray(source.y)[pool])
    rng = stream(0, "features", "split", source.name)
    chosen = np.zeros(len(ids), dtype=bool)
    for value in np.unique(rarest):
        members = rng.permutation(np.flatnonzero(rarest == value))
        chosen[members[: round(VALID_SHARE * len(members))]] = True
    part[pool[chosen[member]]] = VALID
    return part


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
