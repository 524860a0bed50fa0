"""Generated pictures in CIFAR-10's, Tiny-ImageNet's and CheXpert's own file layouts.

A picture is a class's (or a finding's) smooth pattern, shifted a little, under smooth disturbances
and noise; some labels are wrong and a few negatives carry the pattern more strongly than any
positive. Small networks and linear scores learn part of it and never all.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from pauc_core.data.chest import CHEXPERT, UNCERTAIN_IS_POSITIVE
from pauc_core.solver.streams import stream

WRONG = 0.05  # share of pictures whose content is of another class
BIRDS = (11, 20, 21, 22)
OTHER_FINDINGS = [
    "No Finding",
    "Enlarged Cardiomediastinum",
    "Lung Opacity",
    "Lung Lesion",
    "Pneumonia",
    "Pneumothorax",
    "Pleural Other",
    "Fracture",
    "Support Devices",
]
CHEXPERT_ORDER = [
    *OTHER_FINDINGS[:2],
    "Cardiomegaly",
    *OTHER_FINDINGS[2:4],
    "Edema",
    "Consolidation",
    OTHER_FINDINGS[4],
    "Atelectasis",
    OTHER_FINDINGS[5],
    "Pleural Effusion",
    *OTHER_FINDINGS[6:],
]


def smooth(count: int, size: int, waves: int, rng: np.random.Generator) -> np.ndarray:
    """Random smooth fields (count, size, size) of unit spread: sums of low cosines."""
    grid = (np.arange(size) + 0.5) / size
    cosines = np.cos(np.pi * np.outer(np.arange(waves), grid))
    weights = rng.standard_normal((count, waves, waves))
    weights[:, 0, 0] = 0.0
    fields = cosines.T @ weights @ cosines
    spread: np.ndarray = fields / fields.std(axis=(1, 2), keepdims=True)
    return spread


def class_pictures(
    classes: np.ndarray, patterns: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Colour pictures (n, 3, size, size) of the given classes from their patterns."""
    count, (kinds, _, size, _) = len(classes), patterns.shape
    shown = np.where(rng.random(count) < WRONG, rng.integers(kinds, size=count), classes)
    pictures = np.empty((count, 3, size, size), dtype=np.uint8)
    shifts = rng.integers(-3, 4, size=(count, 2))
    strength = 26.0 * rng.beta(1.2, 1.2, size=count)
    for i, kind in enumerate(shown.tolist()):
        pattern = np.roll(patterns[kind], tuple(shifts[i]), axis=(1, 2))
        disturbed = strength[i] * pattern + 22.0 * smooth(3, size, 6, rng)
        noise = 24.0 * rng.standard_normal(pattern.shape)
        pictures[i] = np.clip(128.0 + disturbed + noise, 0, 255)
    return pictures


def make_cifar10(
    folder: Path, names: list[str], *, per_class: int, test_per_class: int, seed: int
) -> None:
    """The six binary batches, with `per_class` training and `test_per_class` test pictures."""
    rng = stream(seed, "generated", "cifar10")
    patterns = smooth(30, 32, 6, rng).reshape(10, 3, 32, 32)
    train = rng.permutation(np.repeat(np.arange(10), per_class))
    test = rng.permutation(np.repeat(np.arange(10), test_per_class))
    for name, classes in zip(names, [*np.array_split(train, len(names) - 1), test], strict=True):
        pictures = class_pictures(classes, patterns, rng).reshape(len(classes), -1)
        records = np.hstack([classes[:, None].astype(np.uint8), pictures])
        (folder / name).write_bytes(records.tobytes())


def make_tiny_imagenet(
    folder: Path, names: list[str], *, largest: int, test_per_class: int, size: int, seed: int
) -> None:
    """A zip file in Tiny-ImageNet-200's layout, cut to the long tail; the birds are alike."""
    from pauc_core.data.longtail import ROOT, keep_counts

    rng = stream(seed, "generated", "tiny-imagenet")
    patterns = smooth(600, size, 6, rng).reshape(200, 3, size, size)
    patterns[list(BIRDS)] = 0.5 * patterns[list(BIRDS)] + 0.9 * smooth(3, size, 6, rng)
    wnids = [f"n{10_000_000 + 37 * i}" for i in range(200)]
    counts = keep_counts(200, largest, 0.01)
    members = [
        (f"train/{wnid}/images/{wnid}_{k}.JPEG", i)
        for i, wnid in enumerate(wnids)
        for k in range(counts[i])
    ]
    shuffled = rng.permutation(np.repeat(np.arange(200), test_per_class)).tolist()
    members += [(f"val/images/val_{k}.JPEG", i) for k, i in enumerate(shuffled)]
    box = f"0\t0\t{size - 1}\t{size - 1}"
    notes = "".join(f"val_{k}.JPEG\t{wnids[i]}\t{box}\n" for k, i in enumerate(shuffled))
    with zipfile.ZipFile(folder / names[0], "w") as archive:
        archive.writestr(f"{ROOT}/wnids.txt", "".join(f"{w}\n" for w in wnids))
        archive.writestr(f"{ROOT}/words.txt", "".join(f"{w}\tgenerated\n" for w in wnids))
        archive.writestr(f"{ROOT}/val/val_annotations.txt", notes)
        for start in range(0, len(members), 256):
            some = members[start : start + 256]
            classes = np.array([kind for _, kind in some])
            for (member, _), picture in zip(
                some, class_pictures(classes, patterns, rng), strict=True
            ):
                data = jpeg(Image.fromarray(picture.transpose(1, 2, 0)))
                archive.writestr(f"{ROOT}/{member}", data)


