"""Bad input: one sentence that names the file and the place, no partial output, exit code not 0."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pauc_core.data.archives import open_zip
from pauc_core.data.chest import CHEXPERT
from pauc_core.data.errors import DataError
from pauc_core.data.prepare import prepare

GOOD = ["+1 1:0.5 3:1", "-1 2:0.25", "+1", "-1 1:2e-1 2:3"] * 5


def libsvm(tmp_path: Path, lines: list[str], **changes: object) -> dict:
    (tmp_path / "raw/f").mkdir(parents=True, exist_ok=True)
    (tmp_path / "raw/f/s").write_text("\n".join(lines) + "\n")
    return {
        "kind": "libsvm",
        "folder": "f",
        "files": [{"name": "s", "part": "train"}],
        "positive": [1],
        "negative": [-1],
        "provenance": "own",
        "expect": {"width": 3},
        **changes,
    }


def refused(tmp_path: Path, entry: dict) -> str:
    """The sentence, after checking that nothing was left behind."""
    with pytest.raises(DataError) as caught:
        prepare("s", entry, tmp_path / "raw", tmp_path / "out/s")
    out = tmp_path / "out"
    assert not out.exists() or list(out.iterdir()) == []
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("+1 1:0.5 3", "line 7: not a LIBSVM line"),
        ("+1 1:0.5 x:3", "line 7: not a LIBSVM line"),
        ("+1 1:abc", "line 7: not a LIBSVM line"),
        ("spam 1:1", "line 7: not a LIBSVM line"),
        ("", "line 7: not a LIBSVM line"),
        ("+1 1:0.5:3", "line 7: not a LIBSVM line"),
        ("+1 0:1 1:1", "line 7: not a LIBSVM line"),
        ("+1 1:nan", "line 7: a NaN or infinite feature"),
        ("+1 2:inf", "line 7: a NaN or infinite feature"),
        ("+1 1:1 4:1", "line 7: a feature index outside 1..3"),
        ("+1 2:1 1:1", "line 7: feature indices that do not increase"),
        ("3 1:1", "row 7: the label 3.0 is none of [1, -1]"),
        ("nan 1:1", "line 7: a label that is no number"),
    ],
)
def test_a_bad_libsvm_line_is_named_with_its_number(tmp_path, line, words):
    message = refused(tmp_path, libsvm(tmp_path, [*GOOD[:6], line, *GOOD[6:]]))
    assert words in message
    assert str(tmp_path / "raw/f/s") in message


def test_an_empty_or_missing_file_is_refused(tmp_path):
    entry = libsvm(tmp_path, GOOD)
    (tmp_path / "raw/f/s").write_text("")
    assert "is empty" in refused(tmp_path, entry)
    (tmp_path / "raw/f/s").unlink()
    assert "does not exist" in refused(tmp_path, entry)


@pytest.mark.parametrize(("sign", "word"), [("-1", "positives"), ("+1", "negatives")])
def test_a_set_of_one_class_is_refused(tmp_path, sign, word):
    message = refused(tmp_path, libsvm(tmp_path, [f"{sign} 1:1"] * 9))
    assert f"no {word}" in message


@pytest.mark.parametrize(
    ("expect", "words"),
    [
        ({"width": 3, "rows": {"train": 21}}, "rows train is 20, expected 21"),
        ({"width": 3, "positives": {"train": 9}}, "positives train label is 10, expected 9"),
    ],
)
def test_counts_that_are_not_the_entrys_are_refused(tmp_path, expect, words):
    assert words in refused(tmp_path, libsvm(tmp_path, GOOD, expect=expect))


def table(tmp_path: Path, **columns: object) -> dict:
    (tmp_path / "raw").mkdir(exist_ok=True)
    frame = pd.DataFrame({"a": np.arange(10.0), "y": [0, 1] * 5, **columns})
    frame.to_csv(tmp_path / "t.csv", index=False)
    path = str(tmp_path / "t.csv")
    return {"kind": "table", "path": path, "label": "y", "positive": [1]}


def test_a_csv_without_the_column_is_refused(tmp_path):
    message = refused(tmp_path, {**table(tmp_path), "label": "outcome"})
    assert "no column 'outcome'" in message
    assert "t.csv" in message
    assert "a, y" in message


def test_a_csv_with_text_or_holes_or_a_third_label_is_refused(tmp_path):
    assert "column 'b' holds text" in refused(tmp_path, table(tmp_path, b=list("abcdefghij")))
    holes = [1.0, 2.0, np.nan, *range(7)]
    assert "row 3, column 'b'" in refused(tmp_path, table(tmp_path, b=holes))
    three = {**table(tmp_path, y=[0, 1, 2, 1, 0] * 2)}
    assert "list the negative ones" in refused(tmp_path, three)
    assert "row 3: the label 2" in refused(tmp_path, {**three, "negative": [0]})


def test_an_empty_csv_or_damaged_parquet_file_is_refused(tmp_path):
    entry = table(tmp_path)
    (tmp_path / "t.csv").write_bytes(b"")
    assert "cannot be read as csv" in refused(tmp_path, entry)
    (tmp_path / "t.parquet").write_bytes(b"PAR1 no more")
    message = refused(tmp_path, {**entry, "path": str(tmp_path / "t.parquet")})
    assert "cannot be read as parquet" in message


def test_a_truncated_zip_is_refused(tmp_path):
    folder = tmp_path / "raw/t"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "t.zip", "w") as archive:
        archive.writestr("tiny-imagenet-200/wnids.txt", "n1\nn2\n" * 500)
    data = (folder / "t.zip").read_bytes()
    (folder / "t.zip").write_bytes(data[: len(data) // 2])
    entry = {
        "kind": "tiny_imagenet_lt",
        "folder": "t",
        "files": [{"name": "t.zip"}],
        "size": 8,
        "long_tail": {"largest": 4, "ratio": 0.5},
        "positive": [1],
    }
    assert "t.zip is truncated or damaged" in refused(tmp_path, entry)


@pytest.mark.parametrize("member", ["../x", "/x", "a/../../x", "C:/x", "..\\x"])
def test_a_hostile_zip_is_refused(tmp_path, member):
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        archive.writestr(member, "x")
    with pytest.raises(DataError, match="leads outside the archive"):
        open_zip(tmp_path / "z.zip")


def test_a_zip_with_a_link_is_refused(tmp_path):
    link = zipfile.ZipInfo("innocent")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(DataError, match="is a link"):
        open_zip(tmp_path / "z.zip")


def chexpert(tmp_path: Path, label: str, picture: bytes = b"") -> dict:
    root = tmp_path / "raw/chest"
    for part in ("train", "valid"):
        place = f"CheXpert-v1.0-small/{part}/patient00001/study1/view1_frontal.jpg"
        rows = [{"Path": place, **dict.fromkeys(CHEXPERT, w)} for w in ("1.0", label, "0.0")]
        root.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(rows).to_csv(root / f"{part}.csv", index=False)
        image = root / Path(*Path(place).parts[1:])
        image.parent.mkdir(parents=True, exist_ok=True)
        image.write_bytes(picture)
    return {"kind": "chexpert", "folder": "chest", "size": 8}


def test_a_chexpert_label_outside_the_set_is_named(tmp_path):
    message = refused(tmp_path, chexpert(tmp_path, "2.0"))
    assert "train.csv, line 3, column Cardiomegaly: the label '2.0'" in message


def test_an_unreadable_picture_is_named(tmp_path):
    message = refused(tmp_path, chexpert(tmp_path, "", b"\xff\xd8 no more"))
    assert "view1_frontal.jpg is no readable picture" in message


def test_a_batch_of_broken_length_is_named(tmp_path):
    (tmp_path / "raw/c").mkdir(parents=True)
    (tmp_path / "raw/c/one.bin").write_bytes(b"0" * 3072)
    entry = {"kind": "cifar10_lt", "folder": "c", "files": [{"name": "one.bin", "part": "train"}]}
    assert "one.bin has 3072 bytes" in refused(tmp_path, entry)


PROGRAM = """
import resource, sys
from pathlib import Path
from pauc_core.data.prepare import prepare
entry = {"kind": "features", "provenance": "generated", "generate": {"rows": 3000,
    "positives": 300, "test_rows": 100, "width": 64, "latent": 4, "gap": 1.0, "outliers": 0.05,
    "seed": 0}}
# the file-size limit makes the same OSError out of write() as a disk without space
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
prepare("s", entry, Path("."), Path(sys.argv[1]))
"""


def test_a_full_disk_ends_with_one_sentence_and_nothing_behind(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "out/s")],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[1],
    )
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert "out/s could not be written" in last
    assert "free some disk space" in last
    assert list((tmp_path / "out").iterdir()) == []
