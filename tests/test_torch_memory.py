"""The torch loss with memory: the data set's band, unbiased steps, a state like any other."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import torch
from torch import Tensor

from pauc_core import PartialAUCLoss, pauc_loss, pauc_loss_grad
from pauc_core.objective import get_loss

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


def by_hand(p, q, old_p, old_q, rarity, surrogate):
    """Slow: the band's ranks among all negatives, then every pair that counts, one by one."""
    formula = get_loss(surrogate)
    known = sorted([*q, *old_q], reverse=True)
    m, n = (int(len(known) * rate + 0.5) for rate in (LOW, HIGH))
    band = known[m:n]
    above, below = (p if len(p) else old_p), (q if len(q) else old_q)
    expected = len(above) * len(below) * (n - m) / len(known)
    value, by_p, by_q = 0.0, np.zeros(len(above)), np.zeros(len(below))
    for i, one in enumerate(above):
        for j, other in enumerate(below):
            share = band.count(other) / known.count(other)
            value += share * formula.value(one - other) / expected
            slope = share * formula.slope(one - other) / expected
            by_p[i] += slope * rarity[1]
            by_q[j] -= slope * rarity[0]
    return value, by_p if len(p) else p, by_q if len(q) else q


@pytest.mark.parametrize("surrogate", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("few", [0, 10**9])
def test_the_band_is_that_of_all_that_came(surrogate: str, few: int, monkeypatch) -> None:
    monkeypatch.setattr("pauc_core.objective.torch_loss.FEW", few)
    scores, y = data(300, share=0.08)
    scores = (scores * 8).round() / 8  # ties, many of them on an edge
    loss = PartialAUCLoss(LOW, HIGH, surrogate, memory=50)
    seen: dict[bool, list[float]] = {True: [], False: []}
    calls = np.zeros(2)
    lacked = 0
    for count, first in enumerate(range(0, 300, 20), start=1):
        part, labels = scores[first : first + 20], y[first : first + 20]
        p, q = part[labels].double().tolist(), part[~labels].double().tolist()
        lacked += not p
        calls += [bool(q), bool(p)]
        value, gradient = call(loss, part, labels)
        expected, by_p, by_q = by_hand(
            p, q, seen[True][-50:], seen[False][-50:], count / np.maximum(calls, 1), surrogate
        )
        assert value == pytest.approx(expected, rel=1e-6)
        wanted = np.zeros(20)
        wanted[labels.numpy()], wanted[~labels.numpy()] = by_p, by_q
        np.testing.assert_allclose(gradient.numpy(), wanted, rtol=1e-5, atol=1e-9)
        seen[True] += p
        seen[False] += q
    assert 2 < lacked < 13
    negatives, positives = loss.recent.of(0)
    assert sorted(negatives) == pytest.approx(sorted(seen[False][-50:]))
    assert sorted(positives) == pytest.approx(sorted(seen[True][-50:]))


@pytest.mark.parametrize("balanced", [True, False])
def test_steps_are_on_average_the_data_set_s(balanced: bool) -> None:
    """Small batches whose memory holds every score: their mean is about the full gradient."""
    scores, y = data(1000, share=0.05)
    value, wanted = call(PartialAUCLoss(LOW, HIGH), scores, y)
    filled = PartialAUCLoss(LOW, HIGH, memory=1000)
    call(filled, scores, y)
    rng = np.random.default_rng(0)
    if not balanced:  # as after many batches of 20, not all of which had a positive
        lacking = math.comb(int((~y).sum()), 20) / math.comb(1000, 20)
        assert 0.2 < lacking < 0.5
        filled.recent.calls[0] = torch.tensor([10**6, int(10**6 * (1 - lacking))])
        filled.recent.all_calls.fill_(10**6)
    classes = [torch.where(y == k)[0].numpy() for k in (True, False)]
    total, found, count = torch.zeros(1000), [], 1500
    for _ in range(count):
        if balanced:
            rows = np.concatenate([rng.choice(c, 8, replace=False) for c in classes])
        else:
            rows = rng.choice(1000, 20, replace=False)
        part, gradient = call(copy.deepcopy(filled), scores[rows], y[rows])
        total[rows] += gradient / count
        found.append(part)
    assert np.mean(found) == pytest.approx(value, rel=0.07)
    for members in (y, ~y):  # each class's pull on its own, in length and direction
        mean, full = total[members], wanted[members]
        assert torch.nn.functional.cosine_similarity(mean, full, dim=0) > 0.9
        assert mean.sum() == pytest.approx(full.sum().item(), rel=0.07)


def test_true_positive_rates_are_the_exchanged_problem() -> None:
    by_tpr = PartialAUCLoss(tpr_low=0.6, tpr_high=0.9, memory=64)
    exchanged = PartialAUCLoss(0.1, 0.4, memory=64)
    for seed in range(3):
        scores, y = data(60, seed)
        value, gradient = call(by_tpr, scores, y)
        other, slopes = call(exchanged, -scores, ~y)
        assert value == pytest.approx(other)
        torch.testing.assert_close(gradient, -slopes)
    by_tpr.eval()
    value, gradient = call(by_tpr, scores, y)
    p, q = scores[y].double().numpy(), scores[~y].double().numpy()
    expected, by_p, _ = pauc_loss_grad(p, q, tpr_low=0.6, tpr_high=0.9)
    assert value == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(gradient[y].numpy(), by_p, rtol=1e-5, atol=1e-9)
    with pytest.raises(ValueError, match="got 0 positives and 5 negatives"):
        by_tpr(scores[~y][:5], y[~y][:5])


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
    assert moved.recent.scores.dtype == torch.float64
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
    assert loss.recent.scores.dtype == torch.float32
    rounded = loss.bfloat16()
    before = rounded.recent.scores.clone()
    call(rounded, scores + 1, y)
    assert not torch.equal(rounded.recent.scores, before)


def test_more_scores_than_places_leave_the_last_ones() -> None:
    scores, y = data(200, share=0.5)
    loss = PartialAUCLoss(LOW, HIGH, memory=30)
    call(loss, scores, y)
    for k in (0, 1):
        assert sorted(loss.recent.of(0)[k]) == sorted(scores[y == k][-30:].tolist())
