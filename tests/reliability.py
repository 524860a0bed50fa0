"""Faults, bad input and a cluster, counted in one table: what `make reliability` runs.

``python -m tests.reliability FILE...`` prints the table and writes it between the markers of each
file that has them.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pandas as pd

from pauc_core.files import write_text
from tests.digests import differences
from tests.faults import MANNERS, Survived, Undisturbed, bad_methods, damage, full_disk, kills
from tests.fuzzing import TARGETS, Crash, fuzz
from tests.slurm_here import NoCluster
from tests.test_slurm import on_the_cluster
from tests.test_workflow import snakemake

BEGIN, END = "<!-- reliability: begin -->", "<!-- reliability: end -->"
KILLS = 20
Row = tuple[str, str, str, str]


def measure(folder: Path, cases: int) -> tuple[list[Row], bool]:
    """The rows of the table, and whether everything went well."""
    rows: list[Row] = []

    def add(what: str, times: int, survived: int, results: str) -> None:
        rows.append((what, f"{times:,}", f"{survived:,}", results))
        print(f"{what}: {times}, {survived}, {results}", file=sys.stderr)

    peace = Undisturbed(folder)
    found = kills(peace, KILLS)
    add("run killed (SIGKILL) at a random moment", found.faults, found.faults, _same(found))
    found = damage(peace)
    add("byte of a prepared array changed", 1, 1, _same(found))
    if os.geteuid() == 0:
        found = full_disk(peace)
        add("disk full in the middle of a run", found.faults, found.faults, _same(found))
    frame = pd.read_parquet(bad_methods(folder) / "collected/summaries.parquet")
    told = frame.set_index("method")["outcome"].to_dict()
    good = sum(told.get(f"bad_{how}") == outcome for how, (outcome, _) in MANNERS.items())
    add("method that raises, hangs, eats memory, dies or returns NaN", len(MANNERS), good, "rows")
    alone = peace.copy("one-core", results=False)
    done = snakemake(alone, "linear", "--cores", "1", launch=True)
    different = differences(peace.results, alone / "results/default")
    add("run on 1 core beside 2", 1, int(not done.returncode), _words(different))
    for name, target in TARGETS.items():
        rows.append(_fuzzed(name, target.share * cases // 2000))
    try:
        cluster = on_the_cluster(folder / "slurm")
        add("Slurm job on two nodes", cluster.jobs, cluster.jobs, _words(cluster.different))
    except NoCluster as why:
        rows.append(("Slurm job on two nodes", "0", "0", str(why)))
    return rows, all("differ" not in row[3] and row[1] == row[2] for row in rows)


def _fuzzed(name: str, cases: int) -> Row:
    try:
        counts = fuzz(TARGETS[name], cases, fixed=False)
    except (Crash, BaseExceptionGroup) as error:
        print(error, file=sys.stderr)
        return f"bad input: {name}", f"{cases:,}", "", "crashed"
    refused = f"{counts['refused']:,} refused with a sentence, {counts['accepted']:,} accepted"
    total = f"{counts.total():,}"
    return f"bad input: {name}", total, total, f"{refused}, 0 crashed"


def _same(found: Survived) -> str:
    return _words([*found.different, *found.half_written])


def _words(different: list[str]) -> str:
    return "identical" if not different else f"{len(different)} files differ"


def table(rows: list[Row]) -> str:
    lines = ["| what was done to it | times | survived | results |", "| --- | --- | --- | --- |"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def write(path: Path, text: str) -> None:
    """Replace what stands between the markers of a file; a file without them is left alone."""
    content = path.read_text(encoding="utf-8")
    if BEGIN in content and END in content:
        head, _, rest = content.partition(BEGIN)
        write_text(path, f"{head}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}")


def main(files: list[str]) -> int:
    cases = int(os.environ.get("FUZZ_CASES", "10000"))
    with tempfile.TemporaryDirectory() as folder:
        rows, well = measure(Path(folder), cases)
    print(table(rows))
    for name in files:
        write(Path(name), table(rows))
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