def make_chest(
    folder: Path, names: list[str], *, patients: list[int], size: int, seed: int
) -> None:
    """A tree like CheXpert-v1.0-small: train.csv, valid.csv, one folder a patient.

    `patients` are the numbers of training and validation patients; a patient has one to four
    films. Prevalences differ by finding, and labels are 1, 0, -1 (uncertain) or blank.
    """
    shared = stream(seed, "generated", "chest", "patterns")
    patterns = finding_patterns(size, shared)
    first = 1
    for name, part, count in zip(names, ("train", "valid"), patients, strict=True):
        rng = stream(seed, "generated", "chest", part)
        films = rng.integers(1, 5, size=count)
        patient = np.repeat(np.arange(first, first + count), films)
        first += count
        # a patient's frailty makes the findings of all films of one patient alike
        frailty = np.repeat(0.6 * rng.standard_normal(count), films)
        tendency = np.log(PREVALENCE / (1 - PREVALENCE))[None] + frailty[:, None]
        sick = rng.random((len(patient), 5)) < 1 / (1 + np.exp(-tendency))
        pictures = chest_films(sick, patterns, rng)
        table = pd.DataFrame({"Path": film_paths(part, patient)})
        table["Sex"] = rng.choice(["Male", "Female"], len(table))
        table["Age"] = rng.integers(18, 91, len(table))
        table["Frontal/Lateral"] = [
            "Frontal" if "frontal" in place else "Lateral" for place in table["Path"]
        ]
        table["AP/PA"] = ["AP" if v == "Frontal" else "" for v in table["Frontal/Lateral"]]
        for finding in CHEXPERT_ORDER:
            table[finding] = ""
        for j, finding in enumerate(CHEXPERT):
            table[finding] = label_words(sick[:, j], finding, part == "train", rng)
        table.to_csv(folder / name, index=False)
        for place, picture in zip(table["Path"], pictures, strict=True):
            path = folder / Path(*Path(place).parts[1:])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(jpeg(Image.fromarray(picture)))


PREVALENCE = np.array([0.12, 0.25, 0.09, 0.30, 0.40])


def film_paths(part: str, patient: np.ndarray) -> list[str]:
    """Official paths: studies of one or two views, frontal before lateral."""
    seen: dict[int, int] = {}
    places = []
    for number in patient.tolist():
        film = seen[number] = seen.get(number, -1) + 1
        view = "view1_frontal" if film % 2 == 0 else "view2_lateral"
        places.append(
            f"CheXpert-v1.0-small/{part}/patient{number:05d}/study{film // 2 + 1}/{view}.jpg"
        )
    return places


def finding_patterns(size: int, rng: np.random.Generator) -> np.ndarray:
    """What each finding adds to a film: a smooth field under a window of its own."""
    grid = (np.arange(size) + 0.5) / size
    centres = [(0.62, 0.5), (0.45, 0.5), (0.6, 0.3), (0.75, 0.65), (0.85, 0.3)]
    windows = [
        np.exp(-((grid[:, None] - a) ** 2 + (grid[None] - b) ** 2) / 0.06) for a, b in centres
    ]
    added: np.ndarray = np.stack(windows) * (0.6 + 0.4 * smooth(5, size, 6, rng))
    return added


def chest_films(sick: np.ndarray, patterns: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Grey films (n, size, size): two dark lungs, the findings, disturbances, noise."""
    size = patterns.shape[-1]
    grid = (np.arange(size) + 0.5) / size
    lungs = sum(
        np.exp(-(((grid[:, None] - 0.5) / 0.3) ** 4) - ((grid[None] - b) / 0.14) ** 4)
        for b in (0.3, 0.7)
    )
    strength = np.where(sick, 1.0 + 0.5 * rng.standard_normal(sick.shape), 0.0)
    # a few healthy films show something that looks like a finding, only more so
    strength += np.where(~sick & (rng.random(sick.shape) < WRONG), 2.5, 0.0)
    films = 150.0 - 70.0 * lungs + 28.0 * np.tensordot(strength, patterns, axes=1)
    films += 14.0 * smooth(len(sick), size, 5, rng) + 14.0 * rng.standard_normal(films.shape)
    clipped: np.ndarray = np.clip(films, 0, 255).astype(np.uint8)
    return clipped


def label_words(
    sick: np.ndarray, finding: str, uncertain: bool, rng: np.random.Generator
) -> np.ndarray:
    """The CSV's words: 1.0, 0.0, -1.0 (training only, as in CheXpert) or blank."""
    chance = rng.random(len(sick))
    words = np.where(sick, "1.0", np.where(chance < 0.2, "0.0", ""))
    if uncertain:
        doubted = sick if finding in UNCERTAIN_IS_POSITIVE else ~sick
        words = np.where(doubted & (rng.random(len(sick)) < 0.15), "-1.0", words)
    return words


def jpeg(picture: Image.Image) -> bytes:
    """The picture as JPEG bytes."""
    out = io.BytesIO()
    picture.save(out, format="JPEG", quality=90)
    return out.getvalue()
