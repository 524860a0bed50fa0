"""Fresh uniform draws without replacement for every inner iteration, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit


def draw(rng: np.random.Generator, total: int, size: int, count: int) -> np.ndarray:
    """Draw ``count`` uniform subsets of ``size`` out of ``total`` indices, as (count, size).

    Only one 64-bit number is taken from ``rng``.
    """
    if not 0 < size <= total:
        raise ValueError(f"Cannot draw {size} of {total} indices without replacement.")
    seed = rng.integers(0, 2**64, dtype=np.uint64)
    return _draw(seed, total, size, count)


@njit(cache=True)
def _draw(seed: np.uint64, total: int, size: int, count: int) -> np.ndarray:
    """Floyd's sampling with a splitmix64 counter and unbiased bounded integers."""
    out = np.empty((count, size), dtype=np.int64)
    taken = np.zeros(total, dtype=np.bool_)
    state = np.uint64(seed)
    low = np.uint64(0xFFFFFFFF)
    for step in range(count):
        for k in range(size):
            bound = np.uint64(total - size + k + 1)
            reject = (np.uint64(1) << np.uint64(32)) % bound
            while True:
                state = state + np.uint64(0x9E3779B97F4A7C15)
                z = state
                z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                product = (z >> np.uint64(32)) * bound
                if (product & low) >= reject:
                    break
            index = np.int64(product >> np.uint64(32))
            if taken[index]:
                index = np.int64(total - size + k)
            taken[index] = True
            out[step, k] = index
        for k in range(size):
            taken[out[step, k]] = False
    return out
