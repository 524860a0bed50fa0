"""ChestMNIST: all NIH films in one .npz file, with MedMNIST's own split."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import IO

import numpy as np

from pauc_core.data.archives import damaged, open_zip
from pauc_core.data.chest import TASKS
from pauc_core.data.errors import DataError
from pauc_core.data.loaded import Entry, Loaded
from pauc_core.data.prepared import TEST, TRAIN, VALID

# The order of the label columns; D1 to D5 are the findings of the paper's five tasks.
COLUMNS = (
    "atelectasis", "cardiomegaly", "effusion", "infiltration", "mass", "nodule", "pneumonia",
    "pneumothorax", "consolidation", "edema", "emphysema", "fibrosis", "pleural", "hernia",
)  # fmt: skip
FINDINGS = ("cardiomegaly", "edema", "consolidation", "atelectasis", "effusion")
PARTS = {"train": TRAIN, "val": VALID, "test": TEST}


class Member:
    """One array of an .npz file, read forwards a few rows at a time."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self.archive, self.name, self.place = archive, name, f"{archive.filename}: {name}"
        if f"{name}.npy" not in archive.namelist():
            known = ", ".join(sorted(Path(n).stem for n in archive.namelist())[:8])
            raise DataError(
                f"{archive.filename} has no array {name}; it has {known}: it is no ChestMNIST "
                "file, fetch it again."
            )
        self.rewind()

    def rewind(self) -> None:
        try:
            self.file: IO[bytes] = self.archive.open(f"{self.name}.npy")
            version = np.lib.format.read_magic(self.file)
            read = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }
            self.shape, in_columns, self.dtype = read[version](self.file)
        except Exception as error:  # damage shows as any of a dozen kinds
            raise damaged(Path(self.place), error) from error
        if self.dtype != np.uint8 or in_columns:
            raise DataError(
                f"{self.place} holds {self.dtype} values, expected uint8 row by row: it is no "
                "ChestMNIST file, fetch it again."
            )
        self.at = 0

    def take(self, rows: np.ndarray) -> np.ndarray:
        """The given rows, in increasing order; those between them are read and passed over."""
        if len(rows) and rows[0] < self.at:
            self.rewind()
        size = int(np.prod(self.shape[1:]))
        out = np.empty((len(rows), size), dtype=np.uint8)
        for place, row in enumerate(rows.tolist()):
            self._read((row - self.at) * size)
            out[place] = np.frombuffer(self._read(size), dtype=np.uint8)
            self.at = row + 1
        return out.reshape(len(rows), *self.shape[1:])

    def _read(self, count: int) -> bytes:
        try:
            data = self.file.read(count)
        except Exception as error:
            raise damaged(Path(self.place), error) from error
        if len(data) != count:
            raise DataError(f"{self.place} ends too early; fetch the file again.")
        return data


def load_chestmnist(name: str, entry: Entry, raw_dir: Path) -> Loaded:
    """All films at the entry's size; MedMNIST's validation part stays fixed for every seed."""
    path = (
        Path(entry["path"]).expanduser()
        if "path" in entry
        else raw_dir / entry["folder"] / entry["files"][0]["name"]
    )
    archive = open_zip(path)
    size = entry["size"]
    films, labels, parts = [], [], []
    for word, part in PARTS.items():
        pictures, columns = (Member(archive, f"{word}_{what}") for what in ("images", "labels"))
        rows = pictures.shape[0]
        if pictures.shape != (rows, size, size) or columns.shape != (rows, len(COLUMNS)):
            raise DataError(
                f"{path}: {word}_images has shape {pictures.shape} and {word}_labels "
                f"{columns.shape}, expected ({rows}, {size}, {size}) and ({rows}, {len(COLUMNS)})."
            )
        values = columns.take(np.arange(rows))
        if values.max(initial=0) > 1:
            row = int(np.argmax(values.max(axis=1) > 1))
            raise DataError(
                f"{path}: {word}_labels, row {row}: the label {values[row].max()} is "
                "neither 0 nor 1; fetch the file again."
            )
        films.append(pictures)
        labels.append(values[:, [COLUMNS.index(finding) for finding in FINDINGS]])
        parts.append(np.full(rows, part, dtype=np.uint8))
    starts = np.cumsum([0, *(len(part) for part in parts)])

    def take(index: np.ndarray) -> np.ndarray:
        pieces = [
            film.take(index[(index >= first) & (index < last)] - first)
            for film, first, last in zip(films, starts[:-1], starts[1:], strict=True)
        ]
        return np.concatenate(pieces)[:, None]

    return Loaded(
        rows=take,
        shape=(int(starts[-1]), 1, size, size),
        dtype=np.uint8,
        y=np.concatenate(labels).astype(np.int8),
        part=np.concatenate(parts),
        tasks=list(TASKS),
        more={"picture": {"channels": 1, "size": size}},
    )
