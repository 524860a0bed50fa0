"""The networks, their weights' names and starts, augmentation, and the module as a model."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from pauc_core.models.augment import AUGMENTATIONS, PAD, affine, crop_flip
from pauc_core.models.module import ModuleModel
from pauc_core.models.networks import NETWORKS, build, initialise, load_weights
from pauc_core.models.precision import build_at
from pauc_core.solver import Part
from pauc_core.solver.streams import stream, torch_generator


def drawn(name: str, channels: int, outputs: int = 1, seed: int = 0) -> nn.Module:
    net = build(name, channels, outputs)
    initialise(net, torch_generator(stream(seed, "test")))
    return net


def count(net: nn.Module) -> int:
    return sum(p.numel() for p in net.parameters())


def pictures(rows: int, channels: int = 1, side: int = 16) -> Part:
    rng = np.random.default_rng(1)
    x = rng.integers(0, 256, (rows, channels, side, side), dtype=np.uint8)
    return Part(x, rng.random(rows) < 0.4, np.arange(rows))


def test_densenet_has_the_published_size_and_names() -> None:
    net = build("densenet121", 3, 1000)
    state = net.state_dict()
    assert count(net) == 7_978_856
    assert len(state) == 727
    for name, shape in {
        "features.conv0.weight": (64, 3, 7, 7),
        "features.norm0.running_mean": (64,),
        "features.denseblock1.denselayer1.norm1.weight": (64,),
        "features.denseblock3.denselayer24.conv2.weight": (32, 128, 3, 3),
        "features.transition3.conv.weight": (512, 1024, 1, 1),
        "features.norm5.bias": (1024,),
        "classifier.weight": (1000, 1024),
    }.items():
        assert tuple(state[name].shape) == shape


def test_resnet_has_the_published_size_and_shortcuts_without_parameters() -> None:
    # 20 layers with weights: 19 convolutions and the last, linear one.
    net = build("resnet20", 3, 10)
    assert count(net) == 269_722
    assert sum(isinstance(layer, nn.Conv2d) for layer in net.modules()) == 19
    assert all(
        layer.kernel_size == (3, 3) for layer in net.modules() if isinstance(layer, nn.Conv2d)
    )


def test_a_resnet_block_without_inner_weights_is_its_shortcut() -> None:
    block = build("resnet20", 1).blocks[3].eval()  # type: ignore[index, union-attr]
    nn.init.zeros_(block.bn2.weight)
    x = torch.rand(2, 16, 8, 8)
    out = block(x)
    assert out.shape == (2, 32, 4, 4)
    torch.testing.assert_close(out[:, 8:24], x[:, :, ::2, ::2])
    assert not out[:, :8].any()
    assert not out[:, 24:].any()


@pytest.mark.parametrize("name", ["densenet121", "resnet20", "small"])
@pytest.mark.parametrize(("channels", "side"), [(1, 64), (3, 33)])
def test_networks_take_grey_and_colour_of_any_size(name: str, channels: int, side: int) -> None:
    net = drawn(name, channels, 2).eval()
    with torch.no_grad():
        assert net(torch.randn(2, channels, side, side)).shape == (2, 2)


def test_densenet_refuses_pictures_that_vanish() -> None:
    with pytest.raises(ValueError, match="at least 29"):
        build("densenet121", 1)(torch.zeros(2, 1, 28, 28))


def test_the_old_spelling_of_published_weights_loads(tmp_path: Path) -> None:
    """Old files write norm.1 for norm1, have no batch counters, 3 colours and 1,000 classes."""
    published = drawn("densenet121", 3, 1000)
    old = {}
    for name, value in published.state_dict().items():
        if name.endswith("num_batches_tracked"):
            continue
        for word in ("norm1", "norm2", "conv1", "conv2"):
            name = name.replace(f".{word}.", f".{word[:-1]}.{word[-1]}.")
        old[name] = value
    assert "features.denseblock1.denselayer1.norm.1.weight" in old
    torch.save(old, tmp_path / "old.pt")
    net = drawn("densenet121", 1, 5, seed=1)
    assert not load_weights(net, tmp_path / "old.pt")
    grey = torch.randn(2, 1, 32, 32)
    with torch.no_grad():
        wanted = published.eval().pooled(grey.expand(-1, 3, -1, -1))  # type: ignore[operator]
        torch.testing.assert_close(net.eval().pooled(grey), wanted, rtol=1e-3, atol=1e-4)  # type: ignore[operator]
    same = drawn("densenet121", 3, 1000, seed=2)
    assert load_weights(same, tmp_path / "old.pt")
    assert torch.equal(same.classifier.weight, published.classifier.weight)  # type: ignore[union-attr, arg-type]


def test_weights_of_another_network_are_refused_in_a_sentence(tmp_path: Path) -> None:
    torch.save(build("small", 1).state_dict(), tmp_path / "small.pt")
    with pytest.raises(ValueError, match="does not fit ResNet20"):
        load_weights(build("resnet20", 1), tmp_path / "small.pt")
    with pytest.raises(ValueError, match="unknown; expected one of"):
        build("vgg", 1)


@pytest.mark.parametrize("name", sorted(NETWORKS))
def test_a_start_depends_on_its_stream_alone(name: str) -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    model = ModuleModel(build(name, 1), device="cpu")
    one, two = model.start(stream(0, "start")), model.start(stream(0, "start"))
    other = model.start(stream(1, "start"))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(one[key], two[key]) for key in one)
    last = next(key for key in reversed(one) if key.endswith(".weight"))
    assert not torch.equal(one[last], other[last])
    first = next(iter(one))
    assert not torch.equal(one[first], other[first])
    kernel = one[first][0].numel()
    assert one[first].std().item() == pytest.approx(np.sqrt(2 / kernel), rel=0.25)


def test_scores_do_not_depend_on_how_rows_are_blocked_nor_change_the_iterate() -> None:
    part = pictures(300)
    model = ModuleModel(build("small", 1), "affine", "cpu")
    weights = model.start(stream(0, "start"))
    kept = {key: value.clone() for key, value in weights.items()}
    scores = model.scores(weights, part)
    assert scores.shape == (300,)
    assert scores.dtype == np.float64
    chosen = Part(part.x, part.y, np.array([290, 3, 17]))
    np.testing.assert_allclose(model.scores(weights, chosen), scores[chosen.rows], atol=1e-6)
    assert all(torch.equal(weights[key], kept[key]) for key in kept)


def test_training_calls_move_the_statistics_of_the_weights_they_are_given() -> None:
    part = pictures(32)
    model = ModuleModel(build("small", 1), "none", "cpu")
    weights, other = model.start(stream(0, "start")), model.start(stream(0, "start"))
    inputs = model.batch(part.x, part.rows, stream(0, "batch"), train=True)
    model.forward(model.leaves(weights), inputs, train=True)
    moved = {key for key in weights if not torch.equal(weights[key], other[key])}
    assert moved == {key for key in weights if "running" in key or "tracked" in key}
    assert not moved & set(model.parameters)


def test_gradients_of_a_linear_module_are_the_features() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((10, 4))
    model = ModuleModel(nn.Linear(4, 1, bias=False).double(), device="cpu")
    leaves = model.leaves(model.start(stream(0, "start")))
    inputs = model.batch(x, np.array([2, 5, 7]), rng, train=True)
    scores = model.forward(leaves, inputs, train=True)
    slopes = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    found = model.gradients(leaves, scores, slopes)["weight"][0].numpy()
    np.testing.assert_allclose(found, slopes.numpy() @ x[[2, 5, 7]], rtol=1e-12)


def test_crops_are_shifted_copies_and_half_are_mirrored() -> None:
    batch = torch.arange(1.0, 101.0).reshape(1, 1, 10, 10).repeat(400, 1, 1, 1)
    out = crop_flip(batch, np.random.default_rng(0))
    assert out.shape == batch.shape
    padded = nn.functional.pad(batch[0, 0], (PAD,) * 4)
    windows = {}
    for top in range(2 * PAD + 1):
        for left in range(2 * PAD + 1):
            window = padded[top : top + 10, left : left + 10]
            windows[window.numpy().tobytes()] = (top, left, False)
            windows[window.flip(-1).numpy().tobytes()] = (top, left, True)
    seen = [windows[np.ascontiguousarray(picture[0].numpy()).tobytes()] for picture in out]
    assert {top for top, _, _ in seen} == set(range(9))
    assert {left for _, left, _ in seen} == set(range(9))
    assert 0.4 < np.mean([mirrored for _, _, mirrored in seen]) < 0.6


def test_affine_maps_are_small_and_differ_from_picture_to_picture() -> None:
    blob = torch.zeros(64, 1, 32, 32)
    blob[:, :, 14:18, 14:18] = 1.0
    out = affine(blob, np.random.default_rng(0))
    axis = torch.arange(32.0) - 15.5
    mass = out.sum((1, 2, 3))
    shift = (out.sum((1, 2)) @ axis) / mass
    assert mass.min() > 13
    assert mass.max() < 19
    assert 0.3 < shift.abs().max() < 32 * 0.06 + 0.3
    assert len({round(float(s), 4) for s in shift}) > 60


@pytest.mark.parametrize("name", sorted(AUGMENTATIONS))
def test_augmentation_is_for_training_and_follows_its_stream(name: str) -> None:
    part = pictures(8)
    model = ModuleModel(build("small", 1), name, "cpu")
    one, two = (model.batch(part.x, part.rows, stream(0, "a"), train=True) for _ in range(2))
    plain = model.batch(part.x, part.rows, stream(0, "a"), train=False)
    assert torch.equal(one, two)
    assert torch.equal(one, plain) == (name == "none")
    wanted = (part.x[3, 0, 2, 5] / 255 - 0.449) / 0.226
    assert plain[3, 0, 2, 5].item() == pytest.approx(wanted, abs=1e-5)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="augmentation 'twist' is unknown"):
        ModuleModel(build("small", 1), "twist")
    with pytest.raises(ValueError, match="device 'tpu' is unknown"):
        ModuleModel(build("small", 1), device="tpu")


def test_bfloat16_is_for_training_and_leaves_weights_scores_and_names_alone() -> None:
    plain = drawn("small", 1, 1)
    mixed = build_at("bfloat16", "small", in_channels=1)
    mixed.load_state_dict(plain.state_dict())
    x = torch.randn(8, 1, 32, 32, generator=torch_generator(stream(0, "x")))
    assert torch.equal(mixed.eval()(x), plain.eval()(x)), "scores are float32's"
    seen: list[torch.dtype] = []
    for layer in mixed.modules():
        if isinstance(layer, torch.nn.Conv2d):
            layer.register_forward_hook(lambda _, __, out: seen.append(out.dtype))
    scores, wanted = mixed.train()(x), plain.train()(x)
    assert set(seen) == {torch.bfloat16}
    assert scores.dtype == torch.float32
    assert not torch.equal(scores, wanted)
    torch.testing.assert_close(scores, wanted, atol=0.05, rtol=0.05)
    scores.sum().backward()
    assert all(p.grad is not None and p.grad.dtype == torch.float32 for p in mixed.parameters())
    copied = copy.deepcopy(mixed).eval()
    assert torch.equal(copied(x), mixed.eval()(x)), "a copy uses its own weights"


def test_an_unknown_precision_is_one_sentence() -> None:
    with pytest.raises(ValueError, match="precision 'float8' is unknown"):
        build_at("float8", "small", in_channels=1)
