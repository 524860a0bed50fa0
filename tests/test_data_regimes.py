"""Sets with many more rows than columns: rows in time, equal rows together, CheXNet's outputs."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file

from pauc_core.data.chest import NIH
from pauc_core.data.errors import DataError
from pauc_core.data.prepare import prepare
from pauc_core.data.prepared import TEST, TRAIN
from pauc_core.data.sources import fetch
from pauc_core.data.splits import split
from pauc_core.suite.collect import subjects


def payments(tmp_path: Path, **columns: object) -> dict:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "Time": rng.permutation(np.repeat(np.arange(50), 4)),
            "V1": rng.standard_normal(200),
            "Class": rng.permutation(np.repeat([0, 1], [150, 50])),
            **columns,
        }
    )
    (tmp_path / "raw/f").mkdir(parents=True, exist_ok=True)
    table.to_csv(tmp_path / "raw/f/t.csv", index=False)
    return {
        "kind": "table",
        "folder": "f",
        "files": [{"name": "t.csv"}],
        "label": "Class",
        "positive": [1],
        "test_later": {"by": "Time", "share": 0.33},
    }


def test_later_rows_are_the_test_part_and_the_clock_is_no_feature(tmp_path):
    entry = payments(tmp_path)
    prepared = prepare("t", entry, tmp_path / "raw", tmp_path / "out")
    table = pd.read_csv(tmp_path / "raw/f/t.csv")
    assert prepared.x.shape == (200, 1)
    np.testing.assert_allclose(prepared.x[:, 0], table["V1"], rtol=1e-6)
    late = table["Time"].to_numpy()[prepared.part == TEST]
    assert table["Time"].to_numpy()[prepared.part == TRAIN].max() < late.min()
    assert len(late) == 64  # 66 would cut the four rows of one time in two
    assert "held_out" not in prepared.meta


def test_a_row_without_a_time_is_named(tmp_path):
    times = [*range(150), None, *range(49)]
    entry = payments(tmp_path, Time=times)
    with pytest.raises(DataError, match=r"t\.csv, row 151, column 'Time': no time"):
        prepare("t", entry, tmp_path / "raw", tmp_path / "out")
    entry["test_later"]["by"] = "Clock"
    with pytest.raises(DataError, match="no column 'Clock'"):
        prepare("t", entry, tmp_path / "raw", tmp_path / "out")


def test_equal_rows_stay_together(tmp_path):
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 2, size=(40, 6))
    kinds[0] = 0
    x = kinds[rng.integers(40, size=300)]
    (tmp_path / "raw/f").mkdir(parents=True)
    path = tmp_path / "raw/f/s"
    dump_svmlight_file(x, rng.choice([-1, 1], 300), str(path), zero_based=False)
    entry = {
        "kind": "libsvm",
        "folder": "f",
        "files": [{"name": "s", "part": "train"}],
        "positive": [1],
        "negative": [-1],
        "equal_rows": "together",
        "held_out": 0.25,
        "expect": {"width": 6},
    }
    prepared = prepare("s", entry, tmp_path / "raw", tmp_path / "out")
    assert subjects(prepared) is None, "of an interval they are draws of their own"
    del prepared.meta["equal_rows"]
    assert subjects(prepared) is prepared.group, "a patient's films are not"
    _, first = np.unique(x, axis=0, return_inverse=True)
    for a in range(300):
        same = first == first[a] if x[a].any() else np.arange(300) == a
        assert (prepared.group[same] == prepared.group[a]).all()
        assert (prepared.group[~same] != prepared.group[a]).all()
    for seed in range(3):
        _, *parts = split(prepared, seed=seed)
        sides = [{row.tobytes() for row in prepared.x[rows]} for rows in parts]
        empty = np.zeros(6, dtype=prepared.x.dtype).tobytes()
        assert all(empty in side for side in sides), "rows without features are on every side"
        sides = [side - {empty} for side in sides]
        assert all(sides)
        assert not sides[0] & sides[1]
        assert not (sides[0] | sides[1]) & sides[2]


def chexnet(tmp_path: Path, **change: str) -> dict:
    rng = np.random.default_rng(0)
    names = [f"{i // 3:08d}_{i % 3:03d}.png" for i in range(120)]
    words = ["|".join(w for w in NIH if rng.random() < 0.3) or "No Finding" for _ in names]
    (tmp_path / "mirror/nih").mkdir(parents=True)
    (tmp_path / "mirror/scores").mkdir()
    labels = pd.DataFrame(
        {"Image Index": names, "Finding Labels": words, "Patient ID": [i // 3 for i in range(120)]}
    )
    with gzip.open(tmp_path / "mirror/nih/labels.csv.gz", "wt") as file:
        labels.to_csv(file, index=False)
    order = rng.permutation(120)[:100]
    scores = pd.DataFrame(rng.uniform(0.01, 0.99, (100, 14))).round(4).astype(str)
    scores.columns = [f"prob_{k}" for k in range(14)]
    scores.insert(0, "Image Index", [names[i] for i in order])
    for column, value in change.items():
        scores.loc[7, column.replace("_Index", " Index")] = value
    scores.to_csv(tmp_path / "mirror/scores/preds.csv", index=False)
    files = [{"name": "preds.csv"}, {"name": "labels.csv", "folder": "nih"}]
    return {"kind": "chexnet", "folder": "scores", "files": files, "folds": 5}


def test_chexnets_outputs_become_log_odds_with_nihs_labels_and_patients(tmp_path):
    entry = chexnet(tmp_path)
    raw = tmp_path / "raw"
    found = fetch("c", entry, raw, mirror=str(tmp_path / "mirror"), progress=False)
    assert found == [raw / "scores/preds.csv", raw / "nih/labels.csv"]
    prepared = prepare("c", entry, raw, tmp_path / "out")
    scores = pd.read_csv(raw / "scores/preds.csv")
    labels = pd.read_csv(raw / "nih/labels.csv").set_index("Image Index")
    assert prepared.part.shape == (5, 100)
    for row, name in enumerate(scores["Image Index"]):
        p = scores.iloc[row, 1:].to_numpy(dtype=float)
        np.testing.assert_allclose(prepared.x[row], np.log(p / (1 - p)), rtol=1e-4, atol=1e-5)
        have = labels.loc[name, "Finding Labels"].split("|")
        assert prepared.y[row].tolist() == [int(word in have) for word in NIH]
        assert prepared.group[row] == int(name[:8])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"prob_3": "1.0"}, "line 9: a score that is no probability"),
        ({"prob_3": "high"}, "line 9: a score that is no probability"),
        ({"Image_Index": "99999999_000.png"}, "knows no film '99999999_000.png', one of 1"),
    ],
)
def test_a_bad_line_of_chexnets_outputs_is_named(tmp_path, change, words):
    entry = chexnet(tmp_path, **change)
    fetch("c", entry, tmp_path / "raw", mirror=str(tmp_path / "mirror"), progress=False)
    with pytest.raises(DataError, match=words):
        prepare("c", entry, tmp_path / "raw", tmp_path / "out")
    assert not (tmp_path / "out").exists()
