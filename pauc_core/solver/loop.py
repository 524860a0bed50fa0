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
from pauc_core.solver.trace import MEASURES, OWN, Row, Trace

SCORED = "scored"  # the iterate that is the method's answer


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
        """Whether a limit is reached."""
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
    """All that a run needs to go on where it was; looks by the name of the iterate."""

    state: State
    step: int = 0
    work: int = 0
    seconds: float = 0.0
    wall: float = 0.0
    next_look: int = 0
    trace: Trace = field(default_factory=Trace)
    best: dict[str, Look] = field(default_factory=dict)
    last: dict[str, Look] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Result:
    """A finished run: how it ended, its trace, each iterate's best look on validation and last."""

    outcome: Outcome
    reason: str
    trace: Trace
    best_looks: dict[str, Look]
    last_looks: dict[str, Look]
    seconds: float
    state: State

    @property
    def best(self) -> Look | None:
        """The best look at the method's answer."""
        return self.best_looks.get(SCORED)

    @property
    def last(self) -> Look | None:
        """The last look at the method's answer."""
        return self.last_looks.get(SCORED)


class Keeper(Protocol):
    """Saves a run's progress now and then; see ``pauc_core.suite.checkpoint``."""

    def load(self, template: State) -> Progress | None:
        """What was saved, its state shaped like the template; nothing where nothing was."""
        ...

    def offer(self, progress: Progress) -> None:
        """Save this, if it is time to."""
        ...


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

    The clock runs inside ``init`` and ``step`` alone. An iterate's best look is the one with its
    highest pAUC on validation (without validation data, the last). A step's randomness depends on
    seed, name and step alone, so a run that was cut and resumed gives the same bits.
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
    counters: Row = {
        "step": progress.step,
        "epoch": state.epochs,
        "work": progress.work,
        "seconds": progress.seconds,
        "wall": progress.wall,
    }
    # An iterate beside the scored one that is not finite is left out and does not end the run.
    seen = {
        which: look
        for which, iterate in state.iterates().items()
        if (look := _seen(problem, iterate, test, counters)) is not None
    }
    if SCORED not in seen or not np.isfinite(seen[SCORED].row["objective"]):
        return Outcome.NONFINITE
    row = seen[SCORED].row
    for which, look in seen.items():
        if which != SCORED:
            row |= {f"{name}_{which}": look.row[name] for name in MEASURES}
    row |= {f"{OWN}{name}": value for name, value in state.own().items()}
    start = progress.trace.rows[0]["objective"] if len(progress.trace) else row["objective"]
    progress.trace.append(row)
    if watch is not None:
        watch(row)
    if row["objective"] > DIVERGED * max(abs(start), 1e-12):
        return Outcome.DIVERGED
    for which, look in seen.items():
        progress.last[which] = look
        best = progress.best.get(which)
        # Where nothing is held out there is nothing to choose by: the last look stands.
        if best is None or not look.row["pauc_valid"] <= best.row["pauc_valid"]:
            progress.best[which] = look
    return None


def _seen(problem: Problem, iterate: Iterate, test: Part | None, counters: Row) -> Look | None:
    """Scores and measures of one iterate, or None where a score is not finite."""
    train = _scores(problem, iterate, problem.looked)
    valid = None if problem.valid is None else _scores(problem, iterate, problem.valid)
    test_scores = None if test is None else _scores(problem, iterate, test)
    if not all(np.isfinite(x).all() for x in (train, valid, test_scores) if x is not None):
        return None
    row = {
        **counters,
        "objective": problem.objective(train),
        "pauc_train": _pauc(problem, problem.looked, train),
        "pauc_valid": _pauc(problem, problem.valid, valid),
        "pauc_test": _pauc(problem, test, test_scores),
    }
    return Look(row=row, iterate=_copy(iterate), valid=valid, test=test_scores)


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
        best_looks=progress.best,
        last_looks=progress.last,
        seconds=progress.seconds,
        state=progress.state,
    )
