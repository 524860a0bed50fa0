"""The networks by name, and how their first weights are drawn."""

from __future__ import annotations

import math
from pathlib import Path

import torch
from torch import Tensor, nn

from pauc_core.models.densenet import DenseNet121, modern_names
from pauc_core.models.efficientnet import EfficientNetLite0
from pauc_core.models.network import Network
from pauc_core.models.resnet import ResNet20
from pauc_core.models.small import SmallNet

NETWORKS: dict[str, type[Network]] = {
    "densenet121": DenseNet121,
    "efficientnet_lite0": EfficientNetLite0,
    "resnet20": ResNet20,
    "small": SmallNet,
}


def build(name: str, in_channels: int, outputs: int = 1) -> Network:
    """Return a network by name; its weights are to be drawn with `initialise` or loaded."""
    if name not in NETWORKS:
        raise ValueError(f"The network {name!r} is unknown; expected one of {sorted(NETWORKS)}.")
    with torch.random.fork_rng(devices=[]):  # torch's layers draw from the global generator
        return NETWORKS[name](in_channels, outputs)


@torch.no_grad()
def initialise(module: nn.Module, generator: torch.Generator) -> None:
    """Draw all weights afresh: He's normal law for convolutions, torch's own for linear layers."""
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d):
            deviation = math.sqrt(2.0 / layer.weight[0].numel())
            layer.weight.copy_(deviation * _normal(layer.weight, generator))
        elif isinstance(layer, nn.Linear):
            bound = 1.0 / math.sqrt(layer.in_features)
            uniform = torch.rand(layer.weight.shape, generator=generator, dtype=layer.weight.dtype)
            layer.weight.copy_(bound * (2.0 * uniform - 1.0))
            if layer.bias is not None:
                layer.bias.zero_()
        elif isinstance(layer, nn.BatchNorm2d):
            layer.reset_parameters()


def _normal(like: Tensor, generator: torch.Generator) -> Tensor:
    return torch.randn(like.shape, generator=generator, dtype=like.dtype)


def load_weights(module: Network, path: Path) -> bool:
    """Load a saved state dict into a network; say whether its last layer came along.

    A last layer for other outputs is left as it is, and a first layer for three colours is summed
    over them for grey pictures, which is the same as repeating the grey three times.
    """
    state = torch.load(path, map_location="cpu", weights_only=True)
    if not isinstance(state, dict) or not all(isinstance(v, Tensor) for v in state.values()):
        raise ValueError(
            f"{path} holds no state dict; save one with torch.save(net.state_dict(), path)."
        )
    state = modern_names(state)
    own = module.state_dict()
    last = next(name for name, layer in module.named_modules() if layer is module.classifier)
    head = (f"{last}.weight", f"{last}.bias")
    first = next(iter(own))
    if first in state and own[first].shape[1] == 1 and state[first].shape[1] == 3:
        state[first] = state[first].sum(1, keepdim=True)
    whole = all(name in state and state[name].shape == own[name].shape for name in head)
    for name, value in own.items():
        # Weights saved before torch counted batches lack the counters, which nothing here uses.
        if (name in head and not whole) or name.endswith("num_batches_tracked"):
            state[name] = value
    wrong = sorted(
        name
        for name in own.keys() | state.keys()
        if name not in own or name not in state or own[name].shape != state[name].shape
    )
    if wrong:
        raise ValueError(
            f"{path} does not fit {type(module).__name__}: {len(wrong)} entries are missing, "
            f"unknown or of another shape, the first is {wrong[0]!r}; check the network's name."
        )
    module.load_state_dict(state)
    return whole
