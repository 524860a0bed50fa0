"""One address to one verified file: retries, resume, decompression, checksum, atomic move."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import shutil
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from pauc_core.data.errors import DataError
from pauc_core.data.prepared import digest
from pauc_core.files import atomic_path

ATTEMPTS = 3
PAUSE = 0.5  # seconds before the second attempt, doubled before each later one
TIMEOUT = 30
UNPACKERS: dict[str, Callable[..., Any]] = {
    ".bz2": bz2.open,
    ".gz": gzip.open,
    ".xz": lzma.open,
}


class Unreachable(DataError):
    """The server itself does not answer: its other addresses need not be tried."""


def checksum_of(file: dict[str, Any]) -> tuple[str, str] | None:
    """The algorithm and expected sum that an entry gives for a file's decompressed content."""
    for algorithm in ("sha256", "md5"):
        if algorithm in file:
            return algorithm, str(file[algorithm]).lower()
    return None


def matches(path: Path, file: dict[str, Any]) -> bool:
    """Whether the content of a file is what its entry promises (true when it promises nothing)."""
    expected = checksum_of(file)
    return expected is None or digest(path, expected[0]) == expected[1]


def packing(place: str, name: str) -> str:
    """Compression suffix that `place` has beyond the wanted name, or an empty string."""
    suffix = Path(place.split("?")[0]).suffix
    return suffix if suffix in UNPACKERS and not name.endswith(suffix) else ""


def copy_local(source: Path, target: Path, file: dict[str, Any]) -> None:
    """Bring a file from a folder, decompressed and verified."""
    try:
        settle(source, target, file, packing(source.name, target.name), str(source))
    except OSError as error:
        raise unwritten(target, error) from error


def download(url: str, target: Path, file: dict[str, Any], progress: bool) -> None:
    """Bring a file from an address, decompressed and verified.

    An interrupted body is kept beside the target under a name of its own and resumed by a range
    request; where the resumed content fails its checksum the file is fetched once more, whole.
    """
    # one partial file an address: bytes of two addresses must never be joined
    key = hashlib.sha256(url.encode()).hexdigest()[:8]
    partial = target.with_name(f".{target.name}.{key}.partial")
    suffix = packing(url, target.name)
    try:
        resumed = _pull(url, partial, progress, resumable=checksum_of(file) is not None)
        try:
            settle(partial, target, file, suffix, url)
        except DataError:
            if not resumed:
                raise
            _pull(url, partial, progress, resumable=False)
            settle(partial, target, file, suffix, url)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise unwritten(target, error) from error
    for left in target.parent.glob(f".{target.name}.*.partial"):
        left.unlink()


def _pull(url: str, partial: Path, progress: bool, *, resumable: bool) -> bool:
    """Bring the bytes of an address to `partial`; true if a part of them lay there before."""
    import pooch
    import requests

    resumed = False
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(PAUSE * 2 ** (attempt - 1))
        have = partial.stat().st_size if resumable and partial.exists() else 0
        # identity: a range of a body that the server compresses on the fly would mean nothing
        headers = {"Accept-Encoding": "identity"}
        if have:
            headers["Range"] = f"bytes={have}-"
        resumed = bool(have)
        bring = pooch.HTTPDownloader(
            progressbar=progress, chunk_size=1 << 16, timeout=TIMEOUT, headers=headers
        )
        try:
            with open(partial, "ab" if have else "wb") as out:
                bring(url, out, None)
            return resumed
        except requests.HTTPError as error:
            status = 0 if error.response is None else error.response.status_code
            reason = f"the server answered {status}"
            if status == 416:  # what lies here is longer than the file there
                partial.unlink(missing_ok=True)
            elif 400 <= status < 500 and status != 429:
                partial.unlink(missing_ok=True)
                raise DataError(f"{url}: {reason}.") from error
        except (requests.ConnectionError, requests.Timeout) as error:
            reason = "no connection, or it broke off"
            never_began = not partial.exists() or partial.stat().st_size == 0
            if attempt + 1 == ATTEMPTS and never_began:
                partial.unlink(missing_ok=True)
                raise Unreachable(f"{url}: {reason}.") from error
        except requests.RequestException as error:
            reason = f"the body did not arrive whole ({type(error).__name__})"
    if partial.exists() and partial.stat().st_size == 0:
        partial.unlink()
    raise DataError(f"{url}: {reason}, {ATTEMPTS} attempts.")


def settle(source: Path, target: Path, file: dict[str, Any], suffix: str, place: str) -> None:
    """Decompress into a temporary name, check the sum, take the target's name."""
    with atomic_path(target) as ready:
        opener = UNPACKERS.get(suffix, open)
        try:
            with opener(source, "rb") as packed, open(ready, "wb") as out:
                shutil.copyfileobj(cast(Any, packed), out, 1 << 20)
        except (EOFError, lzma.LZMAError, gzip.BadGzipFile, zlib.error) as error:
            raise _spoilt(source, place, f"is truncated or damaged ({error})") from error
        except OSError as error:
            if error.errno is not None:  # bz2 reports damage as an OSError without a number
                raise
            raise _spoilt(source, place, f"is damaged ({error})") from error
        expected = checksum_of(file)
        if expected and not matches(ready, file):
            found = digest(ready, expected[0])
            raise _spoilt(source, place, f"has {expected[0]} {found}, expected {expected[1]}")


def _spoilt(source: Path, place: str, what: str) -> DataError:
    if source.name.endswith(".partial"):  # bytes that came from there are of no use again
        source.unlink(missing_ok=True)
    return DataError(f"{place}: {what}.")


def unwritten(target: Path, error: OSError) -> DataError:
    """The sentence for a file that the disk did not take."""
    return DataError(
        f"{target} could not be written ({error.strerror or error}); free some disk space."
    )
