"""The exact partial-AUC loss for torch: one value, one backward pass, near-linear time."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from pauc_core.metrics import ranks
from pauc_core.objective import pauc_loss_grad
from pauc_core.objective.losses import Loss, get_loss

FEW = 2048  # pairs up to which looking at each costs less than what makes many of them cheap


class PartialAUCLoss(torch.nn.Module):
    """Equation (3) over one batch, over a batch among recent ones, or over a whole data set.

    ``loss(scores, targets)`` takes scores of any floating type on any device and targets of the
    same number of elements, true (or 1) for the positives. Value and gradient are computed in
    float64 on the CPU; the value comes back in the type of the scores, or float32 where they are
    in half precision, the gradient in their type. There is no second derivative: a backward pass
    with create_graph=True raises.

    Without memory the band's ranks are taken among the negatives of the call, which needs both
    classes. With memory they are taken among these and the ``memory`` scores of each class that
    came last, so that the band's edges are about the data set's and batches of any make will do.
    The value is then (3) over all of these scores, and the gradient is that of (3) by the call's
    own scores, each class's share blown up to the whole: an estimate of the data set's gradient.
    As long as a class has not been seen, or the negatives are too few for the band, both are 0.
    In evaluation mode memory is neither used nor changed.

    Parameters
    ----------
    fpr_low, fpr_high : float
        The band of false positive rates.
    loss : {"logistic", "sigmoid", "squared_hinge"}
        The surrogate of the score gap; "logistic" is the paper's.
    memory : int
        Scores of each class that are kept, in buffers: they are saved, loaded and moved with the
        module, without gradient. 0 keeps none.
    labels : int
        Columns of scores and targets with a loss each, whose mean is returned. With 1 the scores
        may have any shape.
    """

    recent: Tensor  # (labels, 2, memory): scores of the negatives, of the positives
    stored: Tensor  # (labels, 2): how many were ever stored

    def __init__(
        self,
        fpr_low: float,
        fpr_high: float,
        loss: str = "logistic",
        *,
        memory: int = 0,
        labels: int = 1,
    ) -> None:
        super().__init__()
        if not 0.0 <= fpr_low < fpr_high <= 1.0:
            raise ValueError(
                f"The band [{fpr_low}, {fpr_high}] is not one: expected "
                "0 <= fpr_low < fpr_high <= 1."
            )
        get_loss(loss)
        if memory < 0 or labels < 1:
            raise ValueError(
                f"memory is {memory} and labels is {labels}: expected at least 0 and at least 1."
            )
        self.fpr_low = fpr_low
        self.fpr_high = fpr_high
        self.loss = loss
        self.memory = memory
        self.labels = labels
        if memory:
            ranks(memory, fpr_low, fpr_high)  # a band that memory could never hold is refused now
            self.register_buffer("recent", torch.zeros(labels, 2, memory))
            self.register_buffer("stored", torch.zeros(labels, 2, dtype=torch.int64))

    def forward(self, scores: Tensor, targets: Tensor) -> Tensor:
        if scores.numel() != targets.numel():
            raise ValueError(
                f"The loss got {scores.numel()} scores and {targets.numel()} targets; expected "
                "one target for each score."
            )
        if self.labels > 1 and (scores.ndim != 2 or scores.shape[1] != self.labels):
            raise ValueError(
                f"Scores of shape {tuple(scores.shape)} do not have a column for each of "
                f"{self.labels} labels: expected shape (n, {self.labels})."
            )
        found = scores.detach().cpu().double().numpy().reshape(-1, self.labels)
        positive = _as_bool(targets).reshape(-1, self.labels)
        if not np.isfinite(found).all():
            raise ValueError("The scores hold NaN or infinite values: expected finite numbers.")
        remembers = self.memory > 0 and self.training
        column = self._among_recent if remembers else self._alone
        slopes = np.empty_like(found)
        value = 0.0
        for place in range(self.labels):
            part, slopes[:, place] = column(found[:, place], positive[:, place], place)
            value += part / self.labels
        if self.labels > 1:
            slopes /= self.labels
        if remembers:
            self._store(found, positive)
        known: Tensor = _KnownSlopes.apply(scores, value, slopes)
        return known

    def _alone(
        self, scores: np.ndarray, positive: np.ndarray, place: int
    ) -> tuple[float, np.ndarray]:
        """Equation (3) over a column of this call."""
        p, q = scores[positive], scores[~positive]
        if not p.size or not q.size:
            where = f" and label {place}" if self.labels > 1 else ""
            raise ValueError(
                f"The loss needs both classes in each call{where}; got {p.size} positives and "
                f"{q.size} negatives: draw batches by class, or set memory."
            )
        slopes = np.empty_like(scores)
        value, slopes[positive], slopes[~positive] = self._exact(p, q)
        return value, slopes

    def _among_recent(
        self, scores: np.ndarray, positive: np.ndarray, place: int
    ) -> tuple[float, np.ndarray]:
        """Equation (3) over a column of this call and what is remembered of it."""
        slopes = np.zeros_like(scores)
        counts = self.stored[place].clamp(max=self.memory).tolist()
        recent = self.recent[place].cpu().double().numpy()
        own = scores[~positive], scores[positive]
        q, p = (np.append(own[k], recent[k, : counts[k]]) for k in (0, 1))
        m, n = (_rank(q.size * rate) for rate in (self.fpr_low, self.fpr_high))
        if not p.size or m >= n:
            return 0.0, slopes
        value, by_p, by_q = self._exact(p, q)
        # The call's rows stand for all of their class.
        if own[1].size:
            slopes[positive] = by_p[: own[1].size] * (p.size / own[1].size)
        if own[0].size:
            slopes[~positive] = by_q[: own[0].size] * (q.size / own[0].size)
        return value, slopes

    def _exact(self, p: np.ndarray, q: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        m, n = ranks(q.size, self.fpr_low, self.fpr_high)
        if p.size * (n - m) <= FEW:
            return _each_pair(p, q, m, n, get_loss(self.loss))
        return pauc_loss_grad(p, q, m=m, n=n, loss=self.loss)

    @torch.no_grad()
    def _store(self, scores: np.ndarray, positive: np.ndarray) -> None:
        """Put the call's scores in the places of the oldest."""
        before = self.stored.tolist()
        for place in range(self.labels):
            for k, members in enumerate((~positive[:, place], positive[:, place])):
                fresh = scores[members, place][-self.memory :]
                slots = (before[place][k] + np.arange(fresh.size)) % self.memory
                values = torch.from_numpy(fresh).to(self.recent)
                self.recent[place, k, torch.from_numpy(slots).to(values.device)] = values
                self.stored[place, k] += fresh.size

    def extra_repr(self) -> str:
        more = f", memory={self.memory}" if self.memory else ""
        more += f", labels={self.labels}" if self.labels > 1 else ""
        return f"fpr_low={self.fpr_low}, fpr_high={self.fpr_high}, loss={self.loss!r}{more}"


