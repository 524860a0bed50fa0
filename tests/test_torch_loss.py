"""The torch loss: exact value and gradient, any shape and type, a loop of one's own."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn.functional import logsigmoid

from pauc_core import PartialAUCLoss, pauc
from pauc_core.metrics import ranks

LOW, HIGH = 0.1, 0.6

BY_HAND = {
    "logistic": lambda gap: -logsigmoid(gap),
    "sigmoid": lambda gap: torch.sigmoid(-gap),
    "squared_hinge": lambda gap: torch.clamp(1 - gap, min=0) ** 2,
}


def slow_loss(scores: torch.Tensor, targets: torch.Tensor, loss: str) -> torch.Tensor:
    """Equation (3) with every pair written out, differentiated by torch itself."""
    p, q = scores[targets.bool()], scores[~targets.bool()]
    m, n = ranks(len(q), LOW, HIGH)
    band = torch.sort(q, descending=True).values[m:n]
    return BY_HAND[loss](p[:, None] - band).mean()


def batch(seed: int, rows: int = 80) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(rows, generator=generator, dtype=torch.float64) * 3
    return scores, (torch.rand(rows, generator=generator) < 0.4).long()


@pytest.mark.parametrize("loss", sorted(BY_HAND))
def test_value_and_gradient_equal_autograd_over_all_pairs(loss):
    for seed in range(5):
        scores, targets = batch(seed)
        ours, slow = scores.clone().requires_grad_(), scores.clone().requires_grad_()
        value = PartialAUCLoss(LOW, HIGH, loss=loss)(ours, targets)
        expected = slow_loss(slow, targets, loss)
        (3 * value).backward()
        (3 * expected).backward()
        torch.testing.assert_close(value, expected, rtol=1e-10, atol=1e-12)
        torch.testing.assert_close(ours.grad, slow.grad, rtol=1e-9, atol=1e-12)


def test_gradcheck():
    scores, targets = batch(7, rows=20)
    loss = PartialAUCLoss(LOW, HIGH, loss="sigmoid")
    assert torch.autograd.gradcheck(lambda s: loss(s, targets), scores.requires_grad_())


@pytest.mark.parametrize("kind", [torch.float32, torch.float16, torch.bfloat16])
def test_types_and_shapes_come_back(kind):
    scores, targets = batch(1)
    column = scores.to(kind)[:, None].requires_grad_()
    value = PartialAUCLoss(LOW, HIGH)(column, targets.to(kind)[:, None])
    value.backward()
    assert value.dtype == torch.float32
    assert value.shape == ()
    assert column.grad.shape == column.shape
    assert column.grad.dtype == kind


def test_half_precision_keeps_small_slopes_until_they_are_scaled():
    """Slopes of 1e-5 lose digits in float16; with a loss scale of 2^14 they have all of them."""
    scores, targets = batch(1, rows=60_000)
    half = scores.half().requires_grad_()
    full = half.detach().double().requires_grad_()
    for mine in (half, full):
        (PartialAUCLoss(LOW, HIGH)(mine, targets) * 2.0**14).backward()
    assert full.grad.abs().max() < 2.0**14 * 6e-5  # all are below float16's normal numbers
    large = full.grad.abs() > 6e-5
    torch.testing.assert_close(half.grad[large].double(), full.grad[large], rtol=1e-3, atol=0)


@pytest.mark.parametrize("loss", sorted(BY_HAND))
def test_few_pairs_and_many_are_the_same_numbers(loss, monkeypatch):
    for rows in (9, 60, 300):
        scores, targets = batch(rows, rows)
        scores[: rows // 3] = scores[: rows // 3].round()  # ties, some of them on an edge
        found = []
        for few in (0, 10**9):
            monkeypatch.setattr("pauc_core.objective.torch_loss.FEW", few)
            mine = scores.clone().requires_grad_()
            value = PartialAUCLoss(LOW, HIGH, loss=loss)(mine, targets)
            value.backward()
            found.append((value, mine.grad))
        torch.testing.assert_close(found[0], found[1], rtol=1e-12, atol=1e-14)


def test_a_big_data_set_is_near_linear():
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(400_000, generator=generator).requires_grad_()
    targets = torch.arange(400_000) % 4 == 0
    value = PartialAUCLoss(0.05, 0.5)(scores, targets)  # 1.35e10 pairs
    value.backward()
    assert torch.isfinite(scores.grad).all()
    assert abs(float(scores.grad.double().sum())) < 1e-5


@pytest.mark.parametrize(
    ("targets", "word"),
    [
        (torch.ones(6), "both classes"),
        (torch.zeros(6), "both classes"),
        (torch.tensor([0, 1, 2, 0, 1, 0]), "0 and 1"),
        (torch.ones(5), "one target for each score"),
    ],
)
def test_bad_targets_are_refused(targets, word):
    with pytest.raises(ValueError, match=word):
        PartialAUCLoss(0.0, 1.0)(torch.randn(6), targets)


def test_bad_settings_and_scores_are_refused():
    with pytest.raises(ValueError, match="fpr_low < fpr_high"):
        PartialAUCLoss(0.5, 0.5)
    with pytest.raises(ValueError, match="Unknown loss"):
        PartialAUCLoss(0.0, 0.5, loss="hinge")
    with pytest.raises(ValueError, match="at least 0 and at least 1"):
        PartialAUCLoss(0.0, 0.5, memory=-1)
    with pytest.raises(ValueError, match="holds none of the 40 negatives"):
        PartialAUCLoss(0.0, 0.01, memory=40)
    with pytest.raises(ValueError, match=r"shape \(6, 3\).*expected shape \(n, 2\)"):
        PartialAUCLoss(0.0, 0.5, labels=2)(torch.randn(6, 3), torch.ones(6, 3))
    with pytest.raises(ValueError, match="NaN"):
        PartialAUCLoss(0.0, 1.0)(torch.tensor([0.0, float("nan")]), torch.tensor([1, 0]))


def test_no_second_derivative_is_pretended():
    scores, targets = batch(2)
    scores.requires_grad_()
    value = PartialAUCLoss(LOW, HIGH)(scores, targets) + (scores**2).sum()
    with pytest.raises(RuntimeError, match="no second derivative"):
        torch.autograd.grad(value, scores, create_graph=True)


def test_a_module_of_somebody_elses_learns_with_it():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(600, 4, generator=generator)
    y = (x[:, 0] * x[:, 1] > 0.5).long()
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(4, 2, dim_feedforward=16, dropout=0.0)
    network = torch.nn.Sequential(torch.nn.Linear(4, 4), layer, torch.nn.Linear(4, 1))
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-2)
    loss = PartialAUCLoss(0.05, 0.5)

    def area() -> float:
        with torch.no_grad():
            scores = network(x[:, None])[:, 0, 0].double().numpy()
        return pauc(np.asarray(y == 1), scores, fpr_low=0.05, fpr_high=0.5)

    before = area()
    for _ in range(60):
        optimiser.zero_grad()
        loss(network(x[:, None])[:, 0, 0], y).backward()
        optimiser.step()
    assert area() > max(before, 0.5) + 0.2
