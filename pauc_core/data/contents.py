"""Digests of the files that a person may edit: a changed one is another input."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from pauc_core.data.download import UNPACKERS, checksum_of
from pauc_core.data.prepared import digest

BROUGHT = ("urls", "pypi", "resized")  # ways by which a file comes without a person's doing


def editable_content(
    entry: dict[str, Any], raw_dir: Path, mirror: str | None = None
) -> dict[str, str] | None:
    """Digests of an entry's files that have no checksum of their own, by name.

    They are the user's `path`, and files that a mirror's folder or a person's hand puts into the
    raw folder. A file with a checksum cannot change unseen. None where there are no such files.
    """
    if "path" in entry:
        path = Path(entry["path"]).expanduser()
        return {"path": _digest(path)} if path.exists() else None
    if "generate" in entry:
        return None
    mirror = mirror or os.environ.get("PAUC_MIRROR") or None  # as fetch has it
    found = {}
    for item in entry.get("files", []):
        folder = Path(raw_dir) / item.get("folder", entry.get("folder", ""))
        for file in item.get("any_of", [item]):
            if checksum_of(file) or any(way in file for way in BROUGHT):
                continue
            place = in_mirror(file["name"], folder.name, mirror) or folder / file["name"]
            if place.is_file():
                found[file["name"]] = digest(place)
    return found or None


def in_mirror(name: str, folder: str, mirror: str | None) -> Path | None:
    """A file of a mirror that is a folder, packed or not; None where it has none."""
    if not mirror or "://" in mirror:
        return None
    for suffix in ("", *UNPACKERS):
        path = Path(mirror).expanduser() / folder / f"{name}{suffix}"
        if path.is_file():
            return path
    return None


def _digest(path: Path) -> str:
    """Of a file's bytes; of a folder's names, sizes and times, as it may hold a million films."""
    if path.is_file():
        return digest(path)
    found = hashlib.sha256()
    for folder, inner, files in os.walk(path):
        inner.sort()
        for name in sorted(files):
            state = os.stat(os.path.join(folder, name))
            place = os.path.relpath(os.path.join(folder, name), path)
            found.update(f"{place} {state.st_size} {state.st_mtime_ns}\n".encode())
    return found.hexdigest()
