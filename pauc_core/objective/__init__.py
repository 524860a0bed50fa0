"""What is minimised: surrogate losses, sums over all pairs, ranges of ranks."""

from pauc_core.objective.losses import LOSSES, Loss, get_loss
from pauc_core.objective.ranked import (
    exact_lam,
    f_l,
    f_l_grad,
    g_l,
    moreau_gradient,
    pauc_loss,
    pauc_loss_grad,
    ranks,
    sorr_loss,
    sorr_loss_grad,
)

__all__ = [
    "LOSSES",
    "Loss",
    "exact_lam",
    "f_l",
    "f_l_grad",
    "g_l",
    "get_loss",
    "moreau_gradient",
    "pauc_loss",
    "pauc_loss_grad",
    "ranks",
    "sorr_loss",
    "sorr_loss_grad",
]
