"""A guest that is no Python program: it is handed files, its scores are read, checked and judged.

A guest writes scores and, if it likes, a trace. Who it was, on what, with which code, for how long
and with how much memory is the suite's to say, and every number is computed from the scores.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pauc_core.data.prepared import TEST, load_prepared
from pauc_core.metrics import pauc
from pauc_core.solver import Outcome, Problem
from pauc_core.solver.trace import COLUMNS
from pauc_core.suite.columns import ColumnError
from pauc_core.suite.guest_files import SCORES, TRACE, hand_over, read_scores, read_trace
from pauc_core.suite.one_run import build_problem, counts
from pauc_core.suite.programs import Ended, run_program
from pauc_core.suite.run_spec import RunSpec

ROOT = Path(__file__).parents[2]
SAME = 1e-6  # how far a hand-made summary may be off, as it may be rounded


def is_guest(use: str) -> bool:
    """Whether a method's ``use`` is the path of a program and no ``module:Class``."""
    return ":" not in use


def program_of(use: str) -> Path:
    """The program of a guest, which lies below the project's folder."""
    return ROOT / use


def run_guest(
    run: RunSpec, params: Mapping[str, Any], seed: int, data: Path, out: Path
) -> dict[str, Any]:
    """One seed of a guest: its trace, its scores and its summary, as of any other method.

    A program that fails, or that takes too long or too much memory, is a row with its reason. One
    that breaks its contract is an error in a sentence that names file, line and field.
    """
    problem, test, prepared = build_problem(run, data, seed)
    parts = {"valid": problem.valid, "test": test}
    out.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=".part-guest-", dir=out))
    try:
        hand_over(problem, test, folder)
        ended = run_program(
            program_of(run.use),
            folder,
            environment=_told(run, problem, params, seed),
            log=out / f"seed-{seed}.log",
            seconds=60.0 * run.experiment.minutes,
            memory_mb=run.experiment.memory_mb,
        )
        place = f"{run.use}: seed {seed}"
        known = counts(problem, test, prepared)
        if ended.reason:
            return {"trace": [], "scores": [], "summary": {**known, **_failure(ended)}}
        scores = read_scores(folder / SCORES, parts, place)
        trace = read_trace(folder / TRACE, place)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    numbers = {
        f"pauc_{name}": _pauc(part.labels, scores[name], *problem.band)
        for name, part in parts.items()
        if part is not None
    }
    last = {k: v for k, v in (trace[-1] if trace else {}).items() if k in ("step", "epoch", "work")}
    return {
        "trace": [{**dict.fromkeys(COLUMNS), **row} for row in trace],
        "scores": [
            (name, part.rows, part.labels.astype(np.int8), scores[name])
            for name, part in parts.items()
            if part is not None
        ],
        "summary": {
            **known,
            "outcome": Outcome.CONVERGED.value,
            "reason": "The program ended by itself.",
            **last,
            **numbers,
            **_spent(ended),
        },
    }


def _spent(ended: Ended) -> dict[str, float]:
    return {"seconds": ended.seconds, "wall": ended.wall, "peak_mb": round(ended.peak_mb, 1)}


def _failure(ended: Ended) -> dict[str, Any]:
    outcome = Outcome.TIMEOUT if ended.late else Outcome.FAILED
    return {"outcome": outcome.value, "reason": ended.reason, **_spent(ended)}


def _told(run: RunSpec, problem: Problem, params: Mapping[str, Any], seed: int) -> dict[str, str]:
    """What a guest is told besides its files: variables of the environment, for any language."""
    low, high = problem.band
    threads = str(run.experiment.threads)
    return {
        **os.environ,
        "OMP_NUM_THREADS": threads,
        "LC_ALL": "C",  # a point in numbers, whatever the machine's language
        "PAUC_SEED": str(seed),
        "PAUC_FPR_LOW": repr(low),
        "PAUC_FPR_HIGH": repr(high),
        "PAUC_LOSS": run.experiment.loss,
        "PAUC_THREADS": threads,
        **{f"PAUC_PARAM_{name}": str(value) for name, value in params.items()},
    }


def _pauc(labels: np.ndarray, scores: np.ndarray, low: float, high: float) -> float | None:
    if not labels.any() or labels.all():
        return None
    return float(pauc(labels, scores, fpr_low=low, fpr_high=high))


def check_summary(line: Mapping[str, Any], scores: pd.DataFrame, data: Path, path: Path) -> None:
    """Raise where a guest's line of ``path`` does not follow from its test ``scores``.

    The suite has written both; this sees a file that was made or edited by hand.
    """
    ran = is_guest(line["use"]) and line["outcome"] == Outcome.CONVERGED
    if not ran or line.get("n_test") == 0:
        return
    _check_rows(line, scores, data, path.with_name("scores.csv.gz"))
    found = _pauc(
        scores["label"].to_numpy() == 1,
        scores["score"].to_numpy(),
        line["fpr_low"],
        line["fpr_high"],
    )
    said = line.get("pauc_test")
    if found is not None and (said is None or not abs(said - found) <= SAME):
        raise ColumnError(
            f"{path}: seed {line['seed']}: pauc_test is {said} in the summary and {found:.6f} by "
            "its scores; remove the folder, and the guest is run again."
        )


def _check_rows(line: Mapping[str, Any], scores: pd.DataFrame, data: Path, path: Path) -> None:
    """Every stored test row once, with its own label and a finite score."""
    name, _, task = line["dataset"].partition("@")
    prepared = load_prepared(data / name).for_seed(line["seed"])
    wanted = np.flatnonzero(prepared.part == TEST)
    given = pd.to_numeric(scores["row"], errors="coerce").to_numpy(dtype=float)
    place = f"{path}: seed {line['seed']}"
    if len(given) != len(wanted) or not np.array_equal(np.sort(given), wanted):
        known = np.isin(given, wanted)
        odd = f", among them row {given[~known][0]:g}, which is none of them" if any(~known) else ""
        raise ColumnError(
            f"{place}: row: {len(given)} test rows{odd}; expected each of the {len(wanted)} rows "
            f"of {name}'s test part once."
        )
    given = given.astype(int)
    wrong = (scores["label"].to_numpy() == 1) != prepared.labels(task or None)[given]
    if wrong.any():
        raise ColumnError(
            f"{place}: label: row {given[wrong][0]} has another label in {name}; expected 1 for a "
            "positive and 0 or -1 for a negative."
        )
    values = pd.to_numeric(scores["score"], errors="coerce").to_numpy(dtype=float)
    if not np.isfinite(values).all():
        row = given[~np.isfinite(values)][0]
        raise ColumnError(f"{place}: score: of row {row} is no finite number.")
