"""Layers without weights: what they are in JAX, written with their own attributes. Most are plain functions of x."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from compare.weights.activations import expression_of
from compare.weights.rule import Counterpart, Module, Rule
from workloads.protocol.inspection import Plain
from workloads.protocol.transfer import SourceLayer

Written = Callable[[Mapping[str, Plain]], str]
"""(attributes of a layer) -> the expression that stands in for it."""


def _per_axis(value: Any, count: int) -> list[Any]:
    """The value of each spatial axis, which Keras states once for all axes or for each."""
    return value if isinstance(value, list) else [value] * count


def _sizes(value: Plain, count: int) -> str:
    return f"({', '.join(map(str, _per_axis(value, count)))}{',' if count == 1 else ''})"


def _pool(function: str, count: int, more: str = "") -> Written:
    def write(config: Mapping[str, Plain]) -> str:
        window = _sizes(config.get("pool_size"), count)
        strides = _sizes(config.get("strides") or config.get("pool_size"), count)
        padding = str(config.get("padding", "valid")).upper()
        return f"nnx.{function}(x, {window}, {strides}, {padding!r}{more})"

    return write


def _over_space(function: str, count: int) -> Written:
    axes = tuple(range(1, count + 1)) if count > 1 else 1
    return lambda config: f"jnp.{function}(x, {axes}{', keepdims=True' if config.get('keepdims') else ''})"


def _pairs(value: Any, count: int) -> list[tuple[int, int]]:
    values = _per_axis(value, count)
    if count == 1 and values and not isinstance(values[0], list):
        values = [values] if len(values) == 2 else [[values[0], values[0]]]
    return [tuple(of_axis) if isinstance(of_axis, list) else (of_axis, of_axis) for of_axis in values]  # type: ignore[misc]


def _padding(count: int) -> Written:
    def write(config: Mapping[str, Plain]) -> str:
        pairs = _pairs(config.get("padding"), count)
        return f"jnp.pad(x, {((0, 0), *pairs, (0, 0))})" if any(map(any, pairs)) else "x"

    return write


def _cropping(count: int) -> Written:
    def write(config: Mapping[str, Plain]) -> str:
        pairs = _pairs(config.get("cropping"), count)
        if not any(map(any, pairs)):
            return "x"
        return f"x[:, {', '.join(f'{before}:{-behind or None}' for before, behind in pairs)}]".replace(":None", ":")

    return write


def _repetition(count: int) -> Written:
    def write(config: Mapping[str, Plain]) -> str:
        text = "x"
        for axis, times in enumerate(_per_axis(config.get("size"), count), start=1):
            text = f"jnp.repeat({text}, {times}, {axis})"
        return text

    return write


def _up_sampled(config: Mapping[str, Plain]) -> str:
    rows, columns = _per_axis(config.get("size"), 2)
    if config.get("interpolation") == "nearest":
        return _repetition(2)(config)
    # Larger in both directions, it is the same with antialiasing and without.
    return _of_sizes(config, f"{rows} * x.shape[1], {columns} * x.shape[2]", "")


def _resizing(config: Mapping[str, Plain]) -> str:
    return _of_sizes(
        config, f"{config.get('height')}, {config.get('width')}", f", antialias={bool(config.get('antialias'))}"
    )


def _of_sizes(config: Mapping[str, Plain], sizes: str, antialias: str) -> str:
    way = config.get("interpolation")
    if way == "bicubic" and not config.get("antialias"):
        return f"jaxport.resizing.resize_bicubic(x, ({sizes}))"
    way, antialias = {"bicubic": ("cubic", antialias), "nearest": ("nearest", "")}.get(str(way), (way, antialias))
    return f"jax.image.resize(x, (len(x), {sizes}, x.shape[3]), {way!r}{antialias})"


def _fixed_text(text: str) -> Written:
    return lambda config: text


def _relu(config: Mapping[str, Plain]) -> str:
    slope, threshold, most = (config.get(name) for name in ("negative_slope", "threshold", "max_value"))
    if not slope and not threshold and most in (None, 6):
        # Of both, the gradient at the ends is 0, as in TensorFlow; that of jnp.clip is a half.
        return "jax.nn.relu(x)" if most is None else "jax.nn.relu6(x)"
    return f"jaxport.activations.relu(x, {slope!r}, {most!r}, {threshold!r})"


def _dot(config: Mapping[str, Plain]) -> str:
    axes: Any = config.get("axes")
    axes = axes if isinstance(axes, list) else [axes, axes]
    operands = ["x", "y"]
    if config.get("normalize"):
        operands = [
            f"jaxport.normalization.unit_normalize({name}, {axis}, 1e-07)"
            for name, axis in zip(operands, axes, strict=True)
        ]
    # The batch is no axis of an example. Of two vectors Keras makes an array of one number.
    of_one = tuple(axis - 1 if axis > 0 else axis for axis in axes)
    return f"jax.vmap(lambda one, other: jnp.atleast_1d(jnp.tensordot(one, other, {of_one})))({', '.join(operands)})"


def bin_expression(config: Mapping[str, Plain]) -> str:
    """An expression of the bin that contains x, with boundaries in float32 as in TensorFlow."""
    bounds: Any = config.get("bin_boundaries") or []
    bounds_text = ", ".join(repr(float(bound)) for bound in bounds)
    return f"jnp.searchsorted(jnp.asarray([{bounds_text}], jnp.float32), x, side='right')"


def _axis(config: Mapping[str, Plain]) -> Plain | tuple[Plain, ...]:
    axis = config.get("axis")
    return tuple(axis) if isinstance(axis, list) else axis


_FUNCTIONS: Mapping[str, Written] = {
    "Activation": lambda config: expression_of(config.get("activation")),
    "ReLU": _relu,
    "LeakyReLU": lambda config: f"jnp.where(x > 0, x, {config.get('negative_slope')!r} * x)",
    "ELU": lambda config: f"jax.nn.elu(x, {config.get('alpha')!r})",
    "Softmax": lambda config: f"jax.nn.softmax(x, {_axis(config)!r})",
    "MaxPooling1D": _pool("max_pool", 1),
    "MaxPooling2D": _pool("max_pool", 2),
    "MaxPooling3D": _pool("max_pool", 3),
    "AveragePooling1D": _pool("avg_pool", 1, ", count_include_pad=False"),
    "AveragePooling2D": _pool("avg_pool", 2, ", count_include_pad=False"),
    "AveragePooling3D": _pool("avg_pool", 3, ", count_include_pad=False"),
    "GlobalMaxPooling1D": _over_space("max", 1),
    "GlobalMaxPooling2D": _over_space("max", 2),
    "GlobalMaxPooling3D": _over_space("max", 3),
    "GlobalAveragePooling1D": _over_space("mean", 1),
    "GlobalAveragePooling2D": _over_space("mean", 2),
    "GlobalAveragePooling3D": _over_space("mean", 3),
    "Flatten": _fixed_text("x.reshape(len(x), -1)"),
    "Reshape": lambda config: f"x.reshape(len(x), {', '.join(map(str, config.get('target_shape') or ()))})",  # type: ignore[arg-type]
    "Permute": lambda config: f"jnp.transpose(x, {(0, *(config.get('dims') or ()))})",  # type: ignore[misc]
    "RepeatVector": lambda config: f"jnp.repeat(x[:, None], {config.get('n')!r}, 1)",
    "ZeroPadding1D": _padding(1),
    "ZeroPadding2D": _padding(2),
    "ZeroPadding3D": _padding(3),
    "Cropping1D": _cropping(1),
    "Cropping2D": _cropping(2),
    "Cropping3D": _cropping(3),
    "UpSampling1D": _repetition(1),
    "UpSampling2D": _up_sampled,
    "UpSampling3D": _repetition(3),
    "Resizing": _resizing,
    "Rescaling": lambda config: f"x * {config.get('scale')!r} + {config.get('offset')!r}",
    "UnitNormalization": lambda config: f"jaxport.normalization.unit_normalize(x, {config.get('axis')!r})",
    "Add": _fixed_text("x + y"),
    "Subtract": _fixed_text("x - y"),
    "Multiply": _fixed_text("x * y"),
    "CustomScaleLayer": lambda config: f"x + y * {config.get('scale')!r}",
    "Average": _fixed_text("(x + y) / 2"),
    "Maximum": _fixed_text("jnp.maximum(x, y)"),
    "Minimum": _fixed_text("jnp.minimum(x, y)"),
    "Dot": _dot,
    "Concatenate": lambda config: f"jnp.concatenate((x, y), {config.get('axis')!r})",
    "Masking": lambda config: f"x * jnp.any(x != {config.get('mask_value')!r}, -1, keepdims=True)",
    "Discretization": bin_expression,
    "CategoryEncoding": lambda config: f"jnp.max(jax.nn.one_hot(x, {config.get('num_tokens')!r}), 1)",
    "Identity": _fixed_text("x"),
    "ActivityRegularization": _fixed_text("x"),
}
"""By class."""

_ON_CHANNELS_LAST = frozenset(
    name
    for name in _FUNCTIONS
    if name.startswith(("Max", "Average", "Global", "ZeroPadding", "Cropping", "UpSampling", "Resizing"))
) - {"Maximum"}
_ON_IMAGES = {
    "data_format": ("channels_last", None),
    "interpolation": ("nearest", "bilinear", "bicubic"),
    "crop_to_aspect_ratio": (False,),
    "pad_to_aspect_ratio": (False,),
}


def _stand_in(write: Written) -> Callable[[SourceLayer], Counterpart]:
    return lambda layer: Counterpart(function=write(layer.config))


def _dropout(broadcast: tuple[int, ...]) -> Callable[[SourceLayer], Counterpart]:
    return lambda layer: Counterpart(
        Module("nnx.Dropout", {"rate": layer.config.get("rate"), "broadcast_dims": list(broadcast)}),
        # Where it stands for itself: what it is in inference.
        function="x",
    )


def _dropout_of_noise(layer: SourceLayer) -> Counterpart:
    """One mask for all places along the axes of which the noise has 1."""
    return _dropout(_alike(layer))(layer)


def _alike(layer: SourceLayer) -> tuple[int, ...]:
    noise: Any = layer.config.get("noise_shape")
    return tuple(axis for axis, size in enumerate(noise or ()) if size == 1)


def _noise(class_name: str, *names: str) -> Callable[[SourceLayer], Counterpart]:
    """A module that draws in training, with some attributes of the layer."""

    def counterpart(layer: SourceLayer) -> Counterpart:
        arguments = {name: layer.config.get(name) for name in names}
        if class_name == "AlphaDropout":
            arguments["broadcast_dims"] = list(_alike(layer))
        return Counterpart(Module(f"jaxport.noise.{class_name}", arguments), function="x")

    return counterpart


def _other_noise(layer: SourceLayer) -> str:
    """The shape of a noise that is neither that of the input nor 1 along some axes."""
    noise: Any = layer.config.get("noise_shape")
    return "" if noise is None or all(size in (None, 1) for size in noise) else f"noise_shape={noise!r}"


_DROPOUTS = (
    Rule("dropout", ("Dropout",), _dropout_of_noise, {}, _other_noise),
    Rule("gaussian_noise", ("GaussianNoise",), _noise("GaussianNoise", "stddev")),
    Rule("gaussian_dropout", ("GaussianDropout",), _noise("GaussianDropout", "rate")),
    Rule("alpha_dropout", ("AlphaDropout",), _noise("AlphaDropout", "rate"), {}, _other_noise),
    *(
        Rule(f"spatial_dropout_{count}d", (f"SpatialDropout{count}D",), _dropout(tuple(range(1, count + 1))),
             {"data_format": ("channels_last", None)})
        for count in (1, 2, 3)
    ),
)  # fmt: skip

STAND_INS = (
    *_DROPOUTS,
    *(
        Rule(
            f"function_of_{name.lower()}", (name,), _stand_in(write),
            _ON_IMAGES if name in _ON_CHANNELS_LAST else {},
        )
        for name, write in _FUNCTIONS.items()
    ),
)  # fmt: skip
