"""Folds over groups: every row is tested once, and no group (patient) lies on two sides."""

from __future__ import annotations

import hashlib

import numpy as np

from pauc_core.data.prepared import TEST, TRAIN


def by_rarest_finding(
    group: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Groups, the group number of each row, and each group's rarest finding (-1: none).

    Drawing groups stratum by stratum gives every part its share of the rare findings.
    """
    labels = np.asarray(y).reshape(len(y), -1) == 1
    ids, member = np.unique(group, return_inverse=True)
    found = np.zeros((len(ids), labels.shape[1]), dtype=bool)
    np.logical_or.at(found, member, labels)
    by_rarity = np.argsort(found.sum(axis=0), kind="stable")
    rarest = np.where(found.any(axis=1), found[:, by_rarity].argmax(axis=1), -1)
    return ids, member, rarest


def deal(group: np.ndarray, y: np.ndarray, folds: int) -> np.ndarray:
    """Parts (folds, n): fold k is the test part of its line, all other rows are its train pool.

    Groups are dealt out one by one, those with the largest share of a finding first, each to the
    fold that leaves rows and positives of every finding most even (least sum of squared shares).
    Equals are ordered by a hash of their numbers: no seed decides who is tested together.
    """
    ids, member = np.unique(group, return_inverse=True)
    counted = np.column_stack([np.ones(len(y)), np.asarray(y).reshape(len(y), -1) == 1])
    shares = np.zeros((len(ids), counted.shape[1]))
    np.add.at(shares, member, counted / np.maximum(counted.sum(axis=0), 1))
    order = sorted(range(len(ids)), key=lambda i: (-shares[i].max(), _hash(int(ids[i]))))
    load = np.zeros((folds, shares.shape[1]))
    fold_of = np.empty(len(ids), dtype=np.int64)
    for i in order:
        # rounded: the last bits of a sum must not decide between equals
        fold_of[i] = np.argmin((load @ shares[i]).round(12))
        load[fold_of[i]] += shares[i]
    tested = fold_of[member] == np.arange(folds)[:, None]
    return np.where(tested, TEST, TRAIN).astype(np.uint8)


def _hash(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()
