"""Rules of convolutions."""

from __future__ import annotations

import math

from compare.weights.core_rules import KERNEL_AND_BIAS
from compare.weights.rule import (
    ANY_MODULE,
    Argument,
    Carried,
    Counterpart,
    Module,
    Rule,
    attributes_of_call,
    dtypes,
    flag,
    present,
    same,
    shape_of,
)
from compare.weights.transforms import Reshape
from workloads.protocol.inspection import Plain
from workloads.protocol.transfer import SourceLayer

_CHANNELS_LAST = {"data_format": ("channels_last", None)}


def _conv(layer: SourceLayer) -> Counterpart:
    kernel, groups = shape_of(layer, "kernel"), _groups(layer)
    channels: dict[str, Plain] = {"in_features": kernel[-2] * groups, "out_features": kernel[-1]} if kernel else {}
    arguments = {**channels, **_window(layer, kernel[:-2]), "feature_group_count": groups}
    module = Module("nnx.Conv", {**arguments, "use_bias": flag(layer, "use_bias"), **dtypes(layer)})
    return Counterpart(
        module, carried=present(layer, same(*KERNEL_AND_BIAS)), unchecked=attributes_of_call(layer, "activation")
    )


def _groups(layer: SourceLayer) -> int:
    groups = layer.config.get("groups")
    return groups if isinstance(groups, int) else 1


def _as_list(value: Plain, count: int) -> list[Plain]:
    return value if isinstance(value, list) else [value] * count


def _window(layer: SourceLayer, kernel: tuple[int, ...]) -> dict[str, Argument]:
    """Sizes that the kernel is moved by. `kernel` is its own, without channels."""
    count = len(kernel)
    return {
        "kernel_size": list(kernel),
        "strides": _as_list(layer.config.get("strides", 1), count),
        "padding": str(layer.config.get("padding")).upper(),
        "input_dilation": [1] * count,
        "kernel_dilation": _as_list(layer.config.get("dilation_rate", 1), count),
    }


def _transposed_convolution(layer: SourceLayer) -> Counterpart:
    kernel = shape_of(layer, "kernel")
    channels: dict[str, Plain] = {"in_features": kernel[-1], "out_features": kernel[-2]} if kernel else {}
    window = _window(layer, kernel[:-2])
    del window["input_dilation"]
    arguments = {**channels, **window, "transpose_kernel": True, "use_bias": flag(layer, "use_bias"), **dtypes(layer)}
    return Counterpart(
        Module("nnx.ConvTranspose", arguments),
        carried=present(layer, same(*KERNEL_AND_BIAS)),
        unchecked=attributes_of_call(layer, "activation"),
    )


def _depthwise_kernel(kernel: tuple[int, ...]) -> Reshape:
    """Keras has the multiples of a channel along an axis of their own, Flax behind one another."""
    return Reshape(kernel, (*kernel[:-2], 1, math.prod(kernel[-2:])))


def _depthwise_module(layer: SourceLayer, kernel: tuple[int, ...], use_bias: bool) -> Module:
    arguments = {
        "in_features": kernel[-2],
        "out_features": math.prod(kernel[-2:]),
        **_window(layer, kernel[:-2]),
        "feature_group_count": kernel[-2],
    }
    return Module("nnx.Conv", {**arguments, "use_bias": use_bias, **dtypes(layer)})


def _depthwise(layer: SourceLayer) -> Counterpart:
    kernel = shape_of(layer, "kernel")
    return Counterpart(
        _depthwise_module(layer, kernel, flag(layer, "use_bias")),
        carried=present(layer, (Carried("kernel", ("kernel",), _depthwise_kernel(kernel)), *same(("bias", "bias")))),
        unchecked=attributes_of_call(layer, "activation"),
    )


def _separable(layer: SourceLayer, second: Module, transform: Reshape | None) -> Counterpart:
    kernel = shape_of(layer, "depthwise_kernel")
    module = Module(ANY_MODULE, {"depthwise": _depthwise_module(layer, kernel, use_bias=False), "pointwise": second})
    pointwise = ("pointwise.kernel",)
    ways = (
        Carried("depthwise_kernel", ("depthwise.kernel",), _depthwise_kernel(kernel)),
        Carried("pointwise_kernel", pointwise, transform) if transform else Carried("pointwise_kernel", pointwise),
        *same(("bias", "pointwise.bias")),
    )
    return Counterpart(module, carried=present(layer, ways), unchecked=attributes_of_call(layer, "activation"))


def _separable_with_linear(layer: SourceLayer) -> Counterpart:
    kernel = shape_of(layer, "pointwise_kernel")
    sizes = {"in_features": kernel[-2], "out_features": kernel[-1]}
    second = Module("nnx.Linear", {**sizes, "use_bias": flag(layer, "use_bias"), **dtypes(layer)})
    return _separable(layer, second, Reshape(kernel, kernel[-2:]))


def _separable_with_conv(layer: SourceLayer) -> Counterpart:
    kernel = shape_of(layer, "pointwise_kernel")
    count = len(kernel) - 2
    arguments = {
        "in_features": kernel[-2],
        "out_features": kernel[-1],
        "kernel_size": [1] * count,
        "strides": [1] * count,
        "feature_group_count": 1,
    }
    second = Module("nnx.Conv", {**arguments, "use_bias": flag(layer, "use_bias"), **dtypes(layer)})
    return _separable(layer, second, None)


_CONVOLUTIONS = ("Conv1D", "Conv2D", "Conv3D")
_TRANSPOSED = ("Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose")
_NO_DILATION = (1, [1], [1, 1], [1, 1, 1])

CONVOLUTION = (
    Rule("convolution", _CONVOLUTIONS, _conv, {**_CHANNELS_LAST, "lora_rank": (None,)}),
    Rule(
        "transposed_convolution", _TRANSPOSED, _transposed_convolution,
        {**_CHANNELS_LAST, "output_padding": (None,), "dilation_rate": _NO_DILATION},
    ),
    Rule("depthwise_convolution", ("DepthwiseConv1D", "DepthwiseConv2D"), _depthwise, _CHANNELS_LAST),
    Rule("separable_convolution", ("SeparableConv1D", "SeparableConv2D"), _separable_with_linear, _CHANNELS_LAST),
    Rule("separable_convolution_of_two", ("SeparableConv1D", "SeparableConv2D"), _separable_with_conv, _CHANNELS_LAST),
)  # fmt: skip
