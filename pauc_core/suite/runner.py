"""Starts seeds and trials, each in a process of its own, and writes a run's files."""

from __future__ import annotations

import csv
import gzip
import importlib
import io
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from pauc_core.data.errors import DataError
from pauc_core.data.prepared import Prepared, load_prepared
from pauc_core.files import atomic_path, write_text
from pauc_core.objective import pauc_loss_grad
from pauc_core.solver import Outcome
from pauc_core.solver.trace import COLUMNS, Row
from pauc_core.suite.checkpoint import FileKeeper, fingerprint
from pauc_core.suite.child import Child, Report, run_all
from pauc_core.suite.columns import KEYS, check, names
from pauc_core.suite.one_run import build_method, build_problem, rehearse, run_one
from pauc_core.suite.provenance import run_digest, versions
from pauc_core.suite.run_spec import RunSpec

CHECKPOINT_SECONDS = 120.0
# What a trial tells of its summary.
TRIAL = [n for n in names("trials") if n not in (*KEYS, "seed", "trial", "params", "chosen")]


def run_seeds(
    run: RunSpec,
    values: dict[str, Any] | Callable[[int, str], dict[str, Any]],
    seeds: list[int],
    data: Path,
    out: Path,
) -> None:
    """Run every seed and write traces.csv, scores.csv.gz and summary.jsonl into ``out``.

    Hyper-parameters are the same for all, or a function of the seed (folds have values of their
    own) and of the rule of choice; two rules that chose the same values share one run. A seed that
    raises, hangs or takes too much memory is a line with its outcome and reason.
    """
    prepared = check_data(data)
    params_of = values if callable(values) else lambda *_: values
    _warm_up(run, params_of(seeds[0], run.choices[0]), data)
    lines: list[dict[str, Any]] = []
    traces: list[dict[str, Any]] = []
    scores: list[tuple[Any, ...]] = []
    for seed in seeds:
        ran: list[tuple[dict[str, Any], dict[str, Any]]] = []
        for chosen_by in run.choices:
            params = params_of(seed, chosen_by)
            found = next((result for other, result in ran if other == params), None)
            if found is None:
                found = _run_seed(run, params, seed, data, out, prepared.checksum)
                ran.append((params, found))
            which = {"seed": seed, "chosen_by": chosen_by}
            lines.append({**which, **found["summary"]})
            traces.extend({**which, **row} for row in found["trace"])
            scores.extend((seed, chosen_by, *row) for row in found["scores"])
    for line in lines:
        check("summaries", line, out / "summary.jsonl")
    write_csv(out / "traces.csv", traces, ["seed", "chosen_by", *COLUMNS])
    _write_scores(out / "scores.csv.gz", scores)
    write_text(out / "summary.jsonl", "".join(json.dumps(line) + "\n" for line in lines))


def _run_seed(
    run: RunSpec, params: dict[str, Any], seed: int, data: Path, out: Path, checksum: str
) -> dict[str, Any]:
    """One seed in a child, from where it was cut if it was; its summary line is whole."""
    digest = run_digest(run.use, model=run.experiment.model, params=params, tuned=run.tuned)
    keeper = FileKeeper(
        out / f".checkpoint-{seed}.npz",
        CHECKPOINT_SECONDS,
        fingerprint([run.decides(), params, seed, digest, checksum, versions()]),
    )
    call = partial(_with_bar, run, params, seed, data, keeper=keeper)
    report = _start(run, call, out / f"seed-{seed}.log").wait()
    found: dict[str, Any] = report.value or {
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

    Trials are numbered from ``first``.
    """
    if not grid:
        return []
    check_data(data)
    _warm_up(run, grid[0], data)
    logs.mkdir(parents=True, exist_ok=True)

    def starter(index: int, params: dict[str, Any]) -> Callable[[], Child]:
        call = partial(_with_bar, run, params, seed, data, see_test=False)
        return lambda: _start(run, call, logs / f"trial-{index}.log")

    reports = run_all([starter(i, params) for i, params in enumerate(grid, first)], at_once)
    rows = []
    for index, (params, report) in enumerate(zip(grid, reports, strict=True), first):
        summary = (report.value or {"summary": _failure(report)})["summary"]
        rows.append({"trial": index, "params": params, **{k: summary.get(k) for k in TRIAL}})
    return rows


def check_data(data: Path) -> Prepared:
    """Open a prepared folder; set a damaged one aside, so that the workflow makes it again.

    A damaged array must not become a number. Without its meta.json the folder counts as not made.
    """
    try:
        return load_prepared(data, verify=True)
    except (DataError, OSError) as error:
        (data / "meta.json").unlink(missing_ok=True)
        sentence = str(error).rstrip(".")
        raise DataError(f"{sentence}. It was set aside: the next start makes it again.") from error


def _start(run: RunSpec, call: Callable[[], dict[str, Any]], log: Path) -> Child:
    log.parent.mkdir(parents=True, exist_ok=True)
    limits = run.experiment
    return Child(call, seconds=60.0 * limits.minutes, memory_mb=limits.memory_mb, log=log)


def _with_bar(
    run: RunSpec, params: dict[str, Any], seed: int, data: Path, **more: Any
) -> dict[str, Any]:
    """One seed, its progress shown in the log."""
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


def _warm_up(run: RunSpec, params: dict[str, Any], data: Path) -> None:
    """Import and compile before forking, so that every child starts with both done.

    It is tried in a child first: a method that hangs or dies must not take the job with it. For
    networks torch and the objective are what takes long; nothing of torch's runs before the fork.
    """
    if run.experiment.model != "linear":
        importlib.import_module("pauc_core.models.module")
        pauc_loss_grad(np.zeros(2), np.zeros(4), m=1, n=3, loss=run.experiment.loss)
        return

    def once() -> None:
        with threadpool_limits(1):
            rehearse(build_method(run, params), build_problem(run, data, seed=0)[0])

    memory_mb = run.experiment.memory_mb
    if Child(once, seconds=120.0, memory_mb=memory_mb).wait().status == "done":
        once()


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
        # No time stamp inside, so that equal scores are equal files.
        temporary.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))
