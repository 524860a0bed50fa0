"""SOPA, SOPA-s, PAUCI and the exact last layer: printed updates, known answers, learning."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

from baselines.exact_head import ExactHead
from baselines.pauci import FIRST, HIGH, LOW, PAUCI, A, B, G, saddle_slopes
from baselines.sopa import SOPA, SOPAs
from pauc_core.metrics import pauc
from pauc_core.models.descent import batches
from pauc_core.models.head import fit_head
from pauc_core.models.linear import LinearModel
from pauc_core.objective import exact_lam, f_l_grad
from pauc_core.solver import Budget, Part, Problem, solve
from pauc_core.solver.streams import stream
from tests.oracles import (
    adam_as_printed,
    central_difference,
    pauci_value,
    sopa_gradient,
    sopa_s_gradient,
)
from tests.problems import linear_problem, picture_problem

LOSSES = ("squared_hinge", "logistic")
SIZES = {"positives": 5, "negatives": 9}
SADDLE = {"k": 1.0, "m": 8.0, "c": 3.0, "kappa": 2.0, "weight_decay": 1e-2}


def plain_problem(rows: int = 30, high: float = 0.3, step_epochs: float = 1.0) -> Problem:
    """A linear problem without scaling, so that an oracle may read the rows as they are."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((rows, 3))
    y = np.arange(rows) < rows // 3
    part = Part(x + 0.5 * y[:, None], y, np.arange(rows))
    model = LinearModel.fit_scaling(part, "none")
    return Problem(
        train=part, valid=None, model=model, fpr_low=0.0, fpr_high=high, step_epochs=step_epochs
    )


def drawn(task: Problem, rng: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray]]:
    """The rows of each batch of a step."""
    places = batches(task, SIZES["positives"], SIZES["negatives"], rng)
    return [(task.train.positives[pos], task.train.negatives[neg]) for pos, neg in places]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["sopa", "sopa_s"])
def test_each_step_is_the_printed_one(kind: str, loss: str) -> None:
    task = plain_problem(step_epochs=0.9)  # 27 rows: one batch of 14
    x = task.train.x
    if kind == "sopa":
        method: Any = SOPA(lr=0.3, loss=loss, eta_s=0.4, decay_epochs=2, **SIZES)
    else:
        method = SOPAs(lr=0.3, loss=loss, Lambda=0.7, g=0.6, decay_epochs=2, **SIZES)
    state = method.init(task, stream(0, "start"))
    numbers = np.zeros(len(x))
    gradients, lrs = [], []

    def gradient(pos: np.ndarray, neg: np.ndarray) -> Any:
        if kind == "sopa":
            return lambda w: sopa_gradient(x, w, numbers, pos, neg, 0.4, 0.3, loss)
        return lambda w: sopa_s_gradient(x, w, numbers, pos, neg, 0.7, 0.6, loss)

    for t in range(14):
        ((pos, neg),) = drawn(task, stream(0, "step", t))
        gradients.append(gradient(pos, neg))
        lrs.append(0.3 * 10.0 ** -min(int(t * 14 / 30 / 2 + 1e-9), 2))
        state = method.step(task, state, stream(0, "step", t))
    assert lrs[-1] == pytest.approx(0.003)
    expected = adam_as_printed(np.zeros(3), gradients, lrs)
    np.testing.assert_allclose(state.weights["w"], expected, rtol=1e-9)
    kept = state.numbers if kind == "sopa" else np.exp(state.numbers)
    np.testing.assert_allclose(kept, numbers[task.train.positives], rtol=1e-9)
    assert state.epochs == pytest.approx(14 * 14 / 30)


