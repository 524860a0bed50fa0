"""Fabricated collected frames with plausible numbers, for the report's tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pauc_core.suite import columns
from pauc_core.suite.frames import make_frame, write_frames

TASKS = [f"D{i}" for i in range(1, 6)]
LINEAR = [
    "agd_sbcd", "dca", "proximal_dca", "proximal_dca_normalised", "svm_pauc_tight",
    "random_scores", "logistic_regression", "exact_lbfgs",
]  # fmt: skip
MU = ["agd_sbcd_mu3", "agd_sbcd_mu8", "agd_sbcd_mu10", "agd_sbcd_mu8_ratio", "agd_sbcd_mu10_ratio"]
SORR = [
    f"{m}_sorr" for m in ("agd_sbcd", "dca_changing", "dca_constant", "dca_exact", "exact_lbfgs")
]
DEEP = ["agd_sbcd_deep", "minibatch", "cross_entropy", "auc_margin"]
UCI = ["a9a", "w8a", "ijcnn1", "covtype"]
GAIN = {  # how good each method ends, above its dataset's level
    "agd_sbcd": 0.05, "dca": 0.04, "proximal_dca": 0.035, "svm_pauc_tight": 0.03,
    "logistic_regression": 0.045, "exact_lbfgs": 0.052, "random_scores": -0.3,
    "agd_sbcd_deep": 0.05, "auc_margin": 0.04, "cross_entropy": 0.02, "minibatch": 0.03,
}  # fmt: skip
SPEED = {
    "dca_constant_sorr": 0.3,
    "agd_sbcd_mu8": 0.8,
    "agd_sbcd_mu10": 0.3,
    "agd_sbcd": 1.5,
    "agd_sbcd_sorr": 1.5,
    "agd_sbcd_deep": 1.0,
    "exact_lbfgs": 3.0,
}


def experiments(scale: str) -> dict[str, tuple[list[str], list[str]]]:
    family = {"default": "gen", "open": "nih"}[scale]
    suffix = "gen" if scale == "default" else "open"
    prefix = "gen-" if scale == "default" else ""
    chest = "gen-chest" if scale == "default" else "nih"
    longtail = {
        "default": {"longtail-gen": (["gen-cifar10-lt", "gen-tiny-imagenet-lt"], DEEP)},
        "open": {
            "longtail-open": (["cifar10-lt"], DEEP),
            "tiny-open": (["tiny-imagenet-lt-32"], DEEP),
        },
    }
    features = [f"{chest}-features@{task}" for task in TASKS]
    return {
        f"linear-{family}": (features, LINEAR),
        f"mu-{family}": (features, MU),
        f"sorr-{suffix}": ([prefix + name for name in UCI], SORR),
        f"race-{suffix}": ([prefix + name for name in UCI], LINEAR),
        f"chest-{family}": ([f"{chest}@{task}" for task in TASKS], DEEP),
        **longtail[scale],
    }


def provenance(dataset: str) -> str:
    if dataset.startswith("gen-"):
        return "generated"
    return "stand-in" if dataset.startswith("nih") else "paper"


def write_collected(
    folder: Path,
    scale: str = "default",
    *,
    seeds: int = 3,
    drop: tuple[str, ...] = (),
    fail: tuple[tuple[str, str], ...] = (),
    stale: tuple[str, ...] = (),
) -> Path:
    """Write the frames of a scale; leave out experiments, let (dataset, method) pairs fail."""
    rng = np.random.default_rng(0)
    summaries: list[dict[str, Any]] = []
    traces: list[dict[str, Any]] = []
    roc: list[dict[str, Any]] = []
    trials: list[dict[str, Any]] = []
    for experiment, (datasets, methods) in experiments(scale).items():
        if experiment in drop:
            continue
        for d, dataset in enumerate(datasets):
            for method in methods:
                failed = (dataset, method) in fail
                cell = {"experiment": experiment, "dataset": dataset, "method": method}
                for seed in range(seeds):
                    rows = _trace(rng, method, 0.62 + 0.05 * d, experiment.startswith("sorr"))
                    summaries.append(_summary(cell, seed, rows, failed, method in stale))
                    if not failed:
                        traces += [{**cell, "seed": seed, **row} for row in rows]
                        roc += [{**cell, "seed": seed, **p} for p in _roc(rows[-1]["pauc_test"])]
                for trial in range(3):
                    value = 0.6 + 0.02 * trial
                    trials.append({
                        **cell, "trial": trial, "params": json.dumps({"c": 10.0**trial}),
                        "pauc_valid": value, "last_objective": 1 - value, "epoch": 2.0,
                        "last_pauc_train": value, "last_epoch": 2.0, "seconds": 1.5,
                        "outcome": "budget", "reason": "", "chosen": trial == 2,
                    })  # fmt: skip
    names = dict.fromkeys(d for sets, _ in experiments(scale).values() for d in sets)
    frames = {
        "summaries": summaries, "traces": traces, "roc": roc, "trials": trials,
        "datasets": [_dataset(name) for name in names], "pairwise": [], "bands": [], "across": [],
    }  # fmt: skip
    made = {"commit": "0" * 12, "versions": {"torch": "2.13.0"}, "machine": {"cores": 2}}
    meta = {
        "scale": scale, "command": "make reproduce",
        "experiments": {
            name: [{**made, "cells": sorted(f"{d}/{m}" for d in datasets for m in methods)}]
            for name, (datasets, methods) in experiments(scale).items()
        },
    }  # fmt: skip
    made_frames = {
        name: make_frame(name, pd.DataFrame(rows), "made up") for name, rows in frames.items()
    }
    write_frames(folder, made_frames, meta)
    return folder


def write_few(folder: Path, **frames: pd.DataFrame) -> Path:
    """Write frames that have some of their columns and leave the others empty."""
    full = {name: pd.DataFrame(columns=columns.names(name)) for name in columns.FRAMES}
    full |= {name: frame.reindex(columns=columns.names(name)) for name, frame in frames.items()}
    write_frames(folder, full, {"scale": "default"})
    return folder


def _trace(
    rng: np.random.Generator, method: str, level: float, sorr: bool
) -> list[dict[str, float]]:
    top = level + GAIN.get(method, 0.04) + rng.normal(0, 0.003)
    rate = SPEED.get(method, 0.5)
    rows = []
    for step, epoch in enumerate(np.linspace(0, 10, 21)):
        share = 1 - np.exp(-rate * epoch)
        train = 0.45 + (top - 0.45) * share + rng.normal(0, 0.001)
        nothing = float("nan")
        row = {
            "step": float(step), "epoch": float(epoch), "work": 1e4 * epoch, "seconds": 0.4 * epoch,
            "wall": 0.4 * epoch, "objective": 0.69 - 0.35 * share + rng.normal(0, 0.001),
            "pauc_train": nothing if sorr else train,
            "pauc_valid": nothing if sorr else train - 0.01,
            "pauc_test": nothing if sorr else train - 0.02,
        }  # fmt: skip
        if method == "agd_sbcd":
            row |= {"objective_w": row["objective"] + 0.02, "pauc_train_w": train + 0.004}
            row |= {"pauc_test_w": train}
        rows.append(row)
    return rows


def _summary(
    cell: dict[str, str], seed: int, rows: list[dict[str, float]], failed: bool, stale: bool
) -> dict[str, Any]:
    last = rows[-1]
    numbers = {
        "pauc_test": last["pauc_test"], "pauc_valid": last["pauc_valid"],
        "pauc_train": last["pauc_train"], "objective": last["objective"], "epoch": last["epoch"],
        "last_pauc_test": last["pauc_test"], "last_pauc_train": last["pauc_train"],
        "last_objective": last["objective"], "last_epoch": last["epoch"],
        "pauc_test_w": last.get("pauc_test_w", float("nan")),
        "test_low": last["pauc_test"] - 0.02, "test_high": last["pauc_test"] + 0.02,
    }  # fmt: skip
    if failed:
        numbers = dict.fromkeys(numbers, float("nan"))
    return {
        **cell, "label": cell["method"], "seed": seed, "loss": "logistic",
        "goal": "sorr" if cell["experiment"].startswith("sorr") else "pauc",
        "model": "linear",
        "outcome": "nonfinite" if failed else "budget",
        "reason": "A score was not finite." if failed else "The budget was used up.",
        **numbers, "seconds": last["seconds"] * (20 if cell["method"] == "svm_pauc_tight" else 1),
        "wall": last["wall"], "peak_mb": 300.0, "params": json.dumps({"c": 1.0, "mu": 1000.0}),
        "tuned": True, "code_digest": "abc123", "stale": stale, "data_checksum": "d" * 64,
        "provenance": provenance(cell["dataset"]), "n_train_pos": 500, "n_train_neg": 4000,
        "n_test": 1000, "m": 200, "n": 2000, "fpr_low": 0.05, "fpr_high": 0.5,
        "versions": json.dumps({"torch": "2.13.0", "numpy": "2.4.6"}),
        "path": "runs/x/summary.jsonl:1", "budget": json.dumps({"epochs": 10}),
        "precision": "float32", "use": "baselines.controls:RandomScores",
    }  # fmt: skip


def _roc(value: float) -> list[dict[str, float]]:
    power = 0.35 if not np.isfinite(value) else max(0.05, 1.2 * (1 - value))
    return [{"fpr": float(f), "tpr": float(f**power)} for f in np.linspace(0, 1, 41)]


def _dataset(dataset: str) -> dict[str, Any]:
    name, _, task = dataset.partition("@")
    counts = {
        "a9a": (32561, 123, 16281), "w8a": (49749, 300, 14951), "ijcnn1": (49990, 22, 91701),
        "covtype": (581012, 54, 58101),
    }.get(name, (9000, 64, 1000))  # fmt: skip
    kind = provenance(dataset)
    return {
        "dataset": name, "task": task, "title": f"{name} title", "kind": "libsvm",
        "provenance": kind,
        "generated": kind == "generated", "n": counts[0], "width": counts[1],
        "positives": 1077, "negatives": counts[0] - 1077, "test_rows": counts[2],
        "test_positives": 300, "train_rows": counts[0], "train_positives": 1077,
        "valid_rows": 0, "valid_positives": 0, "details": "{}",
        "checksum": "c" * 64,
    }  # fmt: skip
