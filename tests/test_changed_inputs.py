"""Edited files of a user or a mirror are other inputs: what was made of them is made anew."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from pauc_core.data.contents import editable_content
from pauc_core.data.sources import fetch
from tests.projects import tiny_project
from tests.test_workflow import edit, planned, snakemake


def write_csv(path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    lines = [f"{a:.3f},{b:.3f},{int(a + b > 0)}" for a, b in rng.normal(size=(200, 2))]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["a,b,sick", *lines]) + "\n")


@pytest.mark.slow
def test_an_edited_file_is_made_again_and_nothing_else(tmp_path):
    project = tiny_project(tmp_path / "project", ["random_scores"])
    own, mirrored = tmp_path / "own.csv", tmp_path / "mirror/mine/mirrored.csv"
    write_csv(own, 0)
    write_csv(mirrored, 1)
    table = {"kind": "table", "label": "sick", "positive": 1, "provenance": "own"}
    edit(
        project / "config/datasets.yaml",
        lambda c: c.update(
            own={**table, "path": str(own)},
            mirrored={**table, "folder": "mine", "files": [{"name": "mirrored.csv"}]},
        ),
    )
    edit(
        project / "config/experiments.yaml",
        lambda c: c["race-gen"].update(datasets=["digits", "own", "mirrored"]),
    )
    settings = ("--config", f"mirror={tmp_path / 'mirror'}", "--", "data")
    done = snakemake(project, *settings)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]

    def stale() -> dict[str, int]:
        return {rule: n for rule, n in planned(project, *settings).items() if rule != "data"}

    os.utime(own)  # another time is no other content
    assert stale() == {}
    write_csv(own, 2)
    assert stale() == {"fetch": 1, "prepare": 1}
    write_csv(mirrored, 3)
    assert stale() == {"fetch": 2, "prepare": 2}


def test_what_a_person_may_edit_has_a_digest(tmp_path):
    folder = tmp_path / "films"
    write_csv(folder / "a.csv", 0)
    entry = {"kind": "table", "path": str(folder)}
    before = editable_content(entry, tmp_path)
    assert before == editable_content(entry, tmp_path)
    write_csv(folder / "b.csv", 0)
    assert editable_content(entry, tmp_path) != before
    promised = {"name": "a.csv", "sha256": "0" * 64, "urls": ["https://example.org/a.csv"]}
    fetched = {"kind": "table", "folder": "films", "files": [promised]}
    assert editable_content(fetched, tmp_path) is None
    by_hand = {**fetched, "files": [{"name": "a.csv"}]}
    assert set(editable_content(by_hand, tmp_path) or {}) == {"a.csv"}
    assert editable_content({**by_hand, "generate": {}}, tmp_path) is None


@pytest.mark.parametrize("packed", [False, True])
def test_a_mirrors_edited_file_replaces_its_copy(tmp_path, packed):
    import gzip

    entry = {"kind": "table", "folder": "mine", "files": [{"name": "a.csv"}]}
    mirror = tmp_path / "mirror/mine"
    mirror.mkdir(parents=True)
    for text in (b"first", b"second"):
        if packed:
            (mirror / "a.csv.gz").write_bytes(gzip.compress(text))
        else:
            (mirror / "a.csv").write_bytes(text)
        (found,) = fetch("own", entry, tmp_path / "raw", str(tmp_path / "mirror"))
        assert found.read_bytes() == text
