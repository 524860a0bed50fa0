"""Faults, bad input, lying guests and hostile places, counted in one table: `make reliability`.

``python -m tests.reliability FILE... [--parts NAME ...]`` measures the named parts, or every part
that was not measured yet, keeps each in results/reliability/, and writes the table of all that is
kept between the markers of each file that has them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pandas as pd

from pauc_core.files import write_json, write_text
from pauc_core.suite.provenance import commit
from tests import wrong_settings
from tests.digests import differences
from tests.environments import ENVIRONMENTS, Hostile
from tests.faults import (
    LAUNCHER,
    MANNERS,
    SNAKEMAKE,
    Survived,
    Undisturbed,
    bad_methods,
    damage,
    edited_inputs,
    full_disk,
    kills,
    lying_guests,
)
from tests.fuzzing import TARGETS, Crash, fuzz
from tests.guest_programs import BREACHES
from tests.slurm_here import NoCluster
from tests.test_slurm import on_the_cluster
from tests.test_workflow import snakemake

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "results/reliability"
BEGIN, END = "<!-- reliability: begin -->", "<!-- reliability: end -->"
KILLS = int(os.environ.get("KILLS", "20"))
CASES = int(os.environ.get("FUZZ_CASES", "100000"))
SETTINGS = 300
# What was done, how often, how often it went well, and what came of it.
Row = tuple[str, int, int, str]


@cache
def peace(folder: Path) -> Undisturbed:
    return Undisturbed(folder)


def killed(program: str, name: str) -> Callable[[Path], Iterator[Row]]:
    def measure(folder: Path) -> Iterator[Row]:
        found = kills(peace(folder), KILLS, program)
        yield _survived(f"{name} killed (SIGKILL) at a random moment", found)

    return measure


def damaged(folder: Path) -> Iterator[Row]:
    yield _survived("byte of a prepared array changed", damage(peace(folder)))


def disk(folder: Path) -> Iterator[Row]:
    what = "disk full in the middle of a run"
    if os.geteuid():
        yield what, 0, 0, "not tried: a small disk needs root"
        return
    yield _survived(what, full_disk(peace(folder)))


def cores(folder: Path) -> Iterator[Row]:
    alone = peace(folder).copy("one-core", results=False)
    done = snakemake(alone, "linear", "--cores", "1", launch=True)
    different = differences(peace(folder).results, alone / "results/default")
    good = not done.returncode and not different
    yield "run on 1 core beside 2", 1, int(good), _words(different)


def methods(folder: Path) -> Iterator[Row]:
    frame = pd.read_parquet(bad_methods(folder) / "collected/summaries.parquet")
    told = frame.set_index("method")["outcome"].to_dict()
    good = sum(told.get(f"bad_{how}") == outcome for how, (outcome, _) in MANNERS.items())
    yield (
        "method that raises, hangs, eats memory, dies or returns NaN",
        len(MANNERS),
        good,
        "rows with their reasons",
    )


def guests(folder: Path) -> Iterator[Row]:
    said = lying_guests(folder)
    good = sum(bool(re.search(BREACHES[name][1], words)) for name, words in said.items())
    _show({name: words for name, words in said.items() if not words})
    yield "guest that lies or breaks its contract", len(said), good, "refused with a sentence"


def inputs(folder: Path) -> Iterator[Row]:
    found = edited_inputs(folder)
    good = sum(words == "made anew, alone" for words in found.values())
    _show({name: words for name, words in found.items() if words != "made anew, alone"})
    what = "input edited: own CSV, Parquet and LIBSVM file, a mirror's file, one put there by hand"
    yield what, len(found), good, "made anew, and nothing else"


def environments(folder: Path) -> Iterator[Row]:
    hostile = Hostile(folder)
    for name in ENVIRONMENTS:
        words = hostile.survives(name)
        tried = not words.startswith("not tried")
        _show({} if words in ("identical", "told") else {name: words})
        shown = {"told": "refused with a sentence"}.get(words, words.partition(": ")[0])
        yield f"run in: {name}", int(tried), int(words in ("identical", "told")), shown


def settings(folder: Path) -> Iterator[Row]:
    project = wrong_settings.project(folder)
    found = {
        f"{file}: {what}": wrong_settings.outcome(project, file, content)
        for file, what, content in wrong_settings.sample(SETTINGS)
    }
    good = sum(words == "told" for words in found.values())
    _show({name: words for name, words in found.items() if words != "told"})
    yield "wrong setting", len(found), good, "refused with a sentence before the first job"


def fuzzing(folder: Path) -> Iterator[Row]:
    for name, target in TARGETS.items():
        cases = target.share * CASES // 2000
        try:
            counts = fuzz(target, cases, fixed=False)
        except (Crash, BaseExceptionGroup) as error:
            _show({name: str(error)})
            yield f"bad input: {name}", cases, 0, "crashed"
            continue
        refused = f"{counts['refused']:,} refused with a sentence"
        total = counts.total()
        yield f"bad input: {name}", total, total, f"{refused}, {counts['accepted']:,} accepted"


def slurm(folder: Path) -> Iterator[Row]:
    what = "Slurm job on two nodes"
    try:
        cluster = on_the_cluster(folder / "slurm")
    except NoCluster as why:
        yield what, 0, 0, f"not tried: {why}"
        return
    yield what, cluster.jobs, 0 if cluster.different else cluster.jobs, _words(cluster.different)


PARTS: dict[str, Callable[[Path], Iterator[Row]]] = {
    "kills-launcher": killed(LAUNCHER, "run through the launcher"),
    "kills-snakemake": killed(SNAKEMAKE, "plain snakemake"),
    "inputs": inputs,
    "guests": guests,
    "methods": methods,
    "environments": environments,
    "settings": settings,
    "fuzzing": fuzzing,
    "damage": damaged,
    "disk": disk,
    "cores": cores,
    "slurm": slurm,
}


def _survived(what: str, found: Survived) -> Row:
    different = [*found.different, *found.half_written]
    _show(dict.fromkeys(different, "differs"))
    return what, found.faults, 0 if different else found.faults, _words(different)


def _words(different: list[str]) -> str:
    return "identical" if not different else f"{len(different)} files differ"


def _show(wrong: dict[str, str]) -> None:
    for name, words in wrong.items():
        print(f"  {name}: {words}", file=sys.stderr)


def measure(name: str) -> None:
    """One part, kept in a file of its own."""
    started = time.monotonic()
    print(f"{name}:", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        rows = [list(row) for row in PARTS[name](Path(folder))]
    minutes = round((time.monotonic() - started) / 60, 1)
    for row in rows:
        print("  " + ", ".join(map(str, row)), file=sys.stderr)
    write_json(KEPT / f"{name}.json", {"rows": rows, "commit": commit(ROOT), "minutes": minutes})


def kept() -> list[dict]:
    """What was measured, in the order of the parts."""
    paths = [KEPT / f"{name}.json" for name in PARTS]
    return [json.loads(path.read_text()) for path in paths if path.is_file()]


def table(found: list[dict]) -> str:
    lines = ["| what was done to it | times | went well | results |", "| --- | --- | --- | --- |"]
    for part in found:
        for what, times, good, results in part["rows"]:
            lines.append(f"| {what} | {times:,} | {good:,} | {results} |")
    rows = [row for part in found for row in part["rows"]]
    bad = sum(times - good for _, times, good, _ in rows)
    commits = ", ".join(dict.fromkeys(part["commit"] for part in found))
    times = sum(row[1] for row in rows)
    lines += ["", f"{times:,} in all, {bad:,} silent, crashed or different; at commit {commits}."]
    return "\n".join(lines)


def well(found: list[dict]) -> bool:
    return all(times == good for part in found for _, times, good, _ in part["rows"])


def write(path: Path, text: str) -> None:
    """Replace what stands between the markers of a file; a file without them is left alone."""
    content = path.read_text(encoding="utf-8")
    if BEGIN in content and END in content:
        head, _, rest = content.partition(BEGIN)
        write_text(path, f"{head}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="reliability", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=None)
    given = parser.parse_args()
    for name in given.parts or [n for n in PARTS if not (KEPT / f"{n}.json").is_file()]:
        measure(name)
    print(table(kept()))
    for path in given.files:
        write(path, table(kept()))
    return 0 if well(kept()) else 1


if __name__ == "__main__":
    sys.exit(main())
