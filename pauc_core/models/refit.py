"""A trained network's last layer refitted for a band: rows from a loader, a network back."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from pauc_core.metrics import ranks
from pauc_core.models.head import (
    HeadFit,
    fit_head,
    held_out_fifth,
    inputs_of,
    last_linear,
    set_head,
)
from pauc_core.solver.streams import stream


def refit_head(
    module: nn.Module,
    loader: Iterable[Sequence[Tensor]],
    fpr_low: float,
    fpr_high: float,
    *,
    valid: Iterable[Sequence[Tensor]] | None = None,
    column: int | None = None,
    seed: int = 0,
) -> tuple[nn.Module, HeadFit]:
    """Refit the last linear layer of a trained network exactly for a band, with validation.

    Parameters
    ----------
    module : nn.Module
        A network whose ranking is that of its last linear layer; it is left as it is.
    loader : iterable of (inputs, targets)
        Training rows, read once in evaluation mode; targets are 0 and 1.
    fpr_low, fpr_high : float
        The band of false positive rates.
    valid : iterable of (inputs, targets), optional
        Rows that choose surrogate and penalty, best such as the network has not seen. Left out, a
        fifth of the loader's rows is held out and joins the last fit.
    column : int, optional
        Which output, and which column of the targets, where there are several.
    seed : int
        Draws the held-out rows where ``valid`` is left out.

    Returns
    -------
    network, fit : nn.Module, HeadFit
        A copy with the layer refitted, and what that gained on the held-out rows.
    """
    refitted = copy.deepcopy(module)
    name, layer = last_linear(refitted)
    if column is None and layer.out_features > 1:
        raise ValueError(
            f"The last layer has {layer.out_features} outputs: name the one to refit by column=."
        )
    place = column or 0
    features, positive = _read(refitted, layer, loader, place, several=column is not None)
    if valid is None:
        held_out = held_out_fifth(positive, stream(seed, "refit_head"))
    else:
        more, labels = _read(refitted, layer, valid, place, several=column is not None)
        held_out = np.arange(len(positive) + len(labels)) >= len(positive)
        features, positive = np.concatenate([features, more]), np.append(positive, labels)
    for rows, kind in ((~held_out, "rows to fit"), (held_out, "held-out rows")):
        counts = [int(np.count_nonzero(positive[rows] == label)) for label in (True, False)]
        if not all(counts):
            raise ValueError(
                f"Refitting needs both classes; the {kind} have {counts[0]} positives and "
                f"{counts[1]} negatives: give more rows."
            )
        ranks(counts[1], fpr_low, fpr_high)
    trained = layer.weight[place].detach().double().cpu().numpy()
    fit = fit_head(features, positive, held_out, trained, fpr_low, fpr_high, refit=valid is None)
    set_head(dict(refitted.state_dict()), name, fit, place)
    return refitted, fit


@torch.no_grad()
def _read(
    module: nn.Module,
    layer: nn.Linear,
    loader: Iterable[Sequence[Tensor]],
    column: int,
    several: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Features of the last layer and labels of a loader's rows, the network in evaluation mode."""
    training = module.training
    module.eval()
    features, labels = [], []
    for inputs, targets, *_ in loader:
        with inputs_of(layer) as seen:
            outputs = module(inputs.to(layer.weight.device))
        mine = targets[:, column] if several and targets.ndim > 1 else targets
        mine = mine.reshape(-1).cpu()
        if len(seen) != 1 or seen[0].reshape(-1, layer.in_features).shape[0] != len(mine):
            raise ValueError(
                f"The last linear layer was given {[tuple(s.shape) for s in seen]} for "
                f"{len(mine)} targets: expected one row of features for each target."
            )
        rows = seen[0].reshape(-1, layer.in_features)
        _check_ranking(layer(rows), outputs, column)
        features.append(rows.float().cpu().numpy())
        labels.append(mine.numpy())
    module.train(training)
    if not features:
        raise ValueError("The loader gave no batch: expected (inputs, targets) pairs.")
    found = np.concatenate(labels)
    if not np.isin(found, (0, 1)).all():
        raise ValueError("Targets must be 0 and 1 or booleans; map the positive class to 1.")
    return np.concatenate(features), found.astype(bool)


def _check_ranking(scores: Tensor, outputs: Tensor, column: int) -> None:
    """Refuse a network whose outputs rank otherwise than its last linear layer."""
    if outputs.numel() == scores.numel():
        mine = scores[:, column]
        theirs = outputs.reshape(scores.shape)[:, column][torch.argsort(mine)]
        if bool((theirs[1:] >= theirs[:-1]).all()):
            return
    raise ValueError(
        "The network's outputs rank otherwise than its last linear layer does: expected a network "
        "that ends in it, or in a rising function of it."
    )
