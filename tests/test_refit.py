"""The last layer of a trained network refitted: exact, chosen on held-out rows, safe."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from pauc_core import pauc, pauc_loss, refit_head
from pauc_core.metrics import ranks
from pauc_core.models.head import AS_TRAINED, fit_head, held_out_fifth
from pauc_core.solver.streams import stream

LOW, HIGH = 0.0, 0.2


def rows(seed: int, count: int = 900) -> tuple[np.ndarray, np.ndarray]:
    """Features on which the best ranking low in the band is not the best one overall."""
    rng = np.random.default_rng(seed)
    y = rng.random(count) < 0.25
    x = rng.standard_normal((count, 4))
    x[:, 0] += 1.5 * y
    x[:, 1] += 2.0 * y * (rng.random(count) < 0.5)
    x[:, 2] *= 5.0
    return x.astype(np.float32), y


class Network(nn.Module):
    """A trained body that does nothing, batch norm and dropout on the way, and a bad last layer."""

    def __init__(self, outputs: int = 1, end: nn.Module | None = None) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.BatchNorm1d(4, affine=False), nn.Dropout(0.5))
        self.head = nn.Linear(4, outputs)
        self.end = end or nn.Identity()
        with torch.no_grad():
            self.head.weight.copy_(torch.tensor([[1.0, 0.2, 0.3, -0.2]] * outputs))
            self.head.bias.fill_(0.7)

    def forward(self, x: Tensor) -> Tensor:
        return self.end(self.head(self.body(x)))


def loader(x: np.ndarray, y: np.ndarray, size: int = 200) -> list[tuple[Tensor, Tensor]]:
    pairs = zip(torch.from_numpy(x).split(size), torch.from_numpy(y).split(size), strict=True)
    return list(pairs)


@torch.no_grad()
def scores(network: nn.Module, x: np.ndarray) -> np.ndarray:
    network.eval()
    return network(torch.from_numpy(x)).double().numpy()[:, 0]


def area(network: nn.Module, x: np.ndarray, y: np.ndarray) -> float:
    return pauc(y, scores(network, x), fpr_low=LOW, fpr_high=HIGH)


def test_the_network_gains_on_rows_that_nobody_saw():
    train, valid, test = rows(0), rows(1), rows(2, 4000)
    for network in (Network(), Network(end=nn.Sigmoid())):
        with_valid, fit = refit_head(network, loader(*train), LOW, HIGH, valid=loader(*valid))
        alone, held = refit_head(network, loader(*train), LOW, HIGH)
        before = area(network, *test)
        assert area(with_valid, *test) > before + 0.05
        assert area(alone, *test) > before + 0.05
        assert fit.gain == pytest.approx(area(with_valid, *valid) - area(network, *valid))
        assert fit.gain > 3 * fit.standard_error > 0
        assert held.gain > 0.05


def test_the_network_that_came_is_left_as_it_was():
    network = Network()
    network.train()
    kept = {name: value.clone() for name, value in network.state_dict().items()}
    refitted, _ = refit_head(network, loader(*rows(0)), LOW, HIGH)
    assert network.training
    assert refitted.training
    assert all(torch.equal(kept[name], value) for name, value in network.state_dict().items())
    others = {k: v for k, v in refitted.state_dict().items() if not k.startswith("head")}
    assert all(torch.equal(kept[name], value) for name, value in others.items())


def test_scores_keep_their_mean_and_deviation():
    x, y = rows(0)
    network = Network()
    refitted, _ = refit_head(network, loader(x, y), LOW, HIGH)
    before, after = scores(network, x), scores(refitted, x)
    assert after.mean() == pytest.approx(before.mean(), abs=1e-5)
    assert after.std() == pytest.approx(before.std(), rel=1e-5)
    assert not np.allclose(before, after)


def test_the_fit_is_exact_for_the_band():
    """Without penalty to speak of no direction away from what was found lowers (3)."""
    x, y = rows(3)
    held_out = held_out_fifth(y, stream(0, "held"))
    start = np.array([1.0, 0.2, 0.06, -0.2])
    given: dict[str, Any] = {"losses": ["logistic"], "penalties": [1e-6], "refit": False}
    fit = fit_head(x, y, held_out, start, LOW, HIGH, **given)
    assert fit.loss == "logistic"
    fitted = ~held_out
    m, n = ranks(int((fitted & ~y).sum()), LOW, HIGH)

    def loss(w: np.ndarray) -> float:
        found = x.astype(float) @ w
        return pauc_loss(found[y & fitted], found[~y & fitted], m=m, n=n)

    # The scale was changed on purpose: find it again first.
    scaled = min((fit.weights * c for c in np.geomspace(0.2, 20, 400)), key=loss)
    assert loss(scaled) < loss(start) - 0.01
    rng = np.random.default_rng(0)
    for _ in range(50):
        assert loss(scaled + 0.05 * rng.standard_normal(4)) > loss(scaled) - 1e-4


def test_held_out_rows_join_the_last_fit_only_where_they_may():
    x, y = rows(3)
    held_out = held_out_fifth(y, stream(0, "held"))
    start = np.array([1.0, 0.2, 0.06, -0.2])
    given: dict[str, Any] = {"losses": ["logistic"], "penalties": [1e-6]}
    apart, joined = (
        fit_head(x, y, held_out, start, LOW, HIGH, refit=refit, **given) for refit in (False, True)
    )
    assert (apart.before, apart.after) == (joined.before, joined.after)

    def least(w: np.ndarray, kept: np.ndarray) -> float:
        """(3) over some rows at the weights' best scale."""
        found = x[kept].astype(float) @ w
        p, q = found[y[kept]], found[~y[kept]]
        return min(
            pauc_loss(c * p, c * q, fpr_low=LOW, fpr_high=HIGH) for c in np.geomspace(0.2, 20, 400)
        )

    assert least(apart.weights, ~held_out) < least(joined.weights, ~held_out) - 1e-5
    everyone = np.ones_like(y)
    assert least(joined.weights, everyone) < least(apart.weights, everyone) - 1e-5


