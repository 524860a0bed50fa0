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
        calls, total = _array(self.calls), _array(self.all_calls)
        members = positive.sum(axis=0)
        calls[:, 0] += members < len(positive)
        calls[:, 1] += members > 0
        total += 1
        _keep(self.calls, calls)
        _keep(self.all_calls, total)
        return total / np.maximum(calls, 1)

    def of(self, label: int) -> tuple[np.ndarray, np.ndarray]:
        """What is remembered of the negatives and of the positives."""
        negatives, positives = np.minimum(_array(self.stored)[label], self.size)
        found = _array(self.scores)[label].astype(np.float64)
        return found[0, :negatives], found[1, :positives]

    def store(self, scores: np.ndarray, positive: np.ndarray) -> None:
        """Put a call's scores, one column a label, in the places of the oldest."""
        kept, stored = _array(self.scores), _array(self.stored)
        for label in range(scores.shape[1]):
            column, members = scores[:, label], positive[:, label]
            for k, fresh in enumerate((column[~members], column[members])):
                fresh = fresh[-self.size :]
                slots = (stored[label, k] + np.arange(fresh.size)) % self.size
                kept[label, k, slots] = fresh
                stored[label, k] += fresh.size
        _keep(self.scores, kept)
        _keep(self.stored, stored)


def _array(buffer: Tensor) -> np.ndarray:
    """A buffer in numpy: the same memory where it lies on the CPU, a copy elsewhere."""
    local = buffer.float() if buffer.dtype == torch.bfloat16 else buffer
    return local.cpu().numpy()


def _keep(buffer: Tensor, array: np.ndarray) -> None:
    if buffer.device.type != "cpu" or buffer.dtype == torch.bfloat16:
        buffer.copy_(torch.from_numpy(array))


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
