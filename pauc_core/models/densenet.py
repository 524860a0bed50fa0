"""DenseNet-121 in plain torch, with torchvision's parameter names so that its weights load."""

from __future__ import annotations

import re

import torch
from torch import Tensor, nn
from torch.nn import functional

from pauc_core.models.network import Network

GROWTH = 32
BLOCKS = (6, 12, 24, 16)
BOTTLENECK = 4 * GROWTH
SMALLEST = 29  # pictures of fewer pixels vanish in the five halvings
OLD_NAME = re.compile(r"(denselayer\d+\.(?:norm|conv))\.([12])\.")


class DenseLayer(nn.Module):
    """Bottleneck of 1 x 1 and 3 x 3 convolutions that adds ``GROWTH`` channels."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv1 = nn.Conv2d(channels, BOTTLENECK, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(BOTTLENECK)
        self.conv2 = nn.Conv2d(BOTTLENECK, GROWTH, 3, padding=1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        inner = self.conv1(functional.relu(self.norm1(x)))
        return torch.cat([x, self.conv2(functional.relu(self.norm2(inner)))], 1)


class Transition(nn.Module):
    """Halves the channels and the side."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)
        self.conv = nn.Conv2d(channels, channels // 2, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return functional.avg_pool2d(self.conv(functional.relu(self.norm(x))), 2)


class DenseNet121(Network):
    """Densely connected network of 121 layers; ``pooled`` gives its 1,024 features."""

    def __init__(self, in_channels: int = 3, outputs: int = 1) -> None:
        super().__init__()
        channels = 2 * GROWTH
        features = nn.Sequential()
        features.add_module("conv0", nn.Conv2d(in_channels, channels, 7, 2, 3, bias=False))
        features.add_module("norm0", nn.BatchNorm2d(channels))
        features.add_module("relu0", nn.ReLU())
        features.add_module("pool0", nn.MaxPool2d(3, 2, 1))
        for number, layers in enumerate(BLOCKS, start=1):
            block = nn.Sequential()
            for layer in range(1, layers + 1):
                block.add_module(f"denselayer{layer}", DenseLayer(channels))
                channels += GROWTH
            features.add_module(f"denseblock{number}", block)
            if number < len(BLOCKS):
                features.add_module(f"transition{number}", Transition(channels))
                channels //= 2
        features.add_module("norm5", nn.BatchNorm2d(channels))
        self.features = features
        self.classifier = nn.Linear(channels, outputs)

    def pooled(self, x: Tensor) -> Tensor:
        if min(x.shape[-2:]) < SMALLEST:
            raise ValueError(
                f"DenseNet-121 got pictures of {x.shape[-2]} x {x.shape[-1]} pixels; it needs at "
                f"least {SMALLEST}: use larger pictures or the network 'small'."
            )
        return functional.relu(self.features(x)).mean((2, 3))


def modern_names(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Translate the ``norm.1`` spelling of the first published weights to ``norm1``."""
    return {OLD_NAME.sub(r"\1\2.", name): value for name, value in state.items()}
