"""Generated tables: LIBSVM text with the shapes of the paper's sets, in miniature.

They are test beds, not imitations of the real sets. A few per cent of the negatives score higher
than almost every positive along the most telling direction. A method that looks at the whole
curve bends away from them; in the band that starts at FPR 0.05 they are free. Flipped labels keep
any linear score well below a pAUC of 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pauc_core.data.errors import DataError
from pauc_core.solver.streams import stream

LATENT = 6
EASY = 0.45  # share of the negatives that any score puts last
FAR = 7.0  # how far out the outlying negatives lie
NUISANCE = 2.0  # spread of the axes that tell nothing: a score must learn to cancel them


@dataclass(frozen=True)
class Style:
    """Shape of a LIBSVM set: width, share of positives, label words, how features look.

    `density` is the share of ones of binary features; 0 means dense real values.
    """

    width: int
    positives: float
    words: tuple[str, str]
    density: float
    gap: float
    outliers: float = 0.045
    flipped: float = 0.03


STYLES = {
    "a9a": Style(123, 0.24, ("-1", "+1"), 0.11, 2.0),
    "w8a": Style(300, 0.08, ("-1", "+1"), 0.04, 2.2),
    "ijcnn1": Style(22, 0.10, ("-1", "1"), 0.0, 2.2),
    "covtype": Style(54, 0.49, ("1", "2"), 0.0, 1.8),
}


def latent_of(
    y: np.ndarray, gap: float, outliers: float, axes: int, rng: np.random.Generator
) -> np.ndarray:
    """Latent coordinates (rows, axes) of rows with the boolean labels y.

    Positives sit `gap` away from the negatives along the first axis; the outlying negatives sit
    far beyond them. Nearly half of the negatives are easy, far off along the second axis: the
    band's other end, FPR 0.5, leaves them out as well, and a weight spent on them blurs the rest.
    """
    z = rng.standard_normal((len(y), axes))
    z[:, 2:] *= NUISANCE
    z[y, 0] += gap
    place = rng.random(len(y))
    far, easy = ~y & (place < outliers), ~y & (place > 1.0 - EASY)
    z[far, 0] += FAR
    z[easy, 1] -= 3.0
    return z


def flip(y: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Swap the labels of a share of the positives with as many negatives."""
    y = y.copy()
    positives, negatives = np.flatnonzero(y), np.flatnonzero(~y)
    count = int(share * len(positives))
    y[rng.choice(positives, count, replace=False)] = False
    y[rng.choice(negatives, count, replace=False)] = True
    return y


def libsvm_rows(style: Style, rows: int, seed: int, part: str) -> tuple[np.ndarray, np.ndarray]:
    """Features (rows, width) and boolean labels of one part of a generated LIBSVM set."""
    shared = stream(seed, "generated", "mixing", str(style.width))
    mixing = shared.standard_normal((LATENT, style.width)) / np.sqrt(LATENT)
    rng = stream(seed, "generated", part, str(style.width))
    y = rng.permutation(np.arange(rows) < max(2, round(style.positives * rows)))
    z = latent_of(y, style.gap, style.outliers, LATENT, rng)
    signal = z @ mixing * (2.0 if style.density else 1.0)
    if style.density:
        # a logistic threshold model: ones appear where the signal is high
        base = np.log(style.density / (1 - style.density))
        base = base + 0.5 * shared.standard_normal(style.width)
        x = (rng.random(signal.shape) < 1 / (1 + np.exp(-(signal + base)))).astype(np.float64)
    else:
        x = np.tanh(0.25 * (signal + 0.5 * rng.standard_normal(signal.shape)))
    return x, flip(y, style.flipped, rng)


def write_libsvm(path: Path, x: np.ndarray, y: np.ndarray, words: tuple[str, str]) -> None:
    """LIBSVM text: label, then index:value of the non-zero features, indices from 1."""
    with open(path, "w", encoding="ascii") as file:
        for row, label in zip(x, y.tolist(), strict=True):
            present = np.flatnonzero(row)
            cells = zip((present + 1).tolist(), row[present].tolist(), strict=True)
            text = " ".join([f"{j}:{value:.6g}" for j, value in cells])
            file.write(f"{words[label]} {text}".rstrip() + "\n")


def make_libsvm(folder: Path, names: list[str], *, style: str, rows: list[int], seed: int) -> None:
    """Write the files of a generated LIBSVM set, one per part, `rows` rows each."""
    if style not in STYLES:
        raise DataError(f"generate.style is {style!r}; known styles: {', '.join(STYLES)}.")
    chosen = STYLES[style]
    for name, count in zip(names, rows, strict=True):
        x, y = libsvm_rows(chosen, count, seed, name)
        write_libsvm(folder / name, x, y, chosen.words)
