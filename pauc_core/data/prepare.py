"""From raw files to prepared arrays: the loader by kind, the checks, an optional subset."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pauc_core.data.chest import load_chexnet, load_chexpert, load_nih
from pauc_core.data.chestmnist import load_chestmnist
from pauc_core.data.cifar import load_cifar10, load_cifar10_lt
from pauc_core.data.errors import DataError
from pauc_core.data.folds import deal
from pauc_core.data.generated_features import load_features
from pauc_core.data.loaded import Loaded, check, hold_out, thin
from pauc_core.data.longtail import load_tiny_imagenet_lt
from pauc_core.data.prepared import Prepared, write_prepared
from pauc_core.data.table_loaders import load_libsvm, load_sklearn, load_table

LOADERS: dict[str, Callable[[str, dict[str, Any], Path], Loaded]] = {
    "libsvm": load_libsvm,
    "table": load_table,
    "sklearn": load_sklearn,
    "features": load_features,
    "cifar10": load_cifar10,
    "cifar10_lt": load_cifar10_lt,
    "tiny_imagenet_lt": load_tiny_imagenet_lt,
    "chestmnist": load_chestmnist,
    "chexnet": load_chexnet,
    "chexpert": load_chexpert,
    "nih": load_nih,
}
OWN_HELD_OUT = 0.2  # of one's own table, where its entry does not say


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
    loaded = LOADERS[kind](name, entry, Path(raw_dir))
    check(name, loaded, entry)
    whole = kind == "table" and "test_later" not in entry
    share = entry.get("held_out", OWN_HELD_OUT if whole else None)
    if share:
        loaded = hold_out(loaded, share, name)
    if subset is not None:
        loaded = thin(loaded, subset, seed, name)
    part = loaded.part
    if entry.get("folds"):
        if loaded.group is None:
            raise DataError(f"{name}: its rows have no groups, so `folds:` cannot be drawn.")
        part = deal(loaded.group, loaded.y, entry["folds"])
    kept = ("title", "licence", "task_titles", "equal_rows")
    more: dict[str, Any] = {key: entry[key] for key in kept if key in entry}
    return write_prepared(
        Path(out_dir),
        name=name,
        kind=kind,
        x=loaded.blocks(),
        y=loaded.y,
        part=part,
        tasks=loaded.tasks,
        provenance=entry.get("provenance", "own"),
        group=loaded.group,
        more={**more, **loaded.more},
    )
