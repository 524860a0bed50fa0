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
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from baselines.auc_margin import AUCMargin, margin_loss
from baselines.sopa import SOPA, SOPAs
from benchmarks.bench_metric import least_seconds
from pauc_core import PartialAUCLoss, pauc
from pauc_core.agd_sbcd import AGDSBCD
from pauc_core.models import descent
from pauc_core.models.batches import draw_both
from pauc_core.models.module import ModuleModel
from pauc_core.objective import get_loss
from pauc_core.solver import Part, Problem
from pauc_core.solver.streams import stream

VERSION = "2.0.1"
BAND = {"fpr_low": 0.0, "fpr_high": 0.3}
HIGH = BAND["fpr_high"]
ROWS, WIDTH, SHARE = 6000, 20, 0.05
EPOCHS, SEEDS, RATES = 5, (0, 1, 2, 3, 4), (0.0001, 0.001, 0.01, 0.1, 1)
SIZES = {"positives": 16, "negatives": 16}
BATCH = sum(SIZES.values())
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
    theirs, ours = _their_loss(kind, 100), _our_method(kind, 0.01).slopes
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
    mine = run(task, _our_method(kind, 0.01), 10, 0)
    theirs = their_run(kind, task, 10, 0, 0.01, plain=True)
    gaps = [(mine[name] - theirs[name]).abs().max() for name in theirs if name != "2.bias"]
    return f"{max(gap.item() for gap in gaps):.1e}"


# ---- both sides ----------------------------------------------------------------------------------


def _their_loss(kind: str, length: int) -> Callable[..., Tensor]:
    from libauc.losses import pAUC_CVaR_Loss, pAUC_DRO_Loss

    if kind == "sopa":
        loss: Any = pAUC_CVaR_Loss(length, length, beta=HIGH, eta=0.1)
    else:
        loss = pAUC_DRO_Loss(length, gamma=0.9, Lambda=1.0)
    return lambda scores, y, index: loss(scores, y, index)


def _our_method(kind: str, lr: float) -> Any:
    if kind == "sopa":
        return SOPA(lr=lr, loss="squared_hinge", eta_s=0.1, decay_epochs=1e9, **SIZES)
    if kind == "sopa_s":
        return SOPAs(lr=lr, loss="squared_hinge", Lambda=1.0, g=0.9, decay_epochs=1e9, **SIZES)
    if kind == "auc_m":
        return AUCMargin(lr=lr, gamma=1e12, decay_epochs=1e9, **SIZES)
    return AGDSBCD(mu=1000, gamma=1000, c=10 * lr, T=50, I=16, J=16)


def problem(seed: int) -> tuple[Problem, Part, Part]:
    """A table whose classes no plane parts, a small network; validation and test rows."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((4 * ROWS, WIDTH)).astype(np.float32)
    hidden = x[:, 0] * x[:, 1] + x[:, 2] + 0.7 * rng.standard_normal(4 * ROWS)
    y = hidden > np.quantile(hidden, 1 - SHARE)
    train, valid, test = (np.arange(a * ROWS, b * ROWS) for a, b in ((0, 1), (1, 2), (2, 4)))
    network = nn.Sequential(nn.Linear(WIDTH, 32), nn.ReLU(), nn.Linear(32, 1))
    task = Problem(
        train=Part(x, y, train),
        valid=None,
        model=ModuleModel(network, device="cpu"),
        step_epochs=1e-9,  # one batch a step
        **BAND,
    )
    return task, Part(x, y, valid), Part(x, y, test)


def run(task: Problem, method: Any, steps: int, seed: int) -> dict[str, Tensor]:
    """A method of the suite, one batch a step."""
    state = method.init(task, stream(seed, "start"))
    for t in range(steps):
        state = method.step(task, state, stream(seed, "batch", t))
    found: dict[str, Tensor] = state.iterates()["scored"]
    return found


def batches(kind: str, task: Problem, steps: int, seed: int) -> Any:
    """The draws of `run`: which positives (SOPA and SOPA-s ask for them), and the rows."""
    train = task.train
    for t in range(steps):
        rng = stream(seed, "batch", t)
        if kind == "auc_m":
            yield None, np.concatenate(draw_both(train, *SIZES.values(), rng))
            continue
        ((pos, neg),) = descent.batches(task, *SIZES.values(), rng)
        yield pos, np.concatenate([train.positives[pos], train.negatives[neg]])


def their_run(
    kind: str, task: Problem, steps: int, seed: int, lr: float, *, plain: bool = False
) -> dict[str, Tensor]:
    """The same with LibAUC's loss and optimiser, as it comes or without what we have not."""
    from libauc.losses import AUCMLoss
    from libauc.optimizers import PESG
    from libauc.optimizers import SOPA as TheirSOPA
    from libauc.optimizers import SOPAs as TheirSOPAs

    model: Any = task.model
    network = model.module
    network.load_state_dict(model.start(stream(seed, "start")))
    network.train()
    bare = {"weight_decay": 0.0, "epoch_decay": 0.0, "clip_value": 1e9} if plain else {}
    if kind == "auc_m":
        criterion: Any = AUCMLoss()
        optimiser: Any = PESG(network.parameters(), loss_fn=criterion, lr=lr, verbose=False, **bare)
    else:
        criterion = _their_loss(kind, len(task.train.positives))
        kinds = {"sopa": TheirSOPA, "sopa_s": TheirSOPAs}
        optimiser = kinds[kind](network.parameters(), mode="adam", lr=lr, verbose=False, **bare)
    y = torch.arange(BATCH) < SIZES["positives"]
    for drawn, rows in batches(kind, task, steps, seed):
        scores = network(torch.from_numpy(task.train.x[rows]))
        if kind == "auc_m":
            value = criterion(torch.sigmoid(scores), y)
        else:
            value = criterion(scores, y, torch.from_numpy(drawn))
        optimiser.zero_grad()
        value.backward()
        optimiser.step()
    return {name: value.detach().clone() for name, value in network.state_dict().items()}


def loss_run(task: Problem, steps: int, seed: int, lr: float) -> dict[str, Tensor]:
    """A loop of anybody's with PartialAUCLoss, its memory, and torch's Adam."""
    model: Any = task.model
    network = model.module
    network.load_state_dict(model.start(stream(seed, "start")))
    network.train()
    criterion = PartialAUCLoss(**BAND, memory=1024)
    optimiser = torch.optim.Adam(network.parameters(), lr=lr)
    y = torch.arange(BATCH) < SIZES["positives"]
    for _, rows in batches("sopa", task, steps, seed):
        optimiser.zero_grad()
        criterion(network(torch.from_numpy(task.train.x[rows]))[:, 0], y).backward()
        optimiser.step()
    return {name: value.detach().clone() for name, value in network.state_dict().items()}


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
    theirs = _their_loss("sopa", n_pos)
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
        methods[f"{name}, ours"] = lambda t, n, s, lr, kind=kind: run(
            t, _our_method(kind, lr), n, s
        )
    methods["PartialAUCLoss with memory, Adam"] = loss_run
    methods["AGD-SBCD"] = lambda t, n, s, lr: run(t, _our_method("agd_sbcd", lr), n, s)
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
