"""A small network trained with AGD-SBCD: a torch module, a sampler and a loop of one's own.

python examples/small_network.py
"""

from __future__ import annotations

import numpy as np
import torch

from pauc_core import pauc
from pauc_core.agd_sbcd.networks import ModuleSBCD

LOW, HIGH = 0.05, 0.5


def rings(seed: int, rows: int = 3000) -> tuple[torch.Tensor, np.ndarray]:
    """Positives in a ring around the origin: no straight line ranks them first."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 2))
    near = np.abs(np.linalg.norm(x, axis=1) - 1.5) < 0.4
    return torch.from_numpy(x).float(), near & (rng.random(rows) < 0.5)


def main(steps: int = 600) -> dict[str, float]:
    """Train, and return the test pAUC before and after."""
    x, y = rings(seed=0)
    test_x, test_y = rings(seed=1)
    with torch.random.fork_rng():  # the caller's random state stays as it was
        torch.manual_seed(0)
        network = torch.nn.Sequential(
            torch.nn.Linear(2, 32),
            torch.nn.ReLU(),
            torch.nn.Linear(32, 32),
            torch.nn.ReLU(),
            torch.nn.Linear(32, 1),
        )
    before = area(network, test_x, test_y)

    # AGD-SBCD, Algorithm 2: fifteen lines, any module, any sampler.
    rng = np.random.default_rng(0)
    positives, negatives = x[y], x[~y]
    solver = ModuleSBCD(
        network,
        n_pos=len(positives),
        n_neg=len(negatives),
        fpr_low=LOW,
        fpr_high=HIGH,
        mu=1000.0,
        gamma=1000.0,
        c=1.0,
        T=50,
    )
    for step in range(steps):
        drawn = rng.choice(len(positives), size=64, replace=False)
        others = rng.choice(len(negatives), size=64, replace=False)
        solver.step(drawn, positives[drawn], negatives[others])
        if (step + 1) % 200 == 0:
            print(f"step {step + 1}: test pAUC {area(solver.averaged(), test_x, test_y):.4f}")
    trained = solver.averaged()

    areas = {"before": before, "after": area(trained, test_x, test_y)}
    print(f"test pAUC in [{LOW}, {HIGH}]: {before:.4f} before, {areas['after']:.4f} after")
    return areas


@torch.no_grad()
def area(network: torch.nn.Module, x: torch.Tensor, y: np.ndarray) -> float:
    """Partial AUC of a network in the band."""
    scores = network(x).squeeze(1).double().numpy()
    return pauc(y, scores, fpr_low=LOW, fpr_high=HIGH)


if __name__ == "__main__":
    main()
