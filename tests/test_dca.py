"""DCA as Algorithm 4 prints it, proximal or not, and DCA as Hu et al. released it."""

import dataclasses

import numpy as np
import pytest
from scipy.optimize import minimize

from baselines.dca import DCA
from baselines.dca_exact import DCAExact
from pauc_core.models.full_gradient import range_loss_grad
from pauc_core.models.linear import LinearModel
from pauc_core.objective import f_l
from pauc_core.solver import Budget, Outcome, Part, Problem, solve
from pauc_core.solver.samples import draw
from pauc_core.solver.streams import stream
from tests.oracles import central_difference, dca_as_released, dca_inner_as_printed


def problem(rows=200, d=4, seed=0, scaling="standardise", **settings):
    rng = np.random.default_rng(seed)
    y = rng.random(rows) < 0.3
    x = rng.normal(size=(rows, d)) + 1 + 0.7 * y[:, None]
    part = Part(x, y, np.arange(rows))
    settings = {"valid": None, "fpr_low": 0.1, "fpr_high": 0.6, **settings}
    return Problem(train=part, model=LinearModel.fit_scaling(part, scaling), **settings)


def sorr(**settings):
    return problem(goal="sorr", fpr_low=None, fpr_high=None, m=20, n=120, **settings)


def optimum(prob, start):
    """L-BFGS on the exact objective."""
    found = minimize(
        lambda w: range_loss_grad(prob, w, *prob.ranks),
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 2000, "ftol": 1e-14, "gtol": 1e-10},
    )
    return found.fun


@pytest.mark.parametrize("loss", ["logistic", "sigmoid", "squared_hinge"])
@pytest.mark.parametrize("L", [0.0, 3.0])
def test_inner_loop_is_algorithm_4_in_the_papers_units(loss, L):
    prob = problem(scaling="none", loss=loss, step_epochs=3.0)
    x, y = prob.train.x, prob.train.y
    n_pos, n_neg = int(y.sum()), int((~y).sum())
    pairs, (m, n) = n_pos * n_neg, prob.ranks
    method = DCA(c=0.3, C=25, I=7, J=11, policy="constant", L=L * pairs, units="paper")
    state = method.init(prob, stream(0, "start"))
    state.w = np.random.default_rng(1).normal(size=x.shape[1])
    state.lam = np.random.default_rng(2).uniform(0, 1.2, n_pos)
    start, lam = state.w.copy(), state.lam.copy()
    state = method.step(prob, state, stream(0, "step"))
    assert (state.k, state.t) == (1, 0)

    rng = stream(0, "step")
    draws = draw(rng, n_pos, 7, 25), draw(rng, n_neg, 11, 25)
    xi = central_difference(lambda w: f_l(x[y] @ w, x[~y] @ w, m, loss=loss), start)
    np.testing.assert_allclose(state.xi * pairs, xi, rtol=1e-5, atol=1e-6 * np.abs(xi).max())
    steps = 0.3 / pairs, 0.3 / n_neg
    w, lam = dca_inner_as_printed(
        x, y, start, lam, state.xi * pairs, n, steps, draws, start, L * pairs, loss
    )
    np.testing.assert_allclose(state.w, w, rtol=1e-9)
    np.testing.assert_allclose(state.lam, lam, rtol=1e-9, atol=1e-12)


