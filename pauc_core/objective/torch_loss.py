"""The exact partial-AUC loss for torch: one value, one backward pass, near-linear time."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from pauc_core.objective import pauc_loss_grad
from pauc_core.objective.losses import get_loss


class PartialAUCLoss(torch.nn.Module):
    """Equation (3) over one batch, or over a whole data set of scores.

    ``loss(scores, targets)`` takes scores of any floating type on any device and targets of the
    same number of elements, true (or 1) for the positives. The band's ranks are taken among the
    negatives of this call. Value and gradient are computed in float64 on the CPU and handed back
    in the type and on the device of the scores. There is no second derivative: a backward pass with
    create_graph=True raises.

    Parameters
    ----------
    fpr_low, fpr_high : float
        The band of false positive rates.
    loss : {"logistic", "sigmoid", "squared_hinge"}
        The surrogate of the score gap; "logistic" is the paper's.
    """

    def __init__(self, fpr_low: float, fpr_high: float, loss: str = "logistic") -> None:
        super().__init__()
        if not 0.0 <= fpr_low < fpr_high <= 1.0:
            raise ValueError(
                f"The band [{fpr_low}, {fpr_high}] is not one: expected "
                "0 <= fpr_low < fpr_high <= 1."
            )
        get_loss(loss)
        self.fpr_low = fpr_low
        self.fpr_high = fpr_high
        self.loss = loss

    def forward(self, scores: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        if scores.numel() != targets.numel():
            raise ValueError(
                f"The loss got {scores.numel()} scores and {targets.numel()} targets; expected "
                "one target for each score."
            )
        value: torch.Tensor = _ExactLoss.apply(
            scores, targets, self.fpr_low, self.fpr_high, self.loss
        )
        return value

    def extra_repr(self) -> str:
        return f"fpr_low={self.fpr_low}, fpr_high={self.fpr_high}, loss={self.loss!r}"


class _ExactLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        scores: torch.Tensor,
        targets: torch.Tensor,
        fpr_low: float,
        fpr_high: float,
        loss: str,
    ) -> torch.Tensor:
        flat = scores.detach().reshape(-1).to("cpu", torch.float64).numpy()
        positive = _as_bool(targets)
        if positive.all() or not positive.any():
            raise ValueError(
                f"The loss needs both classes in each call; got {int(positive.sum())} positives "
                f"and {int((~positive).sum())} negatives: draw batches by class."
            )
        value, slope_pos, slope_neg = pauc_loss_grad(
            flat[positive], flat[~positive], fpr_low=fpr_low, fpr_high=fpr_high, loss=loss
        )
        slopes = np.empty_like(flat)
        slopes[positive] = slope_pos
        slopes[~positive] = slope_neg
        ctx.save_for_backward(torch.from_numpy(slopes).to(scores).reshape(scores.shape))
        return scores.new_tensor(value)

    @staticmethod
    def backward(ctx: Any, upstream: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        # Grad mode is on in a backward pass under create_graph=True alone. There the slopes would
        # pass for constants, and whatever else the graph holds would hide that a term is missing.
        if torch.is_grad_enabled():
            raise RuntimeError(
                "PartialAUCLoss has no second derivative; expected a backward pass without "
                "create_graph=True."
            )
        (slopes,) = ctx.saved_tensors
        return upstream * slopes, None, None, None, None


def _as_bool(targets: torch.Tensor) -> np.ndarray:
    flat = targets.detach().reshape(-1).cpu()
    if flat.dtype != torch.bool and not bool(((flat == 0) | (flat == 1)).all()):
        raise ValueError(
            "Targets must be 0 and 1 or booleans; map the positive class to 1 before the loss."
        )
    return flat.bool().numpy()
