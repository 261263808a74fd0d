"""Rules for convolutions, pools, batch normalization and images."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from compare.porting.functions.rule_calls import Call, Rule
from compare.porting.functions.written_values import tuple_text
from compare.porting.safe_expressions import UnwritableError


def _batched_channels(call: Call) -> None:
    if call.attribute("data_format", "NHWC") not in ("NHWC", "NDHWC"):
        raise UnwritableError("its channels are not last")


def _padding(call: Call) -> str:
    padding = str(call.attribute("padding"))
    if padding != "EXPLICIT":
        return repr(padding)
    ends = call.attribute("explicit_paddings", [])[2:-2]
    return tuple_text([f"({ends[index]}, {ends[index + 1]})" for index in range(0, len(ends), 2)])


def _convolution(call: Call) -> str:
    _batched_channels(call)
    strides, dilations = call.attribute("strides")[1:-1], call.attribute("dilations", [1, 1, 1, 1])[1:-1]
    space = "DHW"[-len(strides) :]
    kernel, groups = call.array(1), ""
    channels, input_channels = call.shape(0)[-1], call.shape(1)[-2]
    if call.node.type == "DepthwiseConv2dNative":
        name = call.variable(1)
        kernel, groups = f"{name}.reshape(*{name}.shape[:2], 1, -1)", f", feature_group_count={_size(call, 0, -1)}"
    elif channels is None or input_channels is None:
        groups = f", feature_group_count={_size(call, 0, -1)} // {_size(call, 1, -2)}"
    elif input_channels != channels:
        groups = f", feature_group_count={channels // input_channels}"
    dilation = (
        f", rhs_dilation={tuple_text(list(map(str, dilations)))}"
        if any(dilation != 1 for dilation in dilations)
        else ""
    )
    layout = f"('N{space}C', '{space}IO', 'N{space}C')"
    return (
        f"jax.lax.conv_general_dilated({call.array(0)}, {kernel}, {tuple_text(list(map(str, strides)))}, "
        f"{_padding(call)}{dilation}, dimension_numbers={layout}{groups})"
    )


def _size(call: Call, index: int, axis: int) -> str:
    """A size of an input: a number where it is known."""
    size = call.shape(index)[axis]
    return f"{call.variable(index)}.shape[{axis}]" if size is None else str(size)


def _transposed_convolution(call: Call) -> str:
    _batched_channels(call)
    if any(dilation != 1 for dilation in call.attribute("dilations", [1])) or call.attribute("padding") == "EXPLICIT":
        raise UnwritableError("it is dilated, or padded by numbers of its own")
    strides, sizes = call.attribute("strides")[1:-1], call.host(0).tolist()[1:-1]
    kernel, gradient_shape = call.shape(1), call.shape(2)
    pads = []
    space, axes = "DHW"[-len(strides) :], tuple(range(len(strides)))
    for size, step, length, gradient_size in zip(sizes, strides, kernel[:-2], gradient_shape[1:-1], strict=True):
        if isinstance(size, str) or length is None or gradient_size is None:
            raise UnwritableError("the size of its pictures is not known")
        total = max((gradient_size - 1) * step + length - size, 0) if call.attribute("padding") == "SAME" else 0
        low = length - 1 - total // 2
        pads.append(f"({low}, {size - ((gradient_size - 1) * step + 1) - low + length - 1})")
    return (
        f"jax.lax.conv_general_dilated({call.array(2)}, jnp.flip({call.array(1)}, {axes}), {(1,) * len(axes)}, "
        f"{tuple_text(pads)}, "
        f"lhs_dilation={tuple_text(list(map(str, strides)))}, "
        f"dimension_numbers=('N{space}C', '{space}OI', 'N{space}C'))"
    )


def _pool(call: Call) -> str:
    _batched_channels(call)
    window, strides = (tuple_text(list(map(str, call.attribute(name)))) for name in ("ksize", "strides"))
    padding = call.attribute("padding")
    if padding == "EXPLICIT":
        raise UnwritableError("it is padded by numbers of its own")
    x = call.variable(0)
    if call.node.type.startswith("Max"):
        return f"jax.lax.reduce_window({x}, -jnp.inf, jax.lax.max, {window}, {strides}, {padding!r})"
    total = f"jax.lax.reduce_window({x}, 0.0, jax.lax.add, {window}, {strides}, {padding!r})"
    if padding == "VALID":
        number = 1
        for size in call.attribute("ksize"):
            number *= size
        return f"{total} / {number}"
    count = f"jax.lax.reduce_window(jnp.ones_like({x}), 0.0, jax.lax.add, {window}, {strides}, {padding!r})"
    return f"{total} / {count}"


def _pool_with_places(call: Call) -> list[str]:
    """MaxPoolWithArgmax: the largest values, and where they stand."""
    ksize, strides = call.attribute("ksize"), call.attribute("strides")
    if [ksize[0], ksize[3], strides[0], strides[3]] != [1] * 4:
        raise UnwritableError("its windows reach over examples or channels")
    window, steps = (tuple_text(list(map(str, sizes[1:3]))) for sizes in (ksize, strides))
    batch = ", include_batch=True" if call.attribute("include_batch_in_index") else ""
    arguments = f"{call.array(0)}, {window}, {steps}, {call.attribute('padding')!r}, {call.dtype(1)}{batch}"
    return ["*", f"jaxport.pooling.max_pool_with_argmax({arguments})"]


def _resize(call: Call) -> str:
    rows, columns = call.host(1).tolist()
    images, sizes = call.variable(0), f"({rows}, {columns})"
    kind = {"ResizeBilinear": "bilinear", "ResizeNearestNeighbor": "nearest"}[call.node.type]
    if call.attribute("half_pixel_centers"):
        shape = f"({images}.shape[0], {rows}, {columns}, {images}.shape[3])"
        return f"jax.image.resize({images}, {shape}, {kind!r}, antialias=False).astype({call.dtype()})"
    corners = ", align_corners=True" if call.attribute("align_corners") else ""
    return f"jaxport.resizing.resize_{kind}({images}, {sizes}{corners}).astype({call.dtype()})"


def _cubic(call: Call) -> str:
    if not call.attribute("half_pixel_centers") or call.attribute("align_corners"):
        raise UnwritableError("its pixels have no half-pixel centers")
    return f"jaxport.resizing.resize_bicubic({call.array(0)}, {call.numbers(1)}).astype({call.dtype()})"


def _crop(call: Call) -> str:
    if call.attribute("method", "bilinear") != "bilinear":
        raise UnwritableError(f"its method is {call.attribute('method')}")
    value = float(call.attribute("extrapolation_value", 0.0))
    otherwise = f", {value!r}" if value else ""
    arguments = ", ".join(call.array(index) for index in range(3))
    return f"jaxport.resizing.crop_and_resize({arguments}, {call.numbers(3)}{otherwise}).astype({call.dtype()})"


def _patches(call: Call) -> str:
    sizes, strides, rates = (
        tuple_text(list(map(str, call.attribute(name)[1:-1]))) for name in ("ksizes", "strides", "rates")
    )
    padding = call.attribute("padding")
    return f"jaxport.resizing.extract_patches({call.array(0)}, {sizes}, {strides}, {padding!r}, {rates})"


def _response(call: Call) -> str:
    """LRN: a pixel's channels over the squares of those around each."""
    radius, x = int(call.attribute("depth_radius", 5)), call.variable(0)
    bias, alpha, beta = (float(call.attribute(name, 1.0)) for name in ("bias", "alpha", "beta"))
    squares = (
        f"jax.lax.reduce_window(jnp.square({x}), 0.0, jax.lax.add, (1, 1, 1, {2 * radius + 1}), (1, 1, 1, 1), "
        f"((0, 0), (0, 0), (0, 0), ({radius}, {radius})))"
    )
    return f"{x} / ({_exactly(bias)} + {_exactly(alpha)} * {squares}) ** {_exactly(beta)}"


