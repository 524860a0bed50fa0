"""What every form of Algorithm 1 needs: the rows to rank, the sample sizes, the first lam."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pauc_core.models.linear import LinearModel
from pauc_core.objective import exact_lam
from pauc_core.solver import Iterate, Problem, Work

NO_ROWS = np.zeros(0, dtype=np.int64)


class RowArrays(NamedTuple):
    """The arrays of `PairRows`, as a compiled loop takes them."""

    x: np.ndarray
    pos_rows: np.ndarray
    neg_rows: np.ndarray
    signs: np.ndarray
    center: np.ndarray
    scale: np.ndarray


@dataclass(frozen=True, kw_only=True)
class PairRows:
    """The rows whose pairs are ranked: ``pos_rows`` against ``neg_rows`` of the stored array.

    A score is ``sign * v . (x - center) / scale``. SoRR is the case N+ = 1 of a positive without
    a row, whose score is always 0, against all rows with the sign -y: then
    s_j = l(0 - (-y_j h_j)) = l(y_j h_j). ``work`` counts the rows that are read.
    """

    x: np.ndarray
    pos_rows: np.ndarray
    neg_rows: np.ndarray
    signs: np.ndarray
    center: np.ndarray
    scale: np.ndarray
    work: Work = field(default_factory=Work)

    @property
    def n_pos(self) -> int:
        return max(len(self.pos_rows), 1)

    @property
    def n_neg(self) -> int:
        return len(self.neg_rows)

    @cached_property
    def kind(self) -> np.dtype:
        """The float type of products with rows."""
        return np.dtype(np.float32 if self.x.dtype == np.float32 else np.float64)

    @cached_property
    def arrays(self) -> RowArrays:
        x = np.asarray(self.x).view()
        x.flags.writeable = False  # memory-mapped or not: one compiled version for a number type
        return RowArrays(x, self.pos_rows, self.neg_rows, self.signs, self.center, self.scale)

    def count(self, pos: tuple[int, ...], neg: tuple[int, ...], calls: int) -> None:
        """Count draws of the given shapes: each call scores its rows and pulls them back."""
        sampled = neg[1] + (pos[1] if len(self.pos_rows) else 0)
        self.work.add(2 * calls * neg[0] * sampled)


def pair_rows(problem: Problem) -> PairRows:
    """The pairs of a linear problem; for SoRR all rows with signs -y against a score of 0."""
    if not isinstance(problem.model, LinearModel):
        raise TypeError(
            f"A linear method got a {type(problem.model).__name__}; expected LinearModel."
        )
    train, sorr = problem.train, problem.goal == "sorr"
    neg_rows = train.rows if sorr else train.negatives
    signs = np.where(train.labels, -1.0, 1.0) if sorr else np.ones(len(neg_rows))
    return PairRows(
        x=train.x,
        pos_rows=NO_ROWS if sorr else np.asarray(train.positives, dtype=np.int64),
        neg_rows=np.asarray(neg_rows, dtype=np.int64),
        signs=signs,
        center=problem.model.center,
        scale=problem.model.scale,
        work=problem.model.work,
    )


def sample_sizes(problem: Problem, I: int, J: int) -> tuple[int, int]:
    """I and J, no more than there are; SoRR has its one row-less positive."""
    if problem.goal == "sorr":
        return 1, min(J, len(problem.train))
    return min(I, len(problem.train.positives)), min(J, len(problem.train.negatives))


def sampled_rows(problem: Problem, I: int, J: int) -> int:
    """Rows that one inner iteration draws."""
    size_i, size_j = sample_sizes(problem, I, J)
    return size_j if problem.goal == "sorr" else size_i + size_j


def inner_iterations(problem: Problem, I: int, J: int) -> int:
    """Inner iterations that fit into one step of the solver, at least one."""
    return max(1, int(problem.step_epochs * len(problem.train) / sampled_rows(problem, I, J)))


def first_lam(lam_start: str, problem: Problem, start: Iterate) -> tuple[np.ndarray, int]:
    """First lam of both calls, shape (2, N+), and the passes over the data that it took."""
    sorr = problem.goal == "sorr"
    n_pos = 1 if sorr else len(problem.train.positives)
    if lam_start == "zero":
        return np.zeros((2, n_pos)), 0
    scores = problem.model.scores(start, problem.train)
    labels = problem.train.labels
    p = np.zeros(1) if sorr else scores[labels]
    q = np.where(labels, -scores, scores) if sorr else scores[~labels]
    return np.stack([exact_lam(p, q, rank, loss=problem.loss) for rank in problem.ranks]), 1
