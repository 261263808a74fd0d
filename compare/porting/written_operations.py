"""Operations of keras.ops between layers, as expressions of jax.numpy."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from compare.porting.safe_expressions import UnwritableError, argument, literal
from compare.porting.templates_of_operations import TEMPLATES, fill
from workloads.protocol.architecture import TENSOR, TUPLE, Call, Tensor
from workloads.protocol.inspection import Plain
from workloads.protocol.transfer import KERAS_LAYERS, SourceLayer

MODULE = "keras.ops"
assert MODULE != KERAS_LAYERS

_INFIX = {
    "Add": "+", "Subtract": "-", "Multiply": "*", "Divide": "/", "TrueDivide": "/", "FloorDivide": "//",
    "Matmul": "@", "Equal": "==", "NotEqual": "!=", "Greater": ">", "GreaterEqual": ">=", "Less": "<",
    "LessEqual": "<=",
}  # fmt: skip
_UNARY = {
    "Relu": "jax.nn.relu", "Relu6": "jax.nn.relu6", "Sigmoid": "jax.nn.sigmoid", "Tanh": "jnp.tanh", "Exp": "jnp.exp",
    "Log": "jnp.log", "Sqrt": "jnp.sqrt", "Square": "jnp.square", "Sin": "jnp.sin", "Cos": "jnp.cos",
    "Silu": "jax.nn.silu", "Softplus": "jax.nn.softplus", "Rsqrt": "jax.lax.rsqrt", "Negative": "-",
    "Absolute": "jaxport.elementwise.absolute", "Abs": "jaxport.elementwise.absolute",
    "HardSigmoid": "jax.nn.hard_sigmoid", "LogSigmoid": "jax.nn.log_sigmoid", "Softsign": "jax.nn.soft_sign",
    "Log1p": "jnp.log1p", "Expm1": "jnp.expm1", "Sign": "jnp.sign", "Floor": "jnp.floor", "Ceil": "jnp.ceil",
    "Tan": "jnp.tan", "Arctan": "jnp.arctan", "Arcsin": "jnp.arcsin", "Arccos": "jnp.arccos", "Sinh": "jnp.sinh",
    "Cosh": "jnp.cosh", "Erf": "jax.lax.erf", "Reciprocal": "jnp.reciprocal",
    "HardSilu": "jax.nn.hard_silu", "StopGradient": "jax.lax.stop_gradient",
    "Isnan": "jnp.isnan", "Isinf": "jnp.isinf", "Isfinite": "jnp.isfinite", "Log2": "jnp.log2", "Log10": "jnp.log10",
    "Exp2": "jnp.exp2", "Trunc": "jnp.trunc", "Erfinv": "jax.lax.erf_inv", "Arcsinh": "jnp.arcsinh",
    "Arctanh": "jnp.arctanh", "LogicalNot": "jnp.logical_not",
}  # fmt: skip
_PAIRS = {
    "Maximum": "jaxport.elementwise.maximum", "Minimum": "jaxport.elementwise.minimum",
    "LogicalAnd": "jnp.logical_and", "LogicalOr": "jnp.logical_or", "LogicalXor": "jnp.logical_xor",
    "Arctan2": "jnp.arctan2", "Mod": "jnp.mod", "Outer": "jnp.outer", "Inner": "jnp.inner",
    "Dot": "jnp.dot", "Logaddexp": "jnp.logaddexp",
}  # fmt: skip


def expression(layer: SourceLayer, call: Call, variables: Mapping[int, str], tensors: Sequence[Tensor]) -> str:
    """The expression of an operation in JAX.

    Args:
      variables: of tensors, by their numbers.
      tensors: of the graph, by number.

    Raises:
      UnwritableError: it has none here.
    """
    name, config = layer.class_name, layer.config
    arrays = [argument(value, variables) for value in call.arguments]
    if name in _LIKE and call.keywords.keys() <= {"dtype"}:
        return _like(_LIKE[name], arrays, call)
    if name == "DotProductAttention":
        return _attend(arrays, config, {key: argument(value, variables) for key, value in call.keywords.items()})
    if call.keywords:
        raise UnwritableError(f"its call has {next(iter(call.keywords))}=")
    if name in _INFIX and len(arrays) == 2:
        return f"{_group(arrays[0])} {_INFIX[name]} {_group(arrays[1])}"
    if name in _UNARY and len(arrays) == 1:
        return f"{_UNARY[name]}({arrays[0]})"
    if name in _PAIRS and len(arrays) == 2:
        return f"{_PAIRS[name]}({arrays[0]}, {arrays[1]})"
    if name in TEMPLATES:
        return fill(TEMPLATES[name], arrays, config)
    first: Any = call.arguments[0] if call.arguments else None
    before = tensors[first[TENSOR]].shape if isinstance(first, dict) and TENSOR in first else ()
    if name == "Resize" and len(before) != 4:
        raise UnwritableError("it is given one image, or what is no tensor")
    if name == "Reshape":
        return f"{arrays[0]}.reshape({_shape(arrays[0], before, config)})"
    if name in _OTHERS:
        return _OTHERS[name](arrays, config, call)
    raise UnwritableError(f"keras.ops has {name}, which is not known here")


def _attend(arrays: list[str], config: Mapping[str, Plain], keywords: Mapping[str, str]) -> str:
    """Attention of arrays [batch, steps, heads, features], which Keras writes after JAX's own."""
    if config.get("attn_logits_soft_cap") is not None or config.get("flash_attention"):
        raise UnwritableError("it has attn_logits_soft_cap or flash_attention")
    arguments = {**dict(zip(("query", "key", "value", "bias", "mask", "scale"), arrays, strict=False)), **keywords}
    operands = [arguments.pop(name) for name in ("query", "key", "value")]
    operands += [f"{name}={text}" for name, text in arguments.items() if text != "None"]
    operands += ["is_causal=True"] if config.get("is_causal") else []
    return f"jax.nn.dot_product_attention({', '.join(operands)})"


