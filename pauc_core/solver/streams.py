"""Named random streams: the only source of randomness in the suite."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """Return the generator that belongs to a seed and a list of names.

    Equal arguments give equal streams on every machine; different names give
    independent ones, so nobody has to agree on an order of drawing.
    """
    digest = hashlib.sha256("\x1f".join(str(name) for name in names).encode()).digest()
    words = np.frombuffer(digest, dtype="<u4")
    return np.random.default_rng(np.random.SeedSequence([int(seed), *(int(w) for w in words)]))


def torch_generator(rng: np.random.Generator, device: str = "cpu") -> torch.Generator:
    """Return a torch generator seeded by one draw from ``rng``."""
    import torch

    return torch.Generator(device=device).manual_seed(int(rng.integers(2**62)))
