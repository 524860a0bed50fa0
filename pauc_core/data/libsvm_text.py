"""LIBSVM text through libsvm-official, with the checks that its reader leaves out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np
from scipy import sparse

from pauc_core.data.errors import DataError

# libsvm reads an index 0 as "columns count from 0" for all later lines: it must not get through
LINE = re.compile(r"\S+(?:\s+[1-9]\d*:[^\s:]+)*\s*")


class _Numbered:
    """A text file that knows which line was read last and refuses one that is not LIBSVM."""

    def __init__(self, file: IO[str], path: Path) -> None:
        self.file, self.path, self.number = file, path, 0

    def read(self) -> str:
        """Only its presence counts: libsvm tells a stream from a file name by it."""
        return self.file.read()

    def __iter__(self) -> Iterator[str]:
        for line in self.file:
            self.number += 1
            if not LINE.fullmatch(line):
                raise ValueError("expected `label index:value index:value ...`, indices from 1")
            yield line


def read_libsvm(path: Path, width: int | None) -> tuple[np.ndarray, sparse.csr_matrix]:
    """Labels and features (csr, `width` columns) of a LIBSVM text file; width None means as found.

    Raises
    ------
    DataError : with the line number, for a malformed line, an index outside 1..width, an index
        that does not increase, or a value that is not finite
    """
    try:
        from libsvm.commonutil import svm_read_problem
    except ImportError as error:
        raise DataError(
            f"{path} is read as LIBSVM text, which needs the package libsvm-official: pip install "
            "libsvm-official, or give the rows as CSV."
        ) from error
    if not path.exists():
        raise DataError(f"{path} does not exist; fetch the dataset again.")
    if not path.stat().st_size:
        raise DataError(f"{path} is empty; expected one row per line.")
    with open(path, encoding="utf-8") as file:
        source = _Numbered(file, path)
        try:
            labels, features = svm_read_problem(source, return_scipy=True)
        except (ValueError, OverflowError) as error:
            raise DataError(
                f"{path}, line {max(source.number, 1)}: not a LIBSVM line ({error}); "
                "repair or remove it."
            ) from error
    y, x = np.asarray(labels), sparse.csr_matrix(features)
    width = max(x.shape[1], 1) if width is None else width
    _check(path, y, x, width)
    return y, sparse.csr_matrix((x.data, x.indices, x.indptr), shape=(len(y), width))


def _check(path: Path, y: np.ndarray, x: sparse.csr_matrix, width: int) -> None:
    line = np.repeat(np.arange(1, len(y) + 1), np.diff(x.indptr))
    steps = np.diff(x.indices.astype(np.int64))
    same_row = np.diff(line) == 0
    for wrong, what in (
        (~np.isfinite(x.data), "a NaN or infinite feature"),
        ((x.indices < 0) | (x.indices >= width), f"a feature index outside 1..{width}"),
        (np.append(False, same_row & (steps <= 0)), "feature indices that do not increase"),
    ):
        if wrong.any():
            raise DataError(
                f"{path}, line {line[np.argmax(wrong)]}: {what}; repair or remove the line."
            )
    if not np.isfinite(y).all():
        raise DataError(f"{path}, line {np.argmin(np.isfinite(y)) + 1}: a label that is no number.")
