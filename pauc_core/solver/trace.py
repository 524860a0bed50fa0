"""What a run looked like on its way: one row a look, the same first columns for every method."""

from __future__ import annotations

from collections.abc import Iterator

# Every look has these, in this order.
COLUMNS = {
    "step": "steps taken",
    "epoch": "the paper's count: sampled rows over training rows",
    "work": "rows through the model, forward or back, each pass counted once",
    "seconds": "process time inside init and step, all threads added up",
    "wall": "elapsed time inside init and step",
    "objective": "the exact objective (3), or the SoRR loss",
    "pauc_train": "pAUC at the looked-at training rows",
    "pauc_valid": "pAUC on validation",
    "pauc_test": "pAUC on test",
}
MEASURES = ("objective", "pauc_train", "pauc_valid", "pauc_test")
# After them: the measures of an iterate beside the scored one, as pauc_test_w, and the method's
# own numbers, as own_gap.
OWN = "own_"

Row = dict[str, float]


class Trace:
    """Rows with the common columns first, other iterates' and the method's own after them."""

    def __init__(self, rows: list[Row] | None = None) -> None:
        self.rows: list[Row] = []
        for row in rows or []:
            self.append(row)

    def append(self, row: Row) -> None:
        missing = [name for name in COLUMNS if name not in row]
        if missing:
            raise ValueError(f"A trace row lacks {missing}; every look records {list(COLUMNS)}.")
        self.rows.append({name: float(value) for name, value in row.items()})

    @property
    def columns(self) -> list[str]:
        own = dict.fromkeys(name for row in self.rows for name in row if name not in COLUMNS)
        return [*COLUMNS, *own]

    def column(self, name: str) -> list[float]:
        """One column over all looks; NaN at looks that do not have it."""
        if name not in self.columns:
            raise ValueError(f"The trace has no column {name!r}; it has {self.columns}.")
        return [row.get(name, float("nan")) for row in self.rows]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)
