"""One seed of one run in this process: problem, method, loop; its trace, scores and numbers."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from pauc_core.data.prepared import Prepared, load_prepared
from pauc_core.data.splits import split
from pauc_core.models.linear import LinearModel
from pauc_core.solver import Budget, Keeper, Look, Method, Model, Part, Problem, Result, solve
from pauc_core.solver.loop import SCORED
from pauc_core.solver.streams import stream
from pauc_core.solver.trace import MEASURES, Row
from pauc_core.suite.configuration import method_class
from pauc_core.suite.run_spec import RunSpec


def run_one(
    run: RunSpec,
    params: dict[str, Any],
    seed: int,
    data: Path,
    *,
    see_test: bool = True,
    watch: Callable[[Row], None] | None = None,
    keeper: Keeper | None = None,
) -> dict[str, Any]:
    """One seed in this process: its trace, its scores and its summary, as plain data.

    A trial does not see the test part: nothing can be chosen by it, and scoring it takes time.
    """
    _set_threads(run)
    problem, test, prepared = build_problem(run, data, seed)
    test = test if see_test else None
    method = build_method(run, params)
    with threadpool_limits(run.experiment.threads):
        rehearse(method, problem)
        result = solve(
            method,
            problem,
            build_budget(run),
            run.looks,
            seed=seed,
            name=run.method,
            test=test,
            watch=watch,
            keeper=keeper,
        )
    return {
        "trace": list(result.trace),
        "scores": _scores(result.best, problem.valid, test),
        "summary": {**counts(problem, test, prepared), **_numbers(result)},
    }


def counts(problem: Problem, test: Part | None, prepared: Prepared) -> dict[str, Any]:
    """What a summary says of the problem: its rows, its band and its data."""
    (m, n), (low, high) = problem.ranks, problem.band
    return {
        "n_train_pos": len(problem.train.positives),
        "n_train_neg": len(problem.train.negatives),
        "n_valid": 0 if problem.valid is None else len(problem.valid),
        "n_test": 0 if test is None else len(test),
        "m": m,
        "n": n,
        "fpr_low": low,
        "fpr_high": high,
        "look_rows": len(problem.looked),
        "data_checksum": prepared.checksum,
        "provenance": prepared.meta["provenance"],
    }


def build_method(run: RunSpec, params: dict[str, Any]) -> Method:
    """The method with its hyper-parameters; a wrong or missing one is a sentence."""
    cls = method_class(run.use)
    try:
        method: Method = cls(**params)
    except TypeError as error:
        raise ValueError(f"{run.method}: {run.use} does not take these params: {error}.") from error
    return method


def build_problem(run: RunSpec, folder: Path, seed: int) -> tuple[Problem, Part | None, Prepared]:
    """Problem and test part of a run at a seed, from a prepared folder."""
    prepared, experiment = load_prepared(folder).for_seed(seed), run.experiment
    y, train_rows, valid_rows, test_rows = split(
        prepared, run.task, seed, experiment.valid_share, use_all=experiment.use_all
    )
    train, valid, test = (
        Part(prepared.x, y, np.asarray(rows)) for rows in (train_rows, valid_rows, test_rows)
    )
    problem = Problem(
        train=train,
        valid=valid if len(valid) else None,
        model=_model(run, prepared, train),
        goal=experiment.goal,
        loss=experiment.loss,
        step_epochs=experiment.step_epochs,
        look_rows=_look_rows(run, train, seed),
        **experiment.band,  # type: ignore[arg-type]
    )
    return problem, test if len(test) else None, prepared


def build_budget(run: RunSpec) -> Budget:
    return Budget(**run.budget)  # type: ignore[arg-type]


def _model(run: RunSpec, prepared: Prepared, train: Part) -> Model:
    experiment = run.experiment
    if experiment.model == "linear":
        return LinearModel.fit_scaling(train, experiment.scaling)
    from pauc_core.models.module import ModuleModel
    from pauc_core.models.precision import build_at

    network = build_at(experiment.precision, experiment.model, in_channels=prepared.x.shape[1])
    return ModuleModel(network, augmentation=experiment.augmentation, device=run.device)


def _look_rows(run: RunSpec, train: Part, seed: int) -> np.ndarray | None:
    """A stratified sample of the training rows, the same for all methods at a seed."""
    wanted = run.experiment.look_rows
    if wanted is None or wanted >= len(train):
        return None
    rng = stream(seed, "looks", run.dataset)
    share = wanted / len(train)
    chosen = [
        rng.choice(rows, max(1, round(share * len(rows))), replace=False)
        for rows in (train.positives, train.negatives)
    ]
    return np.sort(np.concatenate(chosen))


def rehearse(method: Method, problem: Problem) -> None:
    """Take one step on a few rows, so that compiling is over before the clock starts."""
    if problem.model.kind != "linear":
        return
    train = problem.train
    rows = np.concatenate([train.positives[:20], train.negatives[:80]])
    few = dataclasses.replace(
        problem, train=Part(train.x, train.y, rows), look_rows=None, m=2, n=len(rows) // 2
    )
    # What is wrong with a method shows in the run itself, where it becomes a row.
    with contextlib.suppress(Exception):
        solve(method, few, Budget(steps=1), [0.0], seed=0, name="rehearsal")


def _set_threads(run: RunSpec) -> None:
    """The number of numeric threads is the experiment's, not the machine's: same bits anywhere."""
    import numba

    numba.set_num_threads(min(run.experiment.threads, os.cpu_count() or 1))
    if run.experiment.model != "linear":
        import torch

        torch.set_num_threads(run.experiment.threads)
        # The same flag by a way that does not import torch's compiler, which takes a second.
        torch.set_deterministic_debug_mode("warn")


def _numbers(result: Result) -> dict[str, Any]:
    """Best and last look as flat columns; another iterate's own best look has its suffix."""
    numbers: dict[str, Any] = {"outcome": result.outcome.value, "reason": result.reason}
    if result.best is not None and result.last is not None:
        numbers.update({k: v for k, v in result.best.row.items() if k not in ("seconds", "wall")})
        for which, look in result.best_looks.items():
            if which != SCORED:
                numbers.update({f"{k}_{which}": look.row[k] for k in ("epoch", *MEASURES)})
        numbers.update({f"last_{k}": v for k, v in result.last.row.items() if k in MEASURES})
        numbers["last_epoch"] = result.last.row["epoch"]
        numbers["last_step"] = result.last.row["step"]
        numbers["seconds"] = result.seconds
        numbers["wall"] = result.trace.rows[-1]["wall"]
    return {k: (None if isinstance(v, float) and np.isnan(v) else v) for k, v in numbers.items()}


def _scores(
    look: Look | None, valid: Part | None, test: Part | None
) -> list[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    """Of each part that was scored: its name, rows, labels and scores."""
    if look is None:
        return []
    return [
        (name, part.rows, part.labels.astype(np.int8), scores)
        for name, part, scores in (("valid", valid, look.valid), ("test", test, look.test))
        if part is not None and scores is not None
    ]
