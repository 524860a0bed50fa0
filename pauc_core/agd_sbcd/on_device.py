"""The inner loop of Algorithms 1 and 3 in torch, for any device; the twin of ``compiled``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from pauc_core.objective.losses import LOSSES

if TYPE_CHECKING:
    from pauc_core.agd_sbcd.compiled import Calls, Draws, Steps
    from pauc_core.agd_sbcd.pairs import PairRows

CHUNK_BYTES = 1 << 26  # gathered rows put on the device at a time


def torch_block(
    rows: PairRows,
    calls: Calls,
    w: np.ndarray,
    share: np.ndarray,
    steps: Steps,
    draws: Draws,
    first: int,
    loss: str,
    device: str,
) -> None:
    """The same iterations in torch; rows travel to the device a chunk of iterations at a time."""

    def put(array: np.ndarray) -> torch.Tensor:
        return torch.tensor(array, device=device)

    v, v_sum, lam, drift = held = [put(array) for array in calls]
    center, scale, w_there = put(rows.center), put(rows.scale), put(w)
    head = draws.pos.shape[1] if len(rows.pos_rows) else 0
    where = rows.neg_rows[draws.neg]
    if head:
        where = np.concatenate([rows.pos_rows[draws.pos], where], axis=1)
    row_bytes = where.shape[1] * rows.x.shape[1] * rows.kind.itemsize
    chunk = max(1, CHUNK_BYTES // row_bytes)
    for start in range(0, len(where), chunk):
        part = slice(start, start + chunk)
        gathered = put(rows.x[where[part]].astype(rows.kind, copy=False))
        drawn, signs = put(draws.pos[part]), put(rows.signs[draws.neg[part]])
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
    for array, tensor in zip(calls, held, strict=True):
        array[...] = tensor.cpu().numpy()


def pair_means(
    p: torch.Tensor, q: torch.Tensor, lam: torch.Tensor, loss: str
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Mean descent of the active pairs by positive and by negative, and the active share.

    ``p`` and ``lam`` are (..., I), ``q`` is (..., J); the means are over all I J pairs.
    """
    formulas = LOSSES[loss].formulas(torch)
    z = p[..., :, None] - q[..., None, :]
    active = q[..., None, :] > (p - formulas.gap_at(lam))[..., :, None]
    descent = -formulas.slope(z) * active / (z.shape[-1] * z.shape[-2])
    return descent.sum(-1), descent.sum(-2), active.to(p.dtype).mean(-1)
