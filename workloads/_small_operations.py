"""Single operations and small blocks, by size: from which size on compiling them wins is measured of each.

All take `elements`, the elements of their first input: a power of 4 is a whole number of rows and columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from workloads.core.spec import ArraySpec, Dimensions, Workload

ELEMENTS = "elements"

SIZES = tuple(4**power for power in range(3, 10))
"""The sizes of `elements`: from 64, where a call is all dispatch, to 262,144, a megabyte of float32."""

CHANNELS = 16
"""The channels of the convolution, in and out; its images have elements / CHANNELS pixels."""


def _side(dimensions: Dimensions, per_pixel: int = 1) -> int:
    elements = dimensions[ELEMENTS]
    side = math.isqrt(elements // per_pixel)
    if side * side * per_pixel != elements or not side:
        of = f"{per_pixel} times a square" if per_pixel > 1 else "a square"
        raise ValueError(f"expected {ELEMENTS} to be {of}, found {elements}: choose powers of 4 from {4 * per_pixel}")
    return side


def _vector(dimensions: Dimensions) -> dict[str, ArraySpec]:
    return {"x": ArraySpec((dimensions[ELEMENTS],))}


def _vectors(dimensions: Dimensions) -> dict[str, ArraySpec]:
    return {**_vector(dimensions), "y": ArraySpec((dimensions[ELEMENTS],))}


def _matrix(dimensions: Dimensions) -> dict[str, ArraySpec]:
    side = _side(dimensions)
    return {"x": ArraySpec((side, side))}


def _normalization_inputs(dimensions: Dimensions) -> dict[str, ArraySpec]:
    side = _side(dimensions)
    return {**_matrix(dimensions), "gamma": ArraySpec((side,), low=0.5, high=1.5), "beta": ArraySpec((side,))}


def _kernels(count: int, biases: bool) -> Callable[[Dimensions], dict[str, ArraySpec]]:
    """Square matrices whose products with the input neither grow nor vanish, and a bias to each."""

    def inputs(dimensions: Dimensions) -> dict[str, ArraySpec]:
        side = _side(dimensions)
        specs = _matrix(dimensions)
        for layer in range(count):
            specs[f"kernel{layer}"] = ArraySpec((side, side), scale=side**-0.5)
            if biases:
                specs[f"bias{layer}"] = ArraySpec((side,), scale=0.1)
        return specs

    return inputs


def _picture(dimensions: Dimensions) -> dict[str, ArraySpec]:
    side = _side(dimensions, CHANNELS)
    kernel = ArraySpec((3, 3, CHANNELS, CHANNELS), scale=(9 * CHANNELS) ** -0.5)
    return {"x": ArraySpec((1, side, side, CHANNELS)), "kernel": kernel}


def _operation(name: str, summary: str, inputs: Callable[[Dimensions], Mapping[str, ArraySpec]]) -> Workload:
    return Workload(
        name=name,
        summary=summary,
        tf=f"tf_reference._small_operations:{name}",
        jax=f"jaxport._small_operations:{name}",
        inputs=inputs,
        sizes={"default": {ELEMENTS: SIZES[0]}},
        builds=False,
    )


OPERATIONS = {
    workload.name: workload
    for workload in (
        _operation("elementwise", "a chain of five elementwise operations", _vectors),
        _operation("reduction", "the mean of squares", _vector),
        _operation("softmax", "softmax over rows", _matrix),
        _operation("layer_norm", "layer normalization of rows", _normalization_inputs),
        _operation("matmul", "a product of square matrices: a library call", _kernels(1, biases=False)),
        _operation("convolution", "a 3 x 3 convolution of 16 channels: a library call", _picture),
        _operation("dense", "a dense layer with relu", _kernels(1, biases=True)),
        _operation("mlp", "three dense layers", _kernels(3, biases=True)),
    )
}
"""By name, in the order of reports: from one kernel to several, with library calls between."""
