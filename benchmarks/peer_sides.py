"""LibAUC's side and ours of `benchmarks.peers`: one problem, the same batches, each one's loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from baselines.auc_margin import AUCMargin
from baselines.sopa import SOPA, SOPAs
from pauc_core import PartialAUCLoss
from pauc_core.agd_sbcd import AGDSBCD
from pauc_core.models import descent
from pauc_core.models.batches import draw_both
from pauc_core.models.module import ModuleModel
from pauc_core.solver import Part, Problem
from pauc_core.solver.streams import stream

BAND = {"fpr_low": 0.0, "fpr_high": 0.3}
HIGH = BAND["fpr_high"]
ROWS, WIDTH, SHARE = 6000, 20, 0.05
SIZES = {"positives": 16, "negatives": 16}
BATCH = sum(SIZES.values())


def their_loss(kind: str, length: int) -> Callable[..., Tensor]:
    from libauc.losses import pAUC_CVaR_Loss, pAUC_DRO_Loss

    if kind == "sopa":
        loss: Any = pAUC_CVaR_Loss(length, length, beta=HIGH, eta=0.1)
    else:
        loss = pAUC_DRO_Loss(length, gamma=0.9, Lambda=1.0)
    return lambda scores, y, index: loss(scores, y, index)


def our_method(kind: str, lr: float) -> Any:
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
        criterion = their_loss(kind, len(task.train.positives))
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
