"""Archives, read in place: a hostile member is refused before a byte of it is used."""

from __future__ import annotations

import stat
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from pauc_core.data.errors import DataError


def check_member(archive: Path, member: str, is_link: bool) -> None:
    """Refuse a member with `..`, an absolute path or a link."""
    path = PurePosixPath(member.replace("\\", "/"))
    drive = len(member) > 1 and member[1] == ":"
    if path.is_absolute() or ".." in path.parts or drive or is_link:
        raise DataError(
            f"{archive}: the member {member!r} is a link or leads outside the archive; "
            "the archive is refused: fetch it from a place you trust."
        )


def open_zip(path: Path) -> zipfile.ZipFile:
    """A zip file all of whose members are harmless, open for reading."""
    try:
        archive = zipfile.ZipFile(path)
    except Exception as error:  # damage shows as any of a dozen kinds
        raise damaged(path, error) from error
    for info in archive.infolist():
        check_member(path, info.filename, stat.S_ISLNK(info.external_attr >> 16))
    return archive


def read_zip(archive: zipfile.ZipFile, member: str) -> bytes:
    """The bytes of one member, its checksum verified by zipfile."""
    try:
        return archive.read(member)
    except Exception as error:
        raise damaged(Path(str(archive.filename)), error) from error


def walk_tar(path: Path) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of each regular file of a (compressed) tar archive, one at a time."""
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                check_member(path, member.name, member.issym() or member.islnk())
                source = archive.extractfile(member) if member.isfile() else None
                if source is not None:
                    yield member.name, source.read()
    except DataError:
        raise
    except Exception as error:
        raise damaged(path, error) from error


def damaged(path: Path, error: Exception) -> DataError:
    """The sentence for an archive that cannot be read to its end."""
    return DataError(f"{path} is truncated or damaged ({error}); delete it and fetch it again.")
