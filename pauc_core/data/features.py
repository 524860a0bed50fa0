"""Pooled features of a network trained on the findings of a picture set."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from tqdm import tqdm

from pauc_core.data.errors import DataError
from pauc_core.data.prepared import TRAIN, VALID, Prepared, load_prepared, write_prepared
from pauc_core.metrics import auc as roc_area
from pauc_core.models.augment import affine
from pauc_core.models.module import LAYOUT, choose_device, to_inputs
from pauc_core.models.network import Network
from pauc_core.models.networks import build, initialise, load_weights
from pauc_core.solver.streams import stream, torch_generator

VALID_SHARE = 0.1
SAVE_EVERY = 50  # batches between two checkpoints of the training
ROWS_AT_ONCE = 64
STATISTICS_BATCHES = 100  # through which random weights get their batch-norm statistics


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How the extractor is made; written to meta.json."""

    network: str
    epochs: float
    lr: float
    batch: int
    seed: int
    threads: int
    weights: str | None
    random_control: bool


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
    device: str = "auto",
    random_control: bool = False,
    progress: bool = True,
) -> dict[str, float]:
    """Train a network on all findings at once and write its pooled features as a dataset.

    One sigmoid output a finding, cross-entropy, Adam, small random affine maps. Validation rows
    (a tenth of the groups, drawn with seed 0) are never trained on and are marked as the fixed
    validation part of the new dataset. A killed call goes on from its last checkpoint.

    Parameters
    ----------
    prepared_dir, out_dir : the prepared pictures, and the folder of the features (named like it)
    weights : a state dict to start from; with ``epochs=0`` it is used as it is
    random_control : leave the weights random, as a control; only batch-norm statistics are set

    Returns
    -------
    Validation AUC by finding; NaN where a class is missing or the last layer was never trained
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
        weights=None if weights is None else hashlib.sha256(weights.read_bytes()).hexdigest(),
        random_control=random_control,
    )
    with _threads(threads):
        part = fixed_validation(source)
        net = build(network, source.x.shape[1], len(source.tasks))
        initialise(net, torch_generator(stream(seed, "features", "start")))
        has_head = load_weights(net, weights) if weights is not None else False
        net.to(choose_device(device), memory_format=LAYOUT)  # type: ignore[call-overload]
        job = _Job(source, part, recipe, net, out_dir, progress)
        if random_control:
            job.set_statistics()
        else:
            job.train()
        scores, features = job.extract()
        auc = _validation_auc(source, part, scores, trained=recipe.epochs > 0 or has_head)
        if progress:
            print("validation AUC: " + ", ".join(f"{k} {v:.4f}" for k, v in auc.items()))
        write_prepared(
            out_dir,
            name=out_dir.name,
            kind="features",
            x=features,
            y=source.y,
            part=part,
            tasks=source.tasks,
            provenance=source.meta["provenance"],
            group=source.group,
            more={
                "title": f"{source.meta.get('title', source.name)}, {features.shape[1]} features",
                "source": {"name": source.name, "checksum": source.checksum},
                "extractor": asdict(recipe),
                # JSON knows no NaN
                "valid_auc": {k: None if np.isnan(v) else v for k, v in auc.items()},
            },
        )
        job.clean()
    return auc


def fixed_validation(source: Prepared) -> np.ndarray:
    """Parts with a fixed validation part: a tenth of the groups, by their rarest finding."""
    part = np.array(source.part, dtype=np.uint8)
    if np.any(part == VALID):
        return part
    pool = np.flatnonzero(part == TRAIN)
    labels = np.asarray(source.y).reshape(len(part), -1)[pool] == 1
    group = pool if source.group is None else np.asarray(source.group)[pool]
    ids, member = np.unique(group, return_inverse=True)
    found = np.zeros((len(ids), labels.shape[1]), dtype=bool)
    np.logical_or.at(found, member, labels)
    by_rarity = np.argsort(found.sum(axis=0), kind="stable")
    stratum = np.where(found.any(axis=1), found[:, by_rarity].argmax(axis=1), -1)
    rng = stream(0, "features", "split", source.name)
    chosen = np.zeros(len(ids), dtype=bool)
    for value in np.unique(stratum):
        members = rng.permutation(np.flatnonzero(stratum == value))
        chosen[members[: round(VALID_SHARE * len(members))]] = True
    part[pool[chosen[member]]] = VALID
    return part


class _Job:
    """One extraction: its network, and the files that let a killed one go on."""

    def __init__(
        self,
        source: Prepared,
        part: np.ndarray,
        recipe: Recipe,
        net: Network,
        out_dir: Path,
        progress: bool,
    ) -> None:
        self.source, self.recipe, self.net, self.progress = source, recipe, net, progress
        self.device = next(net.parameters()).device
        self.rows = np.flatnonzero(part == TRAIN)
        self.per_epoch = max(1, len(self.rows) // recipe.batch)
        self.total = max(1, round(recipe.epochs * self.per_epoch)) if recipe.epochs else 0
        # A checkpoint made with other data or another recipe must not be found.
        said = json.dumps([source.checksum, asdict(recipe), source.name])
        key = hashlib.sha256(said.encode()).hexdigest()[:12]
        self.folder = out_dir.parent / f".{out_dir.name}.going-{key}"
        self.folder.mkdir(parents=True, exist_ok=True)

    def clean(self) -> None:
        for file in self.folder.iterdir():
            file.unlink()
        self.folder.rmdir()

    def inputs(self, rows: np.ndarray) -> torch.Tensor:
        return to_inputs(self.source.x, rows, torch.float32, self.device)

    def batches(self, first: int, last: int) -> Iterator[tuple[int, np.ndarray]]:
        """Rows of the numbered batches of shuffled passes; a pass's ragged end is left out."""
        size, order, shuffled = self.recipe.batch, self.rows, -1
        for number in range(first, last):
            epoch, place = divmod(number, self.per_epoch)
            if epoch != shuffled:
                rng = stream(self.recipe.seed, "features", "order", epoch)
                order, shuffled = rng.permutation(self.rows), epoch
            yield number, order[place * size : (place + 1) * size]

    def train(self) -> None:
        optimiser = torch.optim.Adam(self.net.parameters(), lr=self.recipe.lr)
        done = 0
        file = self.folder / "training.pt"
        if file.exists():
            saved = torch.load(file, map_location=self.device, weights_only=True)
            self.net.load_state_dict(saved["net"])
            optimiser.load_state_dict(saved["optimiser"])
            done = saved["done"]
        labels = torch.from_numpy(np.asarray(self.source.y).reshape(len(self.source.y), -1) == 1)
        self.net.train()
        with tqdm(
            total=self.total, initial=done, desc="train", unit="batch", disable=not self.progress
        ) as bar:
            for number, rows in self.batches(done, self.total):
                rng = stream(self.recipe.seed, "features", "batch", number)
                outputs = self.net(affine(self.inputs(rows), rng).contiguous(memory_format=LAYOUT))
                target = labels[torch.from_numpy(rows)].to(outputs)
                loss = functional.binary_cross_entropy_with_logits(outputs, target)
                if not torch.isfinite(loss):
                    raise DataError(
                        f"The extractor's loss became {loss.item()} at batch {number + 1}; "
                        f"use a smaller learning rate than {self.recipe.lr:g}."
                    )
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                bar.update()
                bar.set_postfix(loss=f"{loss.item():.4f}", refresh=False)
                if (number + 1) % SAVE_EVERY == 0 or number + 1 == self.total:
                    saved = {
                        "net": self.net.state_dict(),
                        "optimiser": optimiser.state_dict(),
                        "done": number + 1,
                    }
                    torch.save(saved, file.with_suffix(".part"))
                    os.replace(file.with_suffix(".part"), file)

    @torch.no_grad()
    def set_statistics(self) -> None:
        """Batch-norm statistics of random weights, as the mean over some batches."""
        norms = [layer for layer in self.net.modules() if isinstance(layer, nn.BatchNorm2d)]
        for layer in norms:
            layer.momentum = None  # torch's word for a plain average
        self.net.train()
        for _, rows in self.batches(0, min(STATISTICS_BATCHES, self.per_epoch)):
            self.net(self.inputs(rows))

    @torch.no_grad()
    def extract(self) -> tuple[np.ndarray, np.ndarray]:
        """Scores (n, findings) and features (n, width) of every row."""
        rows_in_all = len(self.source.x)
        shapes = {
            "scores.npy": len(self.source.tasks),
            "features.npy": self.net.classifier.in_features,
        }
        state = self.folder / "extracted"
        fresh = not state.exists()
        arrays = [
            np.lib.format.open_memmap(
                self.folder / name,
                mode="w+" if fresh else "r+",
                dtype=np.float32,
                shape=(rows_in_all, width) if fresh else None,
            )
            for name, width in shapes.items()
        ]
        done = 0 if fresh else int(state.read_text())
        self.net.eval()
        with tqdm(
            total=rows_in_all, initial=done, desc="extract", unit="row", disable=not self.progress
        ) as bar:
            while done < rows_in_all:
                rows = np.arange(done, min(done + ROWS_AT_ONCE, rows_in_all))
                found = self.net.pooled(self.inputs(rows))
                for array, value in zip(arrays, (self.net.classifier(found), found), strict=True):
                    array[rows] = value.cpu().numpy()
                    array.flush()
                done += len(rows)
                state.with_suffix(".part").write_text(str(done))
                os.replace(state.with_suffix(".part"), state)
                bar.update(len(rows))
        return arrays[0], arrays[1]


def _validation_auc(
    source: Prepared, part: np.ndarray, scores: np.ndarray, trained: bool
) -> dict[str, float]:
    rows = np.flatnonzero(part == VALID)
    auc: dict[str, float] = {}
    for column, task in enumerate(source.tasks):
        labels = source.labels(task)[rows]
        known = trained and labels.any() and not labels.all()
        auc[task] = roc_area(labels, scores[rows, column]) if known else float("nan")
    return auc


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
