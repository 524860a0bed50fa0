"""Train, validation and test rows of a prepared dataset."""

from __future__ import annotations

import numpy as np

from pauc_core.data.errors import DataError
from pauc_core.data.prepared import TEST, TRAIN, VALID, Prepared
from pauc_core.solver.streams import stream


def split(
    prepared: Prepared,
    task: str | None = None,
    seed: int = 0,
    valid_share: float = 0.1,
    *,
    use_all: bool = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Labels and row numbers of the three parts.

    Test rows never depend on the seed; of a set with folds they are those of the fold that
    `Prepared.for_seed` chose. Train and validation are redrawn per seed, stratified, whole groups
    (patients) on one side; a set with a fixed validation part keeps it for every seed, because the
    network that made its features has seen that split.

    Parameters
    ----------
    use_all : train on everything published for training (SoRR, Table 4): nothing is held out for
        validation, and a test part that was carved from the training file goes back to it

    Returns
    -------
    y : bool (n,); train, valid, test : sorted int64 row numbers
    """
    if not 0.0 < valid_share < 1.0:
        raise DataError(f"valid_share is {valid_share}; it must lie strictly between 0 and 1.")
    y = prepared.labels(task)
    part = np.asarray(prepared.part)
    if part.ndim == 2:
        raise DataError(f"{prepared.name} has {len(part)} folds: choose one with for_seed(seed).")
    pool, test = np.flatnonzero(part == TRAIN), np.flatnonzero(part == TEST)
    fixed = np.flatnonzero(part == VALID)
    if use_all:
        if prepared.meta.get("held_out"):
            return y, np.arange(len(y)), fixed[:0], test[:0]
        return y, np.union1d(pool, fixed), fixed[:0], test
    if len(fixed):
        return y, pool, fixed, test
    rng = stream(seed, "split", prepared.name, task or prepared.tasks[0])
    if prepared.group is None:
        valid = _draw(y[pool], valid_share, rng)
    else:
        ids, member = np.unique(prepared.group[pool], return_inverse=True)
        sick = np.zeros(len(ids), dtype=bool)
        np.logical_or.at(sick, member, y[pool])
        valid = _draw(sick, valid_share, rng)[member]
    train_rows, valid_rows = pool[~valid], pool[valid]
    for rows, word in ((train_rows, "training"), (valid_rows, "validation")):
        if y[rows].all() or not y[rows].any():
            raise DataError(
                f"{prepared.name}, seed {seed}: the {word} part holds one class only "
                f"({len(rows)} rows); use more rows or another valid_share."
            )
    return y, train_rows, valid_rows, test


def _draw(strata: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Mark a share of each stratum, at least one element of a stratum with two or more."""
    chosen = np.zeros(len(strata), dtype=bool)
    for value in np.unique(strata):
        members = np.flatnonzero(strata == value)
        count = min(max(1, round(share * len(members))), len(members) - 1)
        chosen[rng.permutation(members)[:count]] = True
    return chosen
