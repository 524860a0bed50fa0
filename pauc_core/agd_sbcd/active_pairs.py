"""Pairs of one batch whose loss exceeds the threshold of their positive, as Algorithm 1 sums them.

For methods that draw the same pairs and take other steps.
"""

from __future__ import annotations

import numpy as np

from pauc_core.agd_sbcd.compiled import CODES, NO_FAST_PATH, _pair_sums
from pauc_core.objective.losses import LOSSES


def active_slopes(
    p: np.ndarray, q: np.ndarray, lam: np.ndarray, loss: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sums of l'(p_i - q_j) 1(l(p_i - q_j) > lam_i) over j and over i, and the counts over j."""
    up, count = np.empty(len(p)), np.empty(len(p))
    down, room = np.empty(len(q)), np.empty(len(q))
    of_sigma = LOSSES[loss].of_sigma or NO_FAST_PATH
    _pair_sums(p, q, lam, np.arange(len(p)), CODES[loss], of_sigma, up, down, room, count)
    return -up, -down, count
