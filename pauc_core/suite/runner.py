"""Runs the seeds of one cell, each in a process of its own, and writes the run's files."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import gzip
import importlib
import io
import json
import os
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
from pauc_core.solver import Budget, Look, Method, Outcome, Part, Problem, Result, solve
from pauc_core.solver.trace import COLUMNS, Row
from pauc_core.suite.checkpoint import FileKeeper, fingerprint
from pauc_core.suite.child import Child, Report, run_all
from pauc_core.suite.provenance import code_digest, versions
from pauc_core.suite.run_spec import Cell, build_budget, build_method, build_problem

CHECKPOINT_SECONDS = 120.0
MEASURES = ("objective", "pauc_train", "pauc_valid", "pauc_test")
TRIAL = (
    "pauc_valid", "last_objective", "last_pauc_train", "epoch", "last_epoch", "seconds", "outcome",
    "reason",
)  # fmt: skip


def run_seeds(cell: Cell, params: dict[str, Any], seeds: list[int], data: Path, out: Path) -> None:
    """Run every seed and write traces.csv, scores.csv.gz and summary.jsonl into ``out``.

    A seed that raises, hangs or takes too much memory is a line with its outcome and reason.
    """
    prepared = check_data(data)
    _warm_up(cell, params, data)
    digest = code_digest(cell.use)
    lines: list[dict[str, Any]] = []
    traces: list[dict[str, Any]] = []
    scores: list[tuple[Any, ...]] = []
    for seed in seeds:
        keeper = FileKeeper(
            out / f".checkpoint-{seed}.pt",
            CHECKPOINT_SECONDS,
            fingerprint([plain(cell), params, seed, digest, prepared.checksum, versions()]),
        )
        run = partial(run_one, cell, params, seed, data, keeper)
        child = _start(cell, run, out / f"seed-{seed}.log")
        report = child.wait()
        found = report.value or {"trace": [], "scores": [], "summary": _failure(report)}
        lines.append(
            {
                **_identity(cell, params, seed, digest),
                **found["summary"],
                "peak_mb": round(report.peak_mb, 1),
            }
        )
        traces.extend({"seed": seed, **row} for row in found["trace"])
        scores.extend((seed, *row) for row in found["scores"])
        keeper.forget()
    write_csv(out / "traces.csv", traces, ["seed", *COLUMNS])
    _write_scores(out / "scores.csv.gz", scores)
    write_text(out / "summary.jsonl", "".join(json.dumps(line) + "\n" for line in lines))


def run_trials(
    cell: Cell, grid: list[dict[str, Any]], seed: int, data: Path, logs: Path, at_once: int
) -> list[dict[str, Any]]:
    """Run a list of hyper-parameters on one seed's split, several at once; one row each."""
    check_data(data)
    _warm_up(cell, grid[0], data)
    logs.mkdir(parents=True, exist_ok=True)

    def starter(index: int, params: dict[str, Any]) -> Callable[[], Child]:
        run = partial(run_one, cell, params, seed, data, see_test=False)
        return lambda: _start(cell, run, logs / f"trial-{index}.log")

    reports = run_all([starter(i, params) for i, params in enumerate(grid)], at_once)
    rows = []
    for index, (params, report) in enumerate(zip(grid, reports, strict=True)):
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


def _start(cell: Cell, run: Callable[[], dict[str, Any]], log: Path) -> Child:
    log.parent.mkdir(parents=True, exist_ok=True)
    return Child(
        run,
        seconds=60.0 * cell.minutes,
        memory_mb=cell.memory_mb,
        log=log,
    )


def run_one(
    cell: Cell,
    params: dict[str, Any],
    seed: int,
    data: Path,
    keeper: FileKeeper | None = None,
    see_test: bool = True,
) -> dict[str, Any]:
    """One seed in this process: its trace, its scores and its summary, as plain data.

    A trial does not see the test part: nothing can be chosen by it, and scoring it takes time.
    """
    _set_threads(cell)
    problem, test, prepared = build_problem(cell, data, seed)
    test = test if see_test else None
    bar = tqdm(
        total=cell.budget.get("epochs"),
        desc=f"{cell.experiment} {cell.dataset} {cell.method} seed {seed}",
        unit=" epochs",
        file=sys.stderr,
        mininterval=5.0,
        bar_format="{desc}: {n:.2f}/{total_fmt}{unit} [{elapsed}<{remaining}{postfix}]",
    )

    def watch(row: Row) -> None:
        bar.n = row["epoch"]
        bar.set_postfix_str(f"objective {row['objective']:.4f}, pAUC {row['pauc_train']:.4f}")

    method = build_method(cell, params)
    with threadpool_limits(cell.threads):
        _rehearse(method, problem)
        result = solve(
            method,
            problem,
            build_budget(cell),
            cell.looks,
            seed=seed,
            name=cell.method,
            test=test,
            watch=watch,
            keeper=keeper,
        )
    bar.close()
    m, n = problem.ranks
    low, high = problem.band
    counts = {
        "n_train_pos": len(problem.train.positives),
        "n_train_neg": len(problem.train.negatives),
        "n_valid": 0 if problem.valid is None else len(problem.valid),
        "n_test": 0 if test is None else len(test),
        "m": m,
        "n": n,
        "fpr_low": low,
        "fpr_high": high,
        "look_rows": len(problem.looked),
        "data_checksum": prepared.checksum,
        "provenance": prepared.meta["provenance"],
    }
    return {
        "trace": list(result.trace),
        "scores": _score_rows(result.best, problem.valid, test),
        "summary": {**counts, **_numbers(result)},
    }


