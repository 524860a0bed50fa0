"""The exact objective and its gradient against looking at every pair, and how they grow."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.bench_inner import POSITIVES, ROWS, WIDTH, data
from benchmarks.bench_metric import least_seconds
from pauc_core.models.full_gradient import range_loss_grad
from pauc_core.models.linear import LinearModel
from pauc_core.objective import pauc_loss, pauc_loss_grad, ranks
from pauc_core.objective.losses import LOSSES, get_loss
from pauc_core.solver import Part, Problem

FPR_LOW, FPR_HIGH = 0.05, 0.5
BRUTE_ROWS = 200  # brute force is timed on this many positives, and scaled up
BLOCK = 20
SIZES = (10_000, 31_623, 100_000, 316_228, 1_000_000)


def blocked_brute_force(p: np.ndarray, band: np.ndarray, loss: str) -> float:
    """Mean loss over every pair, a few positives at a time."""
    value = get_loss(loss).value
    starts = range(0, p.size, BLOCK)
    return sum(float(value(p[s : s + BLOCK, None] - band).sum()) for s in starts) / (
        p.size * band.size
    )


def run() -> list[dict[str, Any]]:
    return [*(_value(loss) for loss in LOSSES), _weights(), _growth(), _gradient()]


def _value(loss: str) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    p, q = 2 * rng.normal(size=POSITIVES) + 1, 2 * rng.normal(size=ROWS - POSITIVES)
    m, n = ranks(q.size, FPR_LOW, FPR_HIGH)
    band = np.sort(q)[::-1][m:n]
    ours, slow = least_seconds(
        lambda: pauc_loss(p, q, m=m, n=n, loss=loss),
        lambda: blocked_brute_force(p[:BRUTE_ROWS], band, loss),
    )
    slow *= p.size / BRUTE_ROWS
    return {
        "name": f"brute force / exact {loss} objective, 20,000 x 90,000",
        "measured": slow / ours,
        "target": ">= 50",
        "holds": slow >= 50 * ours,
        "detail": f"{slow:.0f} s, scaled up from {BRUTE_ROWS} positives; {1e3 * ours:.1f} ms",
    }


def _weights() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    p, q = 2 * rng.normal(size=POSITIVES) + 1, 2 * rng.normal(size=ROWS - POSITIVES)
    weights = {"weights_pos": rng.random(p.size), "weights_neg": rng.random(q.size)}
    band = {"fpr_low": FPR_LOW, "fpr_high": FPR_HIGH}
    plain, weighted = least_seconds(
        lambda: pauc_loss_grad(p, q, **band), lambda: pauc_loss_grad(p, q, **band, **weights)
    )
    return {
        "name": "weighted / unweighted objective and gradient, 20,000 x 90,000",
        "measured": weighted / plain,
        "target": "<= 4",
        "holds": weighted <= 4 * plain,
        "detail": f"{1e3 * weighted:.1f} ms, with a sort; {1e3 * plain:.1f} ms",
    }


def _growth() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    seconds = []
    for size in SIZES:
        p, q = rng.normal(size=size // 10) + 1, rng.normal(size=size - size // 10)
        m, n = ranks(q.size, FPR_LOW, FPR_HIGH)
        seconds += least_seconds(lambda p=p, q=q, m=m, n=n: pauc_loss_grad(p, q, m=m, n=n))
    exponent = float(np.polyfit(np.log(SIZES), np.log(seconds), 1)[0])
    # What n log n itself would be fitted with over these sizes.
    allowed = float(np.polyfit(np.log(SIZES), np.log(SIZES * np.log(SIZES)), 1)[0])
    return {
        "name": "exponent of growth of objective and gradient, 10^4 to 10^6 scores",
        "measured": exponent,
        "target": f"<= {allowed:.2f}",
        "holds": exponent <= allowed,
        "detail": ", ".join(f"{1e3 * s:.1f}" for s in seconds) + " ms",
    }


def _gradient() -> dict[str, Any]:
    x = data()
    problem = Problem(
        train=Part(x, np.arange(ROWS) < POSITIVES, np.arange(ROWS)),
        valid=None,
        model=LinearModel(np.zeros(WIDTH), np.ones(WIDTH)),
        fpr_low=FPR_LOW,
        fpr_high=FPR_HIGH,
    )
    w = np.random.default_rng(1).normal(size=WIDTH) / WIDTH**0.5
    weights, column = w.astype(np.float32), np.ones(ROWS, dtype=np.float32)
    m, n = problem.ranks
    passes, ours = least_seconds(
        lambda: (x @ weights, column @ x),
        lambda: range_loss_grad(problem, w, m, n),
    )
    return {
        "name": "exact full gradient / two plain passes, 220,000 x 1,024",
        "measured": ours / passes,
        "target": "<= 2",
        "holds": ours <= 2 * passes,
        "detail": f"{1e3 * ours:.0f} ms; {1e3 * passes:.0f} ms",
    }


if __name__ == "__main__":
    for line in run():
        print(line)
