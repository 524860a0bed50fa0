"""The numbers of Tables 4 and 5, counted from prepared arrays."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from pauc_core.data.prepared import TEST, TRAIN, VALID, Prepared


def table(prepared: Prepared) -> list[dict[str, Any]]:
    """One row per task.

    `n`, `positives` and `negatives` count what was published for training: train and validation
    together, and a test part that was held out of the training file (Tables 4 and 5 count so).
    With folds these are all rows, and the parts counted are those of seed 0.
    """
    held_out = bool(prepared.meta.get("held_out") or prepared.meta.get("folds"))
    prepared = prepared.for_seed(0)
    pool = np.ones(len(prepared.y), dtype=bool) if held_out else prepared.part != TEST
    rows = []
    for task in prepared.tasks:
        labels = prepared.labels(task)
        parts = {
            f"{name}_{what}": int(chosen.sum())
            for value, name in ((TRAIN, "train"), (TEST, "test"), (VALID, "valid"))
            for what, chosen in (
                ("rows", prepared.part == value),
                ("positives", (prepared.part == value) & labels),
            )
        }
        rows.append(
            {
                "dataset": prepared.name,
                "task": task if len(prepared.tasks) > 1 else "",
                "title": prepared.meta.get("title", prepared.name),
                "kind": prepared.meta["kind"],
                "provenance": prepared.meta["provenance"],
                "generated": prepared.generated,
                "n": int(pool.sum()),
                "width": int(np.prod(prepared.x.shape[1:])),
                "positives": int((labels & pool).sum()),
                "negatives": int((~labels & pool).sum()),
                **parts,
                "checksum": prepared.checksum,
                "details": json.dumps(prepared.meta.get("details", {}), sort_keys=True),
            }
        )
    return rows
