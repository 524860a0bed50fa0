"""Generated feature sets, up to the paper's 220,000 x 1,024, made block by block.

They have the latent shape of `generated.latent` (outlying and easy negatives) under a random
mixing and noise, so that the best linear training pAUC in [0.05, 0.5] lies between 0.6 and 0.8,
as the paper reports on CheXpert.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pauc_core.data.generated import latent_of
from pauc_core.data.loaded import Entry, Loaded
from pauc_core.data.prepared import TEST, TRAIN
from pauc_core.solver.streams import stream

BLOCK = 4096


def load_features(name: str, entry: Entry, raw_dir: Path) -> Loaded:
    """A generated feature set by its `generate` settings; nothing is read from `raw_dir`."""
    settings = entry["generate"]
    rows, test_rows = settings["rows"], settings["test_rows"]
    positives, width, seed = settings["positives"], settings["width"], settings["seed"]
    total = rows + test_rows
    y = np.zeros(total, dtype=np.int8)
    draw = stream(seed, "features", "labels", name)
    y[draw.choice(rows, positives, replace=False)] = 1
    y[rows + draw.choice(test_rows, round(positives * test_rows / rows), replace=False)] = 1
    mixing = stream(seed, "features", "mixing", name)
    mix = mixing.standard_normal((settings["latent"], width)).astype(np.float32)
    mix /= np.sqrt(np.float32(settings["latent"]))

    def block(number: int) -> np.ndarray:
        rng = stream(seed, "features", name, number)
        here = y[number * BLOCK : (number + 1) * BLOCK] == 1
        z = latent_of(here, settings["gap"], settings["outliers"], settings["latent"], rng)
        x = rng.standard_normal((len(here), width), dtype=np.float32)
        x += z.astype(np.float32) @ mix
        return x

    def take(index: np.ndarray) -> np.ndarray:
        out = np.empty((len(index), width), dtype=np.float32)
        numbers = index // BLOCK
        for number in np.unique(numbers).tolist():
            chosen = numbers == number
            out[chosen] = block(number)[index[chosen] - number * BLOCK]
        return out

    return Loaded(
        rows=take,
        shape=(total, width),
        dtype=np.float32,
        y=y,
        part=np.where(np.arange(total) < rows, TRAIN, TEST).astype(np.uint8),
        tasks=["label"],
    )
