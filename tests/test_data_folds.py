"""Folds over patients: everybody is tested once and by a fold of their own."""

from __future__ import annotations

import numpy as np
import pytest

from pauc_core.data.errors import DataError
from pauc_core.data.folds import deal
from pauc_core.data.loaded import Loaded
from pauc_core.data.prepare import LOADERS, prepare
from pauc_core.data.prepared import TEST, TRAIN, load_prepared, write_prepared
from pauc_core.data.splits import split
from pauc_core.data.statistics import table


def films(rows: int = 900, patients: int = 250, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    group = rng.integers(patients, size=rows)
    y = (rng.random((rows, 2)) < (0.04, 0.3)).astype(np.int8)
    return group, y


def test_every_row_is_tested_once_and_no_patient_on_two_sides():
    group, y = films()
    parts = deal(group, y, 5)
    assert ((parts == TEST).sum(axis=0) == 1).all()
    for part in parts:
        assert not set(group[part == TEST]) & set(group[part == TRAIN])
        assert abs((part == TEST).mean() - 0.2) < 0.01
        share = (y[part == TEST] == 1).sum(axis=0) / (y == 1).sum(axis=0)
        np.testing.assert_allclose(share, 0.2, atol=0.03)


def test_a_fold_does_not_depend_on_the_order_of_the_rows():
    group, y = films()
    order = np.random.default_rng(1).permutation(len(y))
    np.testing.assert_array_equal(deal(group, y, 5)[:, order], deal(group[order], y[order], 5))


def written(folder, folds=3, stacked=False):
    group, y = films(rows=600)
    x = np.random.default_rng(0).standard_normal((folds, 600, 4) if stacked else (600, 4))
    return write_prepared(
        folder,
        name="set",
        kind="table",
        x=x.astype(np.float32),
        y=y,
        part=deal(group, y, folds),
        tasks=["D1", "D2"],
        provenance="generated",
        group=group,
    )


@pytest.mark.parametrize("stacked", [False, True])
def test_a_seed_sees_its_fold(tmp_path, stacked):
    prepared = written(tmp_path / "set", stacked=stacked)
    assert prepared.meta["folds"] == 3
    tested = []
    for seed in range(3):
        view = prepared.for_seed(seed)
        assert view.x.shape == (600, 4)
        np.testing.assert_array_equal(view.x, prepared.x[seed] if stacked else prepared.x)
        _, train, valid, test = split(view, "D2", seed)
        everything = np.sort(np.concatenate([train, valid, test]))
        np.testing.assert_array_equal(everything, np.arange(600))
        sides = [set(prepared.group[rows].tolist()) for rows in (train, valid, test)]
        assert not sides[0] & sides[1]
        assert not (sides[0] | sides[1]) & sides[2]
        tested += test.tolist()
    assert sorted(tested) == list(range(600))
    np.testing.assert_array_equal(prepared.for_seed(4).part, prepared.part[1])
    assert table(prepared)[0]["n"] == 600
    assert table(prepared)[0]["test_rows"] == (prepared.part[0] == TEST).sum()
    assert load_prepared(tmp_path / "set", verify=True).checksum == prepared.checksum


def test_a_set_with_folds_is_not_split_without_a_choice(tmp_path):
    with pytest.raises(DataError, match=r"set has 3 folds: choose one with for_seed"):
        split(written(tmp_path / "set"), "D1")


def test_folds_need_groups(tmp_path, monkeypatch):
    rows = np.zeros((20, 1), dtype=np.float32)
    flat = Loaded(lambda i: rows[i], (20, 1), np.float32, np.arange(20) % 2, rows[:, 0], ["label"])
    monkeypatch.setitem(LOADERS, "flat", lambda *_: flat)
    with pytest.raises(DataError, match="s: its rows have no groups"):
        prepare("s", {"kind": "flat", "folds": 5}, tmp_path, tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_a_fold_without_a_class_is_refused(tmp_path):
    y = np.zeros(40, dtype=np.int8)
    y[0] = 1  # when its patient is tested nobody is left to learn from
    with pytest.raises(DataError, match="no positives"):
        write_prepared(
            tmp_path / "s",
            name="s",
            kind="table",
            x=np.zeros((40, 1), dtype=np.float32),
            y=y,
            part=deal(np.arange(40), y, 5),
            tasks=["label"],
            provenance="own",
        )
