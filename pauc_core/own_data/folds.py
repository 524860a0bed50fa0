"""Which rows are held out, and how often."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

ENOUGH = 1000  # held-out positives (or negatives, if fewer) that may decide
FEW = 10  # rows of a class below which none is held out


def held_out_masks(
    positive: np.ndarray,
    groups: Any,
    fraction: float,
    random_state: int | np.random.RandomState | None,
) -> list[np.ndarray]:
    """Masks of held-out rows, one a fold; none where a class has fewer than ten rows.

    Folds hold ``fraction`` of the rows each and of both classes, without cutting a group; as many
    of them are used as it takes to hold out a thousand rows of the smaller class, all if need be.
    """
    smaller = int(min(np.count_nonzero(positive), np.count_nonzero(~positive)))
    if groups is not None:
        groups = np.asarray(groups)
        _check_groups(groups, len(positive))
    elif smaller < FEW:
        return []
    count = min(max(2, round(1 / fraction)), smaller)
    masks = []
    for rows in _parts(positive, groups, max(count, 2), random_state):
        mask = np.zeros(len(positive), dtype=bool)
        mask[rows] = True
        if all(len(np.unique(positive[side])) == 2 for side in (mask, ~mask)):
            masks.append(mask)
        if (
            sum(min(np.count_nonzero(m & positive), np.count_nonzero(m & ~positive)) for m in masks)
            >= ENOUGH
        ):
            break
    if not masks:
        raise ValueError(
            "No split by group leaves both classes on both sides: use more groups, or fit "
            "without groups."
        )
    return masks


def _parts(
    positive: np.ndarray, groups: np.ndarray | None, count: int, random_state: Any
) -> Iterator[np.ndarray]:
    if groups is None:
        split = StratifiedKFold(count, shuffle=True, random_state=random_state)
    else:
        count = min(count, len(np.unique(groups)))
        split = StratifiedGroupKFold(count, shuffle=True, random_state=random_state)
    return (rows for _, rows in split.split(positive, positive, groups))


def _check_groups(groups: np.ndarray, size: int) -> None:
    if groups.shape != (size,) or len(np.unique(groups)) < 2:
        raise ValueError(
            f"Groups of shape {groups.shape} with {len(np.unique(groups))} different values "
            f"cannot split {size} rows: expected one value a row and at least two."
        )
