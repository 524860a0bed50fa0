"""What is solved: training and validation data, the band, the loss and the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from pauc_core.objective import pauc_loss, ranks, sorr_loss
from pauc_core.objective.losses import get_loss

if TYPE_CHECKING:
    import torch

    Predictor = Callable[["Part"], np.ndarray]
    Iterate = np.ndarray | dict[str, torch.Tensor] | Predictor
else:
    Iterate = Any


@dataclass(frozen=True)
class Part:
    """Some rows of a stored array: features (n, d) or pictures (n, c, h, w), labels as booleans."""

    x: np.ndarray
    y: np.ndarray
    rows: np.ndarray

    def __post_init__(self) -> None:
        if self.y.dtype != np.bool_ or self.y.shape != (len(self.x),):
            raise ValueError(
                f"Labels of a part must be booleans, one for each of its {len(self.x)} stored "
                f"rows; got {self.y.dtype} of shape {self.y.shape}."
            )

    @cached_property
    def labels(self) -> np.ndarray:
        """Labels of the part's own rows."""
        return self.y[self.rows]

    @cached_property
    def positives(self) -> np.ndarray:
        """Stored rows that are positive."""
        return self.rows[self.labels]

    @cached_property
    def negatives(self) -> np.ndarray:
        """Stored rows that are negative."""
        return self.rows[~self.labels]

    def __len__(self) -> int:
        return len(self.rows)


@dataclass
class Work:
    """Rows that went through a model, forward (scores) or back (a gradient), each pass once."""

    rows: int = 0

    def add(self, rows: int) -> None:
        """Count so many more."""
        self.rows += int(rows)


class Model(Protocol):
    """What turns an iterate into scores of shape (n,), and counts the rows it is asked for."""

    kind: ClassVar[str]

    @property
    def work(self) -> Work:
        """The rows asked for so far."""
        ...

    def start(self, rng: np.random.Generator) -> Any:
        """A first iterate."""
        ...

    def scores(self, iterate: Any, part: Part) -> np.ndarray:
        """Scores of a part's rows."""
        ...


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Training and validation data, the band, the loss and the model; never test data.

    ``goal`` is ``"pauc"`` for problem (3) or ``"sorr"`` for the sum of ranked range. The band is
    given as rates or as counts ``m``, ``n``. ``step_epochs`` is how much work one step may do.
    ``look_rows`` are the training rows at which the objective is looked at, where all of them
    would cost more than the training itself.
    """

    train: Part
    valid: Part | None
    model: Model
    goal: str = "pauc"
    fpr_low: float | None = None
    fpr_high: float | None = None
    m: int | None = None
    n: int | None = None
    loss: str = "logistic"
    step_epochs: float = 0.25
    look_rows: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.goal not in ("pauc", "sorr"):
            raise ValueError(f"The goal {self.goal!r} is unknown; expected 'pauc' or 'sorr'.")
        if not len(self.train.positives) or not len(self.train.negatives):
            raise ValueError(
                f"Training needs both classes; the data have {len(self.train.positives)} "
                f"positives and {len(self.train.negatives)} negatives."
            )
        get_loss(self.loss)
        _ = self.ranks

    @cached_property
    def ranks(self) -> tuple[int, int]:
        """The band as whole ranks m < n among the N- negatives (for SoRR among all N rows)."""
        total = len(self.train.negatives) if self.goal == "pauc" else len(self.train)
        if self.m is not None and self.n is not None:
            if not 0 <= self.m < self.n <= total:
                raise ValueError(
                    f"Ranks m = {self.m}, n = {self.n} do not fit: expected 0 <= m < n <= {total}."
                )
            return self.m, self.n
        if self.fpr_low is None or self.fpr_high is None:
            raise ValueError("A problem needs its band: fpr_low and fpr_high, or m and n.")
        return ranks(total, self.fpr_low, self.fpr_high)

    @property
    def band(self) -> tuple[float, float]:
        """The band as false positive rates."""
        if self.fpr_low is not None and self.fpr_high is not None:
            return self.fpr_low, self.fpr_high
        m, n = self.ranks
        total = len(self.train.negatives)
        return min(m / total, 1.0), min(n / total, 1.0)

    @cached_property
    def looked(self) -> Part:
        """The training rows that looks are taken at."""
        if self.look_rows is None:
            return self.train
        return Part(self.train.x, self.train.y, self.look_rows)

    def objective(self, scores: np.ndarray) -> float:
        """Exact objective (3), or the SoRR loss, from the scores of the looked-at rows."""
        m, n = self.ranks
        labels = self.looked.labels
        if self.goal == "sorr":
            if self.look_rows is not None:  # the same shares of fewer rows
                m, n = ranks(len(labels), m / len(self.train), n / len(self.train))
            return sorr_loss(self.row_losses(self.looked, scores), m, n)
        if self.look_rows is not None:
            m, n = ranks(int((~labels).sum()), *self.band)
        return pauc_loss(scores[labels], scores[~labels], m=m, n=n, loss=self.loss)

    def row_losses(self, part: Part, scores: np.ndarray) -> np.ndarray:
        """The losses s_j = l(y_j h(x_j)) of SoRR for a part's rows, y_j in {-1, 1}."""
        return get_loss(self.loss).value(np.where(part.labels, scores, -scores))
