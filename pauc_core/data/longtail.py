"""Long tails, and Tiny-ImageNet-200 cut to one."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import numpy as np

from pauc_core.data.archives import open_zip, read_zip
from pauc_core.data.errors import DataError
from pauc_core.data.loaded import Entry, Loaded
from pauc_core.data.pictures import decode
from pauc_core.data.prepared import TEST, TRAIN

ROOT = "tiny-imagenet-200"


def keep_counts(classes: int, largest: int, ratio: float) -> list[int]:
    """int(largest * ratio^(i/(classes-1))) pictures of class i (Appendix, long-tailed data)."""
    return [int(largest * ratio ** (i / (classes - 1))) for i in range(classes)]


class Tree:
    """The official folder layout, unpacked or still in its zip file."""

    def __init__(self, folder: Path, archives: list[str]) -> None:
        self.place = folder
        self.zip: zipfile.ZipFile | None = None
        packed = [folder / name for name in archives if (folder / name).exists()]
        if packed:
            self.place = packed[0]
            self.zip = open_zip(packed[0])
            names = self.zip.namelist()
        else:
            names = [str(p.relative_to(folder).as_posix()) for p in folder.rglob("*")]
        self.names = {n for n in names if not n.endswith("/")}

    def read(self, name: str) -> bytes:
        if name not in self.names:
            raise DataError(f"{self.place} has no {name}; fetch the dataset again.")
        return read_zip(self.zip, name) if self.zip else (self.place / name).read_bytes()


def load_tiny_imagenet_lt(name: str, entry: Entry, raw_dir: Path) -> Loaded:
    """Tiny-ImageNet-200-LT: a long tail of the training pictures, the validation part as test.

    Classes are numbered in sorted wnid order, a class's pictures by the number in their name;
    the whole archive and one that holds only the long tail give the same arrays.
    """
    wanted = [f["name"] for item in entry["files"] for f in item.get("any_of", [item])]
    tree = Tree(raw_dir / entry["folder"], wanted)
    wnids = sorted(tree.read(f"{ROOT}/wnids.txt").decode().split())
    numbers = {wnid: i for i, wnid in enumerate(wnids)}
    by_class: dict[str, dict[int, str]] = {wnid: {} for wnid in wnids}
    pattern = re.compile(rf"{ROOT}/train/(n\d+)/images/\1_(\d+)\.JPEG")
    for member in tree.names:
        found = pattern.fullmatch(member)
        if found:
            by_class[found[1]][int(found[2])] = member
    members: list[str] = []
    classes: list[int] = []
    for wnid, count in zip(wnids, keep_counts(len(wnids), **entry["long_tail"]), strict=True):
        chosen = [by_class[wnid][k] for k in sorted(by_class[wnid])[:count]]
        if len(chosen) < count:
            raise DataError(
                f"{tree.place}: class {wnid} has {len(chosen)} training pictures, "
                f"expected at least {count}; fetch the dataset again."
            )
        members += chosen
        classes += [numbers[wnid]] * count
    train = len(members)
    for line in tree.read(f"{ROOT}/val/val_annotations.txt").decode().splitlines():
        picture, wnid = line.split("\t")[:2]
        members.append(f"{ROOT}/val/images/{picture}")
        classes.append(numbers[wnid])
    size = entry["size"]

    def rows(index: np.ndarray) -> np.ndarray:
        return np.stack(
            [decode(tree.read(members[i]), members[i], size, 3) for i in index.tolist()]
        )

    return Loaded(
        rows=rows,
        shape=(len(members), 3, size, size),
        dtype=np.uint8,
        y=np.isin(classes, entry["positive"]).astype(np.int8),
        part=np.where(np.arange(len(members)) < train, TRAIN, TEST).astype(np.uint8),
        tasks=["label"],
        more={
            "picture": {"channels": 3, "size": size},
            "details": {"positive_classes": entry["positive"]},
        },
    )
