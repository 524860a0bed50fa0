"""The league as tables: tasks by methods, what training for a band is worth, time to target."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd

from pauc_core.report.clock import LEAST_FALL, OBJECTIVE, PAUC, all_targets
from pauc_core.report.frames import KEYS, PROVENANCE, Collected, Reports
from pauc_core.report.layout import (
    NOT_THE_PAPERS,
    Cell,
    Row,
    Table,
    dataset_label,
    listed,
    show,
)
from pauc_core.report.league import (
    BEST,
    LINEAR,
    NETWORK,
    OPEN,
    TIED,
    Standing,
    Task,
    Worth,
    band_label,
    league_label,
)
from pauc_core.report.verdicts import LEVEL

Band = tuple[float, float]


class LeagueTables:
    """Makes the tables from what was found."""

    def __init__(
        self,
        collected: Collected,
        reports: Reports,
        tasks: list[Task],
        worth: list[Worth],
        times: pd.DataFrame,
    ) -> None:
        self.collected, self.reports = collected, reports
        self.tasks, self.worth, self.times = tasks, worth, times
        s = collected.summaries
        self.labels = dict(zip(s.method, s.label.fillna(s.method), strict=True))

    def all(self) -> list[Table]:
        """Those that have something to show."""
        made = [
            self.standings("league", LINEAR),
            self.standings("league_networks", NETWORK),
            self.bands(),
            self.time(),
        ]
        return [table for table in made if table.rows]

    def frames(self) -> dict[str, pd.DataFrame]:
        """Every time to target and every gain of training for a band, at full precision."""
        gains = [
            {
                "method": row.method, "kind": row.kind, "league": row.league,
                "dataset": row.dataset, "fpr_low": row.band[0], "fpr_high": row.band[1],
                "trained_low": other[0], "trained_high": other[1],
                "pauc": row.trained[row.band], "pauc_trained_for_other": row.trained[other],
                "gain": gain, "standard_error": error, "df": df, "p_holm": row.p_holm[other],
            }
            for row in self.worth
            for other, (gain, error, df) in row.gains.items()
        ]  # fmt: skip
        if not self.tasks:
            return {}
        return {"tables/league_gains": pd.DataFrame(gains), "tables/league_targets": self.times}

    def label(self, method: str) -> str:
        return league_label(self.reports, method, self.labels)

    def methods(self, tasks: list[Task]) -> list[str]:
        """Whoever ran somewhere, in the order of everywhere; what is not ranked comes last."""
        found = {method for task in tasks for method in task.standings}
        unranked = self.reports.unranked
        return sorted(found, key=lambda m: (m in unranked, self.reports.order(m)))

    def standings(self, name: str, kind: str) -> Table:
        tasks = [task for task in self.tasks if task.kind == kind]
        methods = self.methods(tasks)
        table = self._table(name, "Task", [self.label(m) for m in methods])
        for task in tasks:
            cells = [
                _cell(task, task.standings[m]) if m in task.standings else Cell("") for m in methods
            ]
            block = f"FPR in {band_label(task.band)}"
            table.rows.append(Row(block, task.label, task.regime, cells))
        if tasks:
            table.rows.append(self._won(tasks, methods))
        table.notes += [
            "Test pAUC with its 95 % interval over seeds and test rows. Bold: the best, and what "
            "cannot be told apart from it (tied) by paired intervals after Holm's adjustment over "
            "the task's methods. Which one is best was seen on the same test rows.",
        ]
        if any(s.place == OPEN for task in tasks for s in task.standings.values()):
            table.notes.append(
                "Open: published on another day than the best, so that they cannot be compared row "
                "by row, and compared as if on different test rows they cannot be told apart."
            )
        below = [self.label(m) for m in methods if m in self.reports.unranked]
        if below:
            table.notes.append(
                f"Not ranked: {'; '.join(below)}. Underlined where above the best of the others."
            )
        if absent := self._absent(kind):
            table.notes.append(
                "Run before the league was, and not in it until they are run again: "
                f"{'; '.join(absent)}."
            )
        return self._noted(table, tasks)

    def _absent(self, kind: str) -> list[str]:
        """Datasets of the league's experiments with methods that have no scores on its bands."""
        s, b = (frame.set_index(KEYS) for frame in (self.collected.summaries, self.collected.bands))
        linear = s.model == "linear"
        here = s[(linear if kind == LINEAR else ~linear) & ~s.index.isin(b.index)].reset_index()
        here = here[here.experiment.isin(self.collected.bands.experiment)]
        return [
            f"{dataset_label(str(dataset))} ({part.method.nunique()} methods)"
            for dataset, part in here.groupby("dataset", sort=True)
        ]

    def _won(self, tasks: list[Task], methods: list[str]) -> Row:
        """On how many tasks each method is the best or tied with it."""
        cells = []
        for method in methods:
            ran = [t.standings[method] for t in tasks if method in t.standings]
            won = sum(standing.place in (BEST, TIED) for standing in ran)
            ranked = method not in self.reports.unranked
            cells.append(
                Cell(f"{won} of {len(ran)}", float(won), n=len(ran)) if ranked else Cell("")
            )
        return Row("all tasks", "best or tied with it on", "", cells)

    def bands(self) -> Table:
        every = sorted({band for row in self.worth for band in row.trained})
        heads = [f"trained for {band_label(band)}" for band in every]
        table = self._table("league_bands", "Scored on", [*heads, "datasets", "better", "worse"])
        # A mean over other datasets for one band than for the next would compare these.
        shown = [row for row in self.worth if set(row.trained) == set(every)]
        for method in dict.fromkeys(row.method for row in shown):
            for band in every:
                mine = [row for row in shown if (row.method, row.band) == (method, band)]
                if mine:
                    table.rows.append(self._worth_row(method, band, every, mine))
        table.notes.append(
            "Mean test pAUC over datasets; the diagonal is in bold. Better, worse: datasets and "
            "other bands on which training for the band is told apart from training for the other "
            "(paired interval over seeds and test rows, Holm over a dataset's bands)."
        )
        if apart := sum(row.apart for row in shown):
            table.notes.append(
                f"{apart} of {sum(len(row.gains) for row in shown)} comparisons are of runs that "
                "were published on different days, as if on different test rows."
            )
        used = {(row.league, row.dataset) for row in shown}
        return self._noted(table, [t for t in self.tasks if (t.league, t.dataset) in used])

    def _worth_row(self, method: str, band: Band, every: list[Band], mine: list[Worth]) -> Row:
        cells = []
        for trained in every:
            values = [row.trained[trained] for row in mine]
            mean = float(np.mean(values))
            cells.append(Cell(show("test_pauc", mean), mean, n=len(values), best=trained == band))
        told = [
            row.gains[other][0]
            for row in mine
            for other in row.gains
            if row.p_holm[other] <= 1 - LEVEL
        ]
        counts = (len(mine), sum(gain > 0 for gain in told), sum(gain < 0 for gain in told))
        pairs = sum(len(row.gains) for row in mine)
        texts = (str(counts[0]), f"{counts[1]} of {pairs}", f"{counts[2]} of {pairs}")
        cells += [Cell(text, float(n)) for text, n in zip(texts, counts, strict=True)]
        return Row(self.label(method), band_label(band), mine[0].kind, cells)

    def time(self) -> Table:
        targets = all_targets(self.reports)
        heads = [target.label for target in targets]
        more = ["CPU s of a run", "CPU s of tuning", "chosen at the end of a grid"]
        table = self._table("league_time", "Method", [*heads, *more])
        for kind in dict.fromkeys(self.times.kind):
            here = self.times[self.times.kind == kind]
            for method in [m for m in self.methods(self.tasks) if m in set(here.method)]:
                mine = here[here.method == method]
                cells = [
                    _solved(mine[(mine.measure == t.measure) & (mine.target == t.within)])
                    for t in targets
                ]
                cells += [*self._seconds(mine), self._ends(mine)]
                extra = method in self.reports.unranked
                table.rows.append(Row(kind, self.label(method), "", cells, extra))
        table.notes.append(
            "Tasks on which the target is reached in most seeds, of those the method ran on, and "
            "in brackets the median factor over the fastest method there; a miss is infinite. "
            "Values are those with the best validation pAUC, for targets of the objective too. The "
            "clock stops while a run is looked at. Looks lie about a factor of 1.2 apart, with a "
            "budget of a method's own up to 1.5, and for the path a fit: a factor smaller than "
            "that says nothing, nor one below 3 between methods that were published on different "
            "days, when the machine may have been another. The seconds: median over tasks of a "
            "whole run and of all trials before it. Last: of the values chosen from three or more, "
            "how many lie at an end of their grid: a method with many of them may be better than "
            "it looks."
        )
        timed = self._timed(PAUC, OBJECTIVE)
        without = len(self.tasks) - len(timed)
        if without:
            table.notes.append(
                f"No targets are stored for {without} of {len(self.tasks)} tasks (make targets)."
            )
        flat = sum(
            (task.experiment, task.dataset) not in self._timed(OBJECTIVE)
            and not self.reports.minimising.isdisjoint(task.standings)
            for task in self.tasks
            if (task.experiment, task.dataset) in timed
        )
        if flat:
            table.notes.append(
                f"No targets of the objective on {flat} of the others: the reference run lowers it "
                f"there by less than {LEAST_FALL:g} of what it was."
            )
        return self._noted(table, [t for t in self.tasks if (t.experiment, t.dataset) in timed])

    def _timed(self, *measures: str) -> set[tuple[str, str]]:
        """Experiment and dataset of each task that has targets of these measures."""
        here = self.times[self.times.measure.isin(measures)]
        return set(here[["experiment", "dataset"]].itertuples(index=False, name=None))

    def _seconds(self, mine: pd.DataFrame) -> list[Cell]:
        tasks = mine.drop_duplicates(["experiment", "dataset"])
        runs = [
            float(self.collected.runs(*key).seconds.astype(float).median())
            for key in tasks[["experiment", "dataset", "method"]].itertuples(index=False, name=None)
        ]
        found = (float(np.median(runs)), float(tasks.tuning_seconds.median()))
        return [Cell(show("cpu_seconds", x), x, n=len(tasks)) for x in found]

    def _ends(self, mine: pd.DataFrame) -> Cell:
        """How many chosen values lie at an end of what was tried."""
        t = self.collected.trials
        tasks = mine[["experiment", "dataset", "method"]].drop_duplicates()
        ends = values = 0
        for _, trials in t.merge(tasks).groupby(
            ["experiment", "dataset", "method", "seed"], dropna=False
        ):
            found = at_ends(trials)
            ends, values = ends + found[0], values + found[1]
        return Cell(f"{ends} of {values}" if values else "", float(ends), n=values)

    def _table(self, name: str, stub: str, columns: list[str]) -> Table:
        title = self.reports.league["tables"][name]
        return Table(name, title, stub, columns, line="not ranked")

    def _noted(self, table: Table, tasks: list[Task]) -> Table:
        found: dict[str, list[str]] = {}
        for task in tasks:
            found.setdefault(task.provenance, []).append(task.dataset)
        table.provenance = list(found)
        if "generated" in found:
            table.warnings.append(f"{listed(found['generated'])}: {NOT_THE_PAPERS['generated']}")
        for whose, names in found.items():
            table.notes.append(f"Measured on {PROVENANCE[whose]}: {listed(names)}.")
        return table


