"""How the deep methods draw rows: so many of each class, afresh each time."""

from __future__ import annotations

import numpy as np

from pauc_core.solver import Part, Problem


def batches_in_step(problem: Problem, size: int) -> int:
    """How many batches of ``size`` rows fit into one step, at least one."""
    return max(1, int(problem.step_epochs * len(problem.train) / size + 1e-9))


def draw_both(
    part: Part, positives: int, negatives: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of so many positives and negatives without replacement; never an empty class.

    A class with fewer rows than asked for comes whole.
    """
    return (
        _some(part.positives, positives, rng),
        _some(part.negatives, negatives, rng),
    )


def _some(rows: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    return rng.choice(rows, min(count, len(rows)), replace=False)
