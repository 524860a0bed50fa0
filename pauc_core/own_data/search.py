"""The search behind the classifier: every candidate on every fold, then one of them on all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from pauc_core.bands import Band
from pauc_core.solver.choice import Seen, choose, gap, look_at, pool
from pauc_core.solver.path import Training, fit_band, fit_logistic, follow

PLAIN, BALANCED = "logistic regression", "balanced logistic regression"
LOGISTIC_ITERATIONS = 1000
CLEAR = 2.0  # paired standard errors from which one ranking is worse than another


@dataclass(frozen=True)
class Candidate:
    """A kind of fit; logistic regression has no penalty of ours and counts as the largest."""

    loss: str
    penalty: float


@dataclass(frozen=True)
class Plan:
    """What is searched: surrogates, penalties, whether logistic regression may win; and limits."""

    losses: tuple[str, ...]
    penalties: tuple[float, ...]
    starts: bool
    max_iter: int
    tol: float
    class_weights: tuple[float, float]

    @property
    def candidates(self) -> list[Candidate]:
        starts = [Candidate(PLAIN, np.inf), Candidate(BALANCED, np.inf)] if self.starts else []
        paths = [Candidate(loss, p) for loss in self.losses for p in sorted(self.penalties)]
        return starts + paths


@dataclass(frozen=True)
class Found:
    """The candidates as the held-out rows see them, and the weights of the one that was chosen.

    ``table`` has a column a fact and a row a candidate; ``start`` is the held-out pAUC of plain
    logistic regression, and ``behind`` whether the chosen one lies clearly below it. ``fell``: the
    fit to all rows ranked them clearly worse than the weights that it began with, which were kept.
    """

    table: dict[str, np.ndarray]
    start: float
    behind: bool
    chosen: int
    fold_weights: list[np.ndarray]
    weights: np.ndarray
    fell: bool
    iterations: int

    def signed(self, band: Band) -> Found:
        """The weights for the problem as it is, where the band's one was exchanged."""
        sign = -1.0 if band.exchanged else 1.0
        folds = [sign * w for w in self.fold_weights]
        return replace(self, fold_weights=folds, weights=sign * self.weights)


def _table(
    candidates: Sequence[Candidate], seen: Sequence[Seen], chosen: int
) -> dict[str, np.ndarray]:
    gaps = [gap(seen[chosen], one) for one in seen]
    penalties = np.array([c.penalty for c in candidates])
    return {
        "loss": np.array([c.loss for c in candidates]),
        "penalty": np.where(np.isinf(penalties), np.nan, penalties),
        "pauc": np.array([one.value for one in seen]),
        "standard_error": np.array([one.standard_error for one in seen]),
        "below_chosen": np.array([difference for difference, _ in gaps]),
        "below_chosen_error": np.array([error for _, error in gaps]),
    }


def search(
    everything: Training,
    held_out: Sequence[np.ndarray],
    plan: Plan,
    n_jobs: int | None,
    tick: Callable[[], object],
) -> Found:
    """Fit every candidate with each fold held out, choose one, and fit it to all rows.

    ``held_out`` are masks of rows, one a fold; ``tick`` is called after every fit. Folds and
    surrogates are threads of this process: they share the rows.
    """
    folds = [replace(everything, train=~held) for held in held_out]
    run = Parallel(n_jobs=n_jobs, require="sharedmem")
    # Threads of the linear algebra would wait for each other's cores.
    with threadpool_limits(1):
        starts = run(delayed(_starts)(fold, plan, tick) for fold in folds)
        paths = run(
            delayed(_path)(fold, start[0], loss, plan, tick)
            for fold, start in zip(folds, starts, strict=True)
            for loss in plan.losses
        )
    candidates = plan.candidates
    weights: list[list[np.ndarray]] = [[] for _ in candidates]
    for k, start in enumerate(starts):
        mine = paths[k * len(plan.losses) : (k + 1) * len(plan.losses)]
        found = [*(start if plan.starts else []), *(w for path in mine for w in path)]
        for place, w in enumerate(found):
            weights[place].append(w)

    def seen(each: Sequence[np.ndarray]) -> Seen:
        return pool([_look(everything, w, held) for w, held in zip(each, held_out, strict=True)])

    looks = run(delayed(seen)(each) for each in weights)
    chosen = choose(looks, [c.penalty for c in candidates])
    table = _table(candidates, looks, chosen)
    plain = looks[0] if plan.starts else seen([start[0] for start in starts])
    start_value, behind = plain.value, _clearly_above(plain, looks[chosen])
    del looks, plain  # a number a held-out row and candidate
    best, fell, iterations = _refit(
        everything, candidates[chosen], np.mean(weights[chosen], axis=0), plan
    )
    tick()
    return Found(table, start_value, behind, chosen, weights[chosen], best, fell, iterations)


