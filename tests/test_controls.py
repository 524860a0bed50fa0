"""The controls: chance, and scikit-learn's logistic regression."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression as Reference
from sklearn.preprocessing import StandardScaler

from baselines.controls import LogisticRegression, RandomScores
from pauc_core.models.linear import LinearModel
from pauc_core.solver import Budget, Outcome, Part, Problem, solve

BANDS = {"pauc": {"fpr_low": 0.05, "fpr_high": 0.5}, "sorr": {"m": 20, "n": 300}}


def problem(goal, dtype=np.float64):
    rng = np.random.default_rng(0)
    y = rng.random(600) < 0.3
    x = (5 * rng.normal(size=(600, 4)) + 3 + 2 * y[:, None]).astype(dtype)
    part = Part(x, y, rng.permutation(600)[:500])
    model = LinearModel.fit_scaling(part)
    return Problem(train=part, valid=None, model=model, goal=goal, **BANDS[goal])


@pytest.mark.parametrize("goal", ["pauc", "sorr"])
def test_random_scores_know_nothing_and_finish_at_once(goal):
    prob = problem(goal)
    runs = [solve(RandomScores(), prob, Budget(epochs=5), [], seed=seed) for seed in range(60)]
    assert {run.outcome for run in runs} == {Outcome.CONVERGED}
    assert {run.state.epochs for run in runs} == {0.0}
    if goal == "pauc":
        found = [run.last.row["pauc_train"] for run in runs]
        # A band of the diagonal has its middle as mean height.
        assert np.mean(found) == pytest.approx(0.275, abs=4 * np.std(found) / np.sqrt(60))
    scores = runs[0].state.iterates()["scored"]
    rows = Part(prob.train.x, prob.train.y, prob.train.rows[:7])
    np.testing.assert_array_equal(scores(prob.train)[:7], scores(rows))


@pytest.mark.parametrize("goal", ["pauc", "sorr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_logistic_regression_is_scikit_learns_on_standardised_rows(goal, dtype):
    prob = problem(goal, dtype)
    before = prob.train.x.copy()
    result = solve(LogisticRegression(C=0.1), prob, Budget(epochs=1000), [], seed=0)
    z = StandardScaler().fit_transform(prob.train.x[prob.train.rows].astype(np.float64))
    reference = Reference(C=0.1, fit_intercept=goal == "pauc").fit(z, prob.train.labels)
    np.testing.assert_allclose(result.state.iterate, reference.coef_[0], rtol=1e-3, atol=1e-4)
    np.testing.assert_array_equal(prob.train.x, before)
    assert result.outcome is Outcome.CONVERGED
    assert result.trace.rows[-1]["work"] == 2 * result.state.epochs * 500 > 0
