"""ResNet with bottleneck blocks, v1.5: a training step with moving statistics, momentum and weight decay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from workloads import _gratings
from workloads.core.precision import mixed_sizes
from workloads.core.spec import Arrays, ArraySpec, Cost, Dimensions, Training, Workload

EXPANSION = 4
"""The last convolution of a block has so many times the channels of the others (He et al. 2015, table 1)."""
STEM_SIZE = 7
NORM_MOMENTUM = 0.9
NORM_EPSILON = 1e-5
MOMENTUM = 0.9
WEIGHT_DECAY = 1e-4
"""These four: Model Garden, official/vision/configs/image_classification.py, experiment resnet_imagenet.
Half of the decay times the sum of squares of every kernel is part of the loss; biases and norms do not decay."""
LABEL_SMOOTHING = 0.1
"""Szegedy et al. 2015 (arXiv:1512.00567), section 7."""
LEARNING_RATE = 0.05
"""Constant, small enough that float32 runs stay together for 50 steps."""

_EXAMPLES = 512


@dataclass(frozen=True)
class Unit:
    """A convolution without bias and its batch norm: `path` is where its weights stand, `side` that of its output."""

    path: str
    size: int
    inputs: int
    outputs: int
    stride: int
    side: int


@dataclass(frozen=True)
class Block:
    """A bottleneck: 1x1, 3x3 with the stride (v1.5), 1x1, and the shortcut, projected in the first block of a stage."""

    path: str
    inputs: int
    width: int
    stride: int
    projected: bool

    @property
    def outputs(self) -> int:
        """Channels of the result."""
        return EXPANSION * self.width


def blocks(dimensions: Dimensions) -> tuple[Block, ...]:
    """Every block in order; stage n doubles the width of the one before, and halves the side from the second on.

    Raises:
      ValueError: dimensions that make no such network.
    """
    _check(dimensions)
    result: list[Block] = []
    inputs = dimensions["width"]
    for stage in range(1, 5):
        width = dimensions["width"] * 2 ** (stage - 1)
        for index in range(dimensions[f"stage{stage}"]):
            first = index == 0
            stride = 2 if first and stage > 1 else 1
            result.append(Block(f"stage{stage}/block{index + 1}", inputs, width, stride, first))
            inputs = EXPANSION * width
    return tuple(result)


def units(dimensions: Dimensions) -> Iterator[Unit]:
    """Every convolution with its norm: stem first, then block by block."""
    side = dimensions["side"] // 2
    yield Unit("stem", STEM_SIZE, 3, dimensions["width"], 2, side)
    side //= 2
    for block in blocks(dimensions):
        yield Unit(f"{block.path}/reduce", 1, block.inputs, block.width, 1, side)
        side //= block.stride
        yield Unit(f"{block.path}/spatial", 3, block.width, block.width, block.stride, side)
        yield Unit(f"{block.path}/expand", 1, block.width, block.outputs, 1, side)
        if block.projected:
            yield Unit(f"{block.path}/shortcut", 1, block.inputs, block.outputs, block.stride, side)


def _check(dimensions: Dimensions) -> None:
    counts = [dimensions[f"stage{stage}"] for stage in range(1, 5)]
    depth = sum(count > 0 for count in counts)
    if not depth or not all(counts[:depth]):
        raise ValueError(f"expected blocks in stage1 and no empty stage between others, found {counts}: fill them up")
    if dimensions["side"] % 2 ** (depth + 1):
        raise ValueError(
            f"expected a side that halves {depth + 1} times, found {dimensions['side']}: "
            f"take a multiple of {2 ** (depth + 1)}"
        )


def inputs(dimensions: Dimensions) -> dict[str, ArraySpec]:
    """Inputs images: f32[batch, side, side, 3] in [0, 1); labels: i32[batch] in [0, classes).

    Raises:
      ValueError: dimensions that make no such network.
    """
    _check(dimensions)
    batch, side = dimensions["batch"], dimensions["side"]
    return {
        "images": ArraySpec((batch, side, side, 3), low=0, high=1),
        "labels": ArraySpec((batch,), "int32", low=0, high=dimensions["classes"]),
    }


def weights(dimensions: Dimensions) -> dict[str, ArraySpec]:
    """Kernels [height, width, in, out] of variance 2 / fan-in (He et al. 2015); a block's last gamma is small.

    Goyal et al. 2017 (arXiv:1706.02677, section 5.1) start it at zero: blocks that begin near the identity keep
    activations in range at any depth.
    """
    specs: dict[str, ArraySpec] = {}
    for unit in units(dimensions):
        fan_in = unit.size * unit.size * unit.inputs
        low, high = (0.1, 0.3) if unit.path.endswith("expand") else (0.8, 1.2)
        specs |= {
            f"{unit.path}/kernel": ArraySpec(
                (unit.size, unit.size, unit.inputs, unit.outputs), scale=(2 / fan_in) ** 0.5
            ),
            f"{unit.path}/gamma": ArraySpec((unit.outputs,), low=low, high=high),
            f"{unit.path}/beta": ArraySpec((unit.outputs,), scale=0.1),
            f"{unit.path}/mean": ArraySpec((unit.outputs,), scale=0.1),
            f"{unit.path}/variance": ArraySpec((unit.outputs,), low=0.5, high=2),
        }
    features, classes = blocks(dimensions)[-1].outputs, dimensions["classes"]
    return specs | {
        "head/kernel": ArraySpec((features, classes), scale=features**-0.5),
        "head/bias": ArraySpec((classes,), scale=0.1),
    }


def cost(dimensions: Dimensions) -> Cost:
    """Three products per convolution (forward, both gradients), the stem's less one; norms, momentum and decay.

    A convolution takes 2 size^2 in out operations per place of its output. Batch norm takes 7 per value forward
    (mean, variance, scale, shift) and 11 backward. Momentum and decay take 6 per weight. Activations of every
    convolution are written once and read once more by the backward pass, counted in float32 at mixed sizes too.
    """
    batch = dimensions["batch"]
    products = values = parameters = 0
    for unit in units(dimensions):
        places = batch * unit.side * unit.side
        kernel = unit.size * unit.size * unit.inputs * unit.outputs
        products += 2 * places * kernel * (2 if unit.path == "stem" else 3)
        values += places * unit.outputs
        parameters += kernel + 2 * unit.outputs
    head = blocks(dimensions)[-1].outputs * dimensions["classes"]
    images = batch * dimensions["side"] ** 2 * 3
    flops = products + 3 * 2 * batch * head + 18 * values + 6 * (parameters + head)
    traffic = 4 * (images + 2 * values + 4 * (parameters + head))
    return Cost(flops, traffic, "convolutions 2 k^2 in out a place, three times; weights and momenta read and written")


def examples(dimensions: Dimensions) -> Arrays:
    """Gratings from `_gratings`: images f32[512, side, side, 3], labels i32[512]."""
    return _gratings.images(_EXAMPLES, dimensions["side"], dimensions["classes"])


def _size(batch: int, side: int, width: int, classes: int, *counts: int) -> dict[str, int]:
    stages = {f"stage{stage}": count for stage, count in enumerate(counts, start=1)}
    return {"batch": batch, "side": side, "width": width, "classes": classes} | stages


_SMOKE = _size(16, 32, 8, 4, 1, 1, 0, 0)

WORKLOAD = Workload(
    name="resnet50",
    summary="residual network v1.5: batch norm with moving statistics, label smoothing, momentum, weight decay",
    source="S10: ResNet-50 of the Model Garden (He et al. 2015, arXiv:1512.03385; stride in the 3x3)",
    tf="tf_reference.resnet50:build",
    jax="jaxport.resnet50:build",
    inputs=inputs,
    weights=weights,
    cost=cost,
    sizes={
        "smoke": _SMOKE,
        "default": _size(8, 128, 16, 10, 2, 2, 2, 2),
        "paper": _size(128, 224, 64, 1000, 3, 4, 6, 3),
        **mixed_sizes(_SMOKE),
    },
    training=Training(synthetic=examples),
)
