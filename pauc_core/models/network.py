"""What every network here has: pooled features and a linear layer on them."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn


class Network(nn.Module):
    """A network that ends in one linear layer, ``classifier``, over its pooled features."""

    classifier: nn.Linear
    # Mean and deviation by colour of pixels scaled to [0, 1]; None stands for ImageNet's.
    colours: ClassVar[tuple[tuple[float, ...], tuple[float, ...]] | None] = None

    def pooled(self, x: Tensor) -> Tensor:
        """Features of shape (b, classifier.in_features)."""
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.pooled(x))
