"""LibAUC beside ours: equal losses, equal first steps, time a step, pAUC after equal epochs.

``python -m benchmarks.peers FOLDER [page.md]`` installs LibAUC alone into FOLDER where it is not
there yet (``pip install --no-deps --target``): it is no dependency and runs on the torch that is
pinned here. The tables are printed, and written to the page where one is named.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from baselines.auc_margin import margin_loss
from benchmarks.bench_metric import least_seconds
from benchmarks.peer_sides import (
    BAND,
    BATCH,
    HIGH,
    ROWS,
    SHARE,
    WIDTH,
    loss_run,
    our_method,
    problem,
    run,
    their_loss,
    their_run,
)
from pauc_core import PartialAUCLoss, pauc
from pauc_core.objective import get_loss
from pauc_core.solver import Problem
from pauc_core.solver.streams import stream

VERSION = "2.0.1"
EPOCHS, SEEDS, RATES = 5, (0, 1, 2, 3, 4), (0.0001, 0.001, 0.01, 0.1, 1)
COUNTS = ((16, 16), (64, 64), (512, 512), (1024, 1024), (1024, 20_000))
Rows = list[list[str]]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("page", nargs="?", type=Path)
    given = parser.parse_args()
    if not (given.folder / "libauc").exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        subprocess.run([*pip, "--target", str(given.folder), f"libauc=={VERSION}"], check=True)
    sys.path.append(str(given.folder.resolve()))
    torch.set_num_threads(1)
    text = "\n".join([*equal(), *speed(), *trained()])
    print(text)
    if given.page is not None:
        given.page.write_text(HEAD + text + "\n")
    return 0


HEAD = f"""# LibAUC beside this
Written by `make bench-peers` (LibAUC {VERSION}, one thread, float32, the band [0, {HIGH:g}]).
Times are process time on one machine: read the ratios. The data, the network, its first weights
and, AGD-SBCD apart, every batch are the same on both sides.