def _warm_up(cell: Cell, params: dict[str, Any], data: Path) -> None:
    """Import and compile before forking, so that every child starts with both done.

    It is tried in a child first: a method that hangs or dies must not take the job with it. For
    networks torch and the objective are what takes long; nothing of torch's runs before the fork.
    """
    if cell.model != "linear":
        importlib.import_module("pauc_core.models.module")
        pauc_loss_grad(np.zeros(2), np.zeros(4), m=1, n=3, loss=cell.loss)
        return

    def rehearse() -> None:
        with threadpool_limits(1):
            _rehearse(build_method(cell, params), build_problem(cell, data, seed=0)[0])

    if Child(rehearse, seconds=120.0, memory_mb=cell.memory_mb).wait().status == "done":
        rehearse()


def _rehearse(method: Method, problem: Problem) -> None:
    """Take one step on a few rows, so that compiling is over before the clock starts."""
    if problem.model.kind != "linear":
        return
    train = problem.train
    rows = np.concatenate([train.positives[:20], train.negatives[:80]])
    few = dataclasses.replace(
        problem, train=Part(train.x, train.y, rows), look_rows=None, m=2, n=len(rows) // 2
    )
    # What is wrong with a method shows in the run itself, where it becomes a row.
    with contextlib.suppress(Exception):
        solve(method, few, Budget(steps=1), [0.0], seed=0, name="rehearsal")


def _set_threads(cell: Cell) -> None:
    """The number of numeric threads is the experiment's, not the machine's: same bits anywhere."""
    import numba

    numba.set_num_threads(min(cell.threads, os.cpu_count() or 1))
    if cell.model != "linear":
        import torch

        torch.set_num_threads(cell.threads)
        # The same flag by a way that does not import torch's compiler, which takes a second.
        torch.set_deterministic_debug_mode("warn")


def _numbers(result: Result) -> dict[str, Any]:
    """Best and last look as flat columns; the iterate beside the scored one keeps its suffix."""
    numbers: dict[str, Any] = {"outcome": result.outcome.value, "reason": result.reason}
    if result.best is not None and result.last is not None:
        numbers.update({k: v for k, v in result.best.row.items() if k not in ("seconds", "wall")})
        numbers.update({f"last_{k}": v for k, v in result.last.row.items() if k in MEASURES})
        numbers["last_epoch"] = result.last.row["epoch"]
        numbers["last_step"] = result.last.row["step"]
        numbers["seconds"] = result.seconds
        numbers["wall"] = result.trace.rows[-1]["wall"]
    return {k: (None if isinstance(v, float) and np.isnan(v) else v) for k, v in numbers.items()}


def _failure(report: Report) -> dict[str, Any]:
    outcome = Outcome.TIMEOUT if report.status == "timeout" else Outcome.FAILED
    return {"outcome": outcome.value, "reason": report.reason}


def _identity(cell: Cell, params: dict[str, Any], seed: int, digest: str) -> dict[str, Any]:
    kept = ("experiment", "dataset", "method", "label", "use", "goal", "loss", "model", "tuned")
    return {
        **{key: getattr(cell, key) for key in kept},
        "seed": seed,
        "params": params,
        "budget": cell.budget,
        "threads": cell.threads,
        "precision": cell.precision,
        "code_digest": digest,
        "versions": versions(),
    }


def _score_rows(
    look: Look | None, valid: Part | None, test: Part | None
) -> list[tuple[str, int, int, float]]:
    rows: list[tuple[str, int, int, float]] = []
    if look is None:
        return rows
    for name, part, scores in (("valid", valid, look.valid), ("test", test, look.test)):
        if part is not None and scores is not None:
            labels = part.labels.astype(int).tolist()
            rows += [
                (name, row, label, score)
                for row, label, score in zip(
                    part.rows.tolist(), labels, scores.tolist(), strict=True
                )
            ]
    return rows


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
    writer.writerow(["seed", "part", "row", "label", "score"])
    writer.writerows(rows)
    with atomic_path(path) as temporary:
        # No time stamp inside, so that equal scores are equal files.
        temporary.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))


def cell_from(plain: dict[str, Any]) -> Cell:
    return Cell(**plain)


def plain(cell: Cell) -> dict[str, Any]:
    """The cell as nested plain data, for a rule's params."""
    return dataclasses.asdict(cell)
