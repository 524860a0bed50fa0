"""AGD-SBCD on linear problems: proximal points, the outer loop, state, and bad input."""

from __future__ import annotations

import dataclasses
import math
import pickle

import numpy as np
import pytest

from baselines.exact_lbfgs import ExactLBFGS, value_and_gradient
from pauc_core.agd_sbcd import AGDSBCD, AGDState
from pauc_core.agd_sbcd.compiled import Calls, Draws, Steps, sbcd_block
from pauc_core.agd_sbcd.pairs import PairRows, pair_rows
from pauc_core.models.linear import LinearModel
from pauc_core.objective import exact_lam
from pauc_core.solver import Budget, Outcome, Part, Problem, solve
from pauc_core.solver.samples import draw
from pauc_core.solver.schedules import Harmonic, Quadratic
from tests.oracles import central_difference, proximal_point
from tests.problems import linear_problem


def method(**changes: object) -> AGDSBCD:
    given = {"mu": 1.0, "gamma": 2.0, "c": 0.5, "T": 10, "I": 20, "J": 20, **changes}
    return AGDSBCD(**given)  # type: ignore[arg-type]


def advance(solver: AGDSBCD, problem: Problem, state: AGDState, steps: range) -> AGDState:
    for step in steps:
        state = solver.step(problem, state, np.random.default_rng(step))
    return state


def part_of(x: np.ndarray, y: np.ndarray) -> Part:
    return Part(x, y, np.arange(len(x)))


# --- the mathematics ----------------------------------------------------------------------------


@pytest.mark.parametrize("rank", [3, 9, 15])
def test_proximal_points_are_within_proposition_1(rank: int) -> None:
    rng = np.random.default_rng(rank)
    x_pos, x_neg = rng.standard_normal((6, 3)) + 0.5, rng.standard_normal((15, 3))
    w, mu, size_i = rng.standard_normal(3), 2.0, 2
    exact = proximal_point(x_pos, x_neg, w, rank, mu)
    lam_exact = exact_lam(x_pos @ exact, x_neg @ exact, rank)
    far = np.linalg.norm(lam_exact)  # lam starts at 0, Lambda* contains lam_exact
    slope = max(np.linalg.norm(a - b) for a in x_pos for b in x_neg)  # B: |l'| <= 1
    moved = np.linalg.norm(exact - w)
    rows = PairRows(
        x=np.concatenate([x_pos, x_neg]),
        pos_rows=np.arange(6),
        neg_rows=np.arange(6, 21),
        signs=np.ones(15),
        center=np.zeros(3),
        scale=np.ones(3),
    )

    def error(steps: Steps, count: int) -> float:
        """Squared distance of vbar from the exact proximal point."""
        calls = Calls(
            v=w[None].copy(),
            v_sum=np.zeros((1, 3)),
            lam=np.zeros((1, 6)),
            drift=np.zeros((1, 6)),
        )
        draws = draw(rng, 6, size_i, count), draw(rng, 15, 4, count)
        sbcd_block(rows, calls, w, np.array([rank / 15]), steps, Draws(*draws), t=0)
        return float(np.sum((calls.v_sum[0] / count - exact) ** 2))

    for count in (50, 500, 5000):
        eta, theta = moved / (slope * math.sqrt(count)), far / math.sqrt(size_i * count)
        errors = [error(Steps(eta=eta, theta=theta, mu=mu), count) for _ in range(20)]
        # Normalised; f^l is convex here (rho = 0); second term with the corrected constant.
        bound = theta + slope * moved / math.sqrt(count) + moved**2 / (2 * mu * count)
        assert np.mean(errors) / (2 * mu) <= bound
    # The bound is wide; with steps of a practical size the point itself is met.
    assert math.sqrt(error(Steps(eta=0.02, theta=0.02, mu=mu), 40_000)) < 0.05 * moved


@pytest.mark.parametrize("high", [0.3, 1.0])
def test_convex_case_meets_the_optimum(high: float) -> None:
    problem, _ = linear_problem(fpr_low=0.0, fpr_high=high)
    best = solve(ExactLBFGS(), problem, Budget(steps=200), [], seed=0)
    assert best.outcome is Outcome.CONVERGED
    found = solve(
        method(mu=30.0, gamma=30.0, c=2.0, T=50, I=60, J=100),
        problem,
        Budget(epochs=4000),
        [],
        seed=0,
    )
    optimum = best.trace.rows[-1]["objective"]
    assert found.trace.rows[-1]["objective"] <= 1.01 * optimum
    assert found.trace.rows[-1]["objective"] >= optimum * (1 - 1e-6)


@pytest.mark.parametrize("goal", ["pauc", "sorr"])
def test_band_objective_falls_near_the_reference(goal: str) -> None:
    problem, _ = linear_problem(goal, **({"m": 10, "n": 300} if goal == "sorr" else {}))
    reference = solve(ExactLBFGS(), problem, Budget(steps=200), [], seed=0)
    found = solve(method(gamma=2.0, T=30), problem, Budget(epochs=300), [], seed=0)
    lowest = reference.trace.rows[-1]["objective"]
    start = found.trace.rows[0]["objective"]
    assert found.trace.rows[-1]["objective"] < lowest + 0.2 * (start - lowest)


