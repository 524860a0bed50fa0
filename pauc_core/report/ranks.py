"""Average ranks of the methods over all tasks."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pauc_core.report.frames import Collected, Reports
from pauc_core.report.layout import method_label

COLUMNS = ["group", "method", "label", "average_rank", "best_on", "tasks", "methods"]


def average_ranks(
    collected: Collected, reports: Reports, groups: list[dict[str, Any]]
) -> pd.DataFrame:
    """Average rank by mean test pAUC in each group of sources; a method that failed ranks last.

    Methods that ran on fewer than half of a group's tasks are left out, then tasks that not every
    remaining method ran on: a rank says nothing where the field differs.
    """
    s = collected.summaries
    rows: list[dict[str, Any]] = []
    for group in groups:
        parts = []
        for name in group["sources"]:
            if name not in reports.sources:
                continue
            source = reports.source(name)
            measured = [source.measured(column) for column in source.columns]
            parts.append(s[(s.experiment == source.experiment) & s.dataset.isin(measured)])
        here = pd.concat(parts or [s.iloc[:0]])
        if here.empty:
            continue
        found = here.groupby(["experiment", "dataset", "method"]).pauc_test
        ran = found.size().unstack()
        kept = ran.columns[ran.notna().sum() * 2 >= len(ran)]
        tasks = ran.index[ran[kept].notna().all(axis=1)]
        means = found.mean().astype(float).unstack().loc[tasks, kept]
        ranks = means.rank(axis=1, ascending=False, na_option="bottom")
        average = ranks.mean().sort_values(kind="stable")
        rows += [
            {
                "group": group["name"],
                "method": method,
                "label": method_label(reports, str(method)),
                "average_rank": float(value),
                "best_on": int((ranks[method] == 1).sum()),
                "tasks": len(tasks),
                "methods": len(kept),
            }
            for method, value in average.items()
        ]
    return pd.DataFrame(rows, columns=COLUMNS)