def _group(text: str) -> str:
    return f"({text})" if text.startswith("-") else text


def _index(arrays: list[str], config: Mapping[str, Plain], call: Call) -> str:
    key: Any = call.arguments[1] if len(call.arguments) > 1 else None
    inner = next(iter(key.values())) if isinstance(key, dict) and "tuple" in key else None
    if isinstance(key, list):
        # TensorFlow takes a list of indices for a tuple, and of a tuple a file makes a list.
        return f"{arrays[0]}[{arrays[1].removeprefix('[').removesuffix(']')}]"
    # A tuple of indices stands without its parentheses: slices are none otherwise.
    text = arrays[1] if inner is None else arrays[1].removeprefix("(").removesuffix(", )")
    return f"{arrays[0]}[{text}]"


def _power(arrays: list[str], config: Mapping[str, Plain], call: Call) -> str:
    # By a whole number alone: of another, gradients at 0 differ.
    exponent = call.arguments[1] if len(call.arguments) > 1 else None
    if isinstance(exponent, bool) or not isinstance(exponent, int | float) or not float(exponent).is_integer():
        raise UnwritableError("it raises to a power that is no whole number")
    return f"{arrays[0]} ** {int(exponent)}"


def _clip(arrays: list[str], config: Mapping[str, Plain], call: Call) -> str:
    low, high = (literal(config.get(name)) for name in ("x_min", "x_max"))
    return f"jaxport.elementwise.clip_by_value({arrays[0]}, {low}, {high})"


def _patches(arrays: list[str], config: Mapping[str, Plain], call: Call) -> str:
    size, strides, rate = (_two(config.get(name)) for name in ("size", "strides", "dilation_rate"))
    if config.get("data_format") != "channels_last":
        raise UnwritableError(f"its data_format is {config.get('data_format')}")
    padding = str(config.get("padding")).upper()
    rates = "" if rate == [1, 1] else f", {literal(rate)}"
    return f"jaxport.resizing.extract_patches({arrays[0]}, {literal(size)}, {literal(strides)}, {padding!r}{rates})"


def _two(value: Plain) -> Plain:
    sizes = value if isinstance(value, list) else [value, value]
    if len(sizes) != 2:
        raise UnwritableError("its patches are of three dimensions")
    return sizes


def _einsum(arrays: list[str], config: Mapping[str, Plain], call: Call) -> str:
    return f"jnp.einsum({', '.join((literal(config.get('subscripts')), *arrays))})"


def _repeat(arrays: list[str], config: Mapping[str, Plain], call: Call) -> str:
    if not isinstance(config.get("repeats"), int):
        raise UnwritableError("it repeats each a number of times of its own")
    return f"jnp.repeat({arrays[0]}, {config['repeats']}, {literal(config.get('axis'))})"


def _pad(arrays: list[str], config: Mapping[str, Plain], call: Call) -> str:
    mode = config.get("mode")
    if len(arrays) > 1:
        raise UnwritableError("it pads with values of its own")
    how = "" if mode == "constant" else f", mode={literal(mode)}"
    return f"jnp.pad({arrays[0]}, {literal(config.get('pad_width'))}{how})"


def _cast(arrays: list[str], config: Mapping[str, Plain], call: Call) -> str:
    return f"{arrays[0]}.astype({_dtype(config.get('dtype'))})"


