"""Loaders: every kind through fetch and prepare, on small files in the real layouts."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from PIL import Image
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from pauc_core.data.chest import CHEXPERT
from pauc_core.data.cifar import load_cifar10, load_cifar10_lt
from pauc_core.data.errors import DataError
from pauc_core.data.libsvm_text import read_libsvm
from pauc_core.data.longtail import keep_counts
from pauc_core.data.prepare import LOADERS, prepare
from pauc_core.data.sources import fetch
from pauc_core.data.splits import split

CATALOGUE = yaml.safe_load(
    (Path(__file__).parents[1] / "config/datasets.yaml").read_text(encoding="utf-8")
)


def through(name: str, entry: dict, tmp_path: Path, **options):
    fetch(name, entry, tmp_path / "raw", progress=False)
    return prepare(name, entry, tmp_path / "raw", tmp_path / "data" / name, **options)


def test_the_catalogue_is_complete():
    for name, entry in CATALOGUE.items():
        assert entry["kind"] in {*LOADERS, "extracted", "weights"}, name
        assert entry["provenance"] in {"paper", "stand-in", "generated", "own"}, name
        assert entry["title"], name
        generated = "generate" in entry or name.startswith("gen-")
        assert (entry["provenance"] == "generated") == generated, name
        if entry["kind"] == "extracted":
            assert entry["of"] in CATALOGUE
            weights = CATALOGUE.get(entry.get("weights"), {"kind": "weights"})
            assert weights["kind"] == "weights", name
        elif entry["provenance"] != "generated" and entry["kind"] in ("libsvm", "cifar10_lt"):
            assert all("sha256" in f or "md5" in f for f in entry["files"])


def test_the_long_tails_have_the_papers_counts():
    cifar = keep_counts(10, **CATALOGUE["cifar10-lt"]["long_tail"])
    assert (cifar[3], sum(cifar) - cifar[3]) == (1077, 11329)
    tiny = keep_counts(200, **CATALOGUE["tiny-imagenet-lt"]["long_tail"])
    birds = sum(tiny[i] for i in CATALOGUE["tiny-imagenet-lt"]["positive"])
    assert (birds, sum(tiny) - birds) == (1308, 20241)


def test_libsvm_text_reads_as_scikit_learn_reads_it(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 9)) * (rng.random((60, 9)) < 0.4)
    x[[3, 17]] = 0.0
    dump_svmlight_file(x, rng.choice([-1, 1], 60), str(tmp_path / "s"), zero_based=False)
    y, found = read_libsvm(tmp_path / "s", 12)
    other_x, other_y = load_svmlight_file(str(tmp_path / "s"), n_features=12, zero_based=False)
    np.testing.assert_array_equal(y, other_y)
    np.testing.assert_array_equal(found.toarray(), other_x.toarray())


@pytest.mark.parametrize(
    "name", ["gen-a9a", "gen-covtype", "gen-cifar10-lt", "gen-tiny-imagenet-lt", "digits"]
)
def test_a_set_of_the_catalogue_goes_through(name, tmp_path):
    entry = CATALOGUE[name]
    prepared = through(name, entry, tmp_path)
    assert prepared.generated == (entry["provenance"] == "generated")
    y, train, valid, test = split(prepared)
    for rows in (train, valid, test):
        assert 0 < y[rows].sum() < len(rows)
    if prepared.x.ndim == 4:
        assert prepared.x.dtype == np.uint8
        assert prepared.x.shape[1:] == (3, 32, 32)


def test_the_same_seed_makes_the_same_generated_set(tmp_path):
    entry = CATALOGUE["gen-ijcnn1"]
    entry = {
        **entry,
        "generate": {**entry["generate"], "rows": [400, 200]},
        "expect": {"width": 22},
    }
    first = through("g", entry, tmp_path / "a")
    assert first.checksum == through("g", entry, tmp_path / "b").checksum
    entry["generate"]["seed"] = 1
    assert first.checksum != through("g", entry, tmp_path / "a").checksum  # made anew in place


def test_a_subset_is_prepared_on_request(tmp_path):
    entry = CATALOGUE["breast-cancer"]
    prepared = through("breast-cancer", entry, tmp_path, subset=100)
    assert 95 <= len(prepared.x) <= 105
    assert prepared.meta["subset_of"] == 569


def test_generated_chest_films_have_chexperts_layout_and_policy(tmp_path):
    entry = {
        **CATALOGUE["gen-chest"],
        "generate": {"maker": "chest", "patients": [60, 20], "size": 16, "seed": 3},
        "size": 16,
    }
    prepared = through("gen-chest", entry, tmp_path)
    root = tmp_path / "raw/gen-chest"
    train = pd.read_csv(root / "train.csv")
    assert train.columns[:5].tolist() == ["Path", "Sex", "Age", "Frontal/Lateral", "AP/PA"]
    assert train.shape[1] == 19
    raw = train[CHEXPERT]
    assert (raw == -1).to_numpy().any()
    assert raw.isna().to_numpy().any()
    # the policy, spelt out the slow way
    for row in range(len(train)):
        for j, finding in enumerate(CHEXPERT):
            value = raw[finding][row]
            expected = value == 1 or (value == -1 and finding in ("Edema", "Atelectasis"))
            assert prepared.y[row, j] == expected
    assert prepared.x.shape[1:] == (1, 16, 16)
    first = np.asarray(Image.open(root.joinpath(*Path(train.Path[0]).parts[1:])))
    np.testing.assert_array_equal(prepared.x[0, 0], first)
    assert prepared.group[0] == int(train.Path[0].split("patient")[1][:5])
    again = prepare("own", {**entry, "path": str(root)}, tmp_path, tmp_path / "data/own")
    assert again.checksum == prepared.checksum


def png(value: int, size: int = 8) -> bytes:
    out = io.BytesIO()
    Image.fromarray(np.full((size, size), value, dtype=np.uint8)).save(out, format="PNG")
    return out.getvalue()


def nih_tree(folder: Path, patients: int = 60) -> None:
    lines = ["Image Index,Finding Labels,Follow-up #,Patient ID,OriginalImage[Width,Height]"]
    (folder / "images").mkdir(parents=True)
    with zipfile.ZipFile(folder / "images_a.zip", "w") as archive:
        for patient in range(1, patients + 1):
            for film in range(2):
                name = f"{patient:08d}_{film:03d}.png"
                words = ["No Finding", "Cardiomegaly|Edema", "Effusion|Consolidation|Atelectasis"]
                lines.append(f"{name},{words[patient % 3]},{film},{patient},10,10")
                if film:
                    (folder / "images" / name).write_bytes(png(patient))
                elif patient % 2:
                    archive.writestr(f"images/{name}", png(100 + patient))
    with gzip.open(folder / "Data_Entry_2017_v2020.csv.gz", "wt") as file:
        file.write("\n".join(lines) + "\n")


def test_nih_takes_any_subset_of_images_loose_or_zipped_in_folds_over_patients(tmp_path):
    nih_tree(tmp_path / "nih")
    entry = {"kind": "nih", "path": str(tmp_path / "nih"), "size": 8, "folds": 4}
    prepared = through("own-nih", entry, tmp_path)
    assert len(prepared.x) == 60 + 30
    assert prepared.tasks == ["D1", "D2", "D3", "D4", "D5"]
    for patient, labels, picture in zip(prepared.group, prepared.y, prepared.x, strict=True):
        expected = [[0] * 5, [1, 1, 0, 0, 0], [0, 0, 1, 1, 1]][patient % 3]
        assert labels.tolist() == expected
        assert picture[0, 0, 0] in (patient, 100 + patient)
    for part in prepared.part:
        tested, trained = set(prepared.group[part == 1]), set(prepared.group[part == 0])
        assert 14 <= len(tested) <= 16
        assert not tested & trained
    (tmp_path / "nih/images_a.zip").unlink()
    assert len(prepare("n", entry, tmp_path, tmp_path / "data/fewer").x) == 60


def test_whole_and_cut_tiny_imagenet_give_the_same_arrays(tmp_path):
    entry = {
        "kind": "tiny_imagenet_lt",
        "folder": "t",
        "files": [{"name": "t.zip"}],
        "size": 8,
        "long_tail": {"largest": 4, "ratio": 0.5},
        "positive": [1],
        "provenance": "own",
    }
    wnids = ["n003", "n001", "n002"]

    def build(name: str, per_class: int) -> Path:
        raw = tmp_path / name
        (raw / "t").mkdir(parents=True)
        with zipfile.ZipFile(raw / "t/t.zip", "w") as archive:
            root = "tiny-imagenet-200"
            archive.writestr(f"{root}/wnids.txt", "\n".join(wnids))
            for i, wnid in enumerate(wnids):
                for k in range(per_class):
                    archive.writestr(f"{root}/train/{wnid}/images/{wnid}_{k}.JPEG", png(60 * i + k))
            notes = "".join(f"val_{k}.JPEG\t{wnids[k % 3]}\t0\t0\t7\t7\n" for k in range(6))
            archive.writestr(f"{root}/val/val_annotations.txt", notes)
            for k in range(6):
                archive.writestr(f"{root}/val/images/val_{k}.JPEG", png(200 + k))
        return raw

    whole = prepare("t", entry, build("whole", 12), tmp_path / "a")
    cut = prepare("t", entry, build("cut", 4), tmp_path / "b")
    assert whole.checksum == cut.checksum
    # classes in sorted order n001, n002, n003 keep 4, 2, 2: the lowest numbers, 2 before 10
    assert whole.x[:8, 0, 0, 0].tolist() == [60, 61, 62, 63, 120, 121, 0, 1]
    assert whole.y.tolist() == [0] * 4 + [1] * 2 + [0] * 2 + [0, 0, 1] * 2
    assert whole.part.tolist() == [0] * 8 + [1] * 6
    with zipfile.ZipFile(tmp_path / "whole/t/t.zip") as archive:
        archive.extractall(tmp_path / "loose/t")
    assert prepare("t", entry, tmp_path / "loose", tmp_path / "c").checksum == whole.checksum
    with pytest.raises(DataError, match="class n001 has 3 training pictures, expected at least 4"):
        prepare("t", entry, build("short", 3), tmp_path / "d")


def test_cifar_is_whole_or_keeps_the_first_pictures_of_each_class(tmp_path):
    rng = np.random.default_rng(0)
    records = rng.integers(256, size=(200, 3073)).astype(np.uint8)
    records[:, 0] = rng.permutation(np.repeat(np.arange(10), 20))
    (tmp_path / "c").mkdir()
    (tmp_path / "c/one.bin").write_bytes(records[:150].tobytes())
    (tmp_path / "c/two.bin").write_bytes(records[150:].tobytes())
    files = [{"name": "one.bin", "part": "train"}, {"name": "two.bin", "part": "test"}]
    classes = {"bird": 2, "horse": 7}
    whole = load_cifar10("c", {"folder": "c", "files": files, "classes": classes}, tmp_path)
    assert whole.tasks == ["bird", "horse"]
    np.testing.assert_array_equal(whole.y, records[:, :1] == [2, 7])
    np.testing.assert_array_equal(whole.part, np.arange(200) >= 150)
    np.testing.assert_array_equal(whole.rows(np.arange(200)).reshape(200, -1), records[:, 1:])
    tail = {"largest": 9, "ratio": 0.1}
    entry = {"folder": "c", "files": files, "long_tail": tail, "positive": [3]}
    found = load_cifar10_lt("c", entry, tmp_path)
    pictures = found.rows(np.arange(found.shape[0]))
    expected, taken = [], dict.fromkeys(range(10), 0)
    for number, record in enumerate(records):
        if number < 150:
            taken[record[0]] += 1
            if taken[record[0]] > int(9 * 0.1 ** (record[0] / 9)):
                continue
        expected.append(record)
    assert len(expected) == len(pictures)
    for record, picture, label in zip(expected, pictures, found.y, strict=True):
        np.testing.assert_array_equal(picture[1, 2, 3], record[1 + 1024 + 2 * 32 + 3])
        assert label == (record[0] == 3)


@pytest.mark.parametrize("form", ["csv", "parquet", "libsvm"])
def test_ones_own_table_is_a_five_line_entry(form, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((80, 4)).round(3)
    sick = rng.random(80) < 0.3
    path = tmp_path / f"own.{form}"
    table = pd.DataFrame(x, columns=list("abcd"))
    table["outcome"] = np.where(sick, "yes", "no")
    if form == "csv":
        table.to_csv(path, index=False)
    elif form == "parquet":
        table.to_parquet(path)
    else:
        dump_svmlight_file(x, np.where(sick, 1, 0), str(path), zero_based=False)
    positive = "[1]" if form == "libsvm" else "['yes']"
    text = f"own:\n  kind: table\n  path: {path}\n  label: outcome\n  positive: {positive}\n"
    entry = yaml.safe_load(text)["own"]
    prepared = through("own", entry, tmp_path)
    np.testing.assert_allclose(prepared.x, x, rtol=1e-6)
    np.testing.assert_array_equal(prepared.labels(), sick)
    assert prepared.meta["provenance"] == "own"
    assert abs((prepared.part == 1).sum() - 16) <= 1


def test_a_table_with_groups_holds_out_whole_groups(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.random(90), "y": rng.random(90) < 0.4})
    table["patient"] = [f"p{i // 3}" for i in range(90)]
    table["note"] = "text"
    table.to_csv(tmp_path / "t.csv", index=False)
    entry = {
        "kind": "table",
        "path": str(tmp_path / "t.csv"),
        "label": "y",
        "positive": [True],
        "group": "patient",
        "drop": ["note"],
    }
    prepared = through("t", entry, tmp_path)
    assert prepared.x.shape == (90, 1)
    part = prepared.part.reshape(-1, 3)
    assert (part == part[:, :1]).all()
    _, train, valid, _ = split(prepared)
    assert not set(prepared.group[train]) & set(prepared.group[valid])
