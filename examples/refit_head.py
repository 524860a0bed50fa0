"""A network trained with cross-entropy, its last layer then refitted for a band: two lines.

python examples/refit_head.py
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from pauc_core import compare_pauc, pauc, refit_head

LOW, HIGH = 0.0, 0.05  # alarms are looked at by hand: few of them may be false


def payments(seed: int, rows: int = 12_000) -> TensorDataset:
    """4 % are fraud, half of it loud, half of it quiet; some honest ones look like the quiet."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, 10))
    fraud, loud = rng.random(rows) < 0.04, rng.random(rows) < 0.5
    odd = ~fraud & (rng.random(rows) < 0.1)
    x[fraud & loud, 0] += 3.0
    x[fraud & ~loud, 1] += 1.5
    x[odd, 1] += 2.5
    return TensorDataset(torch.from_numpy(x).float(), torch.from_numpy(fraud))


def train(network: nn.Module, loader: DataLoader, epochs: int) -> None:
    """Cross-entropy, as everybody does it."""
    optimiser = torch.optim.Adam(network.parameters(), lr=3e-3)
    for _ in range(epochs):
        for x, y in loader:
            optimiser.zero_grad()
            nn.functional.binary_cross_entropy_with_logits(network(x)[:, 0], y.float()).backward()
            optimiser.step()


def main(epochs: int = 2) -> dict[str, float]:
    """Train for a short while, refit; the test pAUC before and after, and the p of the gain."""
    data, valid, test = (payments(seed) for seed in (0, 1, 2))
    with torch.random.fork_rng():  # the caller's random state stays as it was
        torch.manual_seed(0)
        network = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
        train(network, DataLoader(data, batch_size=64, shuffle=True), epochs)

    refitted, fit = refit_head(
        network, DataLoader(data, 1024), LOW, HIGH, valid=DataLoader(valid, 1024)
    )

    print(
        f"chosen on validation: {fit.loss}, penalty {fit.penalty:g}; pAUC {fit.before:.4f} before"
    )
    print(f"and {fit.after:.4f} after, a gain with a standard error of {fit.standard_error:.4f}")
    x, y = test.tensors
    band = {"fpr_low": LOW, "fpr_high": HIGH}
    before, after = (scores(each, x) for each in (network, refitted))
    gain = compare_pauc(y.numpy(), after, before, **band)
    areas = {"before": pauc(y.numpy(), before, **band), "after": pauc(y.numpy(), after, **band)}
    print(
        f"test pAUC in [{LOW:g}, {HIGH:g}]: {areas['before']:.4f}, then {areas['after']:.4f}: "
        f"gain {gain.difference:.4f} [{gain.low:.4f}, {gain.high:.4f}], p = {gain.p_value:.2g}"
    )
    return {**areas, "p": gain.p_value}


@torch.no_grad()
def scores(network: nn.Module, x: Tensor) -> np.ndarray:
    """What the network says of each row."""
    return network(x)[:, 0].double().numpy()


if __name__ == "__main__":
    main()
