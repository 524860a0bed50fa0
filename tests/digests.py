"""What a run found, without what its clocks showed: one digest a file, to compare two runs by."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
from pathlib import Path
from typing import Any

CLOCK = frozenset({"seconds", "wall", "peak_mb"})


def result_digests(results: Path) -> dict[str, str]:
    """Digest by path of every run, tuned value and prepared dataset below a scale's folder."""
    found = {}
    for path in sorted(results.rglob("*")):
        name = str(path.relative_to(results))
        if ".logs/" in name:  # what a tuning goes on from after a cut
            continue
        if name.startswith(("runs/", "tuned/", "data/")) and (content := _content(path)):
            found[name] = hashlib.sha256(content).hexdigest()
    return found


def one_digest(results: Path) -> str:
    """All of them as one."""
    lines = "".join(f"{value} {name}\n" for name, value in result_digests(results).items())
    return hashlib.sha256(lines.encode()).hexdigest()


def differences(one: Path, two: Path) -> list[str]:
    """The paths that only one of two runs has, or that differ."""
    first, second = result_digests(one), result_digests(two)
    return sorted(k for k in first.keys() | second.keys() if first.get(k) != second.get(k))


def _content(path: Path) -> bytes | None:
    if not path.is_file() or any(part.startswith(".") for part in path.parts[-2:]):
        return None
    if path.name == "scores.csv.gz":
        return gzip.decompress(path.read_bytes())
    if path.name == "traces.csv":
        rows = list(csv.DictReader(io.StringIO(path.read_text())))
        return _plain(rows)
    if path.name == "summary.jsonl":
        return _plain([json.loads(line) for line in path.read_text().splitlines()])
    if path.suffix == ".json":
        return _plain(json.loads(path.read_text()))
    return None


def _plain(value: Any) -> bytes:
    return json.dumps(_timeless(value), sort_keys=True).encode()


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _timeless(v) for k, v in value.items() if k not in CLOCK}
    if isinstance(value, list):
        return [_timeless(v) for v in value]
    return value
