"""Prepared folders, splits and subsets."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pauc_core.data.errors import DataError
from pauc_core.data.loaded import Loaded, hold_out, thin
from pauc_core.data.prepared import TEST, TRAIN, VALID, Blocks, load_prepared, write_prepared
from pauc_core.data.splits import split
from pauc_core.data.statistics import table


def write(folder, *, rows=200, tasks=1, group=None, part=None, seed=0, more=None, name="set"):
    rng = np.random.default_rng(seed)
    y = (rng.random((rows, tasks)) < 0.3).astype(np.int8)
    if part is None:
        part = (np.arange(rows) >= 0.8 * rows).astype(np.uint8)
    return write_prepared(
        folder,
        name=name,
        kind="table",
        x=rng.standard_normal((rows, 3)).astype(np.float32),
        y=y[:, 0] if tasks == 1 else y,
        part=part,
        tasks=[f"D{i + 1}" for i in range(tasks)],
        provenance="generated",
        group=group,
        more=more,
    )


def test_what_is_written_is_what_is_read(tmp_path):
    written = write(tmp_path / "set", tasks=2, group=np.arange(200) // 3)
    read = load_prepared(tmp_path / "set", verify=True)
    assert isinstance(read.x, np.memmap)
    for name in ("x", "y", "part", "group"):
        np.testing.assert_array_equal(getattr(written, name), getattr(read, name))
    assert read.tasks == ["D1", "D2"]
    assert read.generated
    assert read.meta["counts"]["train"]["rows"] == 160
    assert read.meta["counts"]["test"]["positives"]["D2"] == int(read.y[160:, 1].sum())
    np.testing.assert_array_equal(np.load(tmp_path / "set/x.npy"), read.x)
    with pytest.raises(DataError, match="name one, as in set@D1"):
        read.labels()
    with pytest.raises(DataError, match="no task 'D9'"):
        read.labels("D9")


def test_the_checksum_depends_on_the_content_alone(tmp_path):
    first, second = write(tmp_path / "a"), write(tmp_path / "b")
    assert first.checksum == second.checksum != write(tmp_path / "c", seed=1).checksum


def test_blocks_and_the_whole_array_give_the_same_file(tmp_path):
    x = np.random.default_rng(0).standard_normal((50, 4)).astype(np.float32)
    rest = {
        "name": "s",
        "kind": "table",
        "y": np.arange(50) % 2,
        "part": np.zeros(50),
        "tasks": ["label"],
        "provenance": "own",
    }
    whole = write_prepared(tmp_path / "a", x=x, **rest)
    cut = write_prepared(
        tmp_path / "b", x=Blocks(x.shape, x.dtype, (x[i : i + 7] for i in range(0, 50, 7))), **rest
    )
    assert whole.meta["sha256"] == cut.meta["sha256"]
    with pytest.raises(DataError, match="43 rows arrived"):
        write_prepared(tmp_path / "c", x=Blocks(x.shape, x.dtype, [x[:43]]), **rest)
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("file", ["x.npy", "y.npy", "part.npy"])
def test_a_changed_byte_is_caught(tmp_path, file):
    write(tmp_path / "set")
    path = tmp_path / "set" / file
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match=f"{file} does not match its checksum"):
        load_prepared(tmp_path / "set", verify=True)


def test_a_cut_array_or_a_missing_folder_is_one_sentence(tmp_path):
    with pytest.raises(DataError, match="prepare the dataset again"):
        load_prepared(tmp_path / "none")
    write(tmp_path / "set")
    path = tmp_path / "set/x.npy"
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(DataError, match="damaged array"):
        load_prepared(tmp_path / "set")


def test_writing_again_replaces_the_folder_whole(tmp_path):
    write(tmp_path / "set", group=np.arange(200))
    write(tmp_path / "set", seed=1)
    assert sorted(p.name for p in (tmp_path / "set").iterdir()) == [
        "meta.json",
        "part.npy",
        "x.npy",
        "y.npy",
    ]
    assert [p.name for p in tmp_path.iterdir()] == ["set"]


@pytest.mark.parametrize("task", ["D1", "D2"])
def test_a_split_covers_the_rows_and_keeps_the_test_part(tmp_path, task):
    prepared = write(tmp_path / "set", rows=1000, tasks=2)
    y, train, valid, test = split(prepared, task, seed=0)
    assert y.dtype == bool
    np.testing.assert_array_equal(np.sort(np.concatenate([train, valid, test])), np.arange(1000))
    np.testing.assert_array_equal(test, np.flatnonzero(prepared.part == TEST))
    assert abs(y[valid].sum() - 0.1 * y[prepared.part == TRAIN].sum()) <= 1
    assert abs(len(valid) - 80) <= 1
    for again, other in zip(split(prepared, task, seed=0), (y, train, valid, test), strict=True):
        np.testing.assert_array_equal(again, other)
    moved = split(prepared, task, seed=1)
    np.testing.assert_array_equal(moved[3], test)
    assert not np.array_equal(moved[2], valid)


@given(seed=st.integers(0, 10_000), patients=st.integers(8, 60))
def test_no_patient_is_on_both_sides(tmp_path_factory, seed, patients):
    rng = np.random.default_rng(seed)
    group = rng.integers(patients, size=300)
    part = (group % 5 == 0).astype(np.uint8)
    prepared = write(tmp_path_factory.mktemp("s") / "set", rows=300, group=group, part=part)
    _, train, valid, test = split(prepared, seed=seed)
    sides = [set(group[rows].tolist()) for rows in (train, valid, test)]
    assert not sides[0] & sides[1]
    assert not (sides[0] | sides[1]) & sides[2]


def test_a_fixed_validation_part_stays_for_every_seed(tmp_path):
    part = np.repeat([TRAIN, VALID, TEST], [120, 40, 40])
    prepared = write(tmp_path / "set", part=part)
    for seed in (0, 7):
        _, train, valid, test = split(prepared, seed=seed)
        for rows, value in ((train, TRAIN), (valid, VALID), (test, TEST)):
            np.testing.assert_array_equal(rows, np.flatnonzero(part == value))


def test_use_all_gives_back_what_was_held_out_and_nothing_else(tmp_path):
    carved = write(tmp_path / "a", more={"held_out": True})
    _, train, valid, test = split(carved, use_all=True)
    assert (len(train), len(valid), len(test)) == (200, 0, 0)
    official = write(tmp_path / "b")
    _, train, valid, test = split(official, use_all=True)
    assert (len(train), len(valid), len(test)) == (160, 0, 40)
    assert table(carved)[0]["n"] == 200
    assert table(official)[0]["n"] == 160


def loaded(rows=600, tasks=2, group=None, seed=0):
    rng = np.random.default_rng(seed)
    x = np.arange(rows, dtype=np.float32)[:, None]
    return Loaded(
        rows=lambda index: x[index],
        shape=(rows, 1),
        dtype=np.float32,
        y=(rng.random((rows, tasks)) < [0.1, 0.4][:tasks]).astype(np.int8),
        part=(np.arange(rows) % 4 == 0).astype(np.uint8),
        tasks=["D1", "D2"][:tasks],
        group=group,
    )


def test_a_subset_keeps_shares_and_rows_in_step():
    whole = loaded()
    some = thin(whole, 120, 0, "s")
    assert 110 <= some.shape[0] <= 130
    kept = some.rows(np.arange(some.shape[0]))[:, 0].astype(int)
    np.testing.assert_array_equal(whole.y[kept], some.y)
    np.testing.assert_array_equal(whole.part[kept], some.part)
    np.testing.assert_allclose(some.y.mean(axis=0), whole.y.mean(axis=0), atol=0.03)
    np.testing.assert_array_equal(thin(whole, 120, 0, "s").y, some.y)
    assert not np.array_equal(
        thin(whole, 120, 1, "s").rows(np.arange(100)), some.rows(np.arange(100))
    )


def test_a_subset_keeps_some_of_a_rare_class():
    whole = loaded(tasks=1)
    rare = replace(whole, y=(np.arange(len(whole.y)) % 40 == 1).astype(np.int8))
    some = thin(rare, 60, 0, "s")
    assert some.y[some.part == TRAIN].sum() == 10
    assert some.shape[0] < 80


def test_held_out_rows_are_stratified_and_groups_stay_whole():
    flat = loaded(tasks=1)
    held = hold_out(flat, 0.25, "s")
    new = (held.part == TEST) & (flat.part == TRAIN)
    assert abs(new.sum() - 0.25 * (flat.part == TRAIN).sum()) <= 2
    assert held.more["held_out"]
    group = np.arange(600) // 4
    every = replace(loaded(group=group), part=np.zeros(600, dtype=np.uint8))
    part = hold_out(every, 0.2, "s").part.reshape(-1, 4)
    assert (part == part[:, :1]).all()
    assert abs((part == TEST).mean() - 0.2) < 0.02


def test_meta_is_plain_json(tmp_path):
    write(tmp_path / "set")
    meta = json.loads((tmp_path / "set/meta.json").read_text())
    assert meta["provenance"] == "generated"
    assert meta["shape"] == [200, 3]
