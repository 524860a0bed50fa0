"""The loop: clock, looks, budgets, outcomes, resuming."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from baselines.dca import DCA
from baselines.exact_lbfgs import ExactLBFGS
from baselines.svm_pauc_tight import SVMpAUCTight
from pauc_core.metrics import pauc
from pauc_core.models.linear import LinearModel
from pauc_core.solver import Budget, Outcome, Part, Problem, State, solve
from pauc_core.solver.streams import stream
from pauc_core.solver.trace import MEASURES
from pauc_core.suite.checkpoint import FileKeeper
from tests.problems import linear_parts, linear_problem


@dataclass(kw_only=True)
class WalkState(State):
    w: np.ndarray

    def iterates(self):
        return {"scored": self.w, "w": -self.w}

    def own(self):
        return {"norm": float(np.linalg.norm(self.w))}


@dataclass(frozen=True, kw_only=True)
class Walk:
    """Adds noise to the weights; each step is a quarter of an epoch."""

    size: float = 1.0
    stop_at: int | None = None
    bad_at: int | None = None
    sleep: float = 0.0
    goals: ClassVar[frozenset[str]] = frozenset({"pauc", "sorr"})
    models: ClassVar[frozenset[str]] = frozenset({"linear"})

    def init(self, problem, rng):
        return WalkState(w=problem.model.start(rng))

    def step(self, problem, state, rng):
        time.sleep(self.sleep)
        state.w = state.w + self.size * rng.standard_normal(len(state.w))
        state.epochs += 0.25
        problem.model.work.add(len(problem.train) // 4)
        taken = round(4 * state.epochs)
        state.finished = self.stop_at == taken
        if self.bad_at == taken:
            state.w = state.w * np.nan
        return state


def run(method=None, problem=None, budget=None, looks=(1, 2), test=None, **more):
    own, own_test = linear_problem()
    return solve(
        method or Walk(),
        problem or own,
        budget or Budget(epochs=2),
        looks,
        seed=more.pop("seed", 0),
        test=test or own_test,
        **more,
    )


def test_looks_happen_at_the_named_epochs_and_at_both_ends():
    result = run(looks=(0.5, 1.3), budget=Budget(epochs=2))
    assert result.trace.column("epoch") == [0.0, 0.5, 1.5, 2.0]
    assert result.outcome is Outcome.BUDGET


def test_common_columns_come_first_and_other_iterates_have_a_suffix():
    result = run()
    assert result.trace.columns[:9] == [
        "step", "epoch", "work", "seconds", "wall", "objective", "pauc_train", "pauc_valid",
        "pauc_test",
    ]  # fmt: skip
    assert {"objective_w", "pauc_test_w", "own_norm"} <= set(result.trace.columns)
    with pytest.raises(ValueError, match="has no column 'pauc_tset'"):
        result.trace.column("pauc_tset")


def test_the_trace_holds_the_metric_of_the_scored_iterate():
    problem, test = linear_problem()
    result = run(problem=problem, test=test)
    scores = problem.model.scores(result.last.iterate, test)
    expected = pauc(test.labels, scores, fpr_low=0.05, fpr_high=0.5)
    assert result.trace.rows[-1]["pauc_test"] == expected


def test_scoring_is_not_on_the_clock(monkeypatch):
    slow = LinearModel.scores

    def scores(self, iterate, part):
        time.sleep(0.02)
        return slow(self, iterate, part)

    monkeypatch.setattr(LinearModel, "scores", scores)
    result = run(method=Walk(sleep=0.01))
    assert 8 * 0.01 <= result.trace.rows[-1]["wall"] < 0.3
    assert len(result.trace) * 6 * 0.02 > 0.3  # what scoring cost


def test_the_best_look_is_the_one_that_validates_best():
    result = run(budget=Budget(epochs=6), looks=np.arange(0, 6, 0.25))
    validated = result.trace.column("pauc_valid")
    assert result.best.row["pauc_valid"] == max(validated)
    assert validated[-1] < max(validated)


def test_each_iterate_has_a_best_look_of_its_own():
    result = run(budget=Budget(epochs=6), looks=np.arange(0, 6, 0.25))
    w = result.best_looks["w"]
    assert w.row["pauc_valid"] == max(result.trace.column("pauc_valid_w"))
    # What is best for one is worst for the other, whose scores are those of the first negated.
    assert w.row["epoch"] != result.best.row["epoch"]
    at = result.trace.column("epoch").index(w.row["epoch"])
    for name in MEASURES:
        assert w.row[name] == result.trace.column(f"{name}_w")[at]
    problem, test = linear_problem()
    np.testing.assert_array_equal(w.test, problem.model.scores(w.iterate, test))
    assert result.last_looks["w"].row["step"] == result.last.row["step"]


@dataclass(kw_only=True)
class LostState(WalkState):
    def iterates(self):
        return {"scored": self.w, "w": self.w * (np.nan if self.epochs > 1 else 1.0)}


@dataclass(frozen=True, kw_only=True)
class Lost(Walk):
    """Its second iterate is not finite after the first epoch."""

    def init(self, problem, rng):
        return LostState(w=problem.model.start(rng))


def test_another_iterate_that_is_not_finite_keeps_its_looks_and_ends_nothing():
    result = run(method=Lost(), looks=(0.5, 1, 1.5, 2))
    assert result.outcome is Outcome.BUDGET
    assert result.last.row["epoch"] == 2.0
    assert result.last_looks["w"].row["epoch"] == 1.0
    assert np.isfinite(result.best_looks["w"].row["pauc_valid"])
    assert np.isnan(result.trace.column("pauc_valid_w")[-1])


def test_seconds_are_of_the_process_and_wall_is_of_the_clock():
    last = run(method=Walk(sleep=0.02)).trace.rows[-1]
    assert last["wall"] > 8 * 0.02
    assert last["seconds"] < last["wall"] / 4


def test_without_validation_the_last_look_stands():
    problem, _ = linear_problem(valid=None)
    result = run(problem=problem)
    assert result.best is result.last


@pytest.mark.parametrize(
    ("budget", "steps"), [(Budget(steps=3), 3), (Budget(epochs=0.5), 2), (Budget(seconds=0.0), 0)]
)
def test_budgets(budget, steps):
    assert run(budget=budget).last.row["step"] == steps


def test_a_budget_must_name_something():
    with pytest.raises(ValueError, match="at least one of steps"):
        Budget()


def test_own_stopping_rule():
    result = run(method=Walk(stop_at=3), budget=Budget(epochs=9))
    assert result.outcome is Outcome.CONVERGED
    assert result.last.row["step"] == 3


def test_a_nonfinite_step_keeps_the_last_finite_look():
    result = run(method=Walk(bad_at=5), looks=(1, 2))
    assert result.outcome is Outcome.NONFINITE
    assert result.last.row["epoch"] == 1.0
    assert np.all(np.isfinite(result.last.iterate))


def test_a_diverging_step_is_told_and_the_last_good_look_kept():
    result = run(method=Walk(size=1e6), looks=(0.25,), budget=Budget(epochs=2))
    assert result.outcome is Outcome.DIVERGED
    assert result.last.row["epoch"] == 0.0


def test_a_run_cut_at_any_step_and_resumed_gives_the_same_bits(tmp_path):
    looks = np.arange(0, 2, 0.5)
    whole = run(looks=looks)
    for cut in (1, 3, 6):
        keeper = FileKeeper(tmp_path / f"{cut}.npz", seconds=0)
        run(looks=np.arange(0, 2, 0.25), budget=Budget(steps=cut), keeper=keeper)
        resumed = run(looks=looks, keeper=FileKeeper(tmp_path / f"{cut}.npz", seconds=1e9))
        assert np.array_equal(resumed.last.iterate, whole.last.iterate)
        assert resumed.last.row["step"] == 8


def test_seeds_differ_and_equal_seeds_agree():
    first, again, other = run(seed=1), run(seed=1), run(seed=2)
    assert np.array_equal(first.last.iterate, again.last.iterate)
    assert not np.array_equal(first.last.iterate, other.last.iterate)


def test_a_method_is_refused_where_it_does_not_fit():
    @dataclass(frozen=True, kw_only=True)
    class OnlySorr(Walk):
        goals: ClassVar[frozenset[str]] = frozenset({"sorr"})

    with pytest.raises(ValueError, match="OnlySorr does not handle the goal 'pauc'"):
        run(method=OnlySorr())


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"goal": "roc"}, "goal 'roc' is unknown"),
        ({"fpr_low": None, "fpr_high": None}, "needs its band"),
        ({"fpr_low": None, "fpr_high": None, "m": 5, "n": 3}, "0 <= m < n <= "),
        ({"fpr_low": 0.5, "fpr_high": 0.501}, "holds none of the"),
        ({"loss": "zero-one"}, "zero-one"),
    ],
)
def test_bad_problems_are_refused(changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        linear_problem(**changes)


def test_a_class_may_not_be_missing():
    train, _, _ = linear_parts()
    only = Part(train.x, train.y, train.positives)
    with pytest.raises(ValueError, match="both classes"):
        Problem(train=only, valid=None, model=LinearModel.fit_scaling(train), fpr_low=0, fpr_high=1)


def test_labels_must_be_booleans():
    with pytest.raises(ValueError, match="must be booleans"):
        Part(np.zeros((3, 1)), np.array([0, 1, 1]), np.arange(3))


def test_looking_at_a_sample_of_rows():
    problem, _ = linear_problem()
    rows = np.sort(np.concatenate([problem.train.positives[:20], problem.train.negatives[:80]]))
    sampled = dataclasses.replace(problem, look_rows=rows)
    w = stream(0, "w").standard_normal(6)
    direct = problem.model.scores(w, Part(problem.train.x, problem.train.y, rows))
    from pauc_core.objective import pauc_loss

    labels = problem.train.y[rows]
    expected = pauc_loss(direct[labels], direct[~labels], fpr_low=0.05, fpr_high=0.5)
    assert sampled.objective(direct) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("share", [0.2, 0.9])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_folded_scaling_equals_scaling_the_data(share, dtype):
    rng = stream(3, "scaling")
    x = (10 * rng.standard_normal((200, 5)) + 3).astype(dtype)
    x[:, 2] = 7  # a constant feature
    y = np.arange(200) % 3 == 0
    part = Part(x, y, np.sort(rng.choice(200, int(200 * share), replace=False)))
    model = LinearModel.fit_scaling(part)
    own = x[part.rows].astype(float)
    deviation = own.std(axis=0)
    deviation[2] = 1.0
    scaled = (own - own.mean(axis=0)) / deviation
    w, slopes = rng.standard_normal(5), rng.standard_normal(len(part))
    tolerance = 1e-4 if dtype is np.float32 else 1e-10
    np.testing.assert_allclose(model.scores(w, part), scaled @ w, atol=tolerance)
    np.testing.assert_allclose(model.pull(part, slopes), scaled.T @ slopes, atol=20 * tolerance)


def test_work_is_what_the_method_asked_of_the_model_and_no_look():
    problem, test = linear_problem()
    result = run(problem=problem, test=test, looks=[0.25 * i for i in range(9)])
    rows = len(problem.train)
    assert result.trace.column("work") == [i * (rows // 4) for i in range(9)]
    assert problem.model.work.rows > result.trace.rows[-1]["work"]  # the looks read rows too


def test_a_full_gradient_is_two_passes_whoever_asks():
    seen = {}
    for name, method in {
        "lbfgs": ExactLBFGS(warm=0),
        "svm": SVMpAUCTight(C=1.0),
        "dca": DCA(c=1.0, C=1, I=1, J=1, policy="constant"),
    }.items():
        problem, _ = linear_problem()
        state = method.init(problem, stream(0, "start"))
        if name != "lbfgs":
            method.step(problem, state, stream(0, "step"))
        seen[name] = problem.model.work.rows
    rows = len(problem.train)
    # DCA's subgradient is followed by one inner iteration on two rows, there and back.
    assert seen == {"lbfgs": 2 * rows, "svm": 2 * rows, "dca": 2 * rows + 2 * 2}


@pytest.mark.parametrize("goal", ["pauc", "sorr"])
def test_looks_at_some_rows_use_the_labels_of_those_rows(goal):
    problem, _ = linear_problem(goal)
    scores = np.random.default_rng(0).standard_normal(len(problem.train))
    some = np.arange(len(problem.train))[::3]
    few = dataclasses.replace(problem, look_rows=problem.train.rows[some])
    alone = Part(problem.train.x, problem.train.y, problem.train.rows[some])
    m, n = problem.ranks
    if goal == "sorr":
        share = len(alone) / len(problem.train)
        wanted = dataclasses.replace(problem, train=alone, m=round(m * share), n=round(n * share))
    else:
        wanted = dataclasses.replace(problem, train=alone)
    assert few.objective(scores[some]) == pytest.approx(wanted.objective(scores[some]), rel=1e-12)