def test_a_layer_that_cannot_be_bettered_stays():
    x, y = rows(4)
    best = refit_head(Network(), loader(x, y), LOW, HIGH)[0]
    x_noise, y_noise = np.random.default_rng(0).standard_normal((60, 4)).astype(np.float32), y[:60]
    kept, fit = refit_head(best, loader(x_noise, y_noise), LOW, HIGH, valid=loader(*rows(5, 3000)))
    assert fit.loss == AS_TRAINED
    assert fit.gain == 0.0
    assert torch.equal(kept.head.weight, best.head.weight)
    assert torch.equal(kept.head.bias, best.head.bias)


def test_one_column_of_several_is_refitted():
    x, y = rows(0)
    targets = torch.from_numpy(np.stack([np.zeros_like(y), y], axis=1))
    batches = list(zip(torch.from_numpy(x).split(300), targets.split(300), strict=True))
    network = Network(outputs=2)
    refitted, fit = refit_head(network, batches, LOW, HIGH, column=1)
    assert fit.gain > 0.05
    assert torch.equal(refitted.head.weight[0], network.head.weight[0])
    assert not torch.equal(refitted.head.weight[1], network.head.weight[1])
    with pytest.raises(ValueError, match="2 outputs: name the one to refit by column="):
        refit_head(network, batches, LOW, HIGH)


def test_half_precision_and_a_layer_without_bias():
    x, y = rows(0)
    network = nn.Sequential(nn.Linear(4, 1, bias=False)).bfloat16()
    batches = [(a.bfloat16(), b) for a, b in loader(x, y)]
    refitted, fit = refit_head(network, batches, LOW, HIGH)
    assert refitted[0].weight.dtype == torch.bfloat16
    assert fit.gain > 0


@pytest.mark.parametrize(
    ("network", "batches", "band", "word"),
    [
        (nn.Sequential(nn.ReLU()), loader(*rows(0)), (LOW, HIGH), "has no nn.Linear"),
        (Network(end=nn.Softmax(0)), [], (LOW, HIGH), "gave no batch"),
        (Network(end=nn.GELU()), loader(*rows(0)), (LOW, HIGH), "rank otherwise"),
        (Network(), [(a, b.long() * 2) for a, b in loader(*rows(0))], (LOW, HIGH), "0 and 1"),
        (Network(), [(a, b & False) for a, b in loader(*rows(0))], (LOW, HIGH), "0 positives"),
        (Network(), loader(*rows(0, 100)), (0.0, 0.01), "holds none of the"),
        (Network(), loader(*rows(0)), (0.5, 0.2), "band"),
        (Network(), [(a, b[:7]) for a, b in loader(*rows(0))], (LOW, HIGH), "for 7 targets"),
    ],
)
def test_what_cannot_be_refitted_is_one_sentence(network, batches, band, word):
    with pytest.raises(ValueError, match=word):
        refit_head(network, batches, *band)
