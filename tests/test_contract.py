"""Every line of config/methods.yaml keeps the contract of a method.

`make check-baseline USE=module:Class PARAMS='{"lr": 0.1}'` runs this file on one from outside;
`IN=folder` says where its module lies.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from pauc_core.solver import Budget, State, solve
from pauc_core.solver.streams import stream
from pauc_core.suite.checkpoint import FileKeeper
from pauc_core.suite.configuration import method_class
from pauc_core.suite.guests import is_guest
from pauc_core.suite.named_code import check_contract
from tests.problems import linear_problem, picture_problem

ROOT = Path(__file__).parents[1]


def lines() -> dict[str, dict]:
    if "USE" in os.environ:
        params = json.loads(os.environ.get("PARAMS") or "{}")
        return {"outside": {"use": os.environ["USE"], "params": params}}
    found = yaml.safe_load((ROOT / "config/methods.yaml").read_text())
    return {name: line for name, line in found.items() if not is_guest(line["use"])}


def cases() -> list:
    found = []
    for name, line in lines().items():
        cls = method_class(line["use"])
        check_contract(cls, f"{name}: {line['use']}")
        # A line is for one kind of model; which one shows in its name and its parameters.
        deep = "module" in cls.models and ("linear" not in cls.models or name.endswith("_deep"))
        for goal in sorted(cls.goals):
            if (goal == "sorr") == name.endswith("_sorr") or cls.goals == {"sorr"}:
                found.append(pytest.param(line, goal, "module" if deep else "linear", id=name))
    return found


def make(line: dict, goal: str, kind: str):
    method = method_class(line["use"])(**line.get("params", {}))
    problem, test = linear_problem(goal) if kind == "linear" else picture_problem()
    return method, problem, test


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def arrays(value) -> list[np.ndarray]:
    """All numbers of an iterate."""
    if isinstance(value, dict):
        return [v.detach().cpu().numpy() for v in value.values()]
    return [] if callable(value) else [np.asarray(value)]


def same(left, right) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(arrays(left), arrays(right), strict=True))


@pytest.mark.parametrize(("line", "goal", "kind"), cases())
def test_it_is_a_frozen_keyword_only_dataclass(line, goal, kind):
    method, _, _ = make(line, goal, kind)
    assert dataclasses.is_dataclass(method)
    assert all(field.kw_only for field in dataclasses.fields(method))
    with pytest.raises(dataclasses.FrozenInstanceError):
        method.anything = 1


@pytest.mark.parametrize(("line", "goal", "kind"), cases())
def test_steps_are_bounded_counted_and_repeatable(line, goal, kind):
    method, problem, _ = make(line, goal, kind)
    before = problem.train.x.copy()

    def walk() -> State:
        state = method.init(problem, stream(0, "start"))
        for number in range(3):
            if state.finished:
                break
            last = state.epochs, problem.model.work.rows
            state = method.step(problem, state, stream(0, "contract", number))
            assert isinstance(state, State)
            assert state.epochs > last[0]
            assert problem.model.work.rows > last[1]
        return state

    numpy_before = np.random.get_state()[1].copy()  # noqa: NPY002
    torch_before = torch.get_rng_state().clone()
    first, again = walk(), walk()
    for name, iterate in first.iterates().items():
        assert same(iterate, again.iterates()[name]), f"{name} differs between two equal runs"
        assert all(np.all(np.isfinite(a)) for a in arrays(iterate))
    assert "scored" in first.iterates()
    assert np.array_equal(problem.train.x, before), "the data were changed"
    numpy_after = np.random.get_state()[1]  # noqa: NPY002
    assert np.array_equal(numpy_after, numpy_before), "numpy's global generator moved"
    assert torch.equal(torch.get_rng_state(), torch_before), "torch's global generator moved"


@pytest.mark.parametrize(("line", "goal", "kind"), cases())
def test_a_cut_and_resumed_run_has_the_same_bits(line, goal, kind, tmp_path):
    method, problem, test = make(line, goal, kind)
    looks = [0.5, 1.0, 1.5, 2.0]

    def run(steps: int, keeper: FileKeeper | None):
        return solve(
            method, problem, Budget(steps=steps), looks, seed=3, name="c", test=test, keeper=keeper
        )

    whole = run(4, None)
    run(2, FileKeeper(tmp_path / "cut.npz", seconds=0))
    resumed = run(4, FileKeeper(tmp_path / "cut.npz", seconds=0))
    for name, iterate in whole.state.iterates().items():
        assert same(iterate, resumed.state.iterates()[name])
    assert whole.last.row["objective"] == resumed.last.row["objective"]


@pytest.mark.parametrize(("line", "goal", "kind"), cases())
def test_a_run_does_not_touch_what_it_was_given(line, goal, kind):
    method, problem, _ = make(line, goal, kind)
    start = method.init(problem, stream(0, "start"))
    kept = copy.deepcopy(start.iterates()["scored"])
    result = solve(method, problem, Budget(steps=2), [0.5], seed=0, name="c")
    fresh = method.init(problem, stream(0, "start"))
    assert same(kept, fresh.iterates()["scored"])
    assert np.isfinite(result.last.row["objective"])