@pytest.mark.parametrize("goal", ["pauc", "sorr"])
@pytest.mark.parametrize("loss", ["logistic", "sigmoid", "squared_hinge"])
def test_lbfgs_gradient(goal: str, loss: str) -> None:
    problem, _ = linear_problem(goal, loss=loss)
    wide = dataclasses.replace(
        problem, train=Part(problem.train.x.astype(float), problem.train.y, problem.train.rows)
    )
    w = np.random.default_rng(0).standard_normal(6)
    for whole in (False, True):
        _, grad = value_and_gradient(wide, w, whole)
        numeric = central_difference(lambda at: value_and_gradient(wide, at, whole)[0], w)  # noqa: B023
        np.testing.assert_allclose(grad, numeric, atol=1e-5)


def test_lbfgs_resumes_with_the_same_bits() -> None:
    problem, _ = linear_problem()
    solver, rng = ExactLBFGS(), np.random.default_rng(0)
    state = solver.init(problem, rng)
    for _ in range(13):
        state = solver.step(problem, state, rng)
    saved = pickle.loads(pickle.dumps(state))
    for _ in range(4):
        state, saved = solver.step(problem, state, rng), solver.step(problem, saved, rng)
    np.testing.assert_array_equal(state.w, saved.w)
    assert state.value == saved.value


