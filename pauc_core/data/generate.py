"""Makers of generated sets: files in exactly the on-disk form that the real loaders read."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pauc_core.data.errors import DataError
from pauc_core.data.generated import make_libsvm
from pauc_core.data.generated_pictures import make_chest, make_cifar10, make_tiny_imagenet
from pauc_core.data.prepared import fresh_folder

MAKERS: dict[str, Callable[..., None]] = {
    "libsvm": make_libsvm,
    "cifar10": make_cifar10,
    "tiny_imagenet": make_tiny_imagenet,
    "chest": make_chest,
}
MARK = "GENERATED.json"


def generate(name: str, entry: dict[str, Any], folder: Path) -> list[Path]:
    """Write a generated set unless the same one already lies there.

    The settings are kept beside the files in GENERATED.json, which also marks the folder as not
    holding real data; changed settings or a changed maker make the files anew.
    """
    settings = dict(entry["generate"])
    maker = settings.pop("maker")
    if maker not in MAKERS:
        raise DataError(f"{name}: generate.maker is {maker!r}; known makers: {', '.join(MAKERS)}.")
    make = MAKERS[maker]
    code = hashlib.sha256(inspect.getsource(inspect.getmodule(make) or make).encode()).hexdigest()
    mark = json.dumps({"generated": settings, "code": code}, sort_keys=True, indent=1) + "\n"
    names = [file["name"] for file in entry.get("files", [])]
    stamp = folder / MARK
    if not (stamp.exists() and stamp.read_text(encoding="utf-8") == mark):
        with fresh_folder(folder) as partial:
            make(partial, names, **settings)
            (partial / MARK).write_text(mark, encoding="utf-8")
    return [folder / file for file in names] or [folder]
