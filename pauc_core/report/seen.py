"""What to see in a table, in one line that is written from its cells."""

from __future__ import annotations

import math
from collections import Counter
from itertools import groupby

import pandas as pd

from pauc_core.report.compare import AGREES, DIFFERS
from pauc_core.report.layout import Cell, Table
from pauc_core.report.verdicts import UNDECIDED

VERDICTS = {AGREES: "agree", DIFFERS: "differ", UNDECIDED: "undecided"}
Task = list[tuple[str, Cell, bool]]  # a method's label, its cell, whether it is not in the paper


def seen(table: Table, form: str) -> str:
    """One sentence about the table; nothing where nothing of it was run."""
    said = FORMS[form](table)
    return said[:1].upper() + said[1:] + "." if said else ""


def _grid(table: Table) -> str:
    parts = []
    for block, rows in groupby(table.rows, key=lambda row: row.block):
        measured = [row for row in rows if row.kind == "measured"]
        tasks: list[Task] = [
            [(row.label, row.cells[i], row.extra) for row in measured]
            for i in range(len(table.columns))
        ]
        parts.append((block, _winners(tasks)))
    told = [(block, said) for block, said in parts if said]
    return ". ".join(f"{block}: {said}" if len(told) > 1 else said for block, said in told)


def _transposed(table: Table) -> str:
    tasks: list[Task] = [
        [
            (name.removesuffix(" *"), cell, name.endswith(" *"))
            for name, cell in zip(table.columns, row.cells, strict=True)
        ]
        for row in table.rows
        if row.kind == "measured"
    ]
    return _winners(tasks)


def _winners(tasks: list[Task]) -> str:
    """Which of the paper's methods is highest how often, and how often another is above it."""
    tasks = [task for task in tasks if any(_ran(cell) for _, cell, _ in task)]
    if not tasks:
        return ""
    of_paper = {label for task in tasks for label, cell, extra in task if not extra and _ran(cell)}
    wins = Counter(label for task in tasks for label, cell, _ in task if cell.best)
    if len(of_paper) > 1:
        counts = ", ".join(f"{label} on {count}" for label, count in wins.most_common())
        told = f"highest of the paper's methods: {counts} of {len(tasks)}"
    else:
        means = [cell.mean for task in tasks for _, cell, extra in task if not extra]
        told = f"{', '.join(of_paper)} reaches {min(means):.3f} to {max(means):.3f}"
    above = sum(any(cell.above for _, cell, _ in task) for task in tasks)
    return told + (f"; a method outside the paper is above on {above}" if above else "")


def _exceed(table: Table) -> str:
    place = next(i for i, name in enumerate(table.columns) if name.endswith("to exceed"))
    rows = [row for row in table.rows if row.kind == "measured" and _ran(row.cells[0])]
    seconds = [row.cells[place].mean for row in rows if _ran(row.cells[place])]
    if not rows:
        return ""
    span = f", after {min(seconds):.2g} to {max(seconds):.2g} CPU s" if seconds else ""
    whose = table.columns[place].partition(":")[0]
    return f"{whose} passes the SVM's training pAUC on {len(seconds)} of {len(rows)} lines{span}"


def _counts(table: Table) -> str:
    """Whether the sets have the sizes that the paper prints."""
    pairs = [
        (ours.mean, theirs.mean)
        for measured, paper in zip(table.rows[::2], table.rows[1::2], strict=True)
        for ours, theirs in zip(measured.cells, paper.cells, strict=True)
        if _ran(ours) and _ran(theirs)
    ]
    same = sum(ours == theirs for ours, theirs in pairs)
    return f"{same} of {len(pairs)} counts are those of the paper" if pairs else ""


def _ran(cell: Cell) -> bool:
    return math.isfinite(cell.mean)


FORMS = {"grid": _grid, "transposed": _transposed, "exceed": _exceed, "statistics": _counts}


def raced(race: pd.DataFrame) -> str:
    """How often the method passes what its rival returned, and how much sooner."""
    passed = race[race.ratio_to_exceed.notna()]
    if passed.empty:
        return f"AGD-SBCD passes none of {len(race)} fits of the SVM."
    middle = float(passed.ratio_to_exceed.median())
    return (
        f"AGD-SBCD passes {len(passed)} of {len(race)} fits of the SVM, where it does so in the "
        f"median {middle:.3g} times sooner."
    )


def spent(time: pd.DataFrame) -> str:
    """CPU seconds of all fits and trials."""
    fits, trials = float(time.fit_seconds.sum()), float(time.trial_seconds.sum())
    return f"{fits:,.0f} CPU s in fits and {trials:,.0f} CPU s in the tuning trials before them."


def compared(comparison: pd.DataFrame) -> str:
    """How many of the paper's numbers can be compared, and what came of it."""
    both = comparison.paper.notna() & comparison.ours.notna()
    ours = comparison[comparison.comparable.astype(bool) & both]
    counts = ours.verdict.value_counts()
    told = ", ".join(f"{counts.get(name, 0)} {word}" for name, word in VERDICTS.items())
    printed = int(comparison.paper.notna().sum())
    return (
        f"Of {printed} printed numbers {len(ours)} have the paper's own data beside them: {told}."
    )