def test_sorr_subgradient_is_that_of_the_largest_losses():
    prob = sorr()
    w = np.random.default_rng(3).normal(size=4)

    def top(v):
        return np.sort(prob.row_losses(prob.train, prob.model.scores(v, prob.train)))[-20:].mean()

    value, gradient = range_loss_grad(prob, w, 0, 20)
    assert value == pytest.approx(top(w))
    np.testing.assert_allclose(gradient, central_difference(top, w), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("make", [problem, sorr])
def test_convex_case_comes_within_a_hundredth_of_the_optimum(make):
    prob = make(rows=1000)
    band = {"fpr_low": 0.0} if prob.goal == "pauc" else {"m": 0, "n": 600}
    prob = dataclasses.replace(prob, **band)
    method = DCA(c=2.0, C=50, I=30, J=30, policy="changing")
    result = solve(method, prob, Budget(epochs=400), [], seed=0)
    best = optimum(prob, np.zeros(4))
    assert best <= result.last.row["objective"] <= 1.01 * best


@pytest.mark.parametrize("make", [problem, sorr])
@pytest.mark.parametrize("L", [0.0, 0.1])
def test_full_samples_descend_to_a_critical_point(make, L):
    prob = make(step_epochs=1e9)
    method = DCA(c=0.2, C=1500, I=10**6, J=10**6, policy="constant", L=L, lam_start="quantile")
    rng = stream(0, "unused")
    state = method.init(prob, rng)
    values = []
    for _ in range(10):
        values.append(prob.objective(prob.model.scores(state.w, prob.train)))
        state = method.step(prob, state, rng)
    assert state.k == 10
    fall = values[0] - min(values)
    assert fall > 0.02 * values[0]
    assert np.all(np.diff(values) <= 0.01 * fall)
    assert values[-1] <= 1.02 * optimum(prob, state.w)


def test_proximal_term_holds_back_and_the_papers_unit_is_nothing():
    prob = problem(rows=1000)
    moved = {}
    for L, units in ((0.0, "normalised"), (1.0, "paper"), (1.0, "normalised"), (1e6, "normalised")):
        method = DCA(c=0.5, C=60, I=20, J=20, policy="changing", L=L, units=units)
        result = solve(method, prob, Budget(steps=5), [], seed=0)
        moved[L, units] = result.state.w
    plain = moved[0.0, "normalised"]
    np.testing.assert_allclose(moved[1.0, "paper"], plain, rtol=1e-3)
    assert np.linalg.norm(moved[1.0, "normalised"]) < 0.8 * np.linalg.norm(plain)
    assert np.linalg.norm(moved[1e6, "normalised"]) < 1e-4


def test_the_proximal_centre_stays_while_an_outer_step_spans_several_steps():
    prob = problem(rows=1000, step_epochs=0.05)
    method = DCA(c=0.5, C=40, I=20, J=20, policy="constant", L=0.5)
    rng = stream(0, "steps")
    state = method.step(prob, method.init(prob, rng), rng)
    centre, moved = state.start.copy(), state.w.copy()
    assert 0 < state.t < 40
    assert np.linalg.norm(moved - centre) > 0.01
    while state.t:
        np.testing.assert_array_equal(state.start, centre)
        w, lam, t = state.w.copy(), state.lam.copy(), state.t
        draws_rng = stream(1, "draws", t)
        state = method.step(prob, state, stream(1, "draws", t))
        I, J, count = 20, 20, (state.t or 40) - t
        y = prob.train.labels
        x = (prob.train.x[prob.train.rows] - prob.model.center) / prob.model.scale
        n_pos, n_neg = int(y.sum()), int((~y).sum())
        draws = draw(draws_rng, n_pos, I, count), draw(draws_rng, n_neg, J, count)
        pairs = n_pos * n_neg
        expected, _ = dca_inner_as_printed(
            x, y, w, lam, state.xi * pairs, prob.ranks[1], (0.5 / pairs, 0.5 / n_neg), draws,
            centre, 0.5 * pairs, prob.loss,
        )  # fmt: skip
        np.testing.assert_allclose(state.w, expected, rtol=1e-6, atol=1e-9)


def test_epochs_count_samples_once_and_each_subgradient_as_one():
    prob = problem(step_epochs=0.25)
    method = DCA(c=0.1, C=7, I=5, J=15, policy="changing")
    rng = stream(0, "steps")
    state = method.init(prob, rng)
    steps = 0
    while state.k < 3:
        before = state.epochs
        fresh = state.t == 0
        state = method.step(prob, state, rng)
        assert state.epochs - before <= 0.25 + fresh + 1e-12
        steps += 1
    inner = 7 * (1 + 4 + 9)
    assert state.epochs == pytest.approx(3 + inner * 20 / 200)
    assert prob.model.work.rows == 2 * (3 * 200 + inner * 20)
    assert steps == sum(-(-7 * (k + 1) ** 2 // 2) for k in range(3))
    free = dataclasses.replace(prob, fpr_low=0.0)
    state = method.step(free, method.init(free, rng), rng)
    assert state.epochs == pytest.approx(2 * 20 / 200)


def test_sorr_counts_rows_without_positives():
    prob = sorr(step_epochs=0.5)
    method = DCA(c=0.1, C=100, I=1, J=25, policy="constant")
    rng = stream(0, "steps")
    state = method.step(prob, method.init(prob, rng), rng)
    assert (state.t, state.epochs, prob.model.work.rows) == (4, 1.5, 600)


def test_a_step_out_of_all_bounds_ends_as_nonfinite():
    prob = problem(loss="squared_hinge", step_epochs=5.0)
    method = DCA(c=1e6, C=100, I=50, J=50, policy="constant")
    with np.errstate(all="ignore"):
        result = solve(method, prob, Budget(epochs=1e4), [], seed=0)
    assert result.outcome is Outcome.NONFINITE


@pytest.mark.parametrize(
    "wrong", [{"policy": "falling"}, {"units": "si"}, {"L": -1.0}, {"C": 0}, {"lam_start": "one"}]
)
def test_wrong_settings_are_refused(wrong):
    settings = {"c": 1.0, "C": 10, "I": 5, "J": 5, "policy": "changing", **wrong}
    with pytest.raises(ValueError, match="DCA"):
        DCA(**settings)


@pytest.mark.parametrize("held_out", [True, False])
def test_released_dca_step_by_step(held_out):
    prob = sorr(scaling="none")
    other = problem(rows=80, seed=9, scaling="none").train
    prob = dataclasses.replace(prob, valid=other if held_out else None)
    valid = other if held_out else prob.train
    method = DCAExact(outer=3, inner=40, step_size=0.5)
    rng = stream(0, "start")
    state = method.init(prob, rng)
    passed = dca_as_released(
        prob.train.x, prob.train.y, valid.x, valid.y, state.w, 20, 120, 3, 40, 0.5
    )
    for expected in passed:
        assert not state.finished
        state = method.step(prob, state, rng)
        np.testing.assert_allclose(state.w, expected, rtol=1e-9, atol=1e-12)
    assert state.finished
    assert state.epochs == 3 + 120
    assert prob.model.work.rows == 2 * (3 + 120) * 200 + 120 * len(valid)
