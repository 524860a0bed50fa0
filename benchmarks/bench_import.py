"""What importing the classifier costs, against the two libraries that it cannot do without.

Processor time of a fresh process, the least of several in turn: a busy machine adds to the elapsed
time and not to this.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from typing import Any

REPEATS = 7
TARGET = 1.5
OURS = "import pauc_core; pauc_core.PartialAUCClassifier"
FLOOR = "import sklearn.linear_model, numba"


def seconds(code: str) -> float:
    """Processor seconds of one process that runs the code."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run() -> list[dict[str, Any]]:
    """One line: ours over the floor."""
    pairs = [(seconds(OURS), seconds(FLOOR)) for _ in range(REPEATS)]
    ours, floor = (min(times) for times in zip(*pairs, strict=True))
    return [
        {
            "name": "import of the classifier / sklearn + numba",
            "measured": ours / floor,
            "target": f"<= {TARGET}",
            "holds": ours <= TARGET * floor,
            "detail": f"{ours:.2f} s against {floor:.2f} s of processor time",
        }
    ]
