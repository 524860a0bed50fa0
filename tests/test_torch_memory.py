"""The torch loss with memory: the band of recent scores, unbiased steps, a state like any other."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import Tensor

from pauc_core import PartialAUCLoss, pauc_loss, pauc_loss_grad

LOW, HIGH = 0.1, 0.4
BAND = {"fpr_low": LOW, "fpr_high": HIGH}


def data(rows: int, seed: int = 0, share: float = 0.2) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    y = torch.rand(rows, generator=generator) < share
    return torch.randn(rows, generator=generator, dtype=torch.float32) + y, y


def call(loss: PartialAUCLoss, scores: Tensor, y: Tensor) -> tuple[float, Tensor]:
    mine = scores.clone().requires_grad_()
    value = loss(mine, y)
    value.backward()
    assert mine.grad is not None
    return value.item(), mine.grad


@pytest.mark.parametrize("surrogate", ["logistic", "squared_hinge"])
def test_the_loss_is_that_of_the_call_among_what_came_before(surrogate: str) -> None:
    scores, y = data(300)
    loss = PartialAUCLoss(LOW, HIGH, surrogate, memory=50)
    seen: dict[bool, list[float]] = {True: [], False: []}
    for first in range(0, 300, 20):
        part, labels = scores[first : first + 20], y[first : first + 20]
        p, q = part[labels].double().numpy(), part[~labels].double().numpy()
        value, gradient = call(loss, part, labels)
        # Slow: the last 50 of each class from a list, every pair of the union.
        p_all = np.append(p, seen[True][-50:])
        q_all = np.append(q, seen[False][-50:])
        expected, by_p, by_q = pauc_loss_grad(p_all, q_all, **BAND, loss=surrogate)
        assert value == pytest.approx(expected, rel=1e-6)
        wanted = np.zeros(20)
        if p.size:
            wanted[labels.numpy()] = by_p[: p.size] * p_all.size / p.size
        wanted[~labels.numpy()] = by_q[: q.size] * q_all.size / q.size
        np.testing.assert_allclose(gradient.numpy(), wanted, rtol=1e-5, atol=1e-9)
        seen[True] += p.tolist()
        seen[False] += q.tolist()
    for k in (0, 1):
        kept = sorted(loss.recent[0, k, : int(loss.stored[0, k].clamp(max=50))].tolist())
        assert kept == pytest.approx(sorted(seen[bool(k)][-50:]))


def test_steps_are_on_average_the_data_set_s() -> None:
    """Batches of 10 whose memory holds every score: their mean is the full gradient."""
    scores, y = data(1000)
    full = PartialAUCLoss(LOW, HIGH)
    value, wanted = call(full, scores, y)
    filled = PartialAUCLoss(LOW, HIGH, memory=1000)
    call(filled, scores, y)
    order = torch.randperm(1000, generator=torch.Generator().manual_seed(1))
    means = {}
    for name, loss in (("with", filled), ("without", full)):
        total = torch.zeros(1000)
        batches = [order[y[order]].split(8), order[~y[order]].split(32)]
        for pos, neg in zip(*batches, strict=False):
            rows = torch.cat([pos, neg])
            found, gradient = call(copy.deepcopy(loss), scores[rows], y[rows])
            if name == "with":
                assert found == pytest.approx(value, abs=0.1)
            total[rows] += gradient / len(batches[0])
        means[name] = torch.nn.functional.cosine_similarity(total, wanted, dim=0)
    assert means["with"] > 0.97
    assert means["with"] > means["without"] + 0.05


def test_any_sampler_will_do() -> None:
    scores, y = data(40)
    loss = PartialAUCLoss(LOW, HIGH, memory=64)
    for members in (y, ~y):  # one class alone, at first without the other
        value, gradient = call(PartialAUCLoss(LOW, HIGH, memory=64), scores[members], y[members])
        assert value == 0.0
        assert not gradient.any()
    call(loss, scores, y)
    for members in (y, ~y):
        value, gradient = call(copy.deepcopy(loss), scores[members], y[members])
        assert value > 0.0
        assert gradient.any()
    # A single negative cannot fill the band [0.1, 0.4] yet.
    early = PartialAUCLoss(LOW, HIGH, memory=64)
    rows = torch.cat([torch.where(y)[0][:3], torch.where(~y)[0][:1]])
    assert call(early, scores[rows], y[rows])[0] == 0.0


def test_in_evaluation_mode_memory_is_neither_used_nor_changed() -> None:
    scores, y = data(60)
    loss = PartialAUCLoss(LOW, HIGH, memory=64)
    call(loss, scores, y)
    before = copy.deepcopy(loss.state_dict())
    other, labels = data(80, seed=5)
    loss.eval()
    value, _ = call(loss, other, labels)
    p, q = other[labels].double().numpy(), other[~labels].double().numpy()
    assert value == pytest.approx(pauc_loss(p, q, **BAND), rel=1e-6)
    assert all(torch.equal(before[name], found) for name, found in loss.state_dict().items())
    with pytest.raises(ValueError, match="both classes"):
        loss(other[labels], labels[labels])


def test_the_state_is_saved_loaded_and_moved_with_the_module() -> None:
    loss = PartialAUCLoss(LOW, HIGH, memory=32)
    for seed in range(4):
        call(loss, *data(30, seed))
    again = PartialAUCLoss(LOW, HIGH, memory=32)
    again.load_state_dict(loss.state_dict())
    moved = torch.nn.ModuleDict({"loss": copy.deepcopy(loss)}).double()["loss"]
    assert moved.recent.dtype == torch.float64
    for seed in (7, 8):
        wanted = call(loss, *data(30, seed))
        for other in (again, moved):
            found = call(other, *data(30, seed))
            assert found[0] == wanted[0]
            assert torch.equal(found[1], wanted[1])
    assert not list(PartialAUCLoss(LOW, HIGH).state_dict())


@pytest.mark.parametrize("memory", [0, 40])
def test_several_labels_are_one_loss_a_column(memory: int) -> None:
    together = PartialAUCLoss(LOW, HIGH, memory=memory, labels=3)
    apart = [PartialAUCLoss(LOW, HIGH, memory=memory) for _ in range(3)]
    for step in range(3):
        columns = [data(50, seed=10 * step + k) for k in range(3)]
        scores, targets = (torch.stack(part, dim=1) for part in zip(*columns, strict=True))
        value, gradient = call(together, scores, targets)
        found = [call(one, *column) for one, column in zip(apart, columns, strict=True)]
        assert value == pytest.approx(np.mean([v for v, _ in found]), rel=1e-6)
        expected = torch.stack([g for _, g in found], dim=1) / 3
        torch.testing.assert_close(gradient, expected)
    targets[:, 1] = False
    if not memory:
        with pytest.raises(ValueError, match="and label 1; got 0 positives"):
            together(scores, targets)


def test_half_precision_is_remembered() -> None:
    scores, y = data(60)
    loss = PartialAUCLoss(LOW, HIGH, memory=64)
    for kind in (torch.float16, torch.bfloat16):
        value, gradient = call(loss, scores.to(kind), y)
        assert gradient.dtype == kind
        assert value > 0
    assert loss.recent.dtype == torch.float32


def test_more_scores_than_places_leave_the_last_ones() -> None:
    scores, y = data(200, share=0.5)
    loss = PartialAUCLoss(LOW, HIGH, memory=30)
    call(loss, scores, y)
    for k in (0, 1):
        assert sorted(loss.recent[0, k].tolist()) == sorted(scores[y == k][-30:].tolist())