def test_outer_update_is_line_5_of_algorithm_2() -> None:
    problem, _ = linear_problem(step_epochs=1e-9)  # one inner iteration a step
    solver = method(T=4, mu=2.0, gamma=6.0)
    state = solver.init(problem, np.random.default_rng(0))
    seen = []
    for step in range(4):
        seen.append((state.v.copy(), state.lam.copy()))
        state = advance(solver, problem, state, range(step, step + 1))
    v_bar, lam_bar = (np.mean(found, axis=0) for found in zip(*seen, strict=True))
    np.testing.assert_allclose(state.v_bar, v_bar, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(state.w, -3.0 * (v_bar[0] - v_bar[1]), rtol=1e-12)
    np.testing.assert_allclose(state.lam, lam_bar, rtol=1e-13, atol=1e-15)
    np.testing.assert_array_equal(state.v, np.stack([state.w, state.w]))
    assert (state.k, state.t) == (1, 0)
    assert not state.drift.any()


def test_schedules_print_as_their_formulas() -> None:
    solver = method(c=0.3, T=50)
    assert (str(solver.rate), str(solver.inner)) == ("0.3/(k+1)", "50 (k+1)^2")
    assert [solver.inner(k) for k in range(3)] == [50, 200, 450]
    assert solver.rate(2) == pytest.approx(0.1)
    with pytest.raises(ValueError, match="expected above 0"):
        Harmonic(0.0)
    with pytest.raises(ValueError, match="expected at least 1"):
        Quadratic(0)


# --- the state ----------------------------------------------------------------------------------


@pytest.mark.parametrize("goal", ["pauc", "sorr"])
@pytest.mark.parametrize("samples", ["shared", "separate"])
def test_cut_inside_an_inner_loop_gives_the_same_bits(goal: str, samples: str) -> None:
    problem, _ = linear_problem(goal, step_epochs=0.7)
    solver = method(T=9, samples=samples)
    state = advance(solver, problem, solver.init(problem, np.random.default_rng(0)), range(4))
    assert state.t > 0
    fields = {f.name: getattr(state, f.name) for f in dataclasses.fields(state)}
    saved = AGDState(**pickle.loads(pickle.dumps(fields)))
    state = advance(solver, problem, state, range(4, 12))
    saved = advance(solver, problem, saved, range(4, 12))
    for name in fields:
        np.testing.assert_array_equal(getattr(saved, name), getattr(state, name), err_msg=name)


def test_scored_is_the_running_average() -> None:
    problem, _ = linear_problem(step_epochs=1e-9)
    solver = method(T=3)
    state = solver.init(problem, np.random.default_rng(0))
    np.testing.assert_array_equal(state.iterates()["scored"], state.w)
    seen = []
    for step in range(2):
        seen.append(state.v[1].copy())
        state = advance(solver, problem, state, range(step, step + 1))
    np.testing.assert_allclose(state.iterates()["scored"], np.mean(seen, axis=0))
    state = advance(solver, problem, state, range(2, 3))
    np.testing.assert_array_equal(state.iterates()["scored"], state.v_bar[1])
    assert set(state.own()) == {"outer", "inner", "v_gap", "lam_m_mean", "lam_n_mean"}


def test_epochs_count_samples_once_and_work_every_pass_of_both_calls() -> None:
    for samples in ("shared", "separate"):
        problem, _ = linear_problem()
        rows = len(problem.train)
        solver = method(samples=samples)
        state = advance(solver, problem, solver.init(problem, np.random.default_rng(0)), range(3))
        assert state.epochs <= 3 * problem.step_epochs
        assert problem.model.work.rows == round(2 * 2 * state.epochs * rows)
    sorr, _ = linear_problem("sorr")
    state = solver.init(sorr, np.random.default_rng(0))
    state = solver.step(sorr, state, np.random.default_rng(0))
    assert round(state.epochs * rows) % solver.J == 0


def test_torch_twin_gives_the_same_run() -> None:
    problem, _ = linear_problem()
    wide = Part(problem.train.x.astype(np.float64), problem.train.y, problem.train.rows)
    problem = dataclasses.replace(problem, train=wide)
    found = []
    for device in (None, "cpu"):
        solver = method(device=device)
        state = solver.init(problem, np.random.default_rng(0))
        found.append(advance(solver, problem, state, range(12)))
    assert found[0].k >= 1
    np.testing.assert_allclose(found[0].w, found[1].w, rtol=1e-10)
    np.testing.assert_allclose(found[0].lam, found[1].lam, rtol=1e-10, atol=1e-12)


def test_quantile_start_is_the_exact_lam() -> None:
    problem, _ = linear_problem()
    state = method(lam_start="quantile").init(problem, np.random.default_rng(0))
    np.testing.assert_allclose(state.lam, math.log(2))  # all scores are 0
    assert (state.epochs, problem.model.work.rows) == (1.0, len(problem.train))
    sorr, _ = linear_problem("sorr")
    assert method(lam_start="quantile").init(sorr, np.random.default_rng(0)).lam.shape == (2, 1)


# --- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize("samples", ["shared", "separate"])
def test_band_from_zero_never_calls_for_m(samples: str) -> None:
    problem, _ = linear_problem(fpr_low=0.0, fpr_high=0.3)
    solver = method(samples=samples)
    state = solver.init(problem, np.random.default_rng(0))
    for step in range(20):
        before = state.w.copy()
        k = state.k
        state = advance(solver, problem, state, range(step, step + 1))
        if state.k == k + 1:
            np.testing.assert_allclose(state.v_bar[0], before, rtol=1e-12)
    assert not state.lam[0].any()
    assert problem.model.work.rows == round(2 * state.epochs * len(problem.train))


def test_one_positive_all_negatives_and_small_data() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((30, 4)), np.arange(30) == 7
    part = part_of(x, y)
    problem = Problem(train=part, valid=None, model=LinearModel.fit_scaling(part), m=0, n=29)
    result = solve(method(I=100, J=100), problem, Budget(epochs=50), [], seed=0)
    assert result.outcome is Outcome.BUDGET
    assert result.trace.rows[-1]["pauc_train"] > 0.75
    assert result.state.lam.shape == (2, 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_constant_features_zero_rows_and_integers(dtype: type) -> None:
    rng = np.random.default_rng(0)
    x = (4 * rng.standard_normal((200, 5))).astype(dtype)
    y = rng.random(200) < 0.3
    x[y, 0] += 5
    x[:, 1] = 3
    x[::10] = 0
    part = part_of(x, y)
    problem = Problem(
        train=part, valid=part, model=LinearModel.fit_scaling(part), fpr_low=0.05, fpr_high=0.5
    )
    result = solve(method(), problem, Budget(epochs=20), [], seed=0)
    assert result.outcome is Outcome.BUDGET
    assert result.trace.rows[-1]["pauc_train"] > 0.6
    assert np.isfinite(result.state.w).all()


def test_divergence_is_an_outcome_and_the_last_finite_look_is_kept() -> None:
    problem, _ = linear_problem(loss="squared_hinge")
    looks = [float(e) for e in range(1, 60)]
    result = solve(method(c=50.0, mu=100.0), problem, Budget(epochs=60), looks, seed=0)
    assert result.outcome in (Outcome.DIVERGED, Outcome.NONFINITE)
    assert result.last is not None
    assert np.isfinite(result.last.row["objective"])
    assert np.isfinite(result.last.iterate).all()


def test_enormous_features_stay_finite() -> None:
    problem, _ = linear_problem()
    part = part_of(problem.train.x * 1e4, problem.train.y)
    raw = Problem(
        train=part,
        valid=None,
        model=LinearModel.fit_scaling(part, "none"),
        fpr_low=0.05,
        fpr_high=0.5,
    )
    state = method().init(raw, np.random.default_rng(0))
    state = advance(method(), raw, state, range(10))
    assert np.isfinite(state.w).all()
    assert np.isfinite(state.lam).all()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"samples": "both"}, "samples is 'both'"),
        ({"lam_start": "one"}, "lam_start is 'one'"),
        ({"mu": 0.0}, "mu is 0.0"),
        ({"I": 0}, "I is 0"),
        ({"c": -1.0}, "expected above 0"),
        ({"T": 0}, "expected at least 1"),
    ],
)
def test_wrong_settings_are_refused(changes: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        method(**changes)


def test_pair_rows_of_both_goals() -> None:
    problem, _ = linear_problem()
    rows = pair_rows(problem)
    assert (rows.n_pos, rows.n_neg) == (60, 240)
    sorr, _ = linear_problem("sorr")
    rows = pair_rows(sorr)
    assert (rows.n_pos, rows.n_neg) == (1, 300)
    np.testing.assert_array_equal(rows.signs < 0, sorr.train.labels)
