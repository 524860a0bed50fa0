"""MB, CE and AUC-M on networks: formulas, known answers; all four: learning, resuming."""

from __future__ import annotations

import copy
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from baselines.auc_margin import AUCMargin, margin_loss
from baselines.cross_entropy import CrossEntropy
from baselines.minibatch import Minibatch, batch_ranks
from pauc_core.agd_sbcd import AGDSBCD
from pauc_core.models.batches import batches_in_step, draw_both
from pauc_core.models.module import ModuleModel
from pauc_core.models.networks import build
from pauc_core.solver import Budget, Part, Problem, solve
from pauc_core.solver.streams import stream
from pauc_core.suite.checkpoint import FileKeeper

CHANCE = 0.275  # pAUC in [0.05, 0.5] of scores that know nothing
METHODS: dict[str, Any] = {
    "agd_sbcd": AGDSBCD(mu=1000, gamma=1000, c=1, T=50, I=16, J=16),
    "minibatch": Minibatch(lr=0.3),
    "cross_entropy": CrossEntropy(lr=5e-3, decay_epochs=5),
    "auc_margin": AUCMargin(lr=0.2, gamma=500.0, decay_epochs=5),
}


@pytest.fixture(autouse=True)
def _one_thread() -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)
    torch.set_num_threads(before)


def bars(rows: int, seed: int, share: float = 0.15) -> Part:
    """Noisy grey pictures with a faint bar: lying in the positives, standing in the negatives."""
    rng = np.random.default_rng(seed)
    y = rng.random(rows) < share
    x = rng.integers(60, 160, (rows, 1, 16, 16))
    for picture, lying in zip(x, y, strict=True):
        place = rng.integers(2, 12)
        bar = picture if lying else picture.transpose(0, 2, 1)
        bar[:, place : place + 3] += 70
    return Part(x.astype(np.uint8), y, np.arange(rows))


def problem(rows: int = 600, **more: Any) -> Problem:
    return Problem(
        train=bars(rows, 0),
        valid=bars(300, 1),
        model=ModuleModel(build("small", 1), "affine", "cpu"),
        fpr_low=0.05,
        fpr_high=0.5,
        **more,
    )


def linear_problem(x: np.ndarray, y: np.ndarray) -> Problem:
    part = Part(x, y, np.arange(len(x)))
    model = ModuleModel(nn.Linear(x.shape[1], 1, bias=False).double(), device="cpu")
    return Problem(train=part, valid=None, model=model, fpr_low=0.05, fpr_high=0.5, step_epochs=1)


def test_ranks_within_a_batch_of_16_negatives() -> None:
    # ceil(0.05 * 16) + 1 = 2 to floor(0.5 * 16) = 8: one negative is left out at the top.
    assert batch_ranks(16, (0.05, 0.5)) == (1, 8)
    assert batch_ranks(20, (0.05, 0.5)) == (1, 10)
    assert batch_ranks(100, (0.07, 0.29)) == (7, 29)  # products that miss a whole number
    assert batch_ranks(16, (0.0, 1.0)) == (0, 16)
    with pytest.raises(ValueError, match="has no rank in the band"):
        batch_ranks(16, (0.05, 0.1))


def test_minibatch_moves_by_the_mean_over_the_pairs_in_the_band() -> None:
    rng = np.random.default_rng(2)
    x = rng.standard_normal((20, 3))
    y = np.arange(20) < 4
    task = linear_problem(x, y)
    method = Minibatch(lr=0.7, positives=4, negatives=16)
    state = method.init(task, stream(0, "start"))
    w = state.weights["weight"][0].numpy().copy()
    for t in (1, 2):
        state = method.step(task, state, stream(0, "step", t))
        scores = x @ w
        ranked = np.flatnonzero(~y)[np.argsort(-scores[~y])]
        gradient = np.zeros(3)
        for i, j in itertools.product(np.flatnonzero(y), ranked[1:8]):
            gradient += (x[j] - x[i]) / (1 + np.exp(scores[i] - scores[j])) / (4 * 7)
        w = w - 0.7 / np.sqrt(t) * gradient
        np.testing.assert_allclose(state.weights["weight"][0].numpy(), w, rtol=1e-10)
    assert state.epochs == 2
    assert task.model.work.rows == 2 * 40