class _KnownSlopes(torch.autograd.Function):
    """A value whose derivative by the scores is known."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, value: float, slopes: np.ndarray) -> Tensor:
        # In half precision slopes of 1 / n would vanish before an upstream factor saves them.
        kind = torch.promote_types(scores.dtype, torch.float32)
        ctx.kind = scores.dtype
        ctx.save_for_backward(torch.from_numpy(slopes).to(scores.device, kind).view(scores.shape))
        return torch.tensor(value, dtype=kind, device=scores.device)

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        # Grad mode is on in a backward pass under create_graph=True alone. There the slopes would
        # pass for constants, and whatever else the graph holds would hide that a term is missing.
        if torch.is_grad_enabled():
            raise RuntimeError(
                "PartialAUCLoss has no second derivative; expected a backward pass without "
                "create_graph=True."
            )
        (slopes,) = ctx.saved_tensors
        return (upstream * slopes).to(ctx.kind), None, None


def _each_pair(
    p: np.ndarray, q: np.ndarray, m: int, n: int, loss: Loss
) -> tuple[float, np.ndarray, np.ndarray]:
    """`pauc_loss_grad` by looking at each pair."""
    band = np.argsort(-q, kind="stable")[m:n]  # of equal negatives the first ranks higher
    gaps = p[:, None] - q[band]
    slopes = loss.slope(gaps) / gaps.size
    by_q = np.zeros_like(q)
    by_q[band] = -slopes.sum(axis=0)
    return float(loss.value(gaps).sum()) / gaps.size, slopes.sum(axis=1), by_q


def _rank(count: float) -> int:
    return int(np.floor(count + 0.5))  # as `ranks` rounds


def _as_bool(targets: Tensor) -> np.ndarray:
    flat = (targets.float() if targets.dtype == torch.bfloat16 else targets).cpu().numpy()
    if flat.dtype != np.bool_ and not ((flat == 0) | (flat == 1)).all():
        raise ValueError(
            "Targets must be 0 and 1 or booleans; map the positive class to 1 before the loss."
        )
    return flat.astype(np.bool_, copy=False)
