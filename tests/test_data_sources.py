"""Every set can be had by everybody: an address or a package, or a sentence that says how."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from pauc_core.data.errors import DataError
from pauc_core.data.sources import MADE_IN_PREPARE, fetch
from pauc_core.suite.configuration import load

ROOT = Path(__file__).parents[1]
CATALOGUE = yaml.safe_load((ROOT / "config/datasets.yaml").read_text(encoding="utf-8"))
OPEN = load(ROOT, {"scale": "open", "results": "results", "raw": "data/raw"})


def has_source(file: dict[str, Any]) -> bool:
    """Whether a program can fetch a file without a mirror, and see that it is the right one."""
    if "any_of" in file:
        return any(has_source(choice) for choice in file["any_of"])
    if "resized" in file:
        return has_source(file["resized"]["from"])
    checked = "sha256" in file or "md5" in file
    urls = file.get("urls", [])
    assert all(url.startswith(("https://", "http://")) for url in urls)
    return checked and bool(urls or {"package", "version", "member"} <= file.get("pypi", {}).keys())


def without_source(entry: dict[str, Any]) -> list[str]:
    if "generate" in entry or entry["kind"] in MADE_IN_PREPARE:
        return []
    if has_source(entry.get("archive", {})):
        return [file["name"] for file in entry["files"] if "md5" not in file]
    return [str(file) for file in entry["files"] if not has_source(file)]


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_file_has_a_public_source_or_says_what_to_do(name):
    entry = CATALOGUE[name]
    lacking = without_source(entry)
    assert bool(lacking) == ("by_hand" in entry), f"{name}: {lacking}"


def test_the_open_scale_needs_no_hand():
    stored = OPEN.stored_datasets()
    weights = [CATALOGUE[name]["weights"] for name in stored if "weights" in CATALOGUE[name]]
    assert weights
    for name in [*stored, *weights]:
        assert not without_source(CATALOGUE[name]), name


@pytest.mark.parametrize("name", ["chexpert", "nih-full"])
def test_what_no_program_can_fetch_says_what_to_do(name, tmp_path, monkeypatch):
    monkeypatch.delenv("PAUC_MIRROR", raising=False)
    entry = {**CATALOGUE[name], "files": CATALOGUE[name]["files"][-1:]}
    with pytest.raises(DataError) as caught:
        fetch(name, entry, tmp_path, progress=False)
    assert str(caught.value).endswith(entry["by_hand"])
