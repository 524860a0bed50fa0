"""Targets of the clock, fixed before the race: what a reference run reached, seed by seed.

``python -m pauc_core.suite.targets results/SCALE`` adds what its collected runs have and
config/targets/SCALE.csv has not; a person commits the file. What is there stays as it is, so that
no later method and no better reference moves a target; to set one anew, delete its rows.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from pauc_core.files import write_text
from pauc_core.suite.choice import VALIDATION
from pauc_core.suite.columns import ColumnError
from pauc_core.suite.frames import read_frames
from pauc_core.suite.yaml_files import read_mapping

KEY = ["experiment", "dataset", "seed"]
RUN = [*KEY, "method"]
COLUMNS = [*KEY, "reference", "pauc_valid", "objective_start", "objective_best", "data_checksum"]
LINEAR, NETWORK = "linear", "network"


def reference_targets(
    summaries: pd.DataFrame, traces: pd.DataFrame, bands: pd.DataFrame, references: dict[str, str]
) -> pd.DataFrame:
    """The targets that the reference runs of all leagues give, a row a seed; stale ones give none.

    ``references`` names the method for linear models and for networks. ``pauc_valid`` is its best
    on validation, ``objective_start`` and ``objective_best`` its first and lowest objective: F0
    and F* of (F - F*) / (F0 - F*).
    """
    runs = summaries[summaries.experiment.isin(bands.experiment)]
    runs = runs[runs.chosen_by.fillna(VALIDATION) == VALIDATION]
    runs = runs[~runs.stale.fillna(False).astype(bool)]
    kind = runs.model.where(runs.model == LINEAR, NETWORK).map(references)
    runs = runs[(runs.method == kind) & runs.pauc_valid.notna()]
    ways = dict(list(traces[traces.chosen_by.fillna(VALIDATION) == VALIDATION].groupby(RUN)))
    rows = []
    for run in runs.to_dict("records"):
        mine = ways[tuple(run[name] for name in RUN)].sort_values("step")
        rows.append({
            **{name: run[name] for name in KEY},
            "reference": run["method"],
            "pauc_valid": float(run["pauc_valid"]),
            "objective_start": float(mine.objective.iloc[0]),
            "objective_best": float(mine.objective.min()),
            "data_checksum": str(run["data_checksum"])[:12],
        })  # fmt: skip
    return pd.DataFrame(rows, columns=COLUMNS)


def read_targets(path: Path) -> pd.DataFrame:
    """Stored targets; none where there is no file."""
    if not path.is_file():
        return pd.DataFrame(columns=COLUMNS)
    found = pd.read_csv(path)
    if list(found.columns) != COLUMNS:
        raise ColumnError(f"{path}: columns {list(found.columns)}; expected {COLUMNS}.")
    if found.duplicated(KEY).any():
        place = "/".join(map(str, found[found.duplicated(KEY)][KEY].iloc[0]))
        raise ColumnError(f"{path}: two targets for {place}; expected one, delete the other.")
    return found


def add_targets(path: Path, found: pd.DataFrame) -> int:
    """Put the targets of runs that have none yet into the file; how many there were."""
    stored = read_targets(path)
    known = set(stored[KEY].itertuples(index=False, name=None))
    fresh = [key not in known for key in found[KEY].itertuples(index=False, name=None)]
    both = pd.concat([part for part in (stored, found[fresh]) if len(part)] or [stored])
    both = both.sort_values(KEY).astype({"seed": int})
    write_text(path, both.to_csv(index=False, lineterminator="\n"))
    return sum(fresh)


def main(folder: Path) -> None:
    frames, meta = read_frames(folder / "collected")
    references = read_mapping(Path("config/reports.yaml"))["league"]["references"]
    path = Path("config/targets") / f"{meta['scale']}.csv"
    found = reference_targets(frames["summaries"], frames["traces"], frames["bands"], references)
    print(f"{path}: {add_targets(path, found)} targets added", file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m pauc_core.suite.targets results/SCALE")
    try:
        main(Path(sys.argv[1]))
    except ColumnError as error:
        sys.exit(str(error))
