"""AGD-SBCD over torch modules: equal to the linear kernel, usable alone, fresh statistics."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import nn

from pauc_core.agd_sbcd import AGDSBCD
from pauc_core.agd_sbcd.compiled import Calls, Draws, Steps, sbcd_block
from pauc_core.agd_sbcd.networks import ModuleSBCD, refresh_batch_norm
from pauc_core.agd_sbcd.pairs import PairRows
from pauc_core.models.module import ModuleModel
from pauc_core.solver import Budget, Part, Problem, solve
from pauc_core.solver.samples import draw


class LinearScores(nn.Module):
    def __init__(self, width: int, dtype: torch.dtype) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(width, dtype=dtype))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.weight


def small_network(norm: bool = True) -> nn.Module:
    layers = [nn.Linear(6, 8), nn.BatchNorm1d(8)] if norm else [nn.Linear(6, 8)]
    return nn.Sequential(*layers, nn.ReLU(), nn.Linear(8, 1))


def toy(n: int = 240, width: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    y = rng.random(n) < 0.25
    x = rng.standard_normal((n, width)).astype(np.float32)
    x[y] += 0.7
    return x, y


def module_problem(module: nn.Module, **more: object) -> Problem:
    x, y = toy()
    part = Part(x, y, np.arange(len(x)))
    fields = {"fpr_low": 0.1, "fpr_high": 0.6, **more}
    return Problem(train=part, valid=part, model=ModuleModel(module, device="cpu"), **fields)


@pytest.mark.parametrize(("dtype", "close"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
@pytest.mark.parametrize("m", [0, 3])
def test_linear_module_equals_the_kernel(dtype: torch.dtype, close: float, m: int) -> None:
    x, y = toy()
    x = x.astype(np.float64 if dtype is torch.float64 else np.float32)
    pos, neg = np.flatnonzero(y), np.flatnonzero(~y)
    rng = np.random.default_rng(0)
    mu, gamma, c, T = 2.0, 3.0, 0.7, 3
    sbcd = ModuleSBCD(
        LinearScores(6, dtype),
        n_pos=len(pos),
        n_neg=len(neg),
        band=(m, 70),
        mu=mu,
        gamma=gamma,
        c=c,
        T=T,
    )
    rows = PairRows(
        x=x,
        pos_rows=pos,
        neg_rows=neg,
        signs=np.ones(len(neg)),
        center=np.zeros(6),
        scale=np.ones(6),
    )
    w, lam = np.zeros(6), np.zeros((2, len(pos)))
    for k in range(3):
        count = T * (k + 1) ** 2
        calls = Calls(
            v=np.stack([w, w]),
            v_sum=np.zeros((2, 6)),
            lam=lam,
            drift=np.zeros_like(lam),
        )
        pos_draws, neg_draws = draw(rng, len(pos), 8, count), draw(rng, len(neg), 9, count)
        live = slice(0 if m else 1, 2)
        part = Calls(**{name: value[live] for name, value in calls._asdict().items()})
        steps = Steps(eta=c / (k + 1), theta=c / (k + 1), mu=mu)
        share = np.array([m, 70])[live] / len(neg)
        sbcd_block(rows, part, w, share, steps, Draws(pos_draws, neg_draws), t=0)
        for i, j in zip(pos_draws, neg_draws, strict=True):
            sbcd.step(i, torch.from_numpy(x[pos[i]]), torch.from_numpy(x[neg[j]]))
        v_bar = calls.v_sum / count
        if not m:
            v_bar[0] = w
        lam = lam - calls.drift / count
        w = w - gamma / mu * (v_bar[0] - v_bar[1])
        np.testing.assert_allclose(sbcd.state.v_bar.double().numpy(), v_bar, atol=close)
        np.testing.assert_allclose(sbcd.state.lam.numpy(), lam, atol=close)
        np.testing.assert_allclose(sbcd.state.w.double().numpy(), w, atol=close)
    assert (sbcd.state.k, sbcd.state.t) == (3, 0)


def test_a_loop_of_ones_own_lowers_the_loss() -> None:
    x, y = toy()
    positives, negatives = torch.from_numpy(x[y]), torch.from_numpy(x[~y])
    torch.manual_seed(0)
    network = small_network()
    before = copy.deepcopy(network.state_dict())
    sbcd = ModuleSBCD(
        network,
        n_pos=len(positives),
        n_neg=len(negatives),
        fpr_low=0.1,
        fpr_high=0.6,
        mu=1.0,
        gamma=2.0,
        c=0.3,
        T=10,
    )
    rng = np.random.default_rng(0)
    for _ in range(300):
        i = rng.choice(len(positives), 16, replace=False)
        j = rng.choice(len(negatives), 16, replace=False)
        sbcd.step(i, positives[i], negatives[j])
    scorer = sbcd.averaged([torch.from_numpy(x)])
    with torch.no_grad():
        gap = scorer(positives).mean() - scorer(negatives).mean()
    assert gap > 0.5
    assert not scorer.training
    for name, value in network.state_dict().items():
        if "running" not in name and "tracked" not in name:
            assert torch.equal(value, before[name]), name


def test_refreshed_statistics_are_those_of_the_batches() -> None:
    torch.manual_seed(1)
    network = small_network()
    batches = [torch.randn(32, 6) + 2.0 for _ in range(5)]
    momentum = network[1].momentum
    refresh_batch_norm(network.eval(), batches)
    hidden = [network[0](batch) for batch in batches]
    mean = torch.stack([h.mean(0) for h in hidden]).mean(0)
    variance = torch.stack([h.var(0) for h in hidden]).mean(0)
    torch.testing.assert_close(network[1].running_mean, mean)
    torch.testing.assert_close(network[1].running_var, variance)
    assert network[1].momentum == momentum
    assert not network.training
    unchanged = network[1].running_mean.clone()
    refresh_batch_norm(network, [])
    assert torch.equal(network[1].running_mean, unchanged)


@pytest.mark.parametrize("samples", ["shared", "separate"])
@pytest.mark.parametrize("goal", ["pauc", "sorr"])
def test_network_learns_and_resumes_with_the_same_bits(samples: str, goal: str) -> None:
    problem = module_problem(small_network(), goal=goal)
    method = AGDSBCD(mu=1.0, gamma=1.0, c=0.3, T=7, I=16, J=16, samples=samples, refresh=4)
    state = method.init(problem, np.random.default_rng(0))
    for step in range(3):
        state = method.step(problem, state, np.random.default_rng(step))
    assert state.t > 0  # in the middle of an inner loop
    saved = copy.deepcopy(state)
    for step in range(3, 6):
        state = method.step(problem, state, np.random.default_rng(step))
    for step in range(3, 6):
        saved = method.step(problem, saved, np.random.default_rng(step))
    assert (saved.k, saved.t, saved.epochs) == (state.k, state.t, state.epochs)
    for which, iterate in state.iterates().items():
        for name, value in iterate.items():
            assert torch.equal(value, saved.iterates()[which][name]), (which, name)
    assert torch.equal(state.lam, saved.lam)


@pytest.mark.parametrize(("samples", "together"), [("shared", True), ("separate", False)])
def test_the_calls_of_a_network_share_their_samples_or_not(
    samples: str, together: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[int, list[torch.Tensor]] = {0: [], 1: []}
    descend = ModuleSBCD.descend

    def watch(self: ModuleSBCD, call: int, index: np.ndarray, x: torch.Tensor, *more: object):
        seen[call].append(x.clone())
        descend(self, call, index, x, *more)

    monkeypatch.setattr(ModuleSBCD, "descend", watch)
    problem = module_problem(small_network(norm=False))
    method = AGDSBCD(mu=1.0, gamma=1.0, c=0.3, T=7, I=16, J=16, samples=samples)
    method.step(problem, method.init(problem, np.random.default_rng(0)), np.random.default_rng(0))
    pairs = list(zip(seen[0], seen[1], strict=True))
    assert pairs
    assert all(torch.equal(m, n) == together for m, n in pairs)


def test_scored_network_has_the_statistics_of_training_batches() -> None:
    problem = module_problem(small_network())
    method = AGDSBCD(mu=1.0, gamma=1.0, c=0.3, T=7, I=16, J=16, refresh=6)
    state = method.init(problem, np.random.default_rng(0))
    state = method.step(problem, state, np.random.default_rng(0))
    for iterate in state.iterates().values():
        assert int(iterate["1.num_batches_tracked"]) == 6
    # I + J rows of every inner iteration forward and back in both calls, then the refreshing
    # batches forward for both iterates.
    count = round(state.epochs * len(problem.train) / 32)
    assert problem.model.work.rows == 2 * 2 * 32 * count + 2 * 6 * 32


def test_solve_improves_a_network() -> None:
    problem = module_problem(small_network(norm=False), step_epochs=1.0)
    method = AGDSBCD(mu=1.0, gamma=2.0, c=0.5, T=10, I=16, J=16)
    result = solve(method, problem, Budget(epochs=20), [5.0, 20.0], seed=0)
    first, last = result.trace.rows[0], result.trace.rows[-1]
    assert last["objective"] < first["objective"]
    assert last["pauc_train"] > 0.75


def test_frozen_weights_stay() -> None:
    network = small_network()
    network[0].weight.requires_grad_(False)
    problem = module_problem(network)
    method = AGDSBCD(mu=1.0, gamma=1.0, c=0.5, T=7, I=16, J=16)
    state = method.init(problem, np.random.default_rng(0))
    before = state.iterates()["scored"]["0.weight"].clone()
    state = method.step(problem, state, np.random.default_rng(0))
    assert torch.equal(state.iterates()["scored"]["0.weight"], before)
    assert not torch.equal(state.iterates()["scored"]["3.weight"], before)
