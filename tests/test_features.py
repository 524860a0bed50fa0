"""Feature extraction: the split, the file contract, and going on after a kill."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from pauc_core.data import extractor
from pauc_core.data.errors import DataError
from pauc_core.data.features import extract_features, fixed_validation
from pauc_core.data.folds import deal
from pauc_core.data.prepared import TEST, TRAIN, VALID, Prepared, load_prepared, write_prepared
from pauc_core.models.networks import build, initialise
from pauc_core.solver.streams import stream, torch_generator

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
    monkeypatch.setattr(extractor, "SAVE_EVERY", 10)
    monkeypatch.setattr(extractor, "ROWS_AT_ONCE", 100)
    extract_features(films.folder, tmp_path / "whole", **SETTINGS)
    calls = 0
    real_affine, real_inputs = extractor.affine, extractor.to_inputs

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

    monkeypatch.setattr(extractor, "affine", dying_affine)
    with pytest.raises(KeyboardInterrupt):
        extract_features(films.folder, tmp_path / "cut", **SETTINGS)
    assert calls == 37
    monkeypatch.setattr(extractor, "to_inputs", dying_inputs)
    with pytest.raises(KeyboardInterrupt):
        extract_features(films.folder, tmp_path / "cut", **SETTINGS)
    in_all = 8 * ((fixed_validation(films) == TRAIN).sum() // 16)
    assert calls == 37 + in_all - 30
    monkeypatch.setattr(extractor, "to_inputs", real_inputs)
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


def test_each_folds_extractor_has_never_seen_its_fold(
    films: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert films.group is not None
    folded = write_prepared(
        tmp_path / "folded",
        name="folded",
        kind="pictures",
        x=np.asarray(films.x),
        y=films.y,
        part=deal(films.group, films.y, 3),
        tasks=FINDINGS,
        provenance="generated",
        group=films.group,
    )
    seen: list[set[int]] = [set()]
    real_inputs, real_run = extractor.to_inputs, extractor.Extractor.run
    real_extract = extractor.Extractor.extract

    def watched(x: np.ndarray, rows: np.ndarray, *rest: object) -> object:
        seen[-1].update(rows.tolist())
        return real_inputs(x, rows, *rest)  # type: ignore[arg-type]

    def extract(job: extractor.Extractor) -> object:
        seen.append(set())  # from here on all rows are looked at, and nothing is learned
        return real_extract(job)

    def run(job: extractor.Extractor) -> None:
        seen[-1].clear()
        real_run(job)

    monkeypatch.setattr(extractor, "to_inputs", watched)
    monkeypatch.setattr(extractor.Extractor, "run", run)
    monkeypatch.setattr(extractor.Extractor, "extract", extract)
    few = {**SETTINGS, "epochs": 1}
    extract_features(folded.folder, tmp_path / "made", **few)
    made = load_prepared(tmp_path / "made", verify=True)
    assert made.x.shape == (3, 420, 32)
    assert made.meta["folds"] == 3
    for fold in range(3):
        view = made.for_seed(fold + 3)
        np.testing.assert_array_equal(view.x, made.x[fold])
        np.testing.assert_array_equal(view.part == TEST, folded.part[fold] == TEST)
        trained_on = seen[fold]
        assert trained_on
        assert trained_on <= set(np.flatnonzero(view.part == TRAIN).tolist())
        assert (view.part == VALID).any()
    assert not np.array_equal(made.x[0], made.x[1])
    extract_features(folded.folder, tmp_path / "dice", random_control=True, **few)
    dice = load_prepared(tmp_path / "dice")
    assert dice.x.shape == (3, 420, 32)
    np.testing.assert_array_equal(dice.part, made.part)


def test_published_weights_learn_from_no_row_and_leave_the_parts(
    films: Prepared, tmp_path: Path
) -> None:
    net = build("small", 1, 7)  # another last layer than the films need
    initialise(net, torch_generator(stream(1, "test")))
    torch.save(net.state_dict(), tmp_path / "small.pth")
    settings = {**SETTINGS, "epochs": 0, "weights": tmp_path / "small.pth", "resize": 24}
    auc = extract_features(films.folder, tmp_path / "made", **settings)
    made = load_prepared(tmp_path / "made")
    assert all(np.isnan(v) for v in auc.values())
    np.testing.assert_array_equal(made.part, films.part)
    pixels = torch.from_numpy(np.array(films.x[:5])).float() / 255
    large = torch.nn.functional.interpolate((pixels - 0.449) / 0.226, (24, 24), mode="bilinear")
    with torch.no_grad():
        expected = net.eval().pooled(large)
    np.testing.assert_allclose(made.x[:5], expected.numpy(), rtol=1e-4, atol=1e-5)
