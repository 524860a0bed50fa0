"""A torch module as a model: an iterate is its state dict, buffers included."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from pauc_core.models.augment import AUGMENTATIONS
from pauc_core.models.networks import initialise
from pauc_core.solver import Part, Work
from pauc_core.solver.streams import torch_generator

SCORED_AT_ONCE = 64  # on one core up to 1.5 times faster than 256
LAYOUT = torch.channels_last  # a sixth faster than torch's own order on one core
# Mean and deviation of ImageNet's colours over all pixels scaled to [0, 1]; grey is their mean.
COLOUR = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
GREY = ((0.449,), (0.226,))

Weights = dict[str, Tensor]


def choose_device(device: str) -> torch.device:
    """``auto`` is the first GPU where there is one, else the processor."""
    if device not in ("auto", "cpu", "cuda"):
        raise ValueError(f"The device {device!r} is unknown; expected auto, cpu or cuda.")
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("The device cuda was asked for and torch sees none; use auto or cpu.")
    return torch.device("cuda" if device != "cpu" and torch.cuda.is_available() else "cpu")


def to_inputs(
    x: np.ndarray, rows: np.ndarray, dtype: torch.dtype, device: torch.device, module: nn.Module
) -> Tensor:
    """Rows of a stored array as a tensor: pictures as the module wants them, features as is."""
    values = torch.from_numpy(np.ascontiguousarray(x[rows])).to(device)
    if x.dtype != np.uint8:
        return values.to(dtype)
    own = getattr(module, "colours", None)
    mean, deviation = own or (GREY if x.shape[1] == 1 else COLOUR)
    shape = (1, -1, 1, 1)
    shift = torch.tensor(mean, dtype=dtype, device=device).view(shape)
    scale = torch.tensor(deviation, dtype=dtype, device=device).view(shape)
    inputs = (values.to(dtype) / 255.0 - shift) / scale
    return inputs.contiguous(memory_format=LAYOUT)


@dataclass(frozen=True)
class ModuleModel:
    """A network of one output over pictures or features.

    ``module`` is a template: it lends its structure, and every call brings the weights. Training
    calls update the running statistics among the weights they are given, in place.
    """

    module: nn.Module
    augmentation: str = "none"
    device: str = "auto"
    work: Work = field(default_factory=Work, compare=False, repr=False)
    kind: ClassVar[str] = "module"
    place: torch.device = field(init=False)

    def __post_init__(self) -> None:
        if self.augmentation not in AUGMENTATIONS:
            raise ValueError(
                f"The augmentation {self.augmentation!r} is unknown; expected one of "
                f"{sorted(AUGMENTATIONS)}."
            )
        object.__setattr__(self, "place", choose_device(self.device))
        self.module.to(self.place)

    @cached_property
    def parameters(self) -> list[str]:
        """Names of what is learned; the other entries of an iterate are running statistics."""
        return [name for name, _ in self.module.named_parameters()]

    @property
    def dtype(self) -> torch.dtype:
        return next(self.module.parameters()).dtype

    def start(self, rng: np.random.Generator) -> Weights:
        """Fresh weights that depend on ``rng`` alone, the same on every device."""
        fresh = copy.deepcopy(self.module).cpu()
        initialise(fresh, torch_generator(rng))
        fresh.to(self.place, memory_format=LAYOUT)  # type: ignore[call-overload]
        return dict(fresh.state_dict())

    def batch(
        self, x: np.ndarray, rows: np.ndarray, rng: np.random.Generator, train: bool
    ) -> Tensor:
        """Normalised inputs of some rows, augmented for training."""
        inputs = to_inputs(x, rows, self.dtype, self.place, self.module)
        if not train or inputs.ndim != 4:
            return inputs
        return AUGMENTATIONS[self.augmentation](inputs, rng).contiguous(memory_format=LAYOUT)

    def forward(self, weights: Weights, inputs: Tensor, train: bool) -> Tensor:
        """Scores of shape (b,) as a tensor that gradients flow through."""
        self.work.add(len(inputs))
        self.module.train(train)
        return functional_call(self.module, weights, (inputs,)).squeeze(-1)

    def gradients(self, weights: Weights, scores: Tensor, slopes: Tensor) -> Weights:
        """Gradients of what has the given slopes with respect to the scores, by name."""
        self.work.add(len(scores))
        wanted = [weights[name] for name in self.parameters]
        found = torch.autograd.grad(scores, wanted, grad_outputs=slopes)
        return dict(zip(self.parameters, found, strict=True))

    def leaves(self, weights: Weights) -> Weights:
        """The same tensors with gradients asked for, statistics as they are."""
        learned = set(self.parameters)
        return {
            name: value.detach().requires_grad_() if name in learned else value
            for name, value in weights.items()
        }

    @torch.no_grad()
    def scores(self, iterate: Weights, part: Part) -> np.ndarray:
        """Scores of the part's rows, statistics frozen."""
        scores = np.empty(len(part.rows))
        for first in range(0, len(part.rows), SCORED_AT_ONCE):
            rows = part.rows[first : first + SCORED_AT_ONCE]
            inputs = to_inputs(part.x, rows, self.dtype, self.place, self.module)
            found = self.forward(iterate, inputs, train=False)
            scores[first : first + len(rows)] = found.double().cpu().numpy()
        return scores
