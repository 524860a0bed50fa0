"""A network of three convolutions for the default scale, where seconds count."""

from __future__ import annotations

from torch import Tensor, nn

from pauc_core.models.network import Network


class SmallNet(Network):
    """Three strided 3 x 3 convolutions with batch norm, then a mean over the picture."""

    def __init__(self, in_channels: int = 3, outputs: int = 1) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        channels = in_channels
        for after in (8, 16, 32):
            layers += [
                nn.Conv2d(channels, after, 3, 2, 1, bias=False),
                nn.BatchNorm2d(after),
                nn.ReLU(),
            ]
            channels = after
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Linear(channels, outputs)

    def pooled(self, x: Tensor) -> Tensor:
        return self.features(x).mean((2, 3))
