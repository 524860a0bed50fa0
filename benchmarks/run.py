"""Run every benchmark of this folder, print one table of ratios and write it to a file.

``python -m benchmarks.run [file.csv] [--only NAME ...]``; each ``bench_*.py`` has a
``run() -> list[dict]`` with the keys name, measured, target, holds and detail. Each one runs in a
process of its own, with the number of threads that is asked for (``--threads``, 1 unless given).
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
COLUMNS = ("benchmark", "name", "measured", "target", "holds", "detail")
THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


def names() -> list[str]:
    """The benchmarks there are, in alphabetical order."""
    return sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))


def measure(name: str, threads: int) -> list[dict[str, Any]]:
    """The lines of one benchmark; one that fails is a line too."""
    code = f"import json; from benchmarks.bench_{name} import run; print(json.dumps(run()))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=HERE.parent,
        env={**os.environ, **dict.fromkeys(THREADS, str(threads))},
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        lines = [{"name": name, "measured": None, "target": "", "holds": False, "detail": reason}]
    else:
        lines = json.loads(done.stdout.splitlines()[-1])
    return [{"benchmark": name, **line} for line in lines]


def row(line: dict[str, Any]) -> str:
    measured = "failed" if line["measured"] is None else f"{line['measured']:.3g}"
    verdict = "ok" if line["holds"] else "MISSED"
    return f"{line['name']:<48} {measured:>9}  {line['target']:<9} {verdict:<7} {line['detail']}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path, default=HERE / "latest.csv")
    parser.add_argument("--only", nargs="+", choices=names(), default=names())
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    print(f"{'benchmark':<48} {'measured':>9}  {'target':<9} {'':<7} detail")
    found = []
    for name in given.only:
        for line in measure(name, given.threads):
            found.append(line)
            print(row(line), flush=True)
    given.file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = given.file.with_suffix(".unfinished")
    with unfinished.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        writer.writeheader()
        writer.writerows(found)
    unfinished.replace(given.file)
    print(f"Written to {given.file}.")
    return 0 if all(line["holds"] for line in found) else 1


if __name__ == "__main__":
    sys.exit(main())
