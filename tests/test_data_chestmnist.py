"""ChestMNIST, on files of its keys and types made here: it cannot be fetched everywhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pauc_core.data.archives import open_zip
from pauc_core.data.chestmnist import COLUMNS, FINDINGS, Member
from pauc_core.data.errors import DataError
from pauc_core.data.features import extract_features
from pauc_core.data.prepare import prepare
from pauc_core.data.prepared import TEST, TRAIN, VALID, load_prepared
from pauc_core.suite.runner import run_seeds
from tests.test_runner import lines, spec

ROWS = {"train": 240, "val": 60, "test": 100}
ENTRY = {
    "kind": "chestmnist",
    "folder": "c",
    "files": [{"name": "c.npz"}],
    "size": 8,
    "provenance": "generated",
    "expect": {"rows": {"train": 240, "valid": 60, "test": 100}},
}


def arrays() -> dict[str, np.ndarray]:
    """A bright bar for cardiomegaly, noise for all else."""
    rng = np.random.default_rng(0)
    made = {}
    for word, rows in ROWS.items():
        labels = (rng.random((rows, 14)) < 0.3).astype(np.uint8)
        films = rng.integers(0, 120, (rows, 8, 8)).astype(np.uint8)
        films[labels[:, COLUMNS.index("cardiomegaly")] == 1, 3:5] += 100
        made |= {f"{word}_images": films, f"{word}_labels": labels}
    return made


def raw(tmp_path: Path, content: dict[str, np.ndarray], packed: bool = True) -> Path:
    (tmp_path / "raw/c").mkdir(parents=True, exist_ok=True)
    write = np.savez_compressed if packed else np.savez
    write(tmp_path / "raw/c/c.npz", **content)
    return tmp_path / "raw"


@pytest.mark.parametrize("packed", [True, False])
def test_films_labels_and_parts_are_the_files_own(tmp_path, packed):
    content = arrays()
    prepared = prepare("c", ENTRY, raw(tmp_path, content, packed), tmp_path / "out")
    films = np.concatenate([content[f"{word}_images"] for word in ROWS])
    labels = np.concatenate([content[f"{word}_labels"] for word in ROWS])
    np.testing.assert_array_equal(prepared.x[:, 0], films)
    assert prepared.tasks == ["D1", "D2", "D3", "D4", "D5"]
    # Cardiomegaly, Edema, Consolidation, Atelectasis, Effusion, by their places in MedMNIST's list
    np.testing.assert_array_equal(prepared.y, labels[:, [1, 9, 8, 0, 2]])
    np.testing.assert_array_equal(prepared.part, np.repeat([TRAIN, VALID, TEST], [240, 60, 100]))
    assert FINDINGS[0] == COLUMNS[1] == "cardiomegaly"


def test_a_subset_is_read_forwards(tmp_path):
    content = arrays()
    few = prepare("c", ENTRY, raw(tmp_path, content), tmp_path / "few", subset=120)
    assert len(few.x) < 250
    films = {film.tobytes() for word in ROWS for film in content[f"{word}_images"]}
    assert {film.tobytes() for film in few.x} <= films
    member = Member(open_zip(tmp_path / "raw/c/c.npz"), "val_images")
    for rows in ([3, 4, 9], [10], [0, 59]):  # the last goes back to the beginning
        np.testing.assert_array_equal(member.take(np.array(rows)), content["val_images"][rows])


def broken(change: str) -> dict[str, np.ndarray]:
    content = arrays()
    if change == "keys":
        content["x_test"] = content.pop("test_images")
    elif change == "object":
        content["val_labels"] = content["val_labels"].astype(object)
    elif change == "float":
        content["val_images"] = content["val_images"].astype(np.float32)
    elif change == "size":
        content["test_images"] = content["test_images"][:, :4]
    elif change == "columns":
        content["test_labels"] = content["test_labels"][:, :5]
    elif change == "label":
        content["train_labels"][7, 3] = 2
    elif change == "rows":
        content = {k: v[:-5] if k.startswith("test") else v for k, v in content.items()}
    return content


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("keys", r"c\.npz has no array test_images; it has test_labels, train_images"),
        ("object", "val_labels holds object values, expected uint8"),
        ("float", "val_images holds float32 values, expected uint8"),
        ("size", r"test_images has shape \(100, 4, 8\)"),
        ("columns", r"test_labels \(100, 5\), expected .* and \(100, 14\)"),
        ("label", "train_labels, row 7: the label 2 is neither 0 nor 1"),
        ("rows", "rows test is 95, expected 100"),
    ],
)
def test_another_file_is_refused_in_one_sentence(tmp_path, change, words):
    with pytest.raises(DataError, match=words) as caught:
        prepare("c", ENTRY, raw(tmp_path, broken(change)), tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_truncated_or_damaged_file_is_refused(tmp_path):
    path = raw(tmp_path, arrays()) / "c/c.npz"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match="is truncated or damaged"):
        prepare("c", ENTRY, tmp_path / "raw", tmp_path / "out")
    spoilt = bytearray(whole)
    spoilt[2000] ^= 255
    path.write_bytes(spoilt)
    with pytest.raises(DataError, match="is truncated or damaged"):
        prepare("c", ENTRY, tmp_path / "raw", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_it_goes_through_features_and_fits(tmp_path):
    prepare("c", ENTRY, raw(tmp_path, arrays()), tmp_path / "films")
    auc = extract_features(
        tmp_path / "films", tmp_path / "made", network="small", epochs=8, lr=1e-2, batch=16,
        seed=0, threads=1, device="cpu", progress=False,
    )  # fmt: skip
    assert auc["D1"] > 0.9
    made = load_prepared(tmp_path / "made", verify=True)
    np.testing.assert_array_equal(made.part, load_prepared(tmp_path / "films").part)
    run = spec("pauc_core.agd_sbcd:AGDSBCD", dataset="made@D1")
    values = {"mu": 1000, "gamma": 2000, "c": 1.0, "T": 50, "I": 20, "J": 20}
    run_seeds(run, values, [0, 1], tmp_path / "made", tmp_path / "out")
    for line in lines(tmp_path / "out"):
        assert line["outcome"] == "budget"
        assert (line["n_valid"], line["n_test"]) == (60, 100)
        assert line["pauc_test"] > 0.6
