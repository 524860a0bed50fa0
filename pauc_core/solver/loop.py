"""The only loop, clock and budget in the house."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from pauc_core.metrics import pauc
from pauc_core.solver.method import DIVERGED, Method, Outcome, State
from pauc_core.solver.problem import Iterate, Part, Problem, Work
from pauc_core.solver.streams import stream
from pauc_core.solver.trace import Row, Trace


@dataclass(frozen=True, kw_only=True)
class Budget:
    """When a run ends; the first limit reached counts."""

    steps: int | None = None
    epochs: float | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.steps is None and self.epochs is None and self.seconds is None:
            raise ValueError("A budget needs at least one of steps, epochs and seconds.")

    def spent(self, steps: int, epochs: float, seconds: float) -> bool:
        # The small slack forgives counters that are sums of fractions.
        return (
            (self.steps is not None and steps >= self.steps)
            or (self.epochs is not None and epochs >= self.epochs - 1e-9)
            or (self.seconds is not None and seconds >= self.seconds)
        )


@dataclass(kw_only=True)
class Look:
    """One iterate as it was seen: where on the way, its scores, and the iterate itself."""

    row: Row
    iterate: Iterate
    valid: np.ndarray | None
    test: np.ndarray | None


@dataclass(kw_only=True)
class Progress:
    """All that a run needs to go on where it was."""

    state: State
    step: int = 0
    work: int = 0
    seconds: float = 0.0
    wall: float = 0.0
    next_look: int = 0
    trace: Trace = field(default_factory=Trace)
    best: Look | None = None
    last: Look | None = None


@dataclass(frozen=True, kw_only=True)
class Result:
    """A finished run: how it ended, its trace, its best look on validation and its last one."""

    outcome: Outcome
    reason: str
    trace: Trace
    best: Look | None
    last: Look | None
    seconds: float
    state: State


class Keeper(Protocol):
    """Saves a run's progress now and then; see ``pauc_core.suite.checkpoint``."""

    def load(self, template: State) -> Progress | None: ...

    def offer(self, progress: Progress) -> None: ...


def solve(
    method: Method,
    problem: Problem,
    budget: Budget,
    looks: Sequence[float],
    *,
    seed: int,
    name: str = "method",
    test: Part | None = None,
    watch: Callable[[Row], None] | None = None,
    keeper: Keeper | None = None,
) -> Result:
    """Run a method until its budget is spent and look at it at the given epochs.

    The clock runs inside ``init`` and ``step`` alone. The best look is the one with the highest
    pAUC on validation (without validation data, the last). A step's randomness depends on seed,
    name and step alone, so a run that was cut and resumed gives the same bits.
    """
    looks = sorted({0.0, *looks})
    progress = _begin(method, problem, seed, keeper)
    while True:
        spent = budget.spent(progress.step, progress.state.epochs, progress.seconds)
        ended = spent or progress.state.finished
        due = progress.next_look < len(looks) and progress.state.epochs >= looks[progress.next_look]
        if due or ended:
            bad = _look(problem, progress, test, watch)
            while (
                progress.next_look < len(looks)
                and progress.state.epochs >= looks[progress.next_look]
            ):
                progress.next_look += 1
            if bad is not None:
                return _result(bad, progress)
            if keeper is not None:
                keeper.offer(progress)
        if ended:
            done = Outcome.CONVERGED if progress.state.finished else Outcome.BUDGET
            return _result(done, progress)
        rng = stream(seed, name, "step", progress.step)
        with _Clock(progress, problem.model.work):
            progress.state = method.step(problem, progress.state, rng)
        progress.step += 1


def _begin(method: Method, problem: Problem, seed: int, keeper: Keeper | None) -> Progress:
    for what, have, want in (
        ("goal", method.goals, problem.goal),
        ("model", method.models, problem.model.kind),
    ):
        if want not in have:
            raise ValueError(
                f"{type(method).__name__} does not handle the {what} {want!r}; it handles "
                f"{', '.join(sorted(have))}."
            )
    progress = Progress(state=State())
    with _Clock(progress, problem.model.work):
        progress.state = method.init(problem, stream(seed, "start"))
    saved = keeper.load(progress.state) if keeper is not None else None
    return saved or progress


class _Clock:
    """Adds the process time, the elapsed time and the work of its block to a run's progress."""

    def __init__(self, progress: Progress, work: Work) -> None:
        self.progress, self.work = progress, work

    def __enter__(self) -> None:
        self.rows = self.work.rows
        self.process, self.elapsed = time.process_time(), time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.progress.seconds += time.process_time() - self.process
        self.progress.wall += time.perf_counter() - self.elapsed
        self.progress.work += self.work.rows - self.rows


def _look(
    problem: Problem,
    progress: Progress,
    test: Part | None,
    watch: Callable[[Row], None] | None,
) -> Outcome | None:
    """Score every iterate, append a row; return an outcome if the run has gone bad."""
    state = progress.state
    row: Row = {
        "step": progress.step,
        "epoch": state.epochs,
        "work": progress.work,
        "seconds": progress.seconds,
        "wall": progress.wall,
    }
    seen: dict[str, tuple[np.ndarray | None, np.ndarray | None]] = {}
    for which, iterate in state.iterates().items():
        suffix = "" if which == "scored" else f"_{which}"
        scores = _scores(problem, iterate, problem.looked)
        if not np.all(np.isfinite(scores)):
            if which == "scored":
                return Outcome.NONFINITE
            continue
        valid = None if problem.valid is None else _scores(problem, iterate, problem.valid)
        test_scores = None if test is None else _scores(problem, iterate, test)
        row[f"objective{suffix}"] = problem.objective(scores)
        row[f"pauc_train{suffix}"] = _pauc(problem, problem.looked, scores)
        row[f"pauc_valid{suffix}"] = _pauc(problem, problem.valid, valid)
        row[f"pauc_test{suffix}"] = _pauc(problem, test, test_scores)
        seen[which] = valid, test_scores
    start = progress.trace.rows[0]["objective"] if len(progress.trace) else row["objective"]
    if not np.isfinite(row["objective"]):
        return Outcome.NONFINITE
    row.update(state.own())
    progress.trace.append(row)
    if watch is not None:
        watch(row)
    if row["objective"] > DIVERGED * max(abs(start), 1e-12):
        return Outcome.DIVERGED
    valid, test_scores = seen["scored"]
    look = Look(row=row, iterate=_copy(state.iterates()["scored"]), valid=valid, test=test_scores)
    progress.last = look
    best = progress.best
    # Where nothing is held out there is nothing to choose by: the last look stands.
    if best is None or not row["pauc_valid"] <= best.row["pauc_valid"]:
        progress.best = look
    return None


def _scores(problem: Problem, iterate: Iterate, part: Part) -> np.ndarray:
    return iterate(part) if callable(iterate) else problem.model.scores(iterate, part)


def _pauc(problem: Problem, part: Part | None, scores: np.ndarray | None) -> float:
    if part is None or scores is None or problem.goal == "sorr":
        return float("nan")
    low, high = problem.band
    return pauc(part.labels, scores, fpr_low=low, fpr_high=high)


def _copy(iterate: Iterate) -> Iterate:
    if isinstance(iterate, dict):
        return {key: value.detach().clone() for key, value in iterate.items()}
    return iterate if callable(iterate) else np.array(iterate)


def _result(outcome: Outcome, progress: Progress) -> Result:
    return Result(
        outcome=outcome,
        reason=outcome.sentence,
        trace=progress.trace,
        best=progress.best,
        last=progress.last,
        seconds=progress.seconds,
        state=progress.state,
    )
