"""Mask R-CNN: a detector that finds objects, their classes, boxes and masks, and its training step."""

from __future__ import annotations

import math

from workloads import _anchors, _scenes
from workloads.core.arrays import power_of_two
from workloads.core.precision import mixed_sizes
from workloads.core.spec import ArraySpec, Cost, Dimensions, Training, Workload

KERNEL = 3
COLOURS = 3
BIAS = 1 / 16
PREDICTIONS = ("proposing/objectness", "proposing/deltas", "regions/classes", "regions/deltas", "masks/classes")


def inputs(dimensions: Dimensions) -> dict[str, ArraySpec]:
    """Inputs of one training step.

    images: f32[batch, image, image, 3] in [0, 1). Objects as boxes: f32[batch, objects, 4] (y1, x1, y2, x2 as
    fractions of the side; an empty box is no object), classes: i32[batch, objects] (0: none), and masks:
    u8[batch, objects, image, image] of 0 and 1.

    Raises:
      ValueError: an image that the pyramid does not divide, or more to choose than there is to choose from.
    """
    check(dimensions)
    batch, image, objects = dimensions["batch"], dimensions["image"], dimensions["objects"]
    return {
        "images": ArraySpec((batch, image, image, COLOURS), low=0, high=1),
        "boxes": ArraySpec((batch, objects, 4), low=0, high=1),
        "classes": ArraySpec((batch, objects), "int32", low=0, high=dimensions["classes"] + 1),
        "masks": ArraySpec((batch, objects, image, image), "uint8", low=0, high=2),
    }


def check(dimensions: Dimensions) -> None:
    """Refuse sizes that mean nothing.

    Raises:
      ValueError: an image that the pyramid does not divide, or more to choose than there is to choose from.
    """
    anchors = len(_anchors.RATIOS) * sum(grid * grid for grid in _anchors.grids(dimensions))
    candidates, proposals = dimensions["candidates"], dimensions["proposals"]
    regions = proposals + dimensions["objects"]
    limits = (
        ("candidates", candidates, "anchors", anchors),
        ("proposals", proposals, "candidates", candidates),
        ("detections", dimensions["detections"], "proposals", proposals),
        ("mask_regions", dimensions["mask_regions"], "proposals plus objects", regions),
    )
    for name, count, among, most in limits:
        if not 0 < count <= most:
            raise ValueError(f"expected {name} in 1..{most}, found {count}: they are chosen among the {among}")
    if dimensions["classes"] < _scenes.SHAPES:
        raise ValueError(
            f"expected at least {_scenes.SHAPES} classes, found {dimensions['classes']}: the scenes show so many shapes"
        )


def kernels(dimensions: Dimensions) -> dict[str, tuple[int, ...]]:
    """Layer -> shape of its kernel: [height, width, in, out], dense [in, out], the deconvolution [2, 2, out, in]."""
    width, pyramid, hidden = dimensions["width"], dimensions["pyramid"], dimensions["hidden"]
    pool, classes, square = dimensions["pool"], dimensions["classes"], (KERNEL, KERNEL)
    shapes: dict[str, tuple[int, ...]] = {"backbone/stem": (*square, COLOURS, width)}
    for stage in range(1, dimensions["levels"] + 1):
        narrow, wide = width * 2 ** max(stage - 2, 0), width * 2 ** (stage - 1)
        shapes[f"backbone/stage{stage}/down"] = (*square, narrow, wide)
        for block in range(1, dimensions["blocks"] + 1):
            shapes[f"backbone/stage{stage}/block{block}"] = (*square, wide, wide)
        shapes[f"pyramid/lateral{stage}"] = (1, 1, wide, pyramid)
        shapes[f"pyramid/output{stage}"] = (*square, pyramid, pyramid)
    ratios = len(_anchors.RATIOS)
    shapes |= {
        "proposing/hidden": (*square, pyramid, pyramid),
        "proposing/objectness": (pyramid, ratios),
        "proposing/deltas": (pyramid, 4 * ratios),
    }
    for index in range(1, dimensions["region_layers"] + 1):
        shapes[f"regions/hidden{index}"] = (hidden if index > 1 else pool * pool * pyramid, hidden)
    shapes |= {"regions/classes": (hidden, classes + 1), "regions/deltas": (hidden, 4 * classes)}
    for index in range(1, dimensions["mask_layers"] + 1):
        shapes[f"masks/hidden{index}"] = (*square, pyramid, pyramid)
    return shapes | {"masks/upsampling": (2, 2, pyramid, pyramid), "masks/classes": (1, 1, pyramid, classes)}