def _dtype(value: Plain) -> str:
    # `float` is the float type of the model, which the judge widens.
    dtype = {"float32": "float", "int32": "jnp.int32", "bool": "bool"}.get(str(value))
    if dtype is None:
        raise UnwritableError(f"it makes {str(value)[:40]}")
    return dtype


_LIKE = {"OnesLike": "jnp.ones_like", "ZerosLike": "jnp.zeros_like"}


def _like(function: str, arrays: list[str], call: Call) -> str:
    dtype = call.keywords.get("dtype")
    return f"{function}({arrays[0]}{'' if dtype is None else f', {_dtype(dtype)}'})"


def _resize(arrays: list[str], config: Mapping[str, Plain], call: Call) -> str:
    """Without an antialias, as TensorFlow has it: jax.image.resize keeps the centres of pixels too."""
    for name, wanted_value in (("antialias", False), ("crop_to_aspect_ratio", False), ("pad_to_aspect_ratio", False)):
        if config.get(name) is not wanted_value:
            raise UnwritableError(f"it has {name}={config.get(name)}")
    how = {"bilinear": "linear", "nearest": "nearest"}.get(str(config.get("interpolation")))
    sizes: Any = config.get("size")
    if how is None or config.get("data_format") not in ("channels_last", None) or len(sizes) != 2:
        raise UnwritableError(f"it has {config.get('interpolation')}, {config.get('data_format')}")
    shape = f"({arrays[0]}.shape[0], {sizes[0]}, {sizes[1]}, {arrays[0]}.shape[3])"
    return f"jax.image.resize({arrays[0]}, {shape}, {how!r}, antialias=False)"


def _place(starts: Plain, text: str) -> str:
    """Where a slice starts: JAX takes no tuple of a number and an array of another type."""
    numbers = starts.get(TUPLE, starts) if isinstance(starts, dict) else starts
    is_known = isinstance(numbers, list) and all(isinstance(number, int) for number in numbers)
    return text if is_known or not isinstance(numbers, list) else f"jnp.stack({text})"


def _slice(arrays: list[str], config: Mapping[str, Plain], call: Call) -> str:
    sizes = config.get("shape")
    numbers = sizes.get(TUPLE, sizes) if isinstance(sizes, dict) else sizes
    if not isinstance(numbers, list) or not all(isinstance(number, int) and number >= 0 for number in numbers):
        raise UnwritableError("a size of it is -1, or no number")
    return f"jax.lax.dynamic_slice({arrays[0]}, {_place(call.arguments[1], arrays[1])}, {literal(config.get('shape'))})"


def _slice_update(arrays: list[str], config: Mapping[str, Plain], call: Call) -> str:
    return f"jax.lax.dynamic_update_slice({arrays[0]}, {arrays[2]}, {_place(call.arguments[1], arrays[1])})"


_OTHERS: Mapping[str, Callable[[list[str], Mapping[str, Plain], Call], str]] = {
    "GetItem": _index,
    "Power": _power,
    "Where": lambda arrays, config, call: f"jnp.where({', '.join(arrays)})",
    "Clip": _clip,
    "ExtractPatches": _patches, "Resize": _resize, "Slice": _slice, "SliceUpdate": _slice_update,
    "Einsum": _einsum, "Repeat": _repeat, "Pad": _pad, "Cast": _cast,
}  # fmt: skip


def _shape(text: str, before: Sequence[int | None], config: Mapping[str, Plain]) -> str:
    """The new shape of an array."""
    shape = config.get("newshape", config.get("shape"))
    if not isinstance(shape, list) or any(not isinstance(size, int | None) for size in shape):
        raise UnwritableError(f"its shape is {str(shape)[:40]}")
    # One size that is not known follows from the others, whatever it is the size of.
    if sum(size in (None, -1) for size in shape) <= 1:
        return literal([-1 if size is None else size for size in shape])
    # Of several, each is the size of the axis in its place where the sizes between leave no other choice.
    kept_axes = [
        axis for axis, size in enumerate(shape) if size is None and axis < len(before) and before[axis] is None
    ]
    apart = [[size for axis, size in enumerate(sizes) if axis not in kept_axes] for sizes in (before, shape)]
    same = None not in apart[0] and math.prod(map(int, apart[0])) == math.prod(map(int, apart[1]))  # type: ignore[arg-type]
    if len(kept_axes) != shape.count(None) or not (kept_axes == [0] if -1 in shape else same):
        raise UnwritableError(f"its shape is {str(shape)[:40]}")
    sizes = (f"{text}.shape[{axis}]" if axis in kept_axes else literal(size) for axis, size in enumerate(shape))
    return f"({', '.join(sizes)})"
