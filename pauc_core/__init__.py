"""Partial-AUC optimisation in a range of false positive rates.

Names are imported when first used, so that the metric costs neither torch nor scikit-learn.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "AGDSBCD": "agd_sbcd",
    "Budget": "solver",
    "Outcome": "solver",
    "Part": "solver",
    "PartialAUCClassifier": "own_data.classifier",
    "PartialAUCLoss": "objective.torch_loss",
    "Problem": "solver",
    "State": "solver",
    "compare_pauc": "intervals",
    "pauc": "metrics",
    "pauc_interval": "intervals",
    "pauc_loss": "objective",
    "pauc_loss_grad": "objective",
    "pauc_pairs": "metrics",
    "pauc_scorer": "own_data.scorer",
    "plot_band": "own_data.plots",
    "refit_head": "models.refit",
    "solve": "solver",
    "stream": "solver.streams",
}

__all__ = sorted(_HOMES)
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"pauc_core.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'pauc_core' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *_HOMES]
