"""Mixed precision: training passes through a network in bfloat16, all else in float32."""

from __future__ import annotations

import torch
from torch import Tensor

from pauc_core.models.network import Network
from pauc_core.models.networks import build

PRECISIONS = ("float32", "bfloat16")


class InBfloat16(Network):
    """Goes before a network's class: its features are computed in bfloat16 while it trains.

    Weights, their updates and the last layer stay in float32, and so does scoring: scores of eight
    bits would tie, and ties decide a partial AUC.
    """

    def pooled(self, x: Tensor) -> Tensor:
        if not self.training:
            return super().pooled(x)
        with torch.autocast(x.device.type, dtype=torch.bfloat16):
            return super().pooled(x).float()


def build_at(precision: str, name: str, in_channels: int) -> Network:
    """A network by name that trains at the given precision; the same weights fit either."""
    if precision not in PRECISIONS:
        raise ValueError(f"The precision {precision!r} is unknown; expected one of {PRECISIONS}.")
    network = build(name, in_channels)
    if precision == "bfloat16":
        kind = type(network)
        network.__class__ = type(f"{kind.__name__}InBfloat16", (InBfloat16, kind), {})
    return network
