"""The torch loss: how near its steps are to the full gradient, and what a small call costs."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, softplus

from benchmarks.bench_metric import least_seconds
from pauc_core import PartialAUCLoss
from pauc_core.metrics import ranks

ROWS, WIDTH, SHARE = 20_000, 20, 0.05
MEMORY = 4096
BATCHES = (32, 128, 512)
ENOUGH = 512  # rows of a batch whose own negatives fill the band: memory has nothing to better
BANDS = ((0.05, 0.5), (0.0, 0.05))
STEPS = 2000  # of training, so that what is remembered is as old as it is in use
DRAWN = 256_000  # rows in all batches whose gradients are averaged
CALLS = 200


def run() -> list[dict[str, Any]]:
    near = [_nearness(band, size) for band in BANDS for size in BATCHES]
    return [*near, *(_small(count) for count in (16, 32, 48))]


def _nearness(band: tuple[float, float], size: int) -> dict[str, Any]:
    """Cosine of the mean gradient with the full one, with memory; the detail has it without."""
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.standard_normal((ROWS, WIDTH))).float()
    hidden = (
        x[:, 0] * x[:, 1] + x[:, 2] + 0.7 * torch.from_numpy(rng.standard_normal(ROWS))
    ).numpy()
    y = torch.from_numpy(hidden > np.quantile(hidden, 1 - SHARE))
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = nn.Sequential(nn.Linear(WIDTH, 32), nn.ReLU(), nn.Linear(32, 1))
    classes = [np.flatnonzero(y.numpy() == k) for k in (True, False)]

    def draw() -> np.ndarray:
        return np.concatenate([rng.choice(rows, size // 2, replace=False) for rows in classes])

    def gradient(loss: nn.Module, rows: Any) -> Tensor:
        found = torch.autograd.grad(loss(network(x[rows])[:, 0], y[rows]), network.parameters())
        return torch.cat([part.reshape(-1) for part in found])

    keeps = PartialAUCLoss(*band, memory=MEMORY)
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
    for _ in range(STEPS):
        rows = draw()
        optimiser.zero_grad()
        keeps(network(x[rows])[:, 0], y[rows]).backward()
        optimiser.step()
    full = gradient(PartialAUCLoss(*band), slice(None))
    batches = [draw() for _ in range(DRAWN // size)]
    cosines = []
    for loss in (keeps, PartialAUCLoss(*band)):
        # A copy each time: every batch meets what training left.
        mean = sum(gradient(copy.deepcopy(loss), rows) for rows in batches) / len(batches)
        cosines.append(float(cosine_similarity(torch.as_tensor(mean), full, dim=0)))
    low, high = band
    enough = size >= ENOUGH
    return {
        "name": f"cosine to the full gradient, [{low:g}, {high:g}], batch {size}",
        "measured": cosines[0],
        "target": "none" if enough else ">= without",
        "holds": enough or cosines[0] >= cosines[1],
        "detail": f"with memory {cosines[0]:.3f}, without {cosines[1]:.3f}",
    }


def _small(count: int) -> dict[str, Any]:
    """Value and gradient of a call beside torch's own over the same pairs."""
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(2 * count, generator=generator).requires_grad_()
    y = torch.arange(2 * count) < count
    loss = PartialAUCLoss(0.0, 0.3)

    def ours() -> None:
        for _ in range(CALLS):
            torch.autograd.grad(loss(scores, y), scores)

    def textbook() -> None:
        for _ in range(CALLS):
            p, q = scores[y], scores[~y]
            m, n = ranks(len(q), 0.0, 0.3)
            band = torch.sort(q, descending=True).values[m:n]
            torch.autograd.grad(softplus(band - p[:, None]).mean(), scores)

    theirs, mine = least_seconds(textbook, ours)
    return {
        "name": f"autograd over pairs / the loss, {count} + {count} scores",
        "measured": theirs / mine,
        "target": ">= 1",
        "holds": theirs >= mine,
        "detail": f"{1e6 * theirs / CALLS:.0f} us; {1e6 * mine / CALLS:.0f} us",
    }


if __name__ == "__main__":
    for line in run():
        print(line)
