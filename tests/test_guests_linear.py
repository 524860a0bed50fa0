"""Guests for linear models and tables: the path of fits, balanced weights, boosted trees."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import xgboost
from sklearn.linear_model import LogisticRegression as Reference
from sklearn.preprocessing import StandardScaler

from baselines.boosted_trees import BoostedTrees
from baselines.controls import LogisticRegression
from baselines.pauc_path import PAUCPath
from pauc_core import pauc
from pauc_core.models.linear import LinearModel
from pauc_core.models.scaled_rows import ScaledRows
from pauc_core.own_data.classifier import PENALTIES, SURROGATES, PartialAUCClassifier
from pauc_core.own_data.search import Plan, search
from pauc_core.solver import Budget, Outcome, Part, solve
from pauc_core.solver.path import Training
from pauc_core.suite.configuration import load
from tests.problems import linear_parts, linear_problem
from tests.test_configuration import ROOT

LIMITS = {"max_iter": 60, "tol": 1e-6}


def problem_of(train, valid):
    return linear_problem(train=train, valid=valid, model=LinearModel.fit_scaling(train))[0]


def path_problem():
    train, valid, _ = linear_parts(120, 480, dtype=np.float64)
    return problem_of(train, valid)


def test_the_path_fits_and_chooses_what_the_classifiers_search_does():
    problem = path_problem()
    method = PAUCPath(losses=("sigmoid", "logistic"), penalties=(3.0, 0.3, 30.0), **LIMITS)
    state = solve(method, problem, Budget(epochs=1e5), [], seed=0).state

    train, valid = problem.train, problem.valid
    both = np.concatenate([train.rows, valid.rows])
    held = np.arange(len(both)) >= len(train)
    center, scale = problem.model.center, problem.model.scale
    rows = ScaledRows.fit((train.x[both] - center) / scale)
    # The search scales by all rows that it is given; here these are to be left as they are.
    plain = type(rows)(rows.x, np.zeros(len(center)), np.ones(len(scale)))
    plan = Plan(
        losses=method.losses,
        penalties=method.penalties,
        starts=True,
        class_weights=(1.0, 1.0),
        **LIMITS,
    )
    everything = Training(plain, train.y[both], np.ones(len(both), dtype=bool), *problem.band)
    found = search(everything, [held], plan, 1, lambda: None)
    assert [c.penalty for c in plan.candidates] == state.penalties
    assert state.chosen == found.chosen
    seen = [one["value"] for one in state.seen]
    np.testing.assert_allclose(seen, found.table["pauc"], atol=5e-3)
    np.testing.assert_allclose(
        state.fits[state.chosen], found.fold_weights[0], rtol=1e-2, atol=1e-2
    )


def test_the_answer_after_each_fit_is_the_choice_so_far():
    problem = path_problem()
    method = PAUCPath(losses=("logistic",), penalties=(1.0, 10.0), **LIMITS)
    result = solve(method, problem, Budget(epochs=1e5), np.arange(0.5, 500, 0.5), seed=0)
    assert result.outcome is Outcome.CONVERGED
    assert result.trace.column("own_fits") == [0, 1, 2, 3, 4]
    valid = problem.valid
    values = [
        pauc(valid.labels, problem.model.scores(w, valid), fpr_low=0.05, fpr_high=0.5)
        for w in result.state.fits
    ]
    seen = result.trace.column("pauc_valid")[1:]
    assert all(value <= max(values[: i + 1]) + 1e-12 for i, value in enumerate(seen))
    assert seen[0] == pytest.approx(values[0])
    # A tie of a quarter standard error is all that the choice may lie below the best.
    assert seen[-1] == pytest.approx(max(values), abs=0.02)


def test_without_validation_rows_the_last_fit_is_the_answer():
    train, _, _ = linear_parts()
    problem = problem_of(train, None)
    method = PAUCPath(losses=("logistic",), penalties=(1.0,), **LIMITS)
    state = solve(method, problem, Budget(epochs=1e5), [], seed=0).state
    assert state.chosen == 2
    assert not state.seen


def test_the_path_is_configured_as_the_classifier_is():
    params = load(ROOT, {"scale": "default", "results": "r", "raw": "w"}).methods["pauc_path"][
        "params"
    ]
    usual = PartialAUCClassifier().get_params()
    assert tuple(params["losses"]) == SURROGATES
    assert tuple(params["penalties"]) == PENALTIES
    assert (params["max_iter"], params["tol"]) == (usual["max_iter"], usual["tol"])


def test_balanced_logistic_regression_is_scikit_learns():
    problem, _ = linear_problem()
    state = solve(LogisticRegression(balanced=True), problem, Budget(epochs=1e4), [], seed=0).state
    train = problem.train
    scaled = StandardScaler().fit_transform(train.x[train.rows].astype(np.float64))
    expected = Reference(class_weight="balanced").fit(scaled, train.labels).coef_[0]
    np.testing.assert_allclose(state.iterate, expected, rtol=1e-3, atol=1e-3)
    plain = Reference().fit(scaled, train.labels).coef_[0]
    assert np.abs(plain - expected).max() > 0.01


def trees_result(problem, **params):
    return solve(
        BoostedTrees(**{"rounds": 200, "patience": 5, "lr": 0.3, "max_depth": 6, **params}),
        problem,
        Budget(epochs=1e4),
        [],
        seed=0,
    )


@pytest.mark.parametrize(("lr", "max_depth"), [(0.3, 6), (0.1, 2)])
def test_trees_stop_where_the_log_loss_of_validation_does(lr, max_depth):
    problem, test = linear_problem()
    result = trees_result(problem, lr=lr, max_depth=max_depth)
    train, valid = problem.train, problem.valid
    reference = xgboost.XGBClassifier(
        n_estimators=200, early_stopping_rounds=5, n_jobs=1, learning_rate=lr, max_depth=max_depth
    )
    reference.fit(
        train.x[train.rows],
        train.labels,
        eval_set=[(valid.x[valid.rows], valid.labels)],
        verbose=False,
    )
    assert 0 < result.state.rounds == reference.best_iteration + 1 < 200
    assert result.state.epochs > result.state.rounds
    expected = reference.predict(test.x[test.rows], output_margin=True)
    np.testing.assert_allclose(result.state.scores(test), expected, rtol=1e-5, atol=1e-5)


def test_trees_learn_what_no_linear_model_can():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1200, 2))
    y = (x[:, 0] * x[:, 1] > 0.3) ^ (rng.random(1200) < 0.05)
    train, valid = Part(x, y, np.arange(800)), Part(x, y, np.arange(800, 1200))
    problem = problem_of(train, valid)
    trees = trees_result(problem).best.row["pauc_valid"]
    line = solve(LogisticRegression(), problem, Budget(epochs=1e4), [], seed=0)
    assert trees > 0.8 > 0.6 > line.best.row["pauc_valid"]


def test_without_validation_rows_all_rounds_are_grown():
    train, _, _ = linear_parts()
    problem = problem_of(train, None)
    assert trees_result(problem, rounds=7).state.rounds == 7


def test_a_missing_package_is_a_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "xgboost", None)
    problem, _ = linear_problem()
    with pytest.raises(ImportError, match=r"xgboost, which is not installed.*\[trees\]"):
        trees_result(problem)
