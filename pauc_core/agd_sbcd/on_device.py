"""The inner loop of Algorithms 1 and 3 in torch, for any device; the twin of ``compiled``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    from pauc_core.agd_sbcd.compiled import Calls, Steps
    from pauc_core.agd_sbcd.pairs import PairRows

CHUNK_BYTES = 1 << 26  # gathered rows put on the device at a time


def torch_block(
    rows: PairRows,
    calls: Calls,
    w: np.ndarray,
    share: np.ndarray,
    steps: Steps,
    pos_draws: np.ndarray,
    neg_draws: np.ndarray,
    first: int,
    loss: str,
    device: str,
) -> None:
    """The same iterations in torch; rows travel to the device a chunk of iterations at a time."""

    def put(array: np.ndarray) -> torch.Tensor:
        return torch.tensor(array, device=device)

    held = {name: put(getattr(calls, name)) for name in ("v", "v_sum", "lam", "drift")}
    v, v_sum, lam, drift = held.values()
    center, scale, w_there = put(rows.center), put(rows.scale), put(w)
    head = pos_draws.shape[1] if len(rows.pos_rows) else 0
    where = rows.neg_rows[neg_draws]
    if head:
        where = np.concatenate([rows.pos_rows[pos_draws], where], axis=1)
    row_bytes = where.shape[1] * rows.x.shape[1] * rows.kind.itemsize
    chunk = max(1, CHUNK_BYTES // row_bytes)
    for start in range(0, len(where), chunk):
        part = slice(start, start + chunk)
        gathered = put(rows.x[where[part]].astype(rows.kind, copy=False))
        drawn, signs = put(pos_draws[part]), put(rows.signs[neg_draws[part]])
        for step in range(len(gathered)):
            v_sum += v
            folded = (v / scale).to(gathered.dtype)
            h = (folded @ gathered[step].T).double() - (folded.double() @ center)[:, None]
            p = h[:, :head] if head else h.new_zeros(len(v), 1)
            q = h[:, head:] * signs[step]
            up, down, above = pair_means(p, q, lam[:, drawn[step]], loss)
            coef = torch.cat([-up, down * signs[step]] if head else [down * signs[step]], dim=1)
            pulled = (coef.to(gathered.dtype) @ gathered[step]).double()
            slope = (pulled - coef.sum(1, keepdim=True) * center) / scale
            change = -steps.theta * (put(share)[:, None] - above)
            lam[:, drawn[step]] += change
            drift[:, drawn[step]] += (first + start + step + 1) * change
            v.copy_((v / steps.eta + w_there / steps.mu - slope) / (1 / steps.eta + 1 / steps.mu))
    for name, tensor in held.items():
        getattr(calls, name)[...] = tensor.cpu().numpy()


def pair_means(
    p: torch.Tensor, q: torch.Tensor, lam: torch.Tensor, loss: str
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Mean descent of the active pairs by positive and by negative, and the active share.

    ``p`` and ``lam`` are (..., I), ``q`` is (..., J); the means are over all I J pairs.
    """
    inf = torch.inf
    if loss == "squared_hinge":
        gap = torch.where(lam < 0, inf, 1 - lam.clamp(min=0).sqrt())
    elif loss == "sigmoid":
        inside = lam.clamp(0, 1)
        gap = torch.log1p(-inside) - torch.log(inside)  # +inf at 0, -inf at 1
    else:
        gap = torch.where(lam <= 0, inf, -(lam + torch.log(-torch.expm1(-lam))))
    z = p[..., :, None] - q[..., None, :]
    if loss == "squared_hinge":
        slope = 2 * (1 - z).clamp(min=0)
    else:
        slope = torch.sigmoid(-z)
        if loss == "sigmoid":
            slope = slope * torch.sigmoid(z)
    active = q[..., None, :] > (p - gap)[..., :, None]
    slope = slope * active / (z.shape[-1] * z.shape[-2])
    return slope.sum(-1), slope.sum(-2), active.to(p.dtype).mean(-1)
