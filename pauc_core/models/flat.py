"""The learned weights of a network as one flat vector, and the network's view of it."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor

Weights = dict[str, Tensor]
Shapes = dict[str, list[int]]


def flatten(weights: Weights, names: Iterable[str]) -> tuple[Tensor, Shapes]:
    """A copy of the named weights end to end, and the shapes that `views` needs."""
    chosen = {name: weights[name].detach() for name in names}
    kinds = {(value.dtype, value.device) for value in chosen.values()}
    if len(kinds) != 1:
        raise ValueError(
            f"The learned weights are of {len(kinds)} number types or devices; expected one: move "
            "the module with .to(...), or freeze what is not to be learned."
        )
    shapes = {name: list(value.shape) for name, value in chosen.items()}
    return torch.cat([_channels_last(value).reshape(-1) for value in chosen.values()]), shapes


def views(flat: Tensor, shapes: Shapes) -> Weights:
    """The weights by name, as views of the vector: gradients by them are gradients by it."""
    pieces = flat.split([math.prod(shape) for shape in shapes.values()])
    return {
        name: _shaped(piece, shape)
        for piece, (name, shape) in zip(pieces, shapes.items(), strict=True)
    }


def _channels_last(value: Tensor) -> Tensor:
    """Filters in the order that convolutions read fastest (see ``module.LAYOUT``)."""
    return value.permute(0, 2, 3, 1) if value.ndim == 4 else value


def _shaped(piece: Tensor, shape: list[int]) -> Tensor:
    if len(shape) != 4:
        return piece.view(shape)
    out, channels, height, width = shape
    return piece.view(out, height, width, channels).permute(0, 3, 1, 2)
