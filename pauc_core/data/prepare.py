"""From raw files to prepared arrays: the loader by kind, the checks, an optional subset."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pauc_core.data.errors import DataError
from pauc_core.data.loaded import Loaded, check, hold_out, thin
from pauc_core.data.prepared import Prepared, write_prepared

LOADERS = {
    "libsvm": "pauc_core.data.tables:load_libsvm",
    "table": "pauc_core.data.tables:load_table",
    "sklearn": "pauc_core.data.tables:load_sklearn",
    "features": "pauc_core.data.features:load_features",
    "cifar10_lt": "pauc_core.data.cifar:load_cifar10_lt",
    "tiny_imagenet_lt": "pauc_core.data.longtail:load_tiny_imagenet_lt",
    "chexpert": "pauc_core.data.chest:load_chexpert",
    "nih": "pauc_core.data.chest:load_nih",
}


def prepare(
    name: str,
    entry: dict[str, Any],
    raw_dir: Path,
    out_dir: Path,
    subset: int | None = None,
    seed: int = 0,
) -> Prepared:
    """Read a dataset's raw files, check them against its entry and write its prepared folder.

    Parameters
    ----------
    raw_dir : where `fetch` put the files
    out_dir : the prepared folder itself, replaced whole
    subset : keep about so many rows, stratified and drawn by `seed`; all when None
    """
    kind = entry["kind"]
    if kind not in LOADERS:
        raise DataError(
            f"{name}: kind {kind!r} cannot be prepared; known kinds: {', '.join(LOADERS)}."
        )
    loaded = _loader(kind)(name, entry, Path(raw_dir))
    check(name, loaded, entry)
    if "held_out" in entry:
        loaded = hold_out(loaded, entry["held_out"], name)
    if subset is not None:
        loaded = thin(loaded, subset, seed, name)
    kept = ("title", "licence", "task_titles")
    more: dict[str, Any] = {key: entry[key] for key in kept if key in entry}
    return write_prepared(
        Path(out_dir),
        name=name,
        kind=kind,
        x=loaded.blocks(),
        y=loaded.y,
        part=loaded.part,
        tasks=loaded.tasks,
        provenance=entry["provenance"],
        group=loaded.group,
        more={**more, **loaded.more},
    )


def _loader(kind: str) -> Callable[[str, dict[str, Any], Path], Loaded]:
    module, function = LOADERS[kind].split(":")
    found: Callable[[str, dict[str, Any], Path], Loaded] = getattr(
        importlib.import_module(module), function
    )
    return found