def weights(dimensions: Dimensions) -> dict[str, ArraySpec]:
    """Uniform kernels, of the shapes in `kernels`, of about variance 2 / fan-in, and biases [out].

    He et al. 2015 (arXiv:1502.01852) for the variance; less where a layer adds to others or predicts. Limits are powers
    of two. At the kinks weights are then 0 or plus or minus their limit, values keep their size from layer to layer,
    and every sum is exact. Batch normalisation, frozen in the paper, is an affine map there and part of the
    convolutions here.
    """
    specs = {}
    for layer, shape in kernels(dimensions).items():
        is_transposed = layer == "masks/upsampling"
        incoming, outgoing = (shape[3], shape[2]) if is_transposed else (math.prod(shape[:-1]), shape[-1])
        gain = 1 / 8 if layer in PREDICTIONS else 1 / 2 if "block" in layer else 1
        limit = power_of_two(gain * (6 / incoming) ** 0.5)
        specs[f"{layer}/kernel"] = ArraySpec(shape, low=-limit, high=limit)
        specs[f"{layer}/bias"] = ArraySpec((outgoing,), low=-BIAS, high=BIAS)
    return specs


def cost(dimensions: Dimensions) -> Cost:
    """Three products per layer (forward, both gradients): two operations per weight and position each.

    A weight of a convolution is used at every position of its output, one of the box head in every region, one of
    the mask head at every position of every mask region. RoIAlign, the choices, losses and momentum's four
    operations per weight are of lower order; only the last is counted.
    """
    shapes = kernels(dimensions)
    products = sum(math.prod(shape) * _positions(dimensions, layer) for layer, shape in shapes.items())
    parameters = sum(math.prod(spec.shape) for spec in weights(dimensions).values())
    batch, image, objects = dimensions["batch"], dimensions["image"], dimensions["objects"]
    read = batch * (4 * COLOURS * image * image + objects * (image * image + 20))
    flops = 3 * 2 * batch * products + 4 * parameters
    return Cost(flops, read + 16 * parameters, "2 per weight and position, three times; weights and momenta both ways")


def _positions(dimensions: Dimensions, layer: str) -> int:
    """How often a layer's kernel is applied per image."""
    areas = [grid * grid for grid in _anchors.grids(dimensions)]
    part, name = layer.split("/")[:2]
    if part == "backbone":
        return 4 * areas[0] if name == "stem" else areas[int(name.removeprefix("stage")) - 1]
    if part == "pyramid":
        return areas[int(name[-1]) - 1]
    if part == "proposing":
        return sum(areas)
    if part == "regions":
        return dimensions["proposals"] + dimensions["objects"]
    pixels = dimensions["mask_regions"] * dimensions["mask_pool"] ** 2
    return 4 * pixels if name == "classes" else pixels


_SMOKE = {
    "batch": 2, "image": 32, "levels": 2, "blocks": 0, "width": 6, "pyramid": 8, "anchor": 3,
    "candidates": 16, "proposals": 8, "region_layers": 1, "hidden": 16, "pool": 3, "classes": 3, "objects": 2,
    "detections": 4, "mask_regions": 4, "mask_pool": 4, "mask_layers": 0,
}  # fmt: skip

WORKLOAD = Workload(
    name="mask_rcnn",
    summary="Mask R-CNN on drawn scenes: detections forward; five losses, gradients and momentum update as one program",
    source="S10: the Model Garden set, Mask R-CNN (He et al. 2017, arXiv:1703.06870) with a feature pyramid, on "
    "a backbone of plain residual convolutions in place of ResNet",
    tf="tf_reference.mask_rcnn:build",
    jax="jaxport.mask_rcnn:build",
    inputs=inputs,
    weights=weights,
    cost=cost,
    sizes={
        "smoke": _SMOKE,
        "default": {
            "batch": 2, "image": 128, "levels": 4, "blocks": 1, "width": 16, "pyramid": 32, "anchor": 4,
            "candidates": 128, "proposals": 48, "region_layers": 2, "hidden": 128, "pool": 7, "classes": 6,
            "objects": 4, "detections": 16, "mask_regions": 16, "mask_pool": 14, "mask_layers": 2,
        },
        "paper": {
            "batch": 2, "image": 1024, "levels": 4, "blocks": 4, "width": 128, "pyramid": 256, "anchor": 8,
            "candidates": 2000, "proposals": 1000, "region_layers": 2, "hidden": 1024, "pool": 7, "classes": 80,
            "objects": 20, "detections": 100, "mask_regions": 128, "mask_pool": 14, "mask_layers": 4,
        },
        **mixed_sizes(_SMOKE, ("bfloat16",)),
    },
    training=Training(synthetic=_scenes.load),
)  # fmt: skip
