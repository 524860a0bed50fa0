"""Random changes of whole batches of pictures, on tensors; the same for every method."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

PAD = 4  # pixels on each side for the random crop of 32 px pictures
DEGREES, SHIFT, ZOOM = 15.0, 0.05, 0.05  # the chest films' small affine maps


def crop_flip(pictures: Tensor, rng: np.random.Generator) -> Tensor:
    """Shift by up to ``PAD`` pixels, zeros coming in, and mirror every second picture."""
    count, _, height, width = pictures.shape
    shift = torch.from_numpy(rng.integers(0, 2 * PAD + 1, size=(2, count)))
    mirrored = torch.from_numpy(rng.random(count) < 0.5).to(pictures.device)
    windows = functional.pad(pictures, (PAD,) * 4).unfold(2, height, 1).unfold(3, width, 1)
    cropped = windows[torch.arange(count), :, shift[0], shift[1]]
    return torch.where(mirrored[:, None, None, None], cropped.flip(-1), cropped)


def affine(pictures: Tensor, rng: np.random.Generator) -> Tensor:
    """Turn, shift and zoom each picture a little; what comes in from outside is the mean grey."""
    count = len(pictures)
    angle = np.deg2rad(rng.uniform(-DEGREES, DEGREES, count))
    zoom = rng.uniform(1.0 - ZOOM, 1.0 + ZOOM, count)
    shift = rng.uniform(-2.0 * SHIFT, 2.0 * SHIFT, (count, 2))  # a side is 2 units long
    rows = np.stack(
        [
            np.stack([np.cos(angle) / zoom, -np.sin(angle) / zoom, shift[:, 0]], 1),
            np.stack([np.sin(angle) / zoom, np.cos(angle) / zoom, shift[:, 1]], 1),
        ],
        1,
    )
    theta = torch.from_numpy(rows).to(pictures)
    grid = functional.affine_grid(theta, list(pictures.shape), align_corners=False)
    return functional.grid_sample(pictures, grid, align_corners=False)


def unchanged(pictures: Tensor, rng: np.random.Generator) -> Tensor:
    """Leave the pictures as they are."""
    return pictures


AUGMENTATIONS: dict[str, Callable[[Tensor, np.random.Generator], Tensor]] = {
    "crop-flip": crop_flip,
    "affine": affine,
    "none": unchanged,
}
