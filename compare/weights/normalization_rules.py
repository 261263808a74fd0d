"""Rules of normalizations."""

from __future__ import annotations

from compare.weights.rule import (
    Counterpart,
    Module,
    Rule,
    attributes_of_call,
    dtypes,
    flag,
    present,
    same,
    shape_if_any,
    shape_of,
)
from workloads.protocol.inspection import Plain
from workloads.protocol.transfer import SourceLayer

_SCALE_AND_SHIFT = (("gamma", "scale"), ("beta", "bias"))


def _affine(layer: SourceLayer) -> dict[str, Plain]:
    return {"use_bias": flag(layer, "center"), "use_scale": flag(layer, "scale")}


def _features(layer: SourceLayer, *leaves: str) -> int | None:
    """The number of features of a layer, from its leaves or its input."""
    shape = next((leaf_shape for name in leaves if (leaf_shape := shape_if_any(layer, name))), ())
    return shape[-1] if shape else (layer.shape[-1] if layer.shape else None)


def _batch(layer: SourceLayer) -> Counterpart:
    module = Module(
        "nnx.BatchNorm",
        {
            "num_features": _features(layer, "moving_mean"),
            "axis": -1,
            "momentum": layer.config.get("momentum"),
            "epsilon": layer.config.get("epsilon"),
            **_affine(layer),
            **dtypes(layer),
        },
        advised={"use_fast_variance": False},
    )
    ways = same(*_SCALE_AND_SHIFT, ("moving_mean", "mean"), ("moving_variance", "var"))
    return Counterpart(module, carried=present(layer, ways), unchecked=attributes_of_call(layer, "synchronized"))


def _batch_of_jaxport(layer: SourceLayer) -> Counterpart:
    module = Module(
        "jaxport.normalization.BatchNorm",
        {
            "momentum": layer.config.get("momentum"),
            "epsilon": layer.config.get("epsilon"),
            "dtype": layer.compute_dtype,
        },
        constructed={"features": _features(layer, "moving_mean"), "param_dtype": layer.variable_dtype},
    )
    ways = same(("gamma", "gamma"), ("beta", "beta"), ("moving_mean", "mean"), ("moving_variance", "variance"))
    return Counterpart(module, carried=ways, unchecked=attributes_of_call(layer, "synchronized"))


def _layer(layer: SourceLayer) -> Counterpart:
    module = Module(
        "nnx.LayerNorm",
        {
            "num_features": _features(layer, "gamma", "beta"),
            "epsilon": layer.config.get("epsilon"),
            "reduction_axes": -1,
            "feature_axes": -1,
            **_affine(layer),
            **dtypes(layer),
        },
        advised={"use_fast_variance": False},
    )
    return Counterpart(module, carried=present(layer, same(*_SCALE_AND_SHIFT)))


def _group(layer: SourceLayer) -> Counterpart:
    features, groups = _features(layer, "gamma", "beta"), layer.config.get("groups")
    module = Module(
        "nnx.GroupNorm",
        {
            # -1 in Keras: each channel is a group of its own.
            "num_groups": features if groups == -1 else groups,
            "epsilon": layer.config.get("epsilon"),
            "feature_axis": -1,
            **_affine(layer),
            **dtypes(layer),
        },
        advised={"use_fast_variance": False},
        constructed={"num_features": features},
    )
    return Counterpart(module, carried=present(layer, same(*_SCALE_AND_SHIFT)))


def _several_channels(layer: SourceLayer) -> str:
    """The groups of a layer whose groups are not single channels."""
    groups = layer.config.get("groups")
    return "" if groups in (-1, _features(layer, "gamma", "beta")) else f"groups={groups!r}"


def _instance(layer: SourceLayer) -> Counterpart:
    module = Module(
        "nnx.InstanceNorm",
        {
            "num_features": _features(layer, "gamma", "beta"),
            "epsilon": layer.config.get("epsilon"),
            "feature_axes": -1,
            **_affine(layer),
            **dtypes(layer),
        },
        advised={"use_fast_variance": False},
    )
    return Counterpart(module, carried=present(layer, same(*_SCALE_AND_SHIFT)))


def _root_mean_square(layer: SourceLayer) -> Counterpart:
    module = Module(
        "nnx.RMSNorm",
        {
            "num_features": _features(layer, "scale"),
            "epsilon": layer.config.get("epsilon"),
            "reduction_axes": -1,
            "feature_axes": -1,
            "use_scale": True,
            **dtypes(layer),
        },
    )
    return Counterpart(module, carried=same(("scale", "scale")))


def _by_statistics(layer: SourceLayer) -> Counterpart:
    shape = list(shape_of(layer, "mean"))
    return Counterpart(
        Module("jaxport.layers.Normalization", {"shape": shape, "param_dtype": layer.variable_dtype}),
        carried=same(("mean", "mean"), ("variance", "variance")),
        left={"count": "how many values adapt() has seen: nothing is computed with it"},
    )


def _of_constants(layer: SourceLayer) -> Counterpart:
    mean, variance = (f"jnp.asarray({layer.config.get(name)!r}, x.dtype)" for name in ("mean", "variance"))
    return Counterpart(function=f"(x - {mean}) / jnp.maximum(jnp.sqrt({variance}), 1e-07)")


def _no_constants(layer: SourceLayer) -> str:
    """Statistics that are weights, or none that stand along the last axis."""
    numbers = [layer.config.get(name) for name in ("mean", "variance")]
    plain = all(
        isinstance(statistic, list) and all(isinstance(one, float | int) for one in statistic) for statistic in numbers
    )
    return _not_last(layer) if plain else "a mean and variance that are no list of numbers"


def _statistics_problem(layer: SourceLayer) -> str:
    """Why a layer is refused: its statistics are constructor arguments, or belong to another axis than the last."""
    return _not_last(layer) if shape_if_any(layer, "mean") else "a mean and variance of its own"


def _not_last(layer: SourceLayer) -> str:
    """An axis other than the last, counted from either end."""
    axis = layer.config.get("axis", -1)
    axes = axis if isinstance(axis, list) else [axis]
    last = (-1, len(layer.shape) - 1) if layer.shape else (-1,)
    return "" if len(axes) == 1 and axes[0] in last else f"axis={axis!r}"


def _instance_obstacle(layer: SourceLayer) -> str:
    return _not_last(layer) or _several_channels(layer)


_BATCH, _LAYER = ("BatchNormalization",), ("LayerNormalization",)

NORMALIZATION = (
    Rule("batch_normalization", _BATCH, _batch, {"renorm": (False,)}, _not_last),
    Rule(
        "batch_normalization_of_jaxport", _BATCH, _batch_of_jaxport,
        {"renorm": (False,), "center": (True,), "scale": (True,)}, _not_last,
    ),
    Rule("layer_normalization", _LAYER, _layer, {"rms_scaling": (False,)}, _not_last),
    Rule("group_normalization", ("GroupNormalization",), _group, {}, _not_last),
    Rule("instance_normalization", ("GroupNormalization",), _instance, {}, _instance_obstacle),
    Rule("rms_normalization", ("RMSNormalization",), _root_mean_square, {}, _not_last),
    Rule(
        "normalization", ("Normalization",), _by_statistics, {"invert": (False,)}, _statistics_problem
    ),
    Rule(
        "normalization_of_constants", ("Normalization",), _of_constants, {"invert": (False,)}, _no_constants
    ),
)  # fmt: skip
