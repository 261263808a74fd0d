"""A staged vision pipeline: patches cut at camera positions, preprocessed, classified by a FocalNet of three stages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workloads import _gratings
from workloads._transformer import dense_weights, norm_weights
from workloads.core.spec import Arrays, ArraySpec, Cost, Dimensions, Training, Workload

STAGES = 3
SHRINK = 2
"""Preprocessing halves each side of a patch."""
PATCH = 4
"""Side of the places that are embedded as one; between stages MERGE x MERGE places become one."""
MERGE = 2
WINDOW = 3
"""Level n looks through a depthwise kernel of side WINDOW + 2 (n - 1)."""
EXPANSION = 4
NORM_EPSILON = 1e-5
"""These five: Yang et al. 2022 (arXiv:2203.11926), section 3.2 and table 1 of the appendix."""
MEAN = (0.485, 0.456, 0.406)
DEVIATION = (0.229, 0.224, 0.225)
"""The deviations of the channels of ImageNet's images, by which its classifiers' inputs are scaled."""
LEARNING_RATE = 1e-3

_FRAMES = 32


@dataclass(frozen=True)
class Block:
    """A focal modulation and a dense block on `side` x `side` places of `width` channels, `index` counted from 0."""

    path: str
    stage: int
    index: int
    width: int
    side: int
    levels: int

    @property
    def kernels(self) -> tuple[int, ...]:
        """Side of the depthwise kernel of every level."""
        return tuple(WINDOW + 2 * level for level in range(self.levels))

    @property
    def projection_width(self) -> int:
        """The width of the first product: query, context, and a gate for every level and the whole."""
        return 2 * self.width + self.levels + 1


@dataclass(frozen=True)
class Merge:
    """Every `size` x `size` places made one, on `side` x `side` places: a convolution whose stride is its size."""

    path: str
    size: int
    inputs: int
    outputs: int
    side: int


def merges(dimensions: Dimensions) -> tuple[Merge, ...]:
    """The embedding, which stands before the first stage, and the merge before each other stage."""
    side = _side(dimensions)
    result = [Merge("embed", PATCH, 3, dimensions["width"], side)]
    for stage in range(2, STAGES + 1):
        side //= MERGE
        widths = stage_width(dimensions, stage - 1), stage_width(dimensions, stage)
        result.append(Merge(f"stage{stage}/merge", MERGE, *widths, side))
    return tuple(result)


def _side(dimensions: Dimensions) -> int:
    return dimensions["crop"] // (SHRINK * PATCH)


def blocks(dimensions: Dimensions) -> tuple[Block, ...]:
    """Every block in order.

    Raises:
      ValueError: dimensions that make no such pipeline.
    """
    _check(dimensions)
    side = _side(dimensions)
    result: list[Block] = []
    for stage in range(1, STAGES + 1):
        width = stage_width(dimensions, stage)
        for index in range(dimensions[f"stage{stage}"]):
            result.append(Block(f"stage{stage}/block{index + 1}", stage, index, width, side, dimensions["levels"]))
        side //= MERGE
    return tuple(result)


def stage_width(dimensions: Dimensions, stage: int) -> int:
    """Channels of a stage, counted from 1: each doubles them."""
    return dimensions["width"] * 2 ** (stage - 1)


def _check(dimensions: Dimensions) -> None:
    unit = SHRINK * PATCH * MERGE ** (STAGES - 1)
    if dimensions["crop"] % unit:
        raise ValueError(
            f"expected a crop that is shrunk, embedded and merged without a rest, found {dimensions['crop']}: "
            f"take a multiple of {unit}"
        )
    if dimensions["frame"] < dimensions["crop"]:
        raise ValueError(
            f"expected frames that hold a crop of {dimensions['crop']}, found {dimensions['frame']}: "
            "give larger frames or smaller crops"
        )
    counts = [dimensions[f"stage{stage}"] for stage in range(1, STAGES + 1)]
    if not all(counts):
        raise ValueError(f"expected blocks in every stage, found {counts}: give each stage one at least")


def inputs(dimensions: Dimensions) -> dict[str, ArraySpec]:
    """Inputs of one training step.

    frames: f32[batch, frame, frame, 3] in [0, 1); positions: i32[batch, patches, 2]; labels: i32[batch, patches].
    A position is the pixel (row, column) that the camera looks at; crops at an edge are moved inside.

    Raises:
      ValueError: dimensions that make no such pipeline.
    """
    _check(dimensions)
    batch, frame, patches = dimensions["batch"], dimensions["frame"], dimensions["patches"]
    return {
        "frames": ArraySpec((batch, frame, frame, 3), low=0, high=1),
        "positions": ArraySpec((batch, patches, 2), "int32", low=0, high=frame),
        "labels": ArraySpec((batch, patches), "int32", low=0, high=dimensions["classes"]),
    }


def weights(dimensions: Dimensions) -> dict[str, ArraySpec]:
    """Kernels [in, out] and [height, width, in, out] of variance 1 / fan-in; gammas near one, small random biases."""
    specs: dict[str, ArraySpec] = {}
    for merge in merges(dimensions):
        specs |= _convolution(merge)
    for block in blocks(dimensions):
        specs |= _block(block)
    features, classes = stage_width(dimensions, STAGES), dimensions["classes"]
    return specs | norm_weights("norm", features) | dense_weights("head", features, classes)


def _convolution(merge: Merge) -> dict[str, ArraySpec]:
    fan_in = merge.size * merge.size * merge.inputs
    kernel = ArraySpec((merge.size, merge.size, merge.inputs, merge.outputs), scale=fan_in**-0.5)
    bias = ArraySpec((merge.outputs,), scale=0.1)
    return {f"{merge.path}/kernel": kernel, f"{merge.path}/bias": bias} | norm_weights(
        f"{merge.path}/norm", merge.outputs
    )


def _block(block: Block) -> dict[str, ArraySpec]:
    path, width = block.path, block.width
    levels = {
        f"{path}/focal{level}/kernel": ArraySpec((size, size, width, 1), scale=1 / size)
        for level, size in enumerate(block.kernels, start=1)
    }
    return (
        norm_weights(f"{path}/norm1", width)
        | dense_weights(f"{path}/project", width, block.projection_width)
        | levels
        | dense_weights(f"{path}/modulate", width, width)
        | dense_weights(f"{path}/output", width, width)
        | norm_weights(f"{path}/norm2", width)
        | dense_weights(f"{path}/expand", width, EXPANSION * width)
        | dense_weights(f"{path}/contract", EXPANSION * width, width)
    )


def cost(dimensions: Dimensions) -> Cost:
    """Three products per layer (forward, both gradients), the embedding's less one, and Adam.

    A dense layer takes 2 in out operations per place, a depthwise kernel of side k takes 2 k^2 per value; norms,
    gates and gelus take some 60 per value of a block. Adam takes ten per weight (Kingma and Ba 2015, section 2).
    Frames are read where they are cut, and weights and both moments are read and written.
    """
    batch = dimensions["batch"] * dimensions["patches"]
    products = 0
    for merge in merges(dimensions):
        kernel = merge.size**2 * merge.inputs * merge.outputs
        products += 2 * batch * merge.side**2 * kernel * (2 if merge.path == "embed" else 3)
    values = 0
    for block in blocks(dimensions):
        dense = block.width * (block.projection_width + 2 * block.width + 2 * EXPANSION * block.width)
        depthwise = block.width * sum(size * size for size in block.kernels)
        products += 3 * 2 * batch * block.side**2 * (dense + depthwise)
        values += batch * block.side**2 * block.width
    parameters = sum(int(np.prod(spec.shape)) for spec in weights(dimensions).values())
    crops = batch * dimensions["crop"] ** 2 * 3
    return Cost(
        products + 60 * values + 10 * parameters,
        4 * (crops + 6 * parameters),
        "products 2mnk each, thrice; crops read once; weights and moments read and written",
    )


def interpolation(size: int) -> np.ndarray:
    """Bilinear resampling of `size` values to size / SHRINK with half-pixel centres, as f64[size / SHRINK, size].

    It is what tf.image.resize computes, which returns float32 whatever it is given.
    """
    size_reduced = size // SHRINK
    centres = (np.arange(size_reduced) + 0.5) * SHRINK - 0.5
    return np.maximum(0, 1 - np.abs(centres[:, None] - np.arange(size)))


def examples(dimensions: Dimensions) -> Arrays:
    """Frames tiled with gratings, and positions near the centres of tiles, labelled with the class of the tile.

    frames: f32[32, frame, frame, 3] in [0, 1]; positions: i32[32, patches, 2] in pixels; labels: i32[32, patches].
    """
    crop, patches, frame = dimensions["crop"], dimensions["patches"], dimensions["frame"]
    generator = np.random.default_rng(0)
    across = frame // crop
    tiles = _gratings.images(_FRAMES * across * across, crop, dimensions["classes"])
    images = tiles["images"].reshape(_FRAMES, across, across, crop, crop, 3).swapaxes(2, 3)
    frames = np.zeros((_FRAMES, frame, frame, 3), np.float32)
    frames[:, : across * crop, : across * crop] = images.reshape(_FRAMES, across * crop, across * crop, 3)
    places = generator.integers(0, across, (_FRAMES, patches, 2))
    shifts = generator.integers(-crop // 8, crop // 8 + 1, places.shape)
    labels = tiles["labels"].reshape(_FRAMES, across, across)
    return {
        "frames": frames,
        "positions": (places * crop + crop // 2 + shifts).astype(np.int32),
        "labels": labels[np.arange(_FRAMES)[:, None], places[..., 0], places[..., 1]],
    }


_SMOKE = {
    "batch": 4, "frame": 64, "patches": 4, "crop": 32, "width": 8, "levels": 2, "stage1": 1, "stage2": 1, "stage3": 1,
    "classes": 4,
}  # fmt: skip

WORKLOAD = Workload(
    name="focalnet_pipeline",
    summary="patches cut at camera positions, resized, normalised, classified by focal modulation; trained with Adam",
    source="S24: a staged vision pipeline around a FocalNet (Yang et al. 2022, arXiv:2203.11926)",
    tf="tf_reference.focalnet_pipeline:build",
    jax="jaxport.focalnet_pipeline:build",
    inputs=inputs,
    weights=weights,
    cost=cost,
    sizes={
        "smoke": _SMOKE,
        "default": {
            "batch": 2,
            "frame": 256,
            "patches": 8,
            "crop": 128,
            "width": 48,
            "levels": 3,
            "stage1": 2,
            "stage2": 2,
            "stage3": 2,
            "classes": 10,
        },
        "paper": {
            "batch": 4,
            "frame": 896,
            "patches": 32,
            "crop": 448,
            "width": 96,
            "levels": 3,
            "stage1": 2,
            "stage2": 2,
            "stage3": 6,
            "classes": 1000,
        },
        "deeper": _SMOKE | {"stage1": 2, "stage2": 2, "stage3": 6},
    },
    training=Training(synthetic=examples),
)
