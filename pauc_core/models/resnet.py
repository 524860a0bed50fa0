"""ResNet-20 for small pictures: three stages of three blocks, shortcuts without parameters."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from pauc_core.models.network import Network

STAGES = (16, 32, 64)
BLOCKS = 3


class BasicBlock(nn.Module):
    """Two 3 x 3 convolutions; where the shape changes the shortcut subsamples and pads zeros."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.stride = stride
        self.pad = after - before

    def forward(self, x: Tensor) -> Tensor:
        inner = self.bn2(self.conv2(functional.relu(self.bn1(self.conv1(x)))))
        if self.pad:
            left = self.pad // 2
            x = x[:, :, :: self.stride, :: self.stride]
            x = functional.pad(x, (0, 0, 0, 0, left, self.pad - left))
        return functional.relu(inner + x)


class ResNet20(Network):
    """The residual network for 32 px pictures with 0.27 million parameters."""

    def __init__(self, in_channels: int = 3, outputs: int = 1) -> None:
        super().__init__()
        channels = STAGES[0]
        self.conv1 = nn.Conv2d(in_channels, channels, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        blocks = []
        for stage, after in enumerate(STAGES):
            for block in range(BLOCKS):
                blocks.append(BasicBlock(channels, after, 2 if stage and not block else 1))
                channels = after
        self.blocks = nn.Sequential(*blocks)
        self.classifier = nn.Linear(channels, outputs)

    def pooled(self, x: Tensor) -> Tensor:
        return self.blocks(functional.relu(self.bn1(self.conv1(x)))).mean((2, 3))
