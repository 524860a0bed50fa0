"""Prepared arrays are checked against their sums before anything is learnt from them."""

from __future__ import annotations

import contextlib
from pathlib import Path

from pauc_core.data.errors import DataError
from pauc_core.data.prepared import Prepared, load_prepared
from pauc_core.files import read_json, write_json

SEEN = ".checked"  # beside the arrays: which files were found whole, by size and time of writing


def check_data(data: Path) -> Prepared:
    """Open a prepared folder; set a damaged one aside, so that the workflow makes it again.

    A damaged array must not become a number. Without its meta.json the folder counts as not made.
    Sums are taken once for each version of the files, not by each of a hundred jobs.
    """
    try:
        present = _versions(data)
        seen = _seen(data) == present
        prepared = load_prepared(data, verify=not seen)
    except (DataError, OSError) as error:
        (data / "meta.json").unlink(missing_ok=True)
        sentence = str(error).rstrip(".")
        raise DataError(f"{sentence}. It was set aside: the next start makes it again.") from error
    if not seen:
        with contextlib.suppress(OSError):  # a folder of others: checked each time
            write_json(data / SEEN, present)
    return prepared


def _versions(data: Path) -> dict[str, list[int]]:
    found = {path.name: path.stat() for path in (*data.glob("*.npy"), data / "meta.json")}
    return {name: [stat.st_size, stat.st_mtime_ns] for name, stat in found.items()}


def _seen(data: Path) -> dict[str, list[int]] | None:
    try:
        found: dict[str, list[int]] = read_json(data / SEEN)
    except (OSError, ValueError):
        return None
    return found
