"""Feature extraction: the split, the file contract, and going on after a kill."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pauc_core.data import features
from pauc_core.data.errors import DataError
from pauc_core.data.features import extract_features, fixed_validation
from pauc_core.data.prepared import TEST, TRAIN, VALID, Prepared, load_prepared, write_prepared

FINDINGS = ["D1", "D2"]
SETTINGS = {
    "network": "small",
    "epochs": 8,
    "lr": 1e-2,
    "batch": 16,
    "seed": 3,
    "threads": 1,
    "device": "cpu",
    "progress": False,
}


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """Grey pictures in which each finding is a bright bar of its own direction."""
    rng = np.random.default_rng(0)
    rows, side = 420, 16
    y = rng.random((rows, 2)) < (0.3, 0.15)
    x = rng.integers(40, 120, (rows, 1, side, side))
    x[y[:, 0], :, 6:9, :] += 90
    x[y[:, 1], :, :, 6:9] += 90
    group = rng.integers(0, 140, rows)
    part = np.where(group < 120, TRAIN, TEST)
    return write_prepared(
        tmp_path_factory.mktemp("data") / "films",
        name="films",
        kind="pictures",
        x=x.astype(np.uint8),
        y=y,
        part=part,
        tasks=FINDINGS,
        provenance="generated",
        group=group,
    )


def test_validation_rows_are_whole_patients_and_hold_every_finding(films: Prepared) -> None:
    part = fixed_validation(films)
    assert films.group is not None
    assert np.array_equal(part == TEST, films.part == TEST)
    valid = part == VALID
    assert not set(films.group[valid]) & set(films.group[~valid])
    assert 0.05 < valid.sum() / (films.part == TRAIN).sum() < 0.16
    assert (films.y[valid] == 1).any(axis=0).all()
    assert np.array_equal(part, fixed_validation(films))


def test_features_learn_and_follow_the_file_contract(films: Prepared, tmp_path: Path) -> None:
    auc = extract_features(films.folder, tmp_path / "made", **SETTINGS)
    made = load_prepared(tmp_path / "made", verify=True)
    assert min(auc.values()) > 0.9
    assert made.meta["valid_auc"] == pytest.approx(auc)
    assert made.x.shape == (420, 32)
    assert made.x.dtype == np.float32
    assert isinstance(made.x, np.memmap)
    assert np.array_equal(made.y, films.y)
    assert np.array_equal(made.group, films.group)
    assert np.array_equal(made.part, fixed_validation(films))
    assert [p.name for p in tmp_path.iterdir()] == ["made"]


def test_a_killed_extraction_goes_on_with_the_same_bits(
    films: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(features, "SAVE_EVERY", 10)
    monkeypatch.setattr(features, "ROWS_AT_ONCE", 100)
    extract_features(films.folder, tmp_path / "whole", **SETTINGS)
    calls = 0
    real_affine, real_inputs = features.affine, features.to_inputs

    def dying_affine(*args: object) -> object:
        nonlocal calls
        calls += 1
        if calls == 37:
            raise KeyboardInterrupt
        return real_affine(*args)  # type: ignore[arg-type]

    def dying_inputs(x: np.ndarray, rows: np.ndarray, *rest: object) -> object:
        if rows[0] == 300:
            raise KeyboardInterrupt
        return real_inputs(x, rows, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(features, "affine", dying_affine)
    with pytest.raises(KeyboardInterrupt):
        extract_features(films.folder, tmp_path / "cut", **SETTINGS)
    assert calls == 37
    monkeypatch.setattr(features, "to_inputs", dying_inputs)
    with pytest.raises(KeyboardInterrupt):
        extract_features(films.folder, tmp_path / "cut", **SETTINGS)
    in_all = 8 * ((fixed_validation(films) == TRAIN).sum() // 16)
    assert calls == 37 + in_all - 30
    monkeypatch.setattr(features, "to_inputs", real_inputs)
    extract_features(films.folder, tmp_path / "cut", **SETTINGS)
    assert calls == 37 + in_all - 30
    whole, cut = (load_prepared(tmp_path / name) for name in ("whole", "cut"))
    assert cut.checksum == whole.checksum


def test_random_weights_are_a_control(films: Prepared, tmp_path: Path) -> None:
    auc = extract_features(films.folder, tmp_path / "dice", random_control=True, **SETTINGS)
    made = load_prepared(tmp_path / "dice")
    assert all(np.isnan(v) for v in auc.values())
    assert made.meta["valid_auc"] == dict.fromkeys(FINDINGS)
    assert made.meta["extractor"]["random_control"]
    deviation = np.asarray(made.x).std(axis=0)
    assert np.isfinite(made.x).all()
    assert (deviation > 1e-3).mean() > 0.8


def test_features_are_made_of_pictures_only(films: Prepared, tmp_path: Path) -> None:
    extract_features(films.folder, tmp_path / "made", random_control=True, **SETTINGS)
    with pytest.raises(DataError, match="extracted from uint8 pictures"):
        extract_features(tmp_path / "made", tmp_path / "again", **SETTINGS)
