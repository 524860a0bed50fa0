"""Which rows are held out, and how often."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.utils import check_random_state

ENOUGH = 1000  # held-out rows of the smaller class that may decide
FEW = 10  # rows of a class below which none is held out
DOUBLES, COMMON = 5, 1 / 500  # equal rows, and their share of all, beyond which they are common
BLOCK = 1024  # rows of a dense array hashed at a time


def held_out_masks(
    positive: np.ndarray,
    groups: np.ndarray,
    fraction: float,
    random_state: int | np.random.RandomState | None,
) -> list[np.ndarray]:
    """Masks of held-out rows, one a fold; none where a class has fewer than ten rows.

    Folds hold ``fraction`` of the rows each and of both classes, without cutting a group; as many
    of them are used as it takes to hold out a thousand rows of the smaller class, all if need be.
    """
    smaller = min(np.count_nonzero(positive), np.count_nonzero(~positive))
    if smaller < FEW:
        return []
    count = max(2, round(1 / fraction))
    fold = _deal(positive, groups, count, check_random_state(random_state))
    masks: list[np.ndarray] = []
    held = 0
    for mask in (fold == k for k in range(count)):
        inside, outside = (
            int(min(np.count_nonzero(part & positive), np.count_nonzero(part & ~positive)))
            for part in (mask, ~mask)
        )
        if inside and outside and held < ENOUGH:
            masks.append(mask)
            held += inside
    if not masks:
        raise ValueError(
            "No split by group leaves both classes on both sides: use more groups, or fit "
            "without groups."
        )
    return masks


def group_names(groups: Any, rows: int) -> np.ndarray:
    """The group of each row, as it was given."""
    names = np.asarray(groups)
    if names.shape != (rows,):
        raise ValueError(
            f"Groups of shape {names.shape} cannot split {rows} rows: expected one value a row."
        )
    missing = np.asarray(pd.isna(names))
    if missing.any():
        raise ValueError(
            f"Groups have no value in row {int(missing.argmax())}: expected one value a row."
        )
    return names


def group_codes(names: np.ndarray) -> np.ndarray:
    """Groups as whole numbers from 0."""
    found, codes = np.unique(names, return_inverse=True)
    if len(found) < 2:
        raise ValueError(f"Groups have {len(found)} different value: expected at least two.")
    return codes


def equal_rows(x: Any) -> np.ndarray:
    """A number for each row of a dense or CSR array, the same for equal rows.

    Rows are told apart by a sum of 64 mixed bits for each entry.
    """
    keys = np.random.default_rng(0).integers(2**63, size=x.shape[1], dtype=np.uint64)
    if sp.issparse(x):
        ends = np.append(np.uint64(0), np.cumsum(_mix(x.data, keys[x.indices]), dtype=np.uint64))
        sums = ends[x.indptr[1:]] - ends[x.indptr[:-1]]
    else:
        sums = np.empty(len(x), dtype=np.uint64)
        for i in range(0, len(x), BLOCK):
            sums[i : i + BLOCK] = _mix(x[i : i + BLOCK], keys).sum(axis=1, dtype=np.uint64)
    order = np.argsort(sums, kind="stable")
    sums = sums[order]
    new = np.append(True, sums[1:] != sums[:-1])
    if new.all():
        return np.arange(len(order))
    # Numbered as they come, so that a column more or another form of the rows changes no fold.
    kind = np.empty(len(order), dtype=np.intp)
    kind[order] = np.argsort(np.argsort(order[new]))[np.cumsum(new) - 1]
    return kind


def kept_together(x: Any, positive: np.ndarray) -> np.ndarray:
    """Numbers of the rows that share a fold: equal rows, so that no row is learnt by heart.

    But not those that are met wherever rows are drawn, as in a table of a few answers: all in one
    fold they would make it one of another kind. Rows of the rarer class alone stay together however
    many there are, which is what repeating these to balance the classes looks like.
    """
    kinds = equal_rows(x)
    size = np.bincount(kinds)
    rare = positive if 2 * np.count_nonzero(positive) <= len(positive) else ~positive
    repeated = np.bincount(kinds, rare) == size
    single = ((size > max(DOUBLES, COMMON * len(kinds))) & ~repeated)[kinds]
    if not single.any():
        return kinds
    kinds[single] = len(size) + np.arange(np.count_nonzero(single))
    return np.unique(kinds, return_inverse=True)[1]


def _mix(values: np.ndarray, keys: np.ndarray) -> np.ndarray:
    # Adding 0 makes -0 the same as 0.
    bits = (values.astype(np.float64) + 0.0).view(np.uint64) ^ keys
    for factor in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB):
        bits ^= bits >> np.uint64(30)
        bits *= np.uint64(factor)
    return bits ^ (bits >> np.uint64(31))


def _deal(
    positive: np.ndarray, groups: np.ndarray, count: int, random: np.random.RandomState
) -> np.ndarray:
    """The fold of each row: large groups first, each to the emptiest fold, single rows last."""
    sizes, n_pos = np.bincount(groups), np.bincount(groups, positive)
    order = random.permutation(len(sizes))
    if len(order) < len(groups):
        order = order[np.argsort(-sizes[order], kind="stable")]
    many, singles = np.split(order, [np.count_nonzero(sizes > 1)])
    many_pos, many_neg, single_pos = n_pos[many], sizes[many] - n_pos[many], n_pos > 0
    del sizes, n_pos  # a number a row each
    shares = many_neg / np.sum(~positive) + many_pos / np.sum(positive)
    of_group = np.full(len(order), -1, dtype=np.int32)
    filled = [0.0] * count
    for group, share in zip(many.tolist(), shares.tolist(), strict=True):
        fold = filled.index(min(filled))
        of_group[group] = fold
        filled[fold] += share
    for label, held in ((False, many_neg), (True, many_pos)):
        mine = singles[single_pos[singles] == label]
        have = np.bincount(of_group[many], held, minlength=count)
        of_group[mine] = _level(have, len(mine))
    return of_group[groups]


def _level(have: np.ndarray, count: int) -> np.ndarray:
    """Folds for so many single rows, in turn, that all folds end up as equal as can be."""
    want = np.maximum((have.sum() + count) / len(have) - have, 0.0)
    ends = np.round(np.cumsum(want) * count / max(want.sum(), 1e-12))
    return np.repeat(np.arange(len(have), dtype=np.int32), np.diff(ends, prepend=0.0).astype(int))
