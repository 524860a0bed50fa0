"""Films out of their official archive, made small on the way."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path, PurePosixPath

from PIL import Image
from tqdm import tqdm

from pauc_core.data.archives import walk_tar
from pauc_core.data.errors import DataError
from pauc_core.data.pictures import decode
from pauc_core.files import atomic_path


def shrink(archive: Path, target: Path, size: int, progress: bool) -> None:
    """Write the PNG films of a tar archive, grey and resized, as one zip file.

    One film at a time is in memory, and none of the originals is ever unpacked to the disk.
    """
    films = 0
    with atomic_path(target) as ready:
        with zipfile.ZipFile(ready, "w") as out:
            for member, data in tqdm(
                walk_tar(archive), desc=f"resize {archive.name}", unit="film", disable=not progress
            ):
                if not member.endswith(".png"):
                    continue
                pixels = decode(data, f"{archive}: {member}", size, 1, Image.Resampling.LANCZOS)
                png = io.BytesIO()
                Image.fromarray(pixels[0]).save(png, format="PNG")
                # without a time stamp: equal films are equal files
                out.writestr(
                    zipfile.ZipInfo(f"images/{PurePosixPath(member).name}"), png.getvalue()
                )
                films += 1
        if not films:
            raise DataError(f"{archive} holds no PNG films; fetch it again.")
