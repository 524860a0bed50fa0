"""Chest films: CheXpert in its official layout and NIH ChestX-ray14, the same five findings."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from pauc_core.data.archives import open_zip, read_zip
from pauc_core.data.errors import DataError
from pauc_core.data.loaded import Entry, Loaded
from pauc_core.data.pictures import decode
from pauc_core.data.prepared import TEST, TRAIN

TASKS = ["D1", "D2", "D3", "D4", "D5"]
CHEXPERT = ["Cardiomegaly", "Edema", "Consolidation", "Atelectasis", "Pleural Effusion"]
NIH = ["Cardiomegaly", "Edema", "Consolidation", "Atelectasis", "Effusion"]
# an uncertain mention (-1) counts as positive for these two, as negative for the other three
UNCERTAIN_IS_POSITIVE = ("Edema", "Atelectasis")
SHRUNK = Image.Resampling.LANCZOS  # how NIH's films are made small, wherever that happens


def read_table(path: Path, columns: list[str]) -> pd.DataFrame:
    """A CSV file (or .gz) that must have the named columns."""
    try:
        table = pd.read_csv(path, index_col=False, dtype=str, keep_default_na=False)
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist; fetch the dataset again.") from error
    except Exception as error:  # whatever another library's parser raises is about the file
        raise DataError(f"{path} cannot be read as CSV ({error}); fetch it again.") from error
    for column in columns:
        if column not in table.columns:
            raise DataError(
                f"{path} has no column {column!r}; it has {', '.join(table.columns[:8])}, ..."
            )
    return table


def chexpert_labels(table: pd.DataFrame, path: Path) -> np.ndarray:
    """Labels (n, 5) by the policy of Yuan et al. (2020): see `UNCERTAIN_IS_POSITIVE`."""
    y = np.zeros((len(table), len(CHEXPERT)), dtype=np.int8)
    for j, finding in enumerate(CHEXPERT):
        words = table[finding].str.strip()
        values = pd.to_numeric(words.where(words != "", "0"), errors="coerce").to_numpy(float)
        known = np.isin(values, (-1.0, 0.0, 1.0))
        if not known.all():
            row = int(np.argmin(known))
            raise DataError(
                f"{path}, line {row + 2}, column {finding}: the label {words.iloc[row]!r} is none "
                "of 1, 0, -1 and blank; correct the file."
            )
        uncertain = finding in UNCERTAIN_IS_POSITIVE
        y[:, j] = (values == 1.0) | ((values == -1.0) & uncertain)
    return y


def load_chexpert(name: str, entry: Entry, raw_dir: Path) -> Loaded:
    """CheXpert-v1.0-small: train.csv is the training pool, valid.csv the test part.

    Both views of a study are kept; patients are the groups.
    """
    root = Path(entry["path"]).expanduser() if "path" in entry else raw_dir / entry["folder"]
    pictures: list[Path] = []
    labels, patients, parts = [], [], []
    for file, part in (("train.csv", TRAIN), ("valid.csv", TEST)):
        table = read_table(root / file, ["Path", *CHEXPERT])
        labels.append(chexpert_labels(table, root / file))
        for row, place in enumerate(table["Path"]):
            found = re.search(r"patient(\d+)/", place)
            inside = Path(*Path(place).parts[1:])
            if found is None or ".." in inside.parts or inside.is_absolute():
                raise DataError(
                    f"{root / file}, line {row + 2}: {place!r} is no path of the form "
                    "CheXpert-v1.0-small/train/patient00001/study1/view1_frontal.jpg."
                )
            pictures.append(root / inside)
            patients.append(int(found[1]))
        parts.append(np.full(len(table), part, dtype=np.uint8))
    size = entry["size"]

    def rows(index: np.ndarray) -> np.ndarray:
        return np.stack([_picture(pictures[i], size, Image.Resampling.BOX) for i in index.tolist()])

    return Loaded(
        rows=rows,
        shape=(len(pictures), 1, size, size),
        dtype=np.uint8,
        y=np.concatenate(labels),
        part=np.concatenate(parts),
        tasks=list(TASKS),
        group=np.array(patients, dtype=np.int64),
        more={"picture": {"channels": 1, "size": size}},
    )


def load_nih(name: str, entry: Entry, raw_dir: Path) -> Loaded:
    """NIH ChestX-ray14: the official label file and the images that lie beside it.

    With `patients: [first, last]` every film of these patients must be there and no other is
    taken; without it, whatever images there are. Patients are the groups, for folds over them.
    """
    folder = Path(entry["path"]).expanduser() if "path" in entry else raw_dir / entry["folder"]
    labels_file = next(
        (p for p in sorted(folder.glob("Data_Entry_2017*.csv*"))), folder / "Data_Entry_2017.csv"
    )
    table = read_table(labels_file, ["Image Index", "Finding Labels", "Patient ID"])
    loose = {p.name: p for p in sorted(folder.glob("images*/**/*.png"))}
    zipped = {}
    for path in sorted(folder.glob("images*.zip")):
        archive = open_zip(path)
        zipped.update(
            {Path(m).name: (archive, m) for m in archive.namelist() if m.endswith(".png")}
        )
    here = table["Image Index"].isin(loose.keys() | zipped.keys())
    if entry.get("patients"):
        wanted = table["Patient ID"].astype(np.int64).between(*entry["patients"])
        missing = table["Image Index"][wanted & ~here]
        if len(missing) and here.any():
            raise DataError(
                f"{folder} lacks {len(missing)} of {int(wanted.sum())} films, the first is "
                f"{missing.iloc[0]}; delete the images there and fetch them again."
            )
        here &= wanted
    table = table[here].reset_index(drop=True)
    if table.empty:
        raise DataError(
            f"{folder} holds none of the images that {labels_file.name} names; put them in "
            f"{folder / 'images'} or as images*.zip beside the label file."
        )
    y = _nih_findings(table["Finding Labels"])
    patients = table["Patient ID"].astype(np.int64).to_numpy()
    names, size = table["Image Index"].tolist(), entry["size"]

    def one(picture: str) -> np.ndarray:
        if picture in loose:
            return _picture(loose[picture], size, SHRUNK)
        archive, member = zipped[picture]
        return decode(read_zip(archive, member), f"{archive.filename}: {member}", size, 1, SHRUNK)

    return Loaded(
        rows=lambda index: np.stack([one(names[i]) for i in index.tolist()]),
        shape=(len(names), 1, size, size),
        dtype=np.uint8,
        y=y,
        part=np.full(len(names), TRAIN, dtype=np.uint8),
        tasks=list(TASKS),
        group=patients,
        more={"picture": {"channels": 1, "size": size}},
    )


def load_chexnet(name: str, entry: Entry, raw_dir: Path) -> Loaded:
    """The log-odds of CheXNet's 14 outputs on NIH films, with NIH's own labels and patients."""
    scores_file, labels_file = (
        raw_dir / file.get("folder", entry["folder"]) / file["name"] for file in entry["files"]
    )
    scores = read_table(scores_file, ["Image Index"])
    table = read_table(labels_file, ["Image Index", "Finding Labels", "Patient ID"])
    table = table.set_index("Image Index")
    unknown = scores["Image Index"][~scores["Image Index"].isin(table.index)]
    if len(unknown):
        raise DataError(
            f"{scores_file}: {labels_file.name} knows no film {unknown.iloc[0]!r}, "
            f"one of {len(unknown)}; fetch both files again."
        )
    table = table.loc[scores["Image Index"]]
    columns = [column for column in scores.columns if column.startswith("prob_")]
    values = scores[columns].apply(pd.to_numeric, errors="coerce").to_numpy(dtype=np.float64)
    good = ((values > 0.0) & (values < 1.0)).all(axis=1)
    if not good.all():
        raise DataError(
            f"{scores_file}, line {int(np.argmin(good)) + 2}: a score that is no probability "
            "strictly between 0 and 1; fetch the file again."
        )
    odds = np.log(values) - np.log1p(-values)
    return Loaded(
        rows=lambda index: odds[index].astype(np.float32),
        shape=odds.shape,
        dtype=np.float32,
        y=_nih_findings(table["Finding Labels"]),
        part=np.full(len(odds), TRAIN, dtype=np.uint8),
        tasks=list(TASKS),
        group=table["Patient ID"].astype(np.int64).to_numpy(),
    )


def _nih_findings(words: pd.Series) -> np.ndarray:
    found = words.str.split("|")
    return np.array([[word in each for word in NIH] for each in found], dtype=np.int8)


def _picture(path: Path, size: int, resampling: Image.Resampling) -> np.ndarray:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); fetch it again.") from error
    return decode(data, str(path), size, 1, resampling)
