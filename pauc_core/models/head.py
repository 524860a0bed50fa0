"""The last linear layer of a network, fitted exactly for a band on the features it is given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from pauc_core.models.scaled_rows import ScaledRows
from pauc_core.solver.choice import Seen, choose, gap, look_at
from pauc_core.solver.path import Training, fit_band, follow

SURROGATES = ("logistic", "sigmoid")
PENALTIES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
MAX_ITER, TOL = 100, 1e-5  # of each fit, as in the classifier
AS_TRAINED = "as trained"


@dataclass(frozen=True)
class HeadFit:
    """A refitted layer: what was chosen, and the pAUC of the held-out rows before and after.

    The gain has the paired standard error of the two; it is a little bright, since the same rows
    chose the penalty. Where nothing beats the layer as it was, it stays.
    """

    weights: np.ndarray
    offset: float
    loss: str
    penalty: float
    before: float
    after: float
    standard_error: float

    @property
    def gain(self) -> float:
        return self.after - self.before


def fit_head(
    features: np.ndarray,
    positive: np.ndarray,
    held_out: np.ndarray,
    trained: np.ndarray,
    fpr_low: float,
    fpr_high: float,
    *,
    losses: Sequence[str] = SURROGATES,
    penalties: Sequence[float] = PENALTIES,
    refit: bool,
) -> HeadFit:
    """Paths of fits from the trained weights, chosen by the pAUC of the rows ``held_out``.

    ``held_out`` is a mask of rows. With ``refit`` the chosen kind of fit is repeated on all rows;
    without it the held-out rows stay unseen. The trained layer itself is among the candidates and
    wins ties. Scores keep their mean and deviation, so that thresholds stay about where they were.
    """
    band = fpr_low, fpr_high
    rows = ScaledRows.fit(features)
    first = np.where(np.isfinite(rows.scale), trained * rows.scale, 0.0)
    training = Training(
        rows=rows, positive=positive, train=~held_out, fpr_low=fpr_low, fpr_high=fpr_high
    )
    kinds, found = [(AS_TRAINED, np.inf)], [first]
    for loss in losses:
        fits = follow(training, first, loss=loss, penalties=penalties, max_iter=MAX_ITER, tol=TOL)
        for penalty, (w, _) in zip(sorted(penalties), fits, strict=True):
            kinds.append((loss, penalty))
            found.append(w)
    seen = [look_at(positive[held_out], rows.scores(w)[held_out], *band) for w in found]
    chosen = choose(seen, [penalty for _, penalty in kinds])
    (loss, penalty), w = kinds[chosen], found[chosen]
    if refit and chosen:
        everything = replace(training, train=np.ones_like(positive))
        w, _ = fit_band(everything, w, loss=loss, penalty=penalty, max_iter=MAX_ITER, tol=TOL)
    coef, offset = trained, 0.0
    if chosen:
        coef, offset = _like(rows, w, features @ trained)
    return _report(seen, chosen, coef, offset, loss, penalty)


def _like(rows: ScaledRows, w: np.ndarray, before: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights and offset for rows as they came that give scores ``before``'s mean and spread."""
    now = rows.scores(w)
    factor = np.std(before) / np.std(now) if np.std(before) * np.std(now) > 0 else 1.0
    coef, offset = rows.unscaled(w * factor)
    return coef, offset + float(np.mean(before))


def _report(
    seen: list[Seen], chosen: int, coef: np.ndarray, offset: float, loss: str, penalty: float
) -> HeadFit:
    _, error = gap(seen[chosen], seen[0])
    before, after = seen[0].value, seen[chosen].value
    return HeadFit(coef, offset, loss, penalty, before, after, error)


def last_linear(module: nn.Module) -> tuple[str, nn.Linear]:
    """The linear layer that was added last, and its name."""
    layers = [found for found in module.named_modules() if isinstance(found[1], nn.Linear)]
    if not layers:
        raise ValueError(
            f"{type(module).__name__} has no nn.Linear: expected a network that ends in one."
        )
    name, layer = layers[-1]
    assert isinstance(layer, nn.Linear)
    return name, layer


@contextmanager
def inputs_of(layer: nn.Linear) -> Iterator[list[Tensor]]:
    """Collect what goes into a layer while the context is open."""
    seen: list[Tensor] = []
    handle = layer.register_forward_pre_hook(lambda _, given: seen.append(given[0].detach()))
    try:
        yield seen
    finally:
        handle.remove()


@torch.no_grad()
def set_head(weights: dict[str, Tensor], name: str, fit: HeadFit, column: int = 0) -> None:
    """Write a refitted layer into weights by name, in place."""
    weight = weights[f"{name}.weight".lstrip(".")]
    weight[column] = torch.from_numpy(fit.weights).to(weight)
    if (bias := weights.get(f"{name}.bias".lstrip("."))) is not None:
        bias[column] += fit.offset


def held_out_fifth(positive: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A mask of a fifth of the rows of each class, at least one."""
    held_out = np.zeros(len(positive), dtype=bool)
    for label in (True, False):
        rows = np.flatnonzero(positive == label)
        held_out[rng.permutation(rows)[: max(1, round(len(rows) / 5))]] = True
    return held_out
