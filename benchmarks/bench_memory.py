"""Peak memory of linear fits beyond the interpreter's own, against the size of the data."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

ROWS, WIDTH = 220_000, 1024


def peak() -> int:
    """Most bytes this process ever held in memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def fit(rows: int, folder: str | None) -> dict[str, float]:
    """Fit AGD-SBCD and look at it, in this process; the data are made here or memory-mapped."""
    from benchmarks.bench_inner import data
    from pauc_core.agd_sbcd import AGDSBCD
    from pauc_core.models.linear import LinearModel
    from pauc_core.solver import Budget, Part, Problem, solve

    def run(x: np.ndarray) -> None:
        y = np.arange(len(x)) % 11 == 0
        order = np.random.default_rng(0).permutation(len(x))
        train, valid = Part(x, y, np.sort(order[len(x) // 10 :])), Part(x, y, order[: len(x) // 10])
        problem = Problem(
            train=train,
            valid=valid,
            model=LinearModel.fit_scaling(train),
            fpr_low=0.05,
            fpr_high=0.5,
        )
        method = AGDSBCD(mu=1.0, gamma=2.0, c=0.5, T=50, I=100, J=100)
        solve(method, problem, Budget(epochs=2), [1.0, 2.0], seed=0)

    # The interpreter's own: everything imported and compiled, shown by a fit that is tiny.
    run(data(200, WIDTH))
    before = peak()
    run(data(rows, WIDTH) if folder is None else np.load(Path(folder) / "x.npy", mmap_mode="r"))
    return {"before": before, "after": peak()}


def fit_classifier(rows: int, width: int) -> dict[str, float]:
    """Fit the classifier with its own settings in this process; the data are made here."""
    from pauc_core import PartialAUCClassifier

    def run(rows: int) -> None:
        rng = np.random.default_rng(0)
        x, y = rng.standard_normal((rows, width)), rng.random(rows) < 0.1
        x[:, 0] += y
        PartialAUCClassifier(random_state=0).fit(x, y)

    run(2000)
    before, begun = peak(), time.perf_counter()
    run(rows)
    return {"before": before, "after": peak(), "seconds": time.perf_counter() - begun}


def child(call: str) -> dict[str, float]:
    """A fit in a process of its own, since a process's peak never falls."""
    code = f"import json; from benchmarks import bench_memory as b; print(json.dumps(b.{call}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def line(name: str, used: float, size: float, detail: str, most: float = 1.1) -> dict[str, Any]:
    return {
        "name": name,
        "measured": used / size,
        "target": f"<= {most}",
        "holds": used <= most * size,
        "detail": f"{used / 1e6:.0f} MB used for {size / 1e6:.0f} MB of data; {detail}",
    }


def run() -> list[dict[str, Any]]:
    from benchmarks.bench_inner import data

    size = ROWS * WIDTH * 4
    in_memory = child(f"fit({ROWS}, None)")
    found = [
        line(
            "peak memory of a linear fit / its data",
            in_memory["after"] - in_memory["before"],
            size,
            f"interpreter {in_memory['before'] / 1e6:.0f} MB",
        )
    ]
    with tempfile.TemporaryDirectory() as folder:
        rows = ROWS // 4
        np.save(Path(folder) / "x.npy", data(rows, WIDTH))
        mapped = child(f"fit({rows}, {folder!r})")
        found.append(
            line(
                "peak memory of a memory-mapped fit / its data",
                mapped["after"] - mapped["before"],
                rows * WIDTH * 4,
                "pages of the file count while they are in use",
            )
        )
    found.append(_classifier())
    return found


def _classifier() -> dict[str, Any]:
    rows, width = 1_000_000, 20
    used = child(f"fit_classifier({rows}, {width})")
    name = "peak memory of the classifier, 10^6 x 20 / its data"
    size, seconds = rows * width * 8, used["seconds"]
    return line(name, used["after"] - used["before"], size, f"{seconds:.0f} s", most=1.5)


if __name__ == "__main__":
    for entry in run():
        print(entry)
