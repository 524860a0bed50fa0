"""The network that features come from: trained on the findings, or as published, or random."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from tqdm import tqdm

from pauc_core.data.errors import DataError
from pauc_core.data.prepared import TRAIN, VALID, Prepared
from pauc_core.metrics import auc as roc_area
from pauc_core.models.augment import affine
from pauc_core.models.module import LAYOUT, choose_device, to_inputs
from pauc_core.models.networks import build, initialise, load_weights
from pauc_core.solver.streams import stream, torch_generator

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
    resize: int | None
    weights: str | None
    random_control: bool

    @property
    def learns(self) -> bool:
        """Whether the extractor depends on the rows it is trained on."""
        return self.epochs > 0 or self.random_control


class Extractor:
    """One extraction: its network, and the files that let a killed one go on."""

    def __init__(
        self,
        source: Prepared,
        part: np.ndarray,
        recipe: Recipe,
        weights: Path | None,
        device: str,
        out_dir: Path,
        progress: bool,
    ) -> None:
        self.source, self.part, self.recipe, self.progress = source, part, recipe, progress
        self.device = choose_device(device)
        self.net = build(recipe.network, source.x.shape[1], len(source.tasks))
        initialise(self.net, torch_generator(stream(recipe.seed, "features", "start")))
        self.has_head = load_weights(self.net, weights) if weights is not None else False
        self.net.to(self.device, memory_format=LAYOUT)  # type: ignore[call-overload]
        self.rows = np.flatnonzero(part == TRAIN)
        self.per_epoch = max(1, len(self.rows) // recipe.batch)
        self.total = max(1, round(recipe.epochs * self.per_epoch)) if recipe.epochs else 0
        # A checkpoint made with other data or another recipe must not be found.
        said = json.dumps([source.checksum, asdict(recipe), source.name])
        key = hashlib.sha256(said.encode()).hexdigest()[:12]
        self.folder = out_dir.parent / f".{out_dir.name}.going-{key}"
        self.folder.mkdir(parents=True, exist_ok=True)

    def run(self) -> None:
        """Train or set up the network, then keep the features of all rows in the job's folder."""
        if self.recipe.random_control:
            self.set_statistics()
        elif self.total:
            self.train()
        scores, self.features = self.extract()
        trained = self.recipe.epochs > 0 or self.has_head
        self.auc = _validation_auc(self.source, self.part, scores, trained)
        del self.net  # of many folds only one network lies in memory

    def clean(self) -> None:
        for file in self.folder.iterdir():
            file.unlink()
        self.folder.rmdir()

    def inputs(self, rows: np.ndarray) -> torch.Tensor:
        pictures = to_inputs(self.source.x, rows, torch.float32, self.device, self.net)
        if self.recipe.resize is None:
            return pictures
        side = (self.recipe.resize, self.recipe.resize)
        return functional.interpolate(pictures, side, mode="bilinear", align_corners=False)

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
