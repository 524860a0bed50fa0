"""How fast the metric is beside scikit-learn's, and its interval beside a bootstrap's."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from pauc_core.intervals import bootstrap_interval, pauc_interval
from pauc_core.metrics import auc, pauc

SCORES = 1_000_000
ROUNDS = 5
# Redraws cost the same each: a tenth of a thousand is timed.
REDRAWS, TIMED = 1000, 100


def least_seconds(*work: Callable[[], object]) -> list[float]:
    """Least process time of each piece of work, in turns; work that waits is not charged."""
    least = [float("inf")] * len(work)
    for _ in range(ROUNDS):
        for k, piece in enumerate(work):
            start = time.process_time()
            piece()
            least[k] = min(least[k], time.process_time() - start)
    return least


def run() -> list[dict[str, Any]]:
    return [row for share in (0.02, 0.5) for row in (*_rows(share), _interval(share))]


def _rows(share: float) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    y = rng.random(SCORES) < share
    scores = rng.normal(size=SCORES) + y
    peer, whole, band = least_seconds(
        lambda: roc_auc_score(y, scores),
        lambda: auc(y, scores),
        lambda: pauc(y, scores, fpr_low=0.05, fpr_high=0.5),
    )
    return [
        {
            "name": f"roc_auc_score / {name}, 10^6 scores, {share:.0%} positive",
            "measured": peer / seconds,
            "target": ">= 1",
            "holds": peer >= seconds,
            "detail": f"{1e3 * peer:.0f} ms; {1e3 * seconds:.0f} ms",
        }
        for name, seconds in (("auc", whole), ("pauc in [0.05, 0.5]", band))
    ]


def _interval(share: float) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    y = rng.random(SCORES // 10) < share
    scores = rng.normal(size=y.size) + y
    band = {"fpr_low": 0.05, "fpr_high": 0.5}
    redraws, seconds = least_seconds(
        lambda: bootstrap_interval(y, scores, rng=0, repeats=TIMED, **band),
        lambda: pauc_interval(y, scores, **band),
    )
    redraws *= REDRAWS / TIMED
    return {
        "name": f"1,000 redraws / pauc_interval, 10^5 scores, {share:.0%} positive",
        "measured": redraws / seconds,
        "target": ">= 100",
        "holds": redraws >= 100 * seconds,
        "detail": f"{redraws:.1f} s; {1e3 * seconds:.1f} ms",
    }


if __name__ == "__main__":
    for line in run():
        print(line)
