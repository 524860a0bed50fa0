"""EfficientNet-Lite0 in plain torch, with the names of its published ImageNet weights."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn
from torch.nn import functional

from pauc_core.models.network import Network

# Blocks of a stage, its kernel, the stride of its first block, by how much a block widens inside,
# and the channels that leave it.
STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
STEM = 32
HEAD = 1280


class SameConv(nn.Conv2d):
    """A convolution that gives ceil(side / stride) pixels, any odd padding right and below."""

    def forward(self, x: Tensor) -> Tensor:
        kernel, stride = self.kernel_size[0], self.stride[0]
        pads: list[int] = []
        for side in (x.shape[-1], x.shape[-2]):
            missing = max((-(-side // stride) - 1) * stride + kernel - side, 0)
            pads += [missing // 2, missing - missing // 2]
        return super().forward(functional.pad(x, pads))


def _norm(channels: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, eps=1e-3, momentum=0.01)


class Block(nn.Module):
    """Widen, convolve each channel by itself, narrow; a shortcut where the shape stays."""

    def __init__(self, before: int, after: int, kernel: int, stride: int, widen: int) -> None:
        super().__init__()
        inner = before * widen
        self.widens = widen != 1
        self.shortcut = stride == 1 and before == after
        if self.widens:
            self._expand_conv = SameConv(before, inner, 1, bias=False)
            self._bn0 = _norm(inner)
        self._depthwise_conv = SameConv(inner, inner, kernel, stride, groups=inner, bias=False)
        self._bn1 = _norm(inner)
        self._project_conv = SameConv(inner, after, 1, bias=False)
        self._bn2 = _norm(after)

    def forward(self, x: Tensor) -> Tensor:
        inner = functional.relu6(self._bn0(self._expand_conv(x))) if self.widens else x
        inner = functional.relu6(self._bn1(self._depthwise_conv(inner)))
        inner = self._bn2(self._project_conv(inner))
        return x + inner if self.shortcut else inner


class EfficientNetLite0(Network):
    """The smallest EfficientNet-Lite; ``pooled`` gives its 1,280 features."""

    colours: ClassVar = ((127 / 255,), (128 / 255,))  # (x - 127) / 128 on pixels of 0 to 255

    def __init__(self, in_channels: int = 3, outputs: int = 1) -> None:
        super().__init__()
        self._conv_stem = SameConv(in_channels, STEM, 3, 2, bias=False)
        self._bn0 = _norm(STEM)
        blocks, channels = [], STEM
        for count, kernel, stride, widen, after in STAGES:
            for number in range(count):
                blocks.append(Block(channels, after, kernel, 1 if number else stride, widen))
                channels = after
        self._blocks = nn.ModuleList(blocks)
        self._conv_head = SameConv(channels, HEAD, 1, bias=False)
        self._bn1 = _norm(HEAD)
        self._fc = nn.Linear(HEAD, outputs)

    @property
    def classifier(self) -> nn.Linear:  # type: ignore[override]
        return self._fc

    def pooled(self, x: Tensor) -> Tensor:
        x = functional.relu6(self._bn0(self._conv_stem(x)))
        for block in self._blocks:
            x = block(x)
        return functional.relu6(self._bn1(self._conv_head(x))).mean((2, 3))
