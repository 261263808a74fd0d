"""How the weights of a written class start, where no file is loaded into them: as those of Keras do."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from compare.weights.transforms import without_x64
from workloads.core.spec import is_float
from workloads.protocol.inspection import Config
from workloads.protocol.transfer import Leaf

_KEY = "rngs.params()"
_SCALED = {
    "GlorotUniform": (1.0, "fan_avg", "uniform"), "GlorotNormal": (1.0, "fan_avg", "truncated_normal"),
    "HeUniform": (2.0, "fan_in", "uniform"), "HeNormal": (2.0, "fan_in", "truncated_normal"),
    "LecunUniform": (1.0, "fan_in", "uniform"), "LecunNormal": (1.0, "fan_in", "truncated_normal"),
}  # fmt: skip
"""Scale, mode and distribution by the class of Keras that has them."""

_OF_TWO_DEVIATIONS = 0.87962566103423978
"""The deviation of a normal distribution that is cut at two deviations, by which Keras and JAX divide."""


def initial_value(leaf: Leaf) -> str:
    """The first value of a weight, as Python; "" where its initializer is not written."""
    config = leaf.initializer
    kind = str(config.get("class_name", "Zeros"))
    if kind in ("Zeros", "Ones"):
        return _fill(kind.lower(), leaf)
    if kind == "Constant" and isinstance(config.get("value"), int | float):
        return f"jnp.full({leaf.shape!r}, {config['value']!r}{_dtype(leaf)})"
    if not is_float(leaf.dtype):
        return ""
    if kind in _SCALED:
        return _variance_scaled(leaf.shape, *_SCALED[kind])
    write = _WRITTEN.get(kind)
    try:
        return write(leaf.shape, config) if write else ""
    except (KeyError, TypeError):
        return ""


def zeros(leaf: Leaf) -> str:
    """A weight of zeros, as Python."""
    return _fill("zeros", leaf)


def _fill(name: str, leaf: Leaf) -> str:
    return f"jnp.{name}({leaf.shape!r}{_dtype(leaf)})"


def _dtype(leaf: Leaf) -> str:
    if is_float(leaf.dtype):
        return ""
    return ", bool" if leaf.dtype == "bool" else f", jnp.{without_x64(leaf.dtype)}"


def _variance_scaled(shape: tuple[int, ...], scale: float, mode: str, distribution: str) -> str:
    distribution_name = {"untruncated_normal": "normal"}.get(distribution, distribution)
    if len(shape) > 1:
        return f"jax.nn.initializers.variance_scaling({scale!r}, {mode!r}, {distribution_name!r})({_KEY}, {shape!r})"
    # JAX has no fans of a vector; to Keras both are its length.
    variance = scale / max(1, *shape, 1)
    if distribution_name == "uniform":
        limit = math.sqrt(3 * variance)
        return _uniform(shape, {"minval": -limit, "maxval": limit})
    if distribution_name == "normal":
        return _normal(shape, {"mean": 0.0, "stddev": math.sqrt(variance)})
    return _truncated_normal(shape, {"mean": 0.0, "stddev": math.sqrt(variance) / _OF_TWO_DEVIATIONS})


def _uniform(shape: tuple[int, ...], config: Config) -> str:
    ends = f"minval={float(config['minval'])!r}, maxval={float(config['maxval'])!r}"
    return f"jax.random.uniform({_KEY}, {shape!r}, {ends})"


def _normal(shape: tuple[int, ...], config: Config) -> str:
    return _shift(f"jax.random.normal({_KEY}, {shape!r})", config)


def _truncated_normal(shape: tuple[int, ...], config: Config) -> str:
    return _shift(f"jax.random.truncated_normal({_KEY}, -2.0, 2.0, {shape!r})", config)


def _shift(sample: str, config: Config) -> str:
    mean, deviation = float(config["mean"]), float(config["stddev"])
    return f"{mean!r} + {deviation!r} * {sample}" if mean else f"{deviation!r} * {sample}"


def _orthogonal(shape: tuple[int, ...], config: Config) -> str:
    return f"jax.nn.initializers.orthogonal({float(config.get('gain', 1.0))!r})({_KEY}, {shape!r})"


def _identity(shape: tuple[int, ...], config: Config) -> str:
    return f"{float(config.get('gain', 1.0))!r} * jnp.eye({', '.join(map(str, shape))})"


def _from_config(shape: tuple[int, ...], config: Config) -> str:
    return _variance_scaled(shape, float(config["scale"]), str(config["mode"]), str(config["distribution"]))


_WRITTEN: Mapping[str, Callable[[tuple[int, ...], Config], str]] = {
    "RandomUniform": _uniform,
    "RandomNormal": _normal,
    "TruncatedNormal": _truncated_normal,
    "Orthogonal": _orthogonal,
    "OrthogonalInitializer": _orthogonal,
    "Identity": _identity,
    "IdentityInitializer": _identity,
    "VarianceScaling": _from_config,
}
