"""Loaders of tables: LIBSVM text, one's own CSV, Parquet or LIBSVM file, scikit-learn's sets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from pauc_core.data.libsvm_text import read_libsvm
from pauc_core.data.loaded import Entry, Loaded, to_labels
from pauc_core.data.prepared import TEST, TRAIN

PARTS = {"train": TRAIN, "test": TEST}


def load_libsvm(name: str, entry: Entry, raw_dir: Path) -> Loaded:
    """The training file and, where there is one, the test file of a LIBSVM set."""
    xs, ys, parts = [], [], []
    for file in entry["files"]:
        path = raw_dir / entry["folder"] / file["name"]
        values, x = read_libsvm(path, entry["expect"]["width"])
        xs.append(x)
        ys.append(to_labels(values, entry, str(path)))
        parts.append(np.full(len(values), PARTS[file["part"]], dtype=np.uint8))
    return from_matrix(sparse.vstack(xs, format="csr"), np.concatenate(ys), np.concatenate(parts))


def from_matrix(x: Any, y: np.ndarray, part: np.ndarray) -> Loaded:
    """A table whose rows become dense float32 block by block."""

    def rows(index: np.ndarray) -> np.ndarray:
        block = x[index]
        dense: np.ndarray = block.toarray() if sparse.issparse(block) else np.asarray(block)
        return dense.astype(np.float32)

    return Loaded(rows, (x.shape[0], x.shape[1]), np.float32, y, part, ["label"])
