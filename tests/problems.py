"""Small problems for tests."""

from __future__ import annotations

import numpy as np

from pauc_core.models.linear import LinearModel
from pauc_core.solver import Part, Problem
from pauc_core.solver.streams import stream

BAND = {"fpr_low": 0.05, "fpr_high": 0.5}


def linear_parts(
    n_pos: int = 60, n_neg: int = 240, width: int = 6, seed: int = 0, dtype: type = np.float32
) -> tuple[Part, Part, Part]:
    """Train, validation and test rows of one table whose classes overlap."""
    rng = stream(seed, "test table")
    y = np.zeros(2 * (n_pos + n_neg), dtype=bool)
    y[: 2 * n_pos] = True
    x = rng.standard_normal((len(y), width)) + 0.8 * y[:, None] * rng.standard_normal(width)
    x = (x * np.linspace(0.5, 3.0, width) + 1.0).astype(dtype)
    order = rng.permutation(len(y))
    x, y = np.ascontiguousarray(x[order]), y[order]
    pos, neg = np.flatnonzero(y), np.flatnonzero(~y)

    def part(share: slice) -> Part:
        cut_pos = slice(int(share.start * len(pos)), int(share.stop * len(pos)))
        cut_neg = slice(int(share.start * len(neg)), int(share.stop * len(neg)))
        return Part(x, y, np.sort(np.concatenate([pos[cut_pos], neg[cut_neg]])))

    return part(slice(0, 0.5)), part(slice(0.5, 0.75)), part(slice(0.75, 1))


def linear_problem(goal: str = "pauc", **changes: object) -> tuple[Problem, Part]:
    """A linear problem and its test part."""
    train, valid, test = linear_parts()
    band: dict[str, float] = dict(BAND) if goal == "pauc" else {"m": 20, "n": 150}
    given = {
        "train": train,
        "valid": valid,
        "model": LinearModel.fit_scaling(train),
        "goal": goal,
        **band,
        **changes,
    }
    return Problem(**given), test  # type: ignore[arg-type]


def picture_problem(rows: int = 96, size: int = 12, seed: int = 0) -> tuple[Problem, Part]:
    """Small grey pictures whose positives have a bright spot, and the small network."""
    from pauc_core.models.module import ModuleModel
    from pauc_core.models.networks import build

    rng = stream(seed, "test pictures")
    x = rng.integers(0, 120, (2 * rows, 1, size, size)).astype(np.uint8)
    y = np.zeros(2 * rows, dtype=bool)
    y[::4] = True
    x[y, :, 3:8, 3:8] += 90
    train, test = Part(x, y, np.arange(rows)), Part(x, y, np.arange(rows, 2 * rows))
    model = ModuleModel(build("small", in_channels=1), augmentation="none", device="cpu")
    return Problem(train=train, valid=test, model=model, **BAND), test