def _cell(task: Task, standing: Standing) -> Cell:
    text = show("test_pauc", standing.pauc)
    if math.isfinite(standing.low):
        text += f" [{standing.low:.4f}, {standing.high:.4f}]"
    if standing.seeds < standing.runs:
        text += f" [{standing.seeds} of {standing.runs}]"
    return Cell(
        text + (f" {standing.place}" if standing.place in (TIED, OPEN) else ""),
        standing.pauc,
        n=standing.seeds,
        best=standing.place in (BEST, TIED),
        above=task.above(standing),
        stale=standing.stale,
        key="|".join((task.experiment, task.dataset, standing.method)),
    )


def at_ends(trials: pd.DataFrame) -> tuple[int, int]:
    """Of the hyper-parameters with three values or more: how many were chosen lowest or highest."""
    tried = pd.DataFrame([json.loads(text) for text in trials.params])
    numbers = tried.select_dtypes("number")
    chosen = numbers[trials.chosen.to_numpy(dtype=bool)]
    if chosen.empty:
        return 0, 0
    varied = numbers.loc[:, numbers.nunique() > 2]
    value = chosen[varied.columns].iloc[0]
    ends = (value == varied.min()) | (value == varied.max())
    return int(ends.sum()), len(ends)


def _solved(rows: pd.DataFrame) -> Cell:
    if rows.empty:
        return Cell("")
    solved = rows[np.isfinite(rows.seconds)]
    text = f"{len(solved)} of {len(rows)}"
    factor = float(solved.factor.median()) if len(solved) else math.nan
    text += f" ({factor:.3g})" if len(solved) else ""
    return Cell(text, len(solved) / len(rows), n=len(rows))
