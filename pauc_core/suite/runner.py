"""Starts seeds and trials, each in a process of its own, and writes a run's files."""

from __future__ import annotations

import csv
import gzip
import importlib
import io
import json
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from pauc_core.files import atomic_path, write_text
from pauc_core.objective import pauc_loss_grad
from pauc_core.solver import Outcome
from pauc_core.solver.trace import COLUMNS, Row
from pauc_core.suite.checked_data import check_data
from pauc_core.suite.checkpoint import FileKeeper, KeptTrial, fingerprint
from pauc_core.suite.child import Child, Report, run_all, run_warmed
from pauc_core.suite.columns import KEYS, check, names
from pauc_core.suite.guests import is_guest, run_guest
from pauc_core.suite.one_run import build_method, build_problem, rehearse, run_one
from pauc_core.suite.provenance import run_digest, versions
from pauc_core.suite.run_spec import RunSpec

CHECKPOINT_SECONDS = 120.0
WARM_UP_SECONDS = 120.0
# What a trial tells of its summary.
TRIAL = [n for n in names("trials") if n not in (*KEYS, "seed", "trial", "params", "chosen")]


def run_seeds(
    run: RunSpec,
    values: dict[str, Any] | Callable[[int, str], dict[str, Any]],
    seeds: list[int],
    data: Path,
    out: Path,
    digest: str | None = None,
) -> None:
    """Run every seed and write traces.csv, scores.csv.gz and summary.jsonl into ``out``.

    Hyper-parameters are the same for all, or a function of the seed (folds have values of their
    own) and of the rule of choice; two rules that chose the same values share one run. A seed that
    raises, hangs or takes too much memory is a line with its outcome and reason. The code's digest
    is worked out where it is not given.
    """
    prepared = check_data(data)
    params_of = values if callable(values) else lambda *_: values
    first = params_of(seeds[0], run.choices[0])
    digest = digest or run_digest(
        run.use, model=run.experiment.model, params=first, tuned=run.tuned
    )

    def every_seed() -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Which run, and what it found."""
        results = []
        for seed in seeds:
            ran: list[tuple[dict[str, Any], dict[str, Any]]] = []
            for chosen_by in run.choices:
                params = params_of(seed, chosen_by)
                found = next((result for other, result in ran if other == params), None)
                if found is None:
                    found = _run_seed(run, params, seed, data, out, digest, prepared.checksum)
                    ran.append((params, found))
                results.append(({"seed": seed, "chosen_by": chosen_by}, found))
        return results

    lines: list[dict[str, Any]] = []
    traces: list[dict[str, Any]] = []
    scores: list[tuple[Any, ...]] = []
    for which, found in _from_warm(run, first, data, every_seed):
        lines.append({**which, **found["summary"]})
        traces.extend({**which, **row} for row in found["trace"])
        for part, *columns in found["scores"]:
            named = (*which.values(), part)
            scores.extend((*named, *row) for row in zip(*map(np.ndarray.tolist, columns)))
    for line in lines:
        check("summaries", line, out / "summary.jsonl")
    write_csv(out / "traces.csv", traces, ["seed", "chosen_by", *COLUMNS])
    _write_scores(out / "scores.csv.gz", scores)
    write_text(out / "summary.jsonl", "".join(json.dumps(line) + "\n" for line in lines))


def _run_seed(
    run: RunSpec,
    params: dict[str, Any],
    seed: int,
    data: Path,
    out: Path,
    digest: str,
    checksum: str,
) -> dict[str, Any]:
    """One seed in a child, from where it was cut if it was; its summary line is whole."""
    if is_guest(run.use):
        found = run_guest(run, params, seed, data, out)
        return {**found, "summary": {**_identity(run, params, digest), **found["summary"]}}
    mark = _mark(run, params, seed, digest, checksum)
    keeper = FileKeeper(out / f".checkpoint-{seed}.npz", CHECKPOINT_SECONDS, mark)
    call = partial(_with_bar, run, params, seed, data, keeper=keeper)
    report = _start(run, call, out / f"seed-{seed}.log").wait()
    found = report.value or {
        "trace": [],
        "scores": [],
        "summary": _failure(report),
    }
    keeper.forget()
    line = {**_identity(run, params, digest), **found["summary"]}
    return {**found, "summary": {**line, "peak_mb": round(report.peak_mb, 1)}}


def run_trials(
    run: RunSpec,
    grid: list[dict[str, Any]],
    seed: int,
    data: Path,
    logs: Path,
    at_once: int,
    first: int = 0,
) -> list[dict[str, Any]]:
    """Run a list of hyper-parameters on one seed's split, several at once; one row each.

    Trials are numbered from ``first``. Each is kept in ``logs`` as soon as it ends, so that a
    tuning that was cut goes on with the next one.
    """
    checksum = check_data(data).checksum
    digest = run_digest(run.use, model=run.experiment.model, params=run.params, tuned=run.tuned)
    logs.mkdir(parents=True, exist_ok=True)
    kept = {
        index: KeptTrial(
            logs / f"trial-{seed}-{index}.json", _mark(run, params, seed, digest, checksum)
        )
        for index, params in enumerate(grid, first)
    }
    found = {index: trial.read() for index, trial in kept.items()}

    def starter(index: int) -> Callable[[], Child]:
        def call() -> dict[str, Any]:
            summary = _with_bar(run, grid[index - first], seed, data, see_test=False)["summary"]
            return kept[index].write(summary)

        return lambda: _start(run, call, logs / f"trial-{seed}-{index}.log")

    left = [index for index, summary in found.items() if summary is None]
    if left:
        starters = [starter(index) for index in left]
        reports = _from_warm(run, grid[0], data, lambda: run_all(starters, at_once))
        for index, report in zip(left, reports, strict=True):
            found[index] = report.value or _failure(report)
    rows = []
    for index, params in enumerate(grid, first):
        summary = found[index] or {}
        rows.append({"trial": index, "params": params, **{k: summary.get(k) for k in TRIAL}})
    return rows


def _mark(run: RunSpec, params: dict[str, Any], seed: int, digest: str, checksum: str) -> str:
    """What must be the same where a run that was cut goes on."""
    return fingerprint([run.decides(), params, seed, digest, checksum, versions()])


def _start(run: RunSpec, call: Callable[[], dict[str, Any]], log: Path) -> Child:
    log.parent.mkdir(parents=True, exist_ok=True)
    limits = run.experiment
    return Child(call, seconds=60.0 * limits.minutes, memory_mb=limits.memory_mb, log=log)


def _with_bar(
    run: RunSpec, params: dict[str, Any], seed: int, data: Path, **more: Any
) -> dict[str, Any]:
    """One seed, its progress shown in the log."""
    # tqdm's own lock is shared by all processes: one that is killed with it would stop the others.
    tqdm.set_lock(threading.RLock())
    with tqdm(
        total=run.budget.get("epochs"),
        desc=f"{run.experiment.name} {run.dataset} {run.method} seed {seed}",
        unit=" epochs",
        file=sys.stderr,
        mininterval=5.0,
        bar_format="{desc}: {n:.2f}/{total_fmt}{unit} [{elapsed}<{remaining}{postfix}]",
    ) as bar:

        def watch(row: Row) -> None:
            bar.n = row["epoch"]
            bar.set_postfix_str(f"objective {row['objective']:.4f}, pAUC {row['pauc_train']:.4f}")

        return run_one(run, params, seed, data, watch=watch, **more)


def _from_warm(
    run: RunSpec, params: dict[str, Any], data: Path, work: Callable[[], list[Any]]
) -> list[Any]:
    """What ``work`` returns, its children forked where imports and compiling are over.

    For networks torch and the objective are what takes long; nothing of torch's runs before a fork.
    """

    if is_guest(run.use):
        return work()

    def warm_up() -> None:
        if run.experiment.model != "linear":
            importlib.import_module("pauc_core.models.module")
            pauc_loss_grad(np.zeros(2), np.zeros(4), m=1, n=3, loss=run.experiment.loss)
            return
        with threadpool_limits(1):
            rehearse(build_method(run, params), build_problem(run, data, seed=0)[0])

    found: list[Any] = run_warmed(
        warm_up, work, seconds=WARM_UP_SECONDS, memory_mb=run.experiment.memory_mb
    )
    return found


def _failure(report: Report) -> dict[str, Any]:
    outcome = Outcome.TIMEOUT if report.status == "timeout" else Outcome.FAILED
    return {"outcome": outcome.value, "reason": report.reason}


def _identity(run: RunSpec, params: dict[str, Any], digest: str) -> dict[str, Any]:
    experiment = run.experiment
    return {
        "experiment": experiment.name,
        "dataset": run.dataset,
        "method": run.method,
        "label": run.label,
        "use": run.use,
        "goal": experiment.goal,
        "loss": experiment.loss,
        "model": experiment.model,
        "tuned": run.tuned,
        "params": params,
        "budget": run.budget,
        "threads": experiment.threads,
        "precision": experiment.precision,
        "code_digest": digest,
        "versions": versions(),
    }


def write_csv(path: Path, rows: list[dict[str, Any]], first: list[str]) -> None:
    """Rows as CSV at full precision, named columns first; an absent or NaN value is empty."""
    columns = list(dict.fromkeys([*first, *(key for row in rows for key in row)]))
    with atomic_path(path) as temporary, temporary.open("w", newline="") as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(columns)
        for row in rows:
            values = (row.get(column) for column in columns)
            writer.writerow(["" if v is None or v != v else v for v in values])


def _write_scores(path: Path, rows: list[tuple[Any, ...]]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names("scores"))
    writer.writerows(rows)
    with atomic_path(path) as temporary:
        # No time stamp inside, so that equal scores are equal files. Level 9 would save a tenth of
        # the file and take twelve times as long.
        packed = gzip.compress(text.getvalue().encode(), compresslevel=1, mtime=0)
        temporary.write_bytes(packed)
