"""EfficientNet-Lite0: its published names, a slow twin of its parts, its published features."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from pauc_core.data.errors import DataError
from pauc_core.data.sources import fetch
from pauc_core.models.efficientnet import Block, SameConv
from pauc_core.models.module import to_inputs
from pauc_core.models.networks import build, initialise, load_weights
from pauc_core.solver.streams import stream, torch_generator
from tests.oracles import same_convolution

CATALOGUE = yaml.safe_load(
    (Path(__file__).parents[1] / "config/datasets.yaml").read_text(encoding="utf-8")
)
# Of `pictures()` at 64 px, by the program that the weights were published with (PyPI,
# efficientnet_lite_pytorch 0.1.0, torch 2.13.0, one thread): sum and number of the positive ones
# of 1,280 features, the class with the highest output and that output.
PUBLISHED = [
    (860.301, 383, 542, 29.63680),
    (1214.372, 480, 920, 27.01679),
    (77.741, 110, 530, 2.71433),
]


def pictures(side: int = 64) -> np.ndarray:
    """Three pictures of stripes, hyperbolas and a board."""
    c, i, j = np.indices((3, side, side))
    stripes = (7 * i + 3 * j + 40 * c) % 256
    return np.stack([stripes, (i * j + 85 * c) % 256, 255 * ((i // 8 + j // 8 + c) % 2)]).astype(
        np.uint8
    )


def test_it_has_the_published_size_and_names():
    net = build("efficientnet_lite0", 3, 1000)
    state = net.state_dict()
    assert sum(p.numel() for p in net.parameters()) == 4_652_008
    assert len(state) == 296
    norm = ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"]
    expected = ["_conv_stem.weight", *(f"_bn0.{word}" for word in norm)]
    for block in range(16):
        layers = [("_depthwise_conv", "_bn1"), ("_project_conv", "_bn2")]
        for conv, bn in layers if block == 0 else [("_expand_conv", "_bn0"), *layers]:
            names = [f"{conv}.weight", *(f"{bn}.{word}" for word in norm)]
            expected += [f"_blocks.{block}.{name}" for name in names]
    expected += ["_conv_head.weight", *(f"_bn1.{word}" for word in norm), "_fc.weight", "_fc.bias"]
    assert list(state) == expected
    for name, shape in {
        "_conv_stem.weight": (32, 3, 3, 3),
        "_blocks.1._expand_conv.weight": (96, 16, 1, 1),
        "_blocks.3._depthwise_conv.weight": (144, 1, 5, 5),
        "_blocks.15._project_conv.weight": (320, 1152, 1, 1),
        "_conv_head.weight": (1280, 320, 1, 1),
        "_fc.weight": (1000, 1280),
    }.items():
        assert tuple(state[name].shape) == shape


@pytest.mark.parametrize("side", [4, 5, 6, 7])
@pytest.mark.parametrize(
    ("kernel", "stride", "groups"), [(3, 2, 1), (5, 2, 4), (5, 1, 4), (1, 1, 1)]
)
def test_its_convolution_is_the_slow_one(side, kernel, stride, groups):
    rng = np.random.default_rng(0)
    layer = SameConv(4, 8, kernel, stride, groups=groups, bias=False).double()
    x = rng.standard_normal((2, 4, side, side + 1))
    with torch.no_grad():
        found = layer(torch.from_numpy(x)).numpy()
        weight = layer.weight.numpy()
    np.testing.assert_allclose(found, same_convolution(x, weight, stride, groups), atol=1e-12)


@pytest.mark.parametrize(("after", "stride", "widen"), [(4, 1, 6), (6, 2, 6), (4, 1, 1), (6, 1, 6)])
def test_a_block_is_the_slow_one(after, stride, widen):
    rng = np.random.default_rng(1)
    block = Block(4, after, 3, stride, widen).double().eval()
    for value in block.state_dict().values():  # statistics that are not those of a fresh layer
        if value.is_floating_point():
            value.copy_(torch.from_numpy(rng.uniform(0.5, 1.5, value.shape)))
    state = {name: value.numpy() for name, value in block.state_dict().items()}

    def normed(values: np.ndarray, name: str) -> np.ndarray:
        w, b, mean, var = (
            state[f"{name}.{word}"][:, None, None]
            for word in ("weight", "bias", "running_mean", "running_var")
        )
        return w * (values - mean) / np.sqrt(var + 1e-3) + b

    x = rng.standard_normal((1, 4, 5, 5))
    y = x
    if widen > 1:
        y = same_convolution(y, state["_expand_conv.weight"], 1, 1)
        y = np.clip(normed(y, "_bn0"), 0, 6)
    y = same_convolution(y, state["_depthwise_conv.weight"], stride, y.shape[1])
    y = np.clip(normed(y, "_bn1"), 0, 6)
    y = normed(same_convolution(y, state["_project_conv.weight"], 1, 1), "_bn2")
    if stride == 1 and after == 4:
        y = y + x
    with torch.no_grad():
        np.testing.assert_allclose(block(torch.from_numpy(x)).numpy(), y, atol=1e-10)


def test_pooled_features_go_through_stem_blocks_and_head():
    net = build("efficientnet_lite0", 3, 2).eval()
    initialise(net, torch_generator(stream(0, "test")))
    strides = [block._depthwise_conv.stride[0] for block in net._blocks]  # type: ignore[union-attr]
    assert strides == [1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1]
    shortcuts = [block.shortcut for block in net._blocks]  # type: ignore[union-attr]
    assert [i for i, there in enumerate(shortcuts) if there] == [2, 4, 6, 7, 9, 10, 12, 13, 14]
    with torch.no_grad():
        x = torch.rand(2, 3, 64, 64)
        y = torch.clip(net._bn0(net._conv_stem(x)), 0, 6)  # type: ignore[operator]
        for block in net._blocks:  # type: ignore[union-attr]
            y = block(y)
        assert y.shape == (2, 320, 2, 2)
        y = torch.clip(net._bn1(net._conv_head(y)), 0, 6).mean((2, 3))  # type: ignore[operator]
        torch.testing.assert_close(net.pooled(x), y)
        torch.testing.assert_close(net(x), net._fc(y))  # type: ignore[operator]


def test_it_wants_pixels_less_127_over_128():
    x = pictures()
    found = to_inputs(
        x, np.arange(3), torch.float32, torch.device("cpu"), build("efficientnet_lite0", 3)
    )
    np.testing.assert_allclose(found.numpy(), (x.astype(float) - 127) / 128, atol=1e-6)


@pytest.mark.slow
def test_the_published_weights_give_the_published_features(tmp_path):
    try:
        path = fetch("w", CATALOGUE["efficientnet-lite0"], tmp_path, progress=False)[0]
    except DataError as error:
        pytest.skip(f"the weights cannot be had here: {error}")
    net = build("efficientnet_lite0", 3, 1000).eval()
    assert load_weights(net, path)
    with torch.no_grad():
        x = to_inputs(pictures(), np.arange(3), torch.float32, torch.device("cpu"), net)
        features, outputs = net.pooled(x), net(x)
    found = [
        (float(row.sum()), int((row > 0).sum()), int(out.argmax()), float(out.max()))
        for row, out in zip(features, outputs, strict=True)
    ]
    for mine, published in zip(found, PUBLISHED, strict=True):
        assert mine == pytest.approx(published, rel=1e-4)