"""


def table(head: list[str], rows: Rows) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)] + [""]


# ---- the same formulas ---------------------------------------------------------------------------


def equal() -> list[str]:
    """Largest differences of value, slopes and weights where both print the same formula."""
    rows = [
        ["SOPA loss, ten calls", *_scores_differ("sopa")],
        ["SOPA-s loss, ten calls", *_scores_differ("sopa_s")],
        ["AUC-M loss (its v1, over p (1 - p))", *_margins_differ()],
        ["SOPA with Adam, weights after ten steps", "", _weights_differ("sopa")],
        ["SOPA-s with Adam, weights after ten steps", "", _weights_differ("sopa_s")],
    ]
    head = ["where the formula is the same", "value differs by", "gradient or weights by"]
    note = (
        "Weights are compared without LibAUC's cut of large gradient entries, and but for the last "
        "bias: its gradient is rounding error, which Adam blows up on both sides. AUC-M's steps "
        "are not compared, since LibAUC's code is not the printed formula there: PESG moves alpha "
        "by b - a where the formula has the batch's class means and draws its reference point from "
        "the global generator, and the loss's v2 has a mean over all rows for the negatives'."
    )
    return ["## Equal losses, equal steps", *table(head, rows), note, ""]


def _scores_differ(kind: str) -> list[str]:
    theirs, ours = their_loss(kind, 100), our_method(kind, 0.01).slopes
    numbers = np.full(100, 0.0 if kind == "sopa" else -np.inf)
    surrogate, worst = get_loss("squared_hinge"), np.zeros(2)
    for t in range(10):
        rng = stream(t, "scores")
        drawn = rng.choice(100, 16, replace=False)
        found = np.append(rng.normal(1, 1, 16), rng.normal(0, 1, 32))
        scores = torch.from_numpy(found).float().requires_grad_()
        value = theirs(scores, torch.arange(48) < 16, torch.from_numpy(drawn))
        (slopes,) = torch.autograd.grad(value, scores)
        losses, before = surrogate.value(found[:16, None] - found[16:]), numbers[drawn]
        mine, numbers[drawn] = ours(found[:16], found[16:], before, HIGH)
        sopa_s = np.exp(losses - numbers[drawn, None])  # Lambda is 1
        weights = (losses > before[:, None]) / HIGH if kind == "sopa" else sopa_s
        differs = abs(float((weights * losses).mean()) - value.item())
        worst = np.maximum(worst, [differs, np.abs(mine - slopes.numpy()).max()])
    return [f"{number:.1e}" for number in worst]


def _margins_differ() -> list[str]:
    from libauc.losses import AUCMLoss

    theirs = AUCMLoss()
    for parameter, value in zip((theirs.a, theirs.b, theirs.alpha), (0.3, 0.6, 0.4), strict=True):
        parameter.data.fill_(value)
    scores = torch.from_numpy(stream(0, "scores").random(48)).float().requires_grad_()
    y = torch.arange(48) < 16
    scalars = [torch.tensor(v) for v in (0.3, 0.6, 0.4)]
    share = 16 / 48
    values = (
        theirs(scores, y) / (share * (1 - share)),
        margin_loss(scores[:16], scores[16:], *scalars, margin=1.0),
    )
    slopes = [torch.autograd.grad(value, scores, retain_graph=True)[0] for value in values]
    pair = abs(values[0].item() - values[1].item()), (slopes[0] - slopes[1]).abs().max().item()
    return [f"{number:.1e}" for number in pair]


def _weights_differ(kind: str) -> str:
    task, _, _ = problem(0)
    mine = run(task, our_method(kind, 0.01), 10, 0)
    theirs = their_run(kind, task, 10, 0, 0.01, plain=True)
    gaps = [(mine[name] - theirs[name]).abs().max() for name in theirs if name != "2.bias"]
    return f"{max(gap.item() for gap in gaps):.1e}"


# ---- time and pAUC -------------------------------------------------------------------------------


def speed() -> list[str]:
    rows = [_call_times(n_pos, n_neg) for n_pos, n_neg in COUNTS]
    head = [
        "scores", "LibAUC, SOPA loss (ms)", "PartialAUCLoss (ms)", "PartialAUCLoss, memory (ms)",
        "LibAUC is faster",
    ]  # fmt: skip
    return ["## Value and gradient of a call", *table(head, rows)]


def _call_times(n_pos: int, n_neg: int) -> list[str]:
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(n_pos + n_neg, generator=generator).requires_grad_()
    y, index = torch.arange(n_pos + n_neg) < n_pos, torch.arange(n_pos)
    theirs = their_loss("sopa", n_pos)
    exact, keeps = PartialAUCLoss(**BAND), PartialAUCLoss(**BAND, memory=4096)
    calls = max(1, 20_000 // (n_pos + n_neg))

    def repeat(loss: Callable[[], Tensor]) -> Callable[[], None]:
        def work() -> None:
            for _ in range(calls):
                torch.autograd.grad(loss(), scores)

        return work

    seconds = least_seconds(
        repeat(lambda: theirs(scores, y, index)),
        repeat(lambda: exact(scores, y)),
        repeat(lambda: keeps(scores, y)),
    )
    peer, *mine = (1e3 * s / calls for s in seconds)
    faster = [n for n, s in zip(("exact", "memory"), mine, strict=True) if s > peer]
    return [
        f"{n_pos:,} + {n_neg:,}",
        f"{peer:.3f}",
        *(f"{s:.3f} ({peer / s:.1f} times)" for s in mine),
        f"than ours ({', '.join(faster)})" if faster else "nowhere",
    ]


def trained() -> list[str]:
    """Test pAUC after equal epochs at the rate that validates best, and time a step."""
    methods: dict[str, Callable[[Problem, int, int, float], dict[str, Tensor]]] = {}
    for kind, name in (("sopa", "SOPA"), ("sopa_s", "SOPA-s"), ("auc_m", "AUC-M")):
        methods[f"{name}, LibAUC"] = lambda t, n, s, lr, kind=kind: their_run(kind, t, n, s, lr)
        methods[f"{name}, ours"] = lambda t, n, s, lr, kind=kind: run(t, our_method(kind, lr), n, s)
    methods["PartialAUCLoss with memory, Adam"] = loss_run
    methods["AGD-SBCD"] = lambda t, n, s, lr: run(t, our_method("agd_sbcd", lr), n, s)
    steps = EPOCHS * ROWS // BATCH
    rows: Rows = []
    times: dict[str, float] = {}
    for name, train in methods.items():
        areas = np.zeros((2, len(RATES), len(SEEDS)))
        seconds = []
        for (i, lr), (j, seed) in itertools.product(enumerate(RATES), enumerate(SEEDS)):
            task, valid, test = problem(seed)
            began = time.process_time()
            weights = train(task, steps, seed, lr)
            seconds.append((time.process_time() - began) / steps)
            for k, part in enumerate((valid, test)):
                scores = task.model.scores(weights, part)
                if np.isfinite(scores).all():
                    areas[k, i, j] = pauc(part.labels, scores, **BAND)
        best = int(areas[0].mean(axis=1).argmax())
        times[name] = 1e3 * min(seconds)
        mean, deviation = areas[1, best].mean(), areas[1, best].std(ddof=1)
        lost = f"{np.count_nonzero(areas[1] == 0)} of {areas[1].size}"
        rows.append(
            [name, f"{RATES[best]:g}", f"{mean:.4f} ± {deviation:.4f}", f"{times[name]:.3f}", lost]
        )
    slower = [
        f"{name} ({times[f'{name}, ours'] / times[f'{name}, LibAUC']:.2f} times)"
        for name in ("SOPA", "SOPA-s", "AUC-M")
        if times[f"{name}, ours"] > times[f"{name}, LibAUC"]
    ]
    head = [
        "method",
        "rate",
        f"test pAUC, {EPOCHS} epochs, {len(SEEDS)} seeds",
        "ms a step",
        "runs that ended in NaN",
    ]
    note = (
        f"{ROWS:,} training rows of {WIDTH} columns, {SHARE:.0%} positive, batches of 16 + 16; the "
        f"rate is that of {RATES} with the best mean validation pAUC (AGD-SBCD: c is ten times "
        "it). LibAUC runs with its defaults: cut gradients, weight decay and, for AUC-M, a random "
        "reference point."
    )
    faster = (
        f"LibAUC's step is faster for {', '.join(slower)}."
        if slower
        else ("LibAUC's step is faster for none of its three methods.")
    )
    return ["## After equal epochs", *table(head, rows), note, faster]


if __name__ == "__main__":
    sys.exit(main())
