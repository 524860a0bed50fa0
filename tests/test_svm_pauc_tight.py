"""The cutting-plane SVM: its cuts, its small dual, its bounds, and a case with a known answer."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.svm import LinearSVC

from baselines.svm_pauc_tight import SVMpAUCTight, band_ranks, most_violated
from pauc_core.models.linear import LinearModel
from pauc_core.solver import Budget, Outcome, Part, Problem, solve
from pauc_core.solver.simplex_qp import minimise_on_simplex
from tests.oracles import slack_by_orderings, slack_by_ranks


def problem(n=300, d=6, seed=0, **band):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    x = rng.normal(size=(n, d)) * np.linspace(0.5, 3, d) + 2 + 0.8 * y[:, None]
    part = Part(x, y, rng.permutation(n))
    return Problem(train=part, valid=None, model=LinearModel.fit_scaling(part), **band)


def cases(count, most):
    rng = np.random.default_rng(1)
    for k in range(count):
        p = rng.normal(size=rng.integers(1, 6)) * rng.choice([0.1, 1, 3])
        q = rng.normal(size=rng.integers(1, most + 1)) * rng.choice([0.1, 1, 3])
        if k % 2:
            p, q = np.round(p), np.round(q)  # ties
        a, b = np.sort(rng.uniform(0, len(q), 2))
        a, b = (a, b) if k % 3 else (np.floor(a), np.ceil(b))
        if b - a > 1e-3:
            yield p, q, a, b


@pytest.mark.parametrize(
    ("oracle", "count", "most"), [(slack_by_ranks, 6000, 12), (slack_by_orderings, 300, 5)]
)
def test_choice_is_the_most_violated(oracle, count, most):
    tried = 0
    for p, q, a, b in cases(count, most):
        delta, slack, slopes_pos, slopes_neg = most_violated(p, q, a, b)
        assert slack == pytest.approx(oracle(p, q, a, b), abs=1e-10)
        # The cut it returns has just that violation.
        assert delta - slopes_pos @ p - slopes_neg @ q == pytest.approx(slack, abs=1e-10)
        tried += 1
    assert tried > 0.9 * count


def test_weights_of_the_rows_are_those_of_pairs():
    for p, q, a, b in cases(200, 8):
        _, _, slopes_pos, slopes_neg = most_violated(p, q, a, b)
        r = np.round(slopes_pos * len(p) * (b - a)).astype(int)
        order = np.argsort(-q)
        pairs = np.zeros((len(p), len(q)))
        for i, above in enumerate(r):
            pairs[i, order[:above]] = 1
        np.testing.assert_allclose(slopes_neg, -pairs.sum(axis=0) / (len(p) * (b - a)), atol=1e-12)


@pytest.mark.parametrize("seed", range(40))
def test_small_dual_is_solved_to_rounding_and_no_worse_than_slsqp(seed):
    rng = np.random.default_rng(seed)
    k, d = int(rng.integers(2, 25)), int(rng.integers(1, 12))
    psi = np.vstack([np.zeros(d), rng.normal(size=(k, d))])
    psi[-1] = psi[1] if seed % 3 == 0 else psi[-1]  # a cut found twice
    quadratic = 10.0 ** rng.integers(-3, 4) * psi @ psi.T
    linear = np.append(0.0, rng.random(k))
    u = minimise_on_simplex(quadratic, linear, np.append(1.0, np.zeros(k)))
    assert u.min() >= 0
    assert u.sum() == pytest.approx(1, abs=1e-14)
    gradient = quadratic @ u - linear
    assert gradient @ u - gradient.min() <= 1e-9 * np.abs(linear).max()

    def value(v):
        return 0.5 * v @ quadratic @ v - linear @ v

    other = minimize(
        value,
        np.full(k + 1, 1 / (k + 1)),
        jac=lambda v: quadratic @ v - linear,
        bounds=[(0, 1)] * (k + 1),
        constraints={"type": "eq", "fun": lambda v: v.sum() - 1, "jac": np.ones_like},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 300},
    )
    feasible = np.maximum(other.x, 0) / np.maximum(other.x, 0).sum()
    assert value(u) <= value(feasible) + 1e-12 * np.abs(linear).max()


@pytest.mark.parametrize("C", [1e-3, 1e-1, 1.0, 30.0])
def test_bounds_close_and_never_cross(C):
    prob = problem(fpr_low=0.05, fpr_high=0.52)
    result = solve(SVMpAUCTight(C=C), prob, Budget(steps=400), np.arange(400.0), seed=0)
    assert result.outcome is Outcome.CONVERGED
    dual, primal = result.trace.column("own_dual"), result.trace.column("own_primal")
    assert np.all(np.diff(dual) >= -1e-12 * C)
    assert min(primal) - max(dual) >= -1e-12 * C
    assert primal[-1] - dual[-1] <= 1e-4 * C * (1 + 1e-9)
    # The primal value, from every rank of every positive.
    w, labels = result.state.w, prob.train.labels
    scores = prob.model.scores(w, prob.train)
    slack = slack_by_ranks(scores[labels], scores[~labels], *band_ranks(prob))
    assert 0.5 * w @ w + C * slack == pytest.approx(primal[-1], abs=1e-4 * C)
    assert result.state.epochs == len(dual) - 1


def test_whole_band_is_the_pairwise_hinge_ranking_svm():
    prob = problem(n=120, fpr_low=0.0, fpr_high=1.0)
    C = 5.0
    method = SVMpAUCTight(C=C, tolerance=1e-9)
    w = solve(method, prob, Budget(steps=2000), [], seed=0).state.w
    model, train = prob.model, prob.train
    z = (train.x - model.center) / model.scale
    pairs = (z[train.positives][:, None] - z[train.negatives][None]).reshape(-1, z.shape[1])
    sign = np.where(np.arange(len(pairs)) % 2, 1.0, -1.0)
    svc = LinearSVC(loss="hinge", C=C / len(pairs), fit_intercept=False, tol=1e-10, max_iter=10**6)
    other = svc.fit(sign[:, None] * pairs, sign).coef_[0]

    def value(v):
        return 0.5 * v @ v + C * np.maximum(0.0, 1.0 - pairs @ v).mean()

    assert value(w) == pytest.approx(value(other), rel=1e-7)
    np.testing.assert_allclose(w, other, atol=1e-3 * np.abs(other).max())


def test_band_ends_are_not_rounded_and_counts_are_rates():
    fractional = problem(fpr_low=0.07, fpr_high=0.5)
    total = len(fractional.train.negatives)
    assert band_ranks(fractional) == pytest.approx((0.07 * total, 0.5 * total), abs=1e-6)
    rates = problem(fpr_low=7 / total, fpr_high=100 / total)
    counts = Problem(train=rates.train, valid=None, model=rates.model, m=7, n=100)
    assert band_ranks(rates) == band_ranks(counts) == (7.0, 100.0)
