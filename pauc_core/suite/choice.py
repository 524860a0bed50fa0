"""What a grid's trials are, and which of them runs take their values from."""

from __future__ import annotations

import itertools
from typing import Any

from pauc_core.objective.losses import get_loss

# By what the trial was chosen whose values a run takes. Claims about test numbers are judged on the
# first. The paper holds nothing out where it compares training, so those are judged on the second.
VALIDATION, OBJECTIVE = "validation", "objective"
TUNING_SEED = 0  # without folds tuning happens once, on this seed's split


def expand(params: dict[str, Any], grid: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Every combination of the grid over the fixed hyper-parameters."""
    names = list(grid)
    return [
        {**params, **dict(zip(names, values, strict=True))}
        for values in itertools.product(*(grid[name] for name in names))
    ]


def choose(rows: list[dict[str, Any]], goal: str, loss: str) -> int:
    """The trial with the highest validation pAUC; for SoRR, the lowest final training loss.

    SoRR's n exceeds any validation part, so the loss is what the paper's curves compare.
    Runs that diverged or failed are never chosen; the first of equals is. On a small validation
    part an early look of a diverging run may be best by chance. So a trial that ends with a higher
    training loss than equal scores for all have must end, in return, with no lower a training pAUC
    than the best of the others: large scores raise the loss, but not pAUC.
    """
    key, sign = ("last_objective", 1.0) if goal == "sorr" else ("pauc_valid", -1.0)
    ended = _ended_well(rows, key)

    def best(rows: list[dict[str, Any]]) -> dict[str, Any]:
        return min(rows, key=lambda row: (sign * row[key], row["trial"]))

    equal_scores = float(get_loss(loss).value(0.0))
    fallen = [row for row in ended if row["last_objective"] < equal_scores]
    if goal == "sorr" or not fallen:
        return int(best(ended)["trial"])
    enough = best(fallen)["last_pauc_train"]
    return int(best(fallen + [r for r in ended if r["last_pauc_train"] >= enough])["trial"])


def lowest(rows: list[dict[str, Any]]) -> int:
    """The trial that ends with the lowest training objective."""
    ended = _ended_well(rows, "last_objective")
    return int(min(ended, key=lambda row: (row["last_objective"], row["trial"]))["trial"])


def _ended_well(rows: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    ended = [
        row
        for row in rows
        if row["outcome"] in ("budget", "converged") and row.get(key) is not None
    ]
    if not ended:
        reasons = "; ".join(sorted({str(row["reason"]) for row in rows}))
        raise ValueError(f"None of {len(rows)} trials ended well ({reasons}): change the grid.")
    return ended
