"""The yardstick: one inner iteration of Algorithm 1 as a textbook would write it, with autograd."""

from __future__ import annotations

import torch
from torch.nn.functional import softplus


class TextbookSBCD:
    """One call of Algorithm 1 for a linear model, in the paper's own (unnormalised) units."""

    def __init__(
        self,
        x_pos: torch.Tensor,
        x_neg: torch.Tensor,
        w: torch.Tensor,
        l: int,
        *,
        mu: float,
        eta: float,
        theta: float,
    ) -> None:
        self.x_pos, self.x_neg, self.w, self.l = x_pos, x_neg, w, l
        self.mu, self.eta, self.theta = mu, eta, theta
        self.v = w.clone()
        self.v_sum = torch.zeros_like(w)
        self.lam = torch.zeros(len(x_pos), dtype=w.dtype)
        self.lam_sum = torch.zeros_like(self.lam)
        self.lam_seen = torch.zeros(len(x_pos), dtype=torch.int64)
        self.t = 0

    def step(self, pos: torch.Tensor, neg: torch.Tensor) -> None:
        n_pos, n_neg = len(self.x_pos), len(self.x_neg)
        self.v_sum += self.v
        v = self.v.clone().requires_grad_()
        s = softplus((self.x_neg[neg] @ v)[None, :] - (self.x_pos[pos] @ v)[:, None])
        active = s.detach() > self.lam[pos][:, None]
        loss = n_pos * n_neg / s.numel() * (s * active).sum()
        (grad,) = torch.autograd.grad(loss, v)  # Alg. 1 line 5
        pull = self.v / self.eta + self.w / self.mu - grad
        self.v = pull / (1 / self.eta + 1 / self.mu)  # line 6
        self.lam_sum[pos] += self.lam[pos] * (self.t + 1 - self.lam_seen[pos])
        self.lam_seen[pos] = self.t + 1
        self.lam[pos] -= self.theta * (self.l - n_neg * active.to(v.dtype).mean(1))  # lines 7, 8
        self.t += 1

    def averages(self) -> tuple[torch.Tensor, torch.Tensor]:
        lam = self.lam_sum + self.lam * (self.t - self.lam_seen)
        return self.v_sum / self.t, lam / self.t