def _exactly(number: float) -> str:
    """An attribute, which is of float32."""
    return repr(float(str(np.float32(number))))


def _without_gradient(text: str) -> str:
    return text if text.startswith("(jax.lax.stop_gradient(weights[") else f"jax.lax.stop_gradient({text})"


def _batch_norm(call: Call) -> list[str]:
    """Its result, and means and variances; what it keeps for its gradient has no place here."""
    _batched_channels(call)
    epsilon = _exactly(float(call.attribute("epsilon", 1e-4)))
    x, scale, offset = call.variable(0), call.array(1), call.array(2)
    axes = tuple(range(call.rank(0) - 1))
    if call.attribute("is_training", True):
        mean, variance = f"jnp.mean({x}, {axes})", f"jnp.var({x}, {axes})"
        statistics = _training_statistics(call, x, mean, variance)
    else:
        # TensorFlow gives them no gradient.
        statistics = [_without_gradient(call.array(index)) for index in (3, 4)]
        mean, variance = statistics
    return [
        f"({x} - {mean}) * (jax.lax.rsqrt({variance} + {epsilon}) * {scale}) + {offset}",
        *statistics,
        *["None"] * 3,
    ]


def _training_statistics(call: Call, x: str, mean: str, variance: str) -> list[str]:
    """The statistics of this batch in training: its mean and its sample variance, or both mixed with earlier ones."""
    count = f"({x}.size // {x}.shape[-1])"
    statistics = [mean, f"{variance} * {count} / max({count} - 1, 1)"]
    factor = float(call.attribute("exponential_avg_factor", 1.0))
    if factor == 1:
        return [f"jax.lax.stop_gradient({statistic})" for statistic in statistics]
    before = [call.array(3), call.array(4)]
    share, rest = _exactly(factor), repr(1 - factor)
    return [f"jax.lax.stop_gradient({rest} * {a} + {share} * {b})" for a, b in zip(before, statistics, strict=True)]


def _bias_gradient(call: Call) -> str:
    if call.attribute("data_format", "NHWC") == "NHWC":
        return f"jnp.sum({call.array(0)}, {tuple(range(call.rank(0) - 1))})"
    return f"jnp.sum({call.array(0)}, {(0, *range(2, call.rank(0)))})"


def _contrast(call: Call) -> str:
    x = call.variable(0)
    mean = f"jnp.mean({x}, (-3, -2), keepdims=True)"
    return f"({x} - {mean}) * {call.array(1)} + {mean}"


RULES: Mapping[str, Rule] = {
    "Conv2D": _convolution, "Conv3D": _convolution, "DepthwiseConv2dNative": _convolution,
    "Conv2DBackpropInput": _transposed_convolution, "Conv3DBackpropInputV2": _transposed_convolution,
    **dict.fromkeys(("MaxPool", "AvgPool", "MaxPool3D", "AvgPool3D"), _pool),
    "MaxPoolWithArgmax": _pool_with_places,
    "ResizeBilinear": _resize, "ResizeNearestNeighbor": _resize, "ResizeBicubic": _cubic, "CropAndResize": _crop,
    "ExtractImagePatches": _patches, "LRN": _response, "FusedBatchNormV3": _batch_norm, "BiasAddGrad": _bias_gradient,
    "AdjustContrastv2": _contrast,
}  # fmt: skip
