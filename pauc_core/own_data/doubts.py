"""Whether the rows are enough for the band: what is refused, and what is only doubted."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from pauc_core.bands import Band
from pauc_core.metrics import ranks
from pauc_core.own_data.folds import FEW
from pauc_core.own_data.search import Found

FEW_IN_BAND = 30  # negatives in the band below which a pAUC is mostly noise


def doubt_band(
    positive: np.ndarray,
    masks: Sequence[np.ndarray],
    band: Band,
    given: Sequence[float],
    weights: np.ndarray | None,
) -> None:
    """Refuse or doubt a band too narrow for the negatives of a fold, held out or left.

    Labels are those of the problem that the band belongs to; ``given`` is the band as its user
    knows it.
    """
    kind = "positives" if band.exchanged else "negatives"
    text = f"[{given[0]}, {given[1]}]"
    total = int(np.count_nonzero(~positive))
    held = [int(np.count_nonzero(~positive & mask)) for mask in masks]
    left, fewest = total - max(held, default=0), min(held, default=total)
    inside = left * (band.high - band.low)
    if weights is None:
        # A band between two ranks may hold one of 94 and none of 95.
        for size in sorted({left, *(total - part for part in held), total}):
            try:
                m, n = ranks(size, band.low, band.high)
            except ValueError as error:
                less = " less those of a held-out fold" if size < total else ""
                raise ValueError(
                    f"The band {text} holds none of the {size} {kind} that there are to learn from "
                    f"({total}{less}): widen the band or bring more {kind}."
                ) from error
            inside = n - m if size == left else inside
    if inside < FEW_IN_BAND:
        _warn(
            f"Only {inside:.3g} training {kind} lie in the band {text}: with fewer than "
            f"{FEW_IN_BAND} its area is mostly noise; widen the band or add {kind}."
        )
    if fewest * (band.high - band.low) < 1.0:
        _warn(
            f"The band {text} holds none of the {fewest} {kind} of a held-out fold: the choice "
            f"hangs on a single row; widen the band, raise validation_fraction or add {kind}."
        )
    if not masks:
        _warn(
            f"The smaller class has fewer than {FEW} rows: nothing is held out, and nothing can be "
            "chosen by; add rows."
        )


def doubt_fit(found: Found) -> None:
    """Say where logistic regression ranks the band better, or the last fit worse than its start.

    Where nothing but one surrogate or penalty is tried, neither can be chosen away.
    """
    value = float(found.table["pauc"][found.chosen])
    if found.behind:
        _warn(
            f"The fit ranks the band worse than logistic regression does (pAUC {value:.3g} against "
            f"{found.start:.3g}): leave out loss and penalty, so that it can be chosen."
        )
    elif found.fell:
        _warn(
            "The fit to all rows ranked them worse than the fits to the folds, whose mean is kept: "
            "leave out loss and penalty, or widen the band."
        )


def _warn(sentence: str) -> None:
    warnings.warn(sentence, UserWarning, stacklevel=4)
