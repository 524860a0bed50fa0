"""Peak memory of reading one's own table into a model's columns, against the size of the data."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bench_memory import peak

ROWS, WIDTH = 1_000_000, 20


def write(path: str, rows: int) -> None:
    import pandas as pd

    x = np.random.default_rng(0).normal(size=(rows, WIDTH)).round(6)
    frame = pd.DataFrame(x, columns=[f"c{i}" for i in range(WIDTH)])
    frame.assign(y=np.arange(rows) % 11 == 0).to_csv(path, index=False)


def read(small: str, large: str) -> dict[str, float]:
    """Read a small table, so that everything is imported, and then the large one."""
    from pauc_core.own_data.rows import training_rows

    training_rows(Path(small), label="y")
    before = peak()
    rows = training_rows(Path(large), label="y")
    return {"used": peak() - before, "size": rows.x.to_numpy().nbytes}


def child(call: str) -> Any:
    """What a function of this file returns in a process of its own.

    A new process starts with the peak of the one that made it, which must therefore stay small.
    """
    code = (
        f"import json; from benchmarks import bench_tables; print(json.dumps(bench_tables.{call}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def run() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        small, large = f"{folder}/small.csv", f"{folder}/large.csv"
        child(f"write({small!r}, 1000)")
        child(f"write({large!r}, {ROWS})")
        found = child(f"read({small!r}, {large!r})")
    used, size = found["used"], found["size"]
    return [
        {
            "name": "peak memory of reading a CSV for a fit / its data",
            "measured": used / size,
            "target": "<= 1.5",
            "holds": used <= 1.5 * size,
            "detail": f"{used / 1e6:.0f} MB used for {size / 1e6:.0f} MB; {ROWS} x {WIDTH}",
        }
    ]