def test_cross_entropy_is_torch_s_adam_on_natural_batches() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((24, 3)), rng.random(24) < 0.3
    task = linear_problem(x, y)
    method = CrossEntropy(lr=0.1, decay_epochs=2, batch=24)
    state = method.init(task, stream(0, "start"))
    w = state.weights["weight"].clone().requires_grad_()
    adam = torch.optim.Adam([w], lr=0.1)
    for epoch in range(5):
        adam.param_groups[0]["lr"] = 0.1 * 10.0 ** -(epoch // 2)
        adam.zero_grad()
        logits = (torch.from_numpy(x) @ w.T).squeeze(-1)
        nn.functional.binary_cross_entropy_with_logits(logits, torch.from_numpy(y * 1.0)).backward()
        adam.step()
        state = method.step(task, state, stream(0, "step", epoch))
        np.testing.assert_allclose(state.weights["weight"], w.detach(), rtol=1e-9)


def test_natural_batches_take_every_row_once_a_pass() -> None:
    task = problem(64, step_epochs=0.25)
    method = CrossEntropy(lr=1e-3, decay_epochs=5, batch=16)
    state = method.init(task, stream(0, "start"))
    seen: list[int] = []
    for step in range(4):
        place = state.place
        state = method.step(task, state, stream(0, "step", step))
        seen += state.order[place : state.place].tolist()
    assert sorted(seen) == list(range(64))
    assert state.epochs == 1.0


def test_a_batch_for_both_classes_never_lacks_one() -> None:
    part = bars(400, 4, share=0.01)
    assert 0 < len(part.positives) < 16
    for trial in range(50):
        pos, neg = draw_both(part, 16, 16, stream(0, trial))
        assert part.y[pos].all()
        assert not part.y[neg].any()
        assert len(set(pos)) == len(part.positives)
        assert len(set(neg)) == 16


def test_steps_stay_within_their_share_of_an_epoch() -> None:
    assert batches_in_step(problem(640, step_epochs=0.25), 32) == 5
    assert batches_in_step(problem(630, step_epochs=0.25), 32) == 4
    assert batches_in_step(problem(640, step_epochs=0.001), 32) == 1


def test_margin_gradients_against_finite_differences() -> None:
    generator = torch.Generator().manual_seed(0)
    pos = torch.rand(5, generator=generator, dtype=torch.float64)
    neg = torch.rand(7, generator=generator, dtype=torch.float64)
    a, b, alpha = (torch.tensor(v, dtype=torch.float64) for v in (0.3, 0.6, 0.4))
    inputs = tuple(t.requires_grad_() for t in (pos, neg, a, b, alpha))
    assert torch.autograd.gradcheck(lambda *args: margin_loss(*args, margin=1.0), inputs)


def test_margin_loss_at_its_saddle_is_the_spread_plus_the_squared_shortfall() -> None:
    """With a, b the class means and alpha the shortfall, the loss is its own known closed form."""
    pos, neg = torch.tensor([0.9, 0.5]), torch.tensor([0.2, 0.4, 0.0])
    a, b = pos.mean(), neg.mean()
    short = 1.0 + b - a
    found = margin_loss(pos, neg, a, b, short, margin=1.0)
    wanted = pos.var(unbiased=False) + neg.var(unbiased=False) + short**2
    torch.testing.assert_close(found, wanted)


def _fixed_scores(margin: float, steps: int) -> Any:
    """AUC-M where features are 0, so that every output is 1/2 whatever the weights."""
    task = linear_problem(np.zeros((8, 2)), np.arange(8) < 3)
    method = AUCMargin(
        lr=0.1, gamma=100.0, decay_epochs=1e9, margin=margin, positives=3, negatives=5
    )
    state = method.init(task, stream(0, "start"))
    for step in range(steps):
        state = method.step(task, state, stream(0, "step", step))
    return state


def test_margin_scalars_reach_the_known_saddle() -> None:
    # Stationary with the proximal pull to 0: 2 (a - 1/2) + a / 100 = 0, and alpha = margin.
    own = _fixed_scores(margin=1.0, steps=200).own()
    assert own["a"] == pytest.approx(1 / 2.01, abs=1e-9)
    assert own["b"] == pytest.approx(1 / 2.01, abs=1e-9)
    assert own["alpha"] == pytest.approx(1.0, abs=1e-9)
    assert _fixed_scores(margin=-1.0, steps=3).own()["alpha"] == 0.0


def test_margin_learns_no_wider_gap_than_its_margin() -> None:
    # One weight, x = 1 or -1: outputs differ by tanh(w / 2); nothing is left to gain at 1/2.
    x = np.where(np.arange(10) < 4, 1.0, -1.0)[:, None]
    task = linear_problem(x, np.arange(10) < 4)
    method = AUCMargin(lr=0.15, gamma=1e6, decay_epochs=1e9, margin=0.5, positives=4, negatives=6)
    state = method.init(task, stream(0, "start"))
    for step in range(400):
        state = method.step(task, state, stream(0, "step", step))
    gap = np.tanh(state.weights["weight"].item() / 2)
    own = state.own()
    assert gap == pytest.approx(0.5, abs=0.03)
    assert own["alpha"] == pytest.approx(0.0, abs=1e-3)
    assert own["a"] - own["b"] == pytest.approx(gap, abs=1e-3)


def test_margin_stages_renew_reference_and_rate() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal((20, 3)), np.arange(20) < 10
    task = linear_problem(x, y)
    method = AUCMargin(lr=0.5, gamma=10.0, decay_epochs=3, positives=10, negatives=10)
    state = method.init(task, stream(0, "start"))
    start = state.weights["weight"].clone()
    path = []
    for step in range(4):
        assert torch.equal(state.reference["weight"], start)
        state = method.step(task, state, stream(0, "step", step))
        path.append(state.weights["weight"].clone())
        if step == 2:
            start = torch.stack(path).mean(0)  # the reference that the next stage begins with
            state_at_end = copy.deepcopy(state)
            method._renew(state_at_end, 1)
            torch.testing.assert_close(state_at_end.reference["weight"], start)
            start = state.reference["weight"].clone()
    torch.testing.assert_close(state.reference["weight"], torch.stack(path[:3]).mean(0))
    assert state.stage == 1
    first, later = (path[1] - path[0]).norm(), (path[3] - path[2]).norm()
    assert later < 0.3 * first


@pytest.mark.parametrize("name", sorted(METHODS))
def test_each_method_lifts_a_small_network_above_chance(name: str) -> None:
    task = problem()
    result = solve(
        METHODS[name], task, Budget(epochs=6), [3, 6], seed=0, name=name, test=bars(300, 2)
    )
    assert result.outcome == "budget"
    assert result.best is not None
    assert abs(result.trace.rows[0]["pauc_test"] - CHANCE) < 0.2
    assert result.best.row["pauc_test"] > 0.75


@pytest.mark.parametrize("name", sorted(METHODS))
def test_resumed_equals_uninterrupted(name: str, tmp_path: Path) -> None:
    task = problem(160, step_epochs=0.5)
    method = METHODS[name]
    whole = solve(method, task, Budget(steps=6), [1, 2, 3], seed=1, name=name)
    for steps in (3, 6):
        keeper = FileKeeper(tmp_path / "progress.npz", seconds=0.0)
        again = solve(
            method, task, Budget(steps=steps), [1, 2, 3], seed=1, name=name, keeper=keeper
        )
    one, two = whole.state.iterates()["scored"], again.state.iterates()["scored"]
    assert isinstance(one, dict)
    assert isinstance(two, dict)
    assert all(torch.equal(one[key], two[key]) for key in one)
    assert again.trace.rows[-1]["objective"] == whole.trace.rows[-1]["objective"]
    assert again.seconds > 0


@pytest.mark.parametrize("name", sorted(METHODS))
def test_same_start_for_all_and_no_global_randomness(name: str) -> None:
    task = problem(64)
    torch.manual_seed(0)
    before = torch.get_rng_state()
    state = METHODS[name].init(task, stream(7, "start"))
    shared = task.model.start(stream(7, "start"))
    assert isinstance(shared, dict)
    start = state.iterates()["scored"]
    assert all(torch.equal(start[key], shared[key]) for key in shared)
    METHODS[name].step(task, state, stream(7, "step", 0))
    assert torch.equal(torch.get_rng_state(), before)