def without_choice(everything: Training, plan: Plan) -> Found:
    """The plan's first candidate on all rows, where too few can be held out to choose by."""
    candidate = plan.candidates[0]
    start, _ = _logistic(everything, plan.class_weights, np.zeros(everything.rows.width))
    w, fell, iterations = _refit(everything, candidate, start, plan)
    seen, plain = (_look(everything, each, everything.train) for each in (w, start))
    table = _table([candidate], [seen], 0)
    return Found(table, plain.value, _clearly_above(plain, seen), 0, [], w, fell, iterations)


def _look(everything: Training, w: np.ndarray, held: np.ndarray) -> Seen:
    scores, weights = everything.rows.scores(w)[held], everything.weights
    return look_at(
        everything.positive[held],
        scores,
        everything.fpr_low,
        everything.fpr_high,
        None if weights is None else weights[held],
    )


def _starts(
    fold: Training, plan: Plan, tick: Callable[[], object]
) -> tuple[np.ndarray, np.ndarray]:
    """Logistic regression, plain and balanced."""
    plain, _ = _logistic(fold, plan.class_weights, np.zeros(fold.rows.width))
    tick()
    balanced, _ = _logistic(fold, _balance(fold), plain) if plan.starts else (plain, 0)
    tick()
    return plain, balanced


def _path(
    fold: Training, start: np.ndarray, loss: str, plan: Plan, tick: Callable[[], object]
) -> list[np.ndarray]:
    found = []
    for w, _ in follow(
        fold, start, loss=loss, penalties=plan.penalties, max_iter=plan.max_iter, tol=plan.tol
    ):
        found.append(w)
        tick()
    return found


def _clearly_above(one: Seen, other: Seen) -> bool:
    difference, error = gap(one, other)
    return difference > max(CLEAR * error, 0.0)


def _refit(
    everything: Training, candidate: Candidate, start: np.ndarray, plan: Plan
) -> tuple[np.ndarray, bool, int]:
    """A candidate on all rows, whether it fell below where it began, and its iterations.

    Where pairs in the band are mostly ranked wrongly, as in a narrow one, weights of 0 have the
    least loss, and a fit may end at hardly more, whose ranking is noise.
    """
    if candidate.loss == PLAIN:
        w, iterations = _logistic(everything, plan.class_weights, start)
        return w, False, iterations
    if candidate.loss == BALANCED:
        w, iterations = _logistic(everything, _balance(everything), start)
        return w, False, iterations
    w, iterations = fit_band(
        everything,
        start,
        loss=candidate.loss,
        penalty=candidate.penalty,
        max_iter=plan.max_iter,
        tol=plan.tol,
    )
    before, after = (_look(everything, each, everything.train) for each in (start, w))
    fell = _clearly_above(before, after)
    return start if fell else w, fell, iterations


def _logistic(
    training: Training, class_weights: tuple[float, float], start: np.ndarray
) -> tuple[np.ndarray, int]:
    w, iterations = fit_logistic(
        training, class_weights, np.append(start, 0.0), LOGISTIC_ITERATIONS
    )
    return w[:-1], iterations


def _balance(training: Training) -> tuple[float, float]:
    """Weights that make the two classes equally heavy, on average 1."""
    share = training.mass(training.positive) / training.mass(training.train)
    return 0.5 / (1.0 - share), 0.5 / share
