"""NIH's films out of their archive: originals made here, resized on the way."""

from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pauc_core.data import download as downloading
from pauc_core.data.errors import DataError
from pauc_core.data.prepare import prepare
from pauc_core.data.sources import fetch
from tests.data_server import serving

SIZE = 8
PATIENTS = 6  # the archive holds those, two films each; the label file knows of more


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(downloading, "PAUSE", 0.01)
    monkeypatch.delenv("PAUC_MIRROR", raising=False)


def originals() -> dict[str, bytes]:
    """PNG files larger than what is kept; as at NIH some are grey, some in colour with opacity."""
    rng = np.random.default_rng(0)
    films = {}
    for number in range(2 * PATIENTS):
        channels = 4 if number % 3 == 0 else 1
        pixels = rng.integers(256, size=(40, 40, channels)).astype(np.uint8).squeeze()
        out = io.BytesIO()
        Image.fromarray(pixels).save(out, format="PNG")
        films[f"{number // 2 + 1:08d}_{number % 2:03d}.png"] = out.getvalue()
    return films


def archive_of(films: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, data in films.items():
            info = tarfile.TarInfo(f"images/{name}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def labels() -> str:
    lines = ["Image Index,Finding Labels,Follow-up #,Patient ID"]
    words = ["No Finding", "Cardiomegaly|Edema|Effusion|Consolidation|Atelectasis"]
    for patient in range(1, PATIENTS + 3):
        lines += [f"{patient:08d}_{k:03d}.png,{words[patient % 2]},{k},{patient}" for k in (0, 1)]
    return "\n".join(lines) + "\n"


def entry(archive: bytes, url: str, films: int = 2 * PATIENTS) -> dict:
    large = {"name": "a.tar.gz", "md5": hashlib.md5(archive).hexdigest(), "urls": [url]}
    small = {"name": "images_a-8px.zip", "resized": {"size": SIZE, "from": large}}
    return {
        "kind": "nih",
        "folder": "nih",
        "files": [{"name": "Data_Entry_2017.csv"}, {"any_of": [{"name": "images-8px.zip"}, small]}],
        "patients": [1, PATIENTS],
        "size": SIZE,
        "expect": {"rows": {"all": films}},
    }


def raw(tmp_path: Path, name: str = "raw") -> Path:
    (tmp_path / name / "nih").mkdir(parents=True)
    (tmp_path / name / "nih/Data_Entry_2017.csv").write_text(labels())
    return tmp_path / name


def test_films_are_resized_on_the_way_exactly_as_pillow_does(tmp_path):
    films = originals()
    archive = archive_of(films)
    with serving({"/a": archive}) as server:
        wanted = entry(archive, f"{server.url}/a")
        fetch("n", wanted, raw(tmp_path), progress=False)
        fetch("n", wanted, tmp_path / "raw", progress=False)
    assert len(server.seen) == 1  # made once, not again
    left = sorted(p.name for p in (tmp_path / "raw/nih").iterdir())
    assert left == ["Data_Entry_2017.csv", "images_a-8px.zip"]  # the large archive is gone
    prepared = prepare("n", wanted, tmp_path / "raw", tmp_path / "data/n")
    for row, data in zip(prepared.x, films.values(), strict=True):
        whole = Image.open(io.BytesIO(data)).convert("L")
        expected = whole.resize((SIZE, SIZE), Image.Resampling.LANCZOS)
        np.testing.assert_array_equal(row[0], np.asarray(expected))


def test_a_mirror_of_small_films_gives_the_same_bits_and_no_film_more(tmp_path):
    films = originals()
    archive = archive_of(films)
    with serving({"/a": archive}) as server:
        wanted = entry(archive, f"{server.url}/a")
        fetch("n", wanted, raw(tmp_path), progress=False)
    made = prepare("n", wanted, tmp_path / "raw", tmp_path / "data/n")
    (tmp_path / "mirror/nih").mkdir(parents=True)
    more = {**films, f"{PATIENTS + 1:08d}_000.png": next(iter(films.values()))}
    with zipfile.ZipFile(tmp_path / "mirror/nih/images-8px.zip", "w") as small:
        for name, data in more.items():
            out = io.BytesIO()
            whole = Image.open(io.BytesIO(data)).convert("L")
            whole.resize((SIZE, SIZE), Image.Resampling.LANCZOS).save(out, format="PNG")
            small.writestr(f"images/{name}", out.getvalue())
    other = raw(tmp_path, "other")
    fetch("n", wanted, other, mirror=str(tmp_path / "mirror"), progress=False)
    again = prepare("n", wanted, other, tmp_path / "data/m")
    assert again.checksum == made.checksum


def test_a_film_missing_from_the_archive_is_named(tmp_path):
    films = originals()
    del films["00000003_001.png"]
    archive = archive_of(films)
    with serving({"/a": archive}) as server:
        wanted = entry(archive, f"{server.url}/a")
        fetch("n", wanted, raw(tmp_path), progress=False)
    with pytest.raises(DataError, match=r"lacks 1 of 12 films, the first is 00000003_001\.png"):
        prepare("n", wanted, tmp_path / "raw", tmp_path / "data/n")
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("share", [0.3, 0.999])
def test_a_truncated_archive_leaves_nothing_behind(tmp_path, share):
    whole = archive_of(originals())
    cut = whole[: int(share * len(whole))]
    with serving({"/a": cut}) as server:
        # by its checksum the file is what was promised, and still ends too early
        with pytest.raises(DataError, match=r"a\.tar\.gz is truncated or damaged") as caught:
            fetch("n", entry(cut, f"{server.url}/a"), raw(tmp_path), progress=False)
        assert "\n" not in str(caught.value)
        with pytest.raises(DataError, match="has md5"):
            fetch("n", entry(whole, f"{server.url}/a"), raw(tmp_path, "b"), progress=False)
    assert {p.name for p in tmp_path.rglob("*") if p.is_file()} == {"Data_Entry_2017.csv"}


def test_an_archive_without_films_is_refused(tmp_path):
    archive = archive_of({"readme.txt": b"no films"})
    with serving({"/a": archive}) as server, pytest.raises(DataError, match="holds no PNG films"):
        fetch("n", entry(archive, f"{server.url}/a"), raw(tmp_path), progress=False)
    assert not list(tmp_path.rglob("*.zip"))
