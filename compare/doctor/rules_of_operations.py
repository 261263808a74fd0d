"""When an entry of the catalogue applies to an operation of the graph, by its attributes and dtypes."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from workloads.protocol.inspection import Operation

_FLOATS = ("float16", "bfloat16", "float32", "float64")
_BYTES = ("uint8", "int8")


@dataclass(frozen=True)
class OperationRule:
    """An entry applies to operations of these types where the condition holds.

    Attributes:
      entry: THEME/NAME.
      types: of operations, as graphs name them.
      when: whether it does.
      shows: attributes that decide.
    """

    entry: str
    types: tuple[str, ...]
    when: Callable[[Operation], bool]
    shows: tuple[str, ...] = ()


def _always(operation: Operation) -> bool:
    return True


def _is(**values: Any) -> Callable[[Operation], bool]:
    """All these attributes have these values."""
    return lambda operation: all(operation.attributes.get(name) == value for name, value in values.items())


def _strided_same(operation: Operation) -> bool:
    strides = operation.attributes.get("strides")
    has_strides = (
        operation.attributes.get("padding") == "SAME" and isinstance(strides, list) and max(strides, default=1) > 1
    )
    return has_strides and not _is_pointwise(operation)


def _is_pointwise(operation: Operation) -> bool:
    """Whether the kernel is known to have one element along each axis: SAME pads nothing then, whatever the stride."""
    kernel = operation.kernel
    return bool(kernel) and all(size == 1 for size in kernel)


def _of(dtypes: Collection[str]) -> Callable[[Operation], bool]:
    """The first input is of one of these dtypes."""
    return lambda operation: operation.inputs[:1] != () and operation.inputs[0] in dtypes


def _integers(operation: Operation) -> bool:
    return operation.inputs[:1] != () and operation.inputs[0].startswith(("int", "uint"))


def _of_arrays(operation: Operation) -> bool:
    """Not of single numbers, such as the counters of a loop over a range."""
    return operation.shapes[:1] != ((),)


def _integer_arrays(operation: Operation) -> bool:
    return _integers(operation) and _of_arrays(operation)


def _cast_to(dtypes: Collection[str]) -> Callable[[Operation], bool]:
    return lambda operation: _of(_FLOATS)(operation) and operation.outputs[0] in dtypes


def _alpha(operation: Operation) -> bool:
    alpha = operation.attributes.get("alpha")
    return isinstance(alpha, float) and abs(alpha - 0.01) > 1e-6


_V1 = {"half_pixel_centers": False, "align_corners": False}

OPERATIONS = (
    OperationRule("activations/leaky_relu", ("LeakyRelu",), _alpha, ("alpha",)),
    OperationRule("convolution/conv_same_stride", ("Conv2D", "Conv3D", "DepthwiseConv2dNative"), _strided_same,
                  ("padding", "strides")),
    OperationRule("pooling/avg_pool_same", ("AvgPool", "AvgPool3D"), _is(padding="SAME"), ("padding",)),
    OperationRule("pooling/max_pool_tie", ("MaxPool", "MaxPoolV2", "MaxPool3D"), _always),
    OperationRule("kinks/maximum_tie", ("Maximum",), _of(_FLOATS)),
    OperationRule("kinks/minimum_tie", ("Minimum",), _of(_FLOATS)),
    OperationRule("elementwise_math/cumsum_exclusive", ("Cumsum",), _is(exclusive=True), ("exclusive",)),
    OperationRule("elementwise_math/cumsum_reverse", ("Cumsum",), _is(reverse=True), ("reverse",)),
    OperationRule("dtypes/integer_mean", ("Mean",), _integers, ("T",)),
    OperationRule("dtypes/byte_mean", ("Mean",), _of(_BYTES), ("T",)),
    OperationRule("dtypes/byte_sum", ("Sum",), _of(_BYTES), ("T",)),
    OperationRule("dtypes/byte_product", ("Prod",), _of(_BYTES), ("T",)),
    OperationRule("compilation/float16_mean", ("Mean",), _of(("float16",)), ("T",)),
    OperationRule("compilation/integer_mean_overflow", ("Mean",), _integers, ("T",)),
    OperationRule("dtypes/cast_to_byte", ("Cast",), _cast_to(_BYTES), ("SrcT", "DstT")),
    OperationRule("dtypes/truncatediv", ("TruncateDiv",), _always),
    OperationRule("dtypes/truncatemod", ("TruncateMod",), _always),
    OperationRule("dtypes/floormod_sign", ("FloorMod",), _of_arrays),
    OperationRule("compilation/floordiv_by_zero", ("FloorDiv",), _integer_arrays, ("T",)),
    OperationRule("dtypes/population_count", ("PopulationCount",), _always),
    OperationRule("indexing/gather_beyond", ("GatherV2", "Gather", "ResourceGather"), _always),
    OperationRule("indexing/gather_negative", ("GatherV2", "Gather", "ResourceGather"), _always),
    OperationRule("compilation/gather_nd_beyond", ("GatherNd",), _always),
    OperationRule("indexing/scatter_twice", ("ScatterNd",), _always),
    OperationRule("indexing/scatter_negative", ("ScatterNd",), _always),
    OperationRule("indexing/tensor_scatter_update_negative", ("TensorScatterUpdate",), _always),
    OperationRule("indexing/reverse_sequence", ("ReverseSequence",), _always),
    OperationRule("normalization/fused_batch_norm_variance", ("FusedBatchNormV3", "FusedBatchNormV2", "FusedBatchNorm"),
                  _is(is_training=True), ("is_training",)),
    OperationRule("normalization/local_response_normalization", ("LRN",), _always, ("depth_radius", "alpha")),
    OperationRule("randomness/stateless_uniform", ("StatelessRandomUniform", "StatelessRandomUniformV2"), _always),
    OperationRule("randomness/stateless_normal", ("StatelessRandomNormal", "StatelessRandomNormalV2"), _always),
    OperationRule("randomness/stateless_truncated_normal", ("StatelessTruncatedNormal", "StatelessTruncatedNormalV2"),
                  _always),
    OperationRule("randomness/stateless_integers", ("StatelessRandomUniformInt", "StatelessRandomUniformIntV2"),
                  _always),
    OperationRule("resizing/resize_bilinear_down", ("ResizeBilinear",), _is(half_pixel_centers=True),
                  ("half_pixel_centers",)),
    OperationRule("resizing/resize_bilinear_v1", ("ResizeBilinear",), _is(**_V1), tuple(_V1)),
    OperationRule("resizing/resize_bilinear_align_corners", ("ResizeBilinear",), _is(align_corners=True),
                  ("align_corners",)),
    OperationRule("resizing/resize_nearest_v1", ("ResizeNearestNeighbor",), _is(**_V1), tuple(_V1)),
    OperationRule("resizing/resize_bicubic", ("ResizeBicubic",), _always),
    OperationRule("resizing/crop_and_resize", ("CropAndResize",), _always),
    OperationRule("resizing/extract_patches", ("ExtractImagePatches",), _always),
    OperationRule("resizing/depth_to_space", ("DepthToSpace",), _always),
    OperationRule("resizing/space_to_depth", ("SpaceToDepth",), _always),
    OperationRule("segments/segment_max_empty", ("UnsortedSegmentMax",), _always),
    OperationRule("segments/segment_min_empty", ("UnsortedSegmentMin",), _always),
    OperationRule("sorting/unique_order", ("Unique", "UniqueV2"), _always),
    OperationRule("sorting/searchsorted_nan", ("LowerBound", "UpperBound"), _of(_FLOATS)),
    OperationRule("sorting/in_top_k_tie", ("InTopKV2", "InTopK"), _always),
)  # fmt: skip