@pytest.mark.parametrize("loss", LOSSES)
def test_sopa_at_the_exact_thresholds_has_the_subgradient_of_f_n(loss: str) -> None:
    rng = np.random.default_rng(2)
    p, q, n = rng.normal(0.5, 1, 7), rng.normal(0, 1, 40), 12
    # Anything between the (n+1)-th and the n-th largest loss minimises (12); pairs above count.
    s = (exact_lam(p, q, n, loss=loss) + exact_lam(p, q, n + 1, loss=loss)) / 2
    method = SOPA(lr=1, loss=loss, eta_s=1, decay_epochs=1, **SIZES)
    found, renewed = method.slopes(p, q, s, n / 40)
    _, grad_pos, grad_neg = f_l_grad(p, q, n, loss=loss)
    np.testing.assert_allclose(found, np.append(grad_pos, grad_neg) / (7 * n), rtol=1e-12)
    # A minimiser stays where it is, but where losses tie at 0, and the count of pairs falls short.
    np.testing.assert_allclose(renewed[s > 0], s[s > 0], rtol=1e-12)
    assert np.count_nonzero(s > 0) >= 5


def test_sopa_s_keeps_its_weights_where_exp_would_overflow() -> None:
    method = SOPAs(lr=1, loss="logistic", Lambda=0.1, g=0.5, decay_epochs=1, **SIZES)
    # The second negative has the largest loss with both positives, 1e5 and 3e5.
    p, q = np.array([1e5, -1e5]), np.array([0.0, 2e5])
    slopes, renewed = method.slopes(p, q, np.array([-np.inf, 0.0]), 0.3)
    # It holds all of the mean of two, and u took g = 1/2 of that: 2 / g = 4, of 4 pairs.
    np.testing.assert_allclose(slopes, [-1.0, -1.0, 0.0, 2.0], atol=1e-12)
    assert np.isfinite(renewed).all()


