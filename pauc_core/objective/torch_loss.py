"""The exact partial-AUC loss for torch: one value, one backward pass, near-linear time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pauc_core.bands import fpr_band
from pauc_core.metrics import ranks
from pauc_core.objective import pauc_loss_grad
from pauc_core.objective.losses import Loss, get_loss
from pauc_core.objective.pair_sums import pair_sum_grad
from pauc_core.objective.recent import RecentScores, shares_in_band

Sums = tuple[float, np.ndarray, np.ndarray]  # a value, its slopes by p and by q
FEW = 2048  # pairs up to which looking at each costs less than what makes many of them cheap


class PartialAUCLoss(torch.nn.Module):
    """Equation (3) over one batch, over a whole data set, or over batches that know of each other.

    ``loss(scores, targets)`` takes scores of any floating type on any device and targets of the
    same number of elements, true (or 1) for the positives. Value and gradient are computed in
    float64 on the CPU; the value comes back in the type of the scores, or float32 where they are
    in half precision, the gradient in their type. There is no second derivative: a backward pass
    with create_graph=True raises.

    Without memory the band's ranks are taken among the negatives of the call, which needs both
    classes. With memory they are taken among these and those that came last, so that the band's
    edges are about the data set's, and any batches will do. The pairs are the call's own; the
    value is the mean loss of those in the band times their number over the expected one, so that
    steps are on average those of the whole data set. A class that the call lacks is stood for by
    its remembered scores, and one that calls often lack weighs more where it appears. As long as
    a class has not been seen, or the negatives are too few for the band, value and gradient are
    0. In evaluation mode memory is neither used nor changed.

    Parameters
    ----------
    fpr_low, fpr_high : float
        The band of false positive rates.
    loss : {"logistic", "sigmoid", "squared_hinge"}
        The surrogate of the score gap; "logistic" is the paper's.
    tpr_low, tpr_high : float, optional
        The band as true positive rates instead.
    memory : int
        Scores of each class that are kept, in buffers: they are saved, loaded and moved with the
        module. 0 keeps none. Old scores are of an old network: a few thousand will do.
    labels : int
        Columns of scores and targets with a loss each, whose mean is returned. With 1 the scores
        may have any shape.
    """

    def __init__(
        self,
        fpr_low: float = 0.0,
        fpr_high: float = 1.0,
        loss: str = "logistic",
        *,
        tpr_low: float | None = None,
        tpr_high: float | None = None,
        memory: int = 0,
        labels: int = 1,
    ) -> None:
        super().__init__()
        self.band = fpr_band(fpr_low, fpr_high, tpr_low, tpr_high)
        self.loss = get_loss(loss)
        if memory < 0 or labels < 1:
            raise ValueError(
                f"memory is {memory} and labels is {labels}: expected at least 0 and at least 1."
            )
        self.labels = labels
        self.recent: RecentScores | None = None
        if memory:
            self._ranks(memory)  # a band that memory could never hold is refused now
            self.recent = RecentScores(labels, memory)

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
        given = scores.detach().cpu().double().numpy().reshape(-1, self.labels)
        if not np.isfinite(given).all():
            raise ValueError("The scores hold NaN or infinite values: expected finite numbers.")
        positive = _as_bool(targets).reshape(-1, self.labels)
        if self.band.exchanged:  # true positive rates: classes and signs change places
            given, positive = -given, ~positive
        value, slopes = self._columns(given, positive)
        if self.band.exchanged:
            slopes = -slopes
        known: Tensor = _KnownSlopes.apply(scores, value, slopes)
        return known

    def _columns(self, scores: np.ndarray, positive: np.ndarray) -> tuple[float, np.ndarray]:
        """The mean of the columns' losses and its slopes."""
        recent = self.recent if self.training else None
        rarity = None if recent is None else recent.count(positive)
        value, slopes = 0.0, np.empty_like(scores)
        for label in range(self.labels):
            column, members = scores[:, label], positive[:, label]
            others = ~members
            p, q = column[members], column[others]
            if recent is None or rarity is None:
                part, by_p, by_q = self._alone(p, q, label)
            else:
                part, by_p, by_q = self._among(p, q, *recent.of(label), *rarity[label])
            value += part / self.labels
            column = slopes[:, label]
            column[members], column[others] = by_p, by_q
        if recent is not None:
            recent.store(scores, positive)
        return value, slopes / self.labels if self.labels > 1 else slopes

    def _alone(self, p: np.ndarray, q: np.ndarray, label: int) -> Sums:
        """Equation (3) over the call's own scores."""
        if not p.size or not q.size:
            counts = (q.size, p.size) if self.band.exchanged else (p.size, q.size)
            where = f" and label {label}" if self.labels > 1 else ""
            raise ValueError(
                f"The loss needs both classes in each call{where}; got {counts[0]} positives and "
                f"{counts[1]} negatives: draw batches by class, or set memory."
            )
        m, n = self._ranks(q.size)
        if p.size * (n - m) > FEW:
            return pauc_loss_grad(p, q, m=m, n=n, loss=self.loss)
        band = np.argsort(-q, kind="stable")[m:n]  # of equal negatives the first ranks higher
        by_q = np.zeros(q.size)
        share = 1.0 / (p.size * (n - m))
        value, by_p, by_q[band] = _each_pair(p, q[band], self.loss, None, share)
        return value, by_p, by_q

    def _among(
        self,
        p: np.ndarray,
        q: np.ndarray,
        old_q: np.ndarray,
        old_p: np.ndarray,
        rare_q: float,
        rare_p: float,
    ) -> Sums:
        """An estimate of (3) over the data set, and its slopes by the call's own scores."""
        by_p, by_q = np.zeros_like(p), np.zeros_like(q)
        known = np.append(q, old_q)
        m, n = (math.floor(known.size * rate + 0.5) for rate in self.band[:2])  # as `ranks`
        above, below = p if p.size else old_p, q if q.size else old_q
        if not above.size or m >= n:
            return 0.0, by_p, by_q
        shares = shares_in_band(below, known, m, n)
        inside = np.flatnonzero(shares)
        if not inside.size:
            return 0.0, by_p, by_q
        sums = _each_pair if above.size * inside.size <= FEW else pair_sum_grad
        value, by_above, by_inside = sums(above, below[inside], self.loss, None, shares[inside])
        expected = above.size * below.size * (n - m) / known.size
        if p.size:
            by_p = by_above * (rare_p / expected)
        if q.size:
            by_q[inside] = by_inside * (rare_q / expected)
        return value / expected, by_p, by_q

    def _ranks(self, negatives: int) -> tuple[int, int]:
        return ranks(negatives, self.band.low, self.band.high)

    def extra_repr(self) -> str:
        kind = "exchanged " if self.band.exchanged else ""
        more = f", memory={self.recent.size}" if self.recent is not None else ""
        more += f", labels={self.labels}" if self.labels > 1 else ""
        return f"{kind}band=[{self.band.low}, {self.band.high}], loss={self.loss.name!r}{more}"


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


def _each_pair(p: np.ndarray, q: np.ndarray, loss: Loss, a: None, b: np.ndarray | float) -> Sums:
    """`pair_sum_grad` by looking at each pair; b may be one weight for all."""
    gaps = p[:, None] - q
    slopes = loss.slope(gaps)
    slopes *= b
    values = loss.value(gaps)
    values *= b
    return float(values.sum()), slopes.sum(axis=1), -slopes.sum(axis=0)


def _as_bool(targets: Tensor) -> np.ndarray:
    flat = (targets.float() if targets.dtype == torch.bfloat16 else targets).cpu().numpy()
    if flat.dtype != np.bool_ and not ((flat == 0) | (flat == 1)).all():
        raise ValueError(
            "Targets must be 0 and 1 or booleans; map the positive class to 1 before the loss."
        )
    return flat.astype(np.bool_, copy=False)
