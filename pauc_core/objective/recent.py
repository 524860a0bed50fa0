"""Scores of the calls before this one, by label and class, as buffers of a torch module."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


class RecentScores(torch.nn.Module):
    """The last ``size`` scores of each class of each label, negatives first, without gradient."""

    scores: Tensor  # (labels, 2, size)
    stored: Tensor  # (labels, 2): scores ever stored
    calls: Tensor  # (labels, 2): calls in which the class appeared
    all_calls: Tensor

    def __init__(self, labels: int, size: int) -> None:
        super().__init__()
        self.size = size
        self.register_buffer("scores", torch.zeros(labels, 2, size))
        self.register_buffer("stored", torch.zeros(labels, 2, dtype=torch.int64))
        self.register_buffer("calls", torch.zeros(labels, 2, dtype=torch.int64))
        self.register_buffer("all_calls", torch.zeros((), dtype=torch.int64))

    def count(self, positive: np.ndarray) -> np.ndarray:
        """Count a call; return calls over calls with the class, of shape (labels, 2)."""
        present = np.stack([(~positive).any(axis=0), positive.any(axis=0)], axis=1)
        self.calls += torch.from_numpy(present).to(self.calls)
        self.all_calls += 1
        return self.all_calls.item() / np.maximum(self.calls.cpu().numpy(), 1)

    def of(self, label: int) -> tuple[np.ndarray, np.ndarray]:
        """What is remembered of the negatives and of the positives."""
        counts = self.stored[label].clamp(max=self.size).tolist()
        found = self.scores[label].cpu().double().numpy()
        return found[0, : counts[0]], found[1, : counts[1]]

    def store(self, scores: np.ndarray, positive: np.ndarray) -> None:
        """Put a call's scores, one column a label, in the places of the oldest."""
        before = self.stored.tolist()
        for label in range(scores.shape[1]):
            for k, members in enumerate((~positive[:, label], positive[:, label])):
                fresh = torch.from_numpy(scores[members, label][-self.size :]).to(self.scores)
                slots = (before[label][k] + torch.arange(len(fresh))) % self.size
                self.scores[label, k, slots.to(fresh.device)] = fresh
                self.stored[label, k] += len(fresh)


def shares_in_band(values: np.ndarray, known: np.ndarray, m: int, n: int) -> np.ndarray:
    """How much of each value lies among the ranks m + 1 to n of the known ones, the largest first.

    1 inside, 0 outside; values that tie on an edge have the share of their equals that is inside.
    """
    size = known.size
    upper, lower = np.partition(known, [size - n, size - m - 1])[[size - m - 1, size - n]]
    shares = ((values < upper) & (values > lower)).astype(np.float64)
    for edge in {float(upper), float(lower)}:
        above, equal = int((known > edge).sum()), int((known == edge).sum())
        shares[values == edge] = (min(above + equal, n) - max(above, m)) / equal
    return shares