@pytest.mark.parametrize("accelerated", [True, False])
def test_each_step_of_pauci_is_the_printed_one(accelerated: bool) -> None:
    task = plain_problem()
    x, nu = np.c_[task.train.x, np.ones(len(task.train.x))], 0.8  # an intercept at the end
    method = PAUCI(nu=nu, accelerated=accelerated, **SADDLE, **SIZES)
    state = method.init(task, stream(0, "start"))
    sign = np.append(np.ones(8), -1.0)  # w, a, b, s, lam down; g up
    low, high = np.append(np.full(4, -np.inf), LOW), np.append(np.full(4, np.inf), HIGH)
    z, direction, t = np.append(np.zeros(4), FIRST), np.zeros(9), 0
    for step in range(4):
        for pos, neg in drawn(task, stream(0, "step", step)):

            def gradient(z: np.ndarray, pos: np.ndarray = pos, neg: np.ndarray = neg) -> Any:
                def value(z: np.ndarray) -> float:
                    p, q = (1 / (1 + np.exp(-x[rows] @ z[:4])) for rows in (pos, neg))
                    return pauci_value(p, q, *z[4:], 0.3, 2.0) + 0.005 * z[:4] @ z[:4]

                return central_difference(value, z)

            old, eta = gradient(z), 1 / (8 + t) ** (1 / 3)
            direction = old if t == 0 or not accelerated else direction
            z = z + eta * (np.clip(z - nu * sign * direction, low, high) - z)
            if accelerated:
                direction = gradient(z) + (1 - 3 * eta**2) * (direction - old)
            t += 1
        state = method.step(task, state, stream(0, "step", step))
        np.testing.assert_allclose(state.weights["w"], z[:4], rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(state.scalars, z[4:], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("share", [1.0, 0.25])
def test_pauci_s_saddle_is_the_square_loss_over_the_pairs_in_the_band(share: float) -> None:
    rng = np.random.default_rng(3)
    pos, neg = rng.normal(1, 1, 30), rng.normal(-0.5, 1, 80)
    p, q = 1 / (1 + np.exp(-pos)), np.sort(1 / (1 + np.exp(-neg)))[::-1]
    top = q[: int(share * 80)]
    scalars, down = FIRST.copy(), np.array([1.0, 1.0, 1.0, 1.0, -1.0])
    for t in range(6_000):
        _, slopes = saddle_slopes(pos, neg, scalars, share, kappa=400.0)
        pace = 0.3 / (1 + 0.01 * t)
        scalars = np.clip(scalars - pace * down * slopes, LOW, HIGH)
    assert scalars[A] == pytest.approx(p.mean(), abs=1e-6)
    assert scalars[B] == pytest.approx(top.mean(), abs=2e-3)
    assert scalars[G] == pytest.approx(top.mean() - p.mean(), abs=2e-3)
    pairs = (1 - (p[:, None] - top)) ** 2
    value = pauci_value(p, q, *scalars, share, 400.0)
    assert value == pytest.approx(pairs.mean() - 1, abs=5e-3)
    by_scores_, _ = saddle_slopes(pos, neg, scalars, share, kappa=400.0)
    wanted = -2 * (1 - (p[:, None] - top)).sum(axis=1) / pairs.size * p * (1 - p)
    np.testing.assert_allclose(by_scores_[:30], wanted, atol=2e-4)


METHODS: dict[str, Any] = {
    "sopa": SOPA(
        lr=0.01, loss="squared_hinge", eta_s=0.1, decay_epochs=5, positives=16, negatives=16
    ),
    "sopa_s": SOPAs(
        lr=0.01, loss="logistic", Lambda=1, g=0.9, decay_epochs=5, positives=16, negatives=16
    ),
    "pauci": PAUCI(nu=10, accelerated=True, positives=16, negatives=16, **SADDLE),
    "pauci_plain": PAUCI(nu=10, accelerated=False, positives=16, negatives=16, **SADDLE),
}


@pytest.mark.parametrize("name", sorted(METHODS))
@pytest.mark.parametrize("kind", ["linear", "module"])
def test_each_rival_learns(name: str, kind: str) -> None:
    task, test = linear_problem() if kind == "linear" else picture_problem()
    torch.set_num_threads(1)
    result = solve(METHODS[name], task, Budget(epochs=12), [4, 12], seed=0, name=name, test=test)
    assert result.best is not None
    assert result.best.row["pauc_test"] > {"linear": 0.5, "module": 0.8}[kind]


def test_the_exact_head_trains_then_refits_its_last_layer_alone() -> None:
    task, _ = picture_problem(rows=160)
    task = dataclasses.replace(task, step_epochs=1.0)
    method = ExactHead(lr=0.0001, decay_epochs=5, batch=32, train_epochs=2)
    state = method.init(task, stream(0, "start"))
    for step in range(2):
        state = method.step(task, state, stream(0, "step", step))
    assert state.epochs == 2.0
    before = {name: value.clone() for name, value in state.weights.items()}
    assert np.isnan(state.gain)
    state = method.step(task, state, stream(0, "step", 2))
    assert state.finished
    assert state.epochs == 3.0
    changed = {name for name in before if not torch.equal(before[name], state.weights[name])}
    assert task.valid is not None

    def area(weights: Any) -> float:
        scores = task.model.scores(weights, task.valid)
        return pauc(task.valid.labels, scores, fpr_low=0.05, fpr_high=0.5)

    assert changed <= {"classifier.weight", "classifier.bias"}
    assert changed
    assert area(state.weights) - area(before) == pytest.approx(state.gain, abs=1e-9)
    assert state.gain > 0
    # By hand: the validation rows choose, and are not fitted.
    network = task.model.module
    network.load_state_dict(before)
    network.eval()
    parts = [
        network.pooled(task.model.batch(part.x, part.rows, stream(0, "none"), train=False))
        for part in (task.train, task.valid)
    ]
    fit = fit_head(
        torch.cat(parts).detach().numpy(),
        np.append(task.train.labels, task.valid.labels),
        np.arange(len(task.train) + len(task.valid)) >= len(task.train),
        before["classifier.weight"][0].double().numpy(),
        0.05,
        0.5,
        refit=False,
    )
    found = state.weights["classifier.weight"][0].numpy()
    np.testing.assert_allclose(found, fit.weights, atol=2e-4)
