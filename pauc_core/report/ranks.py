"""Average ranks over tasks, which methods they tell apart, and probabilities of improvement."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from pauc_core.report.frames import Collected, Reports
from pauc_core.report.layout import method_label
from pauc_core.report.verdicts import LEVEL

COLUMNS = [
    "group", "method", "label", "average_rank", "letters", "best_on", "tasks", "methods",
    "critical_difference", "friedman_p", "improvement", "improvement_low", "improvement_high",
]  # fmt: skip
TASK = ["experiment", "dataset"]


def average_ranks(
    collected: Collected, reports: Reports, groups: list[dict[str, Any]]
) -> pd.DataFrame:
    """Average rank by mean test pAUC in each group of sources; a method that failed ranks last.

    Methods that ran on fewer than half of a group's tasks are left out, then tasks that not every
    remaining method ran on: a rank says nothing where the field differs. Methods that share a
    letter in ``letters`` cannot be told apart. ``improvement`` is the probability that the
    group's own method is above the row's on a task and seed drawn at random. What the league does
    not rank has no rank here: chance, far below all, would tell any field apart.
    """
    s = collected.of_validation("summaries")
    s = s[~s.method.isin(reports.unranked)]
    rows: list[dict[str, Any]] = []
    for group in groups:
        parts = [s.iloc[:0]]
        for source in (reports.sources[n] for n in group["sources"] if n in reports.sources):
            measured = [source.measured(column) for column in source.columns]
            parts.append(s[(s.experiment == source.experiment) & s.dataset.isin(measured)])
        here = pd.concat(parts)
        if here.empty:
            continue
        found = here.groupby([*TASK, "method"]).pauc_test
        ran = found.size().unstack()
        kept = ran.columns[ran.notna().sum() * 2 >= len(ran)]
        tasks = ran.index[ran[kept].notna().all(axis=1)]
        means = found.mean().astype(float).unstack().loc[tasks, kept]
        ranks = means.rank(axis=1, ascending=False, na_option="bottom")
        average = ranks.mean().sort_values(kind="stable")
        p, distance = friedman(ranks.to_numpy()), critical_difference(len(kept), len(tasks))
        shared = letters(average.to_numpy(), distance if p <= 1 - LEVEL else math.inf)
        for (method, value), letter in zip(average.items(), shared, strict=True):
            rows.append({
                "group": group["name"],
                "method": method,
                "label": method_label(reports, str(method)),
                "average_rank": float(value),
                "letters": letter,
                "best_on": int((ranks[method] == 1).sum()),
                "tasks": len(tasks),
                "methods": len(kept),
                "critical_difference": distance,
                "friedman_p": p,
                **_improvement(here, tasks, group["method"], str(method)),
            })  # fmt: skip
    return pd.DataFrame(rows, columns=COLUMNS)


def friedman(ranks: np.ndarray) -> float:
    """p-value of Friedman's test that all methods (columns) rank alike, with ties; 1 if it cannot.

    chi^2 = (k - 1) sum_j (R_j - N(k+1)/2)^2 / (sum_ij r_ij^2 - N k (k+1)^2 / 4), k - 1 degrees.
    """
    count, methods = ranks.shape
    spread = (ranks**2).sum() - count * methods * (methods + 1) ** 2 / 4
    if count < 2 or methods < 2 or spread <= 0:
        return 1.0
    between = ((ranks.sum(axis=0) - count * (methods + 1) / 2) ** 2).sum()
    return float(stats.chi2.sf((methods - 1) * between / spread, methods - 1))


def critical_difference(methods: int, tasks: int) -> float:
    """Nemenyi: how far two average ranks must lie apart, q sqrt(k (k + 1) / (6 N))."""
    if methods < 2 or not tasks:
        return math.inf
    q = stats.studentized_range.ppf(LEVEL, methods, np.inf) / math.sqrt(2.0)
    return float(q * math.sqrt(methods * (methods + 1) / (6.0 * tasks)))


def letters(sorted_ranks: np.ndarray, distance: float) -> list[str]:
    """Letters: each stands for a longest run of methods no further apart than ``distance``."""
    found = [""] * len(sorted_ranks)
    last = 0
    used = 0
    for first, rank in enumerate(sorted_ranks):
        end = int(np.searchsorted(sorted_ranks, rank + distance, side="right"))
        if end > last:
            for i in range(first, end):
                found[i] += chr(ord("a") + used)
            last, used = end, used + 1
    return found


def _improvement(
    runs: pd.DataFrame, tasks: pd.Index, method: str, rival: str
) -> dict[str, float | None]:
    """The share of seeds won, averaged over tasks, with Wilson's interval over the tasks.

    A task counts as one trial: a share between 0 and 1 varies less than a coin, so the interval is
    rather too wide. Where a run has no number it is lost.
    """
    if method == rival or method not in set(runs.method):
        return {}
    shares = []
    indexed = runs.set_index([*TASK, "method", "seed"]).pauc_test.astype(float).sort_index()
    for task in tasks:
        ours, theirs = (indexed.loc[(*task, name)] for name in (method, rival))
        pairs = pd.concat([ours, theirs], axis=1, join="inner").fillna(-math.inf).to_numpy()
        if len(pairs):
            won = (pairs[:, 0] > pairs[:, 1]) + 0.5 * (pairs[:, 0] == pairs[:, 1])
            shares.append(float(won.mean()))
    low, high = wilson(shares)
    mean = float(np.mean(shares)) if shares else math.nan
    return {"improvement": mean, "improvement_low": low, "improvement_high": high}


def wilson(shares: list[float]) -> tuple[float, float]:
    """Wilson's interval of a mean share over that many trials."""
    count = len(shares)
    if not count:
        return math.nan, math.nan
    z, mean = float(stats.norm.ppf((1 + LEVEL) / 2)), float(np.mean(shares))
    centre = (mean + z**2 / (2 * count)) / (1 + z**2 / count)
    reach = math.sqrt(mean * (1 - mean) / count + z**2 / (4 * count**2)) * z / (1 + z**2 / count)
    return max(centre - reach, 0.0), min(centre + reach, 1.0)
