"""Sources and targets of weights, made by hand: what a plan is tried on without any framework."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from workloads.protocol.transfer import Leaf, Source, SourceLayer, Target, TargetModule, TargetVariable

F32 = {"dtype": None, "param_dtype": "float32"}
CONV = {
    "in_features": 4, "out_features": 4, "kernel_size": [3, 3], "strides": 1, "padding": "SAME", "input_dilation": 1,
    "kernel_dilation": 1, "feature_group_count": 1, "use_bias": True, **F32,
}  # fmt: skip
BATCH_NORM = {
    "num_features": 4, "axis": -1, "momentum": 0.99, "epsilon": 0.001, "use_bias": True, "use_scale": True,
    "use_fast_variance": False, **F32,
}  # fmt: skip


def linear(features: int, **other: Any) -> dict[str, Any]:
    return {"in_features": features, "out_features": features, "use_bias": True, **F32, **other}


def layer(path: str, class_name: str, leaves: Mapping[str, tuple[int, ...]], **config: Any) -> SourceLayer:
    parent, _, step = path.rpartition("/")
    return SourceLayer(
        *(path, parent, step, "keras.layers", class_name, config, "float32", "float32"),
        tuple(Leaf(name, f"{path}/{name}", shape, "float32") for name, shape in leaves.items()),
        (None, 8, 8, 4),
    )


def source(*layers: SourceLayer) -> tuple[Source, dict[str, np.ndarray]]:
    """The layers in a model, and an array for each leaf; no two values are equal."""
    model = SourceLayer("", None, "", "keras", "Functional", container=True)
    arrays: dict[str, np.ndarray] = {}
    for leaf in (leaf for each in layers for leaf in each.leaves if not leaf.tied):
        start = 1000 * len(arrays)
        arrays[leaf.key] = np.arange(start, start + math.prod(leaf.shape), dtype=np.float32).reshape(leaf.shape)
    return Source((model, *layers)), arrays


def target(modules: Mapping[str, tuple[str, Mapping[str, Any], Mapping[str, tuple[int, ...]]]]) -> Target:
    """A module of modules: by path its class, attributes and variables."""
    return Target(
        (TargetModule("", "Port"), *(TargetModule(path, kind, said) for path, (kind, said, _) in modules.items())),
        tuple(
            TargetVariable(f"{path}.{name}", "Param", shape, "float32")
            for path, (_, _, held) in modules.items()
            for name, shape in held.items()
        ),
    )


def two_dense() -> tuple[Source, dict[str, np.ndarray]]:
    leaves = {"kernel": (4, 4), "bias": (4,)}
    return source(*(layer(name, "Dense", leaves, use_bias=True) for name in ("first", "second")))


def two_linear(**other: Any) -> Target:
    return target(
        {name: ("nnx.Linear", linear(4, **other), {"kernel": (4, 4), "bias": (4,)}) for name in ("first", "second")}
    )


def conv_and_norm() -> tuple[Source, dict[str, np.ndarray]]:
    norm = {"gamma": (4,), "beta": (4,), "moving_mean": (4,), "moving_variance": (4,)}
    return source(
        layer("conv", "Conv2D", {"kernel": (3, 3, 4, 4), "bias": (4,)}, kernel_size=[3, 3], strides=[1, 1],
              padding="same", dilation_rate=[1, 1], groups=1, use_bias=True, data_format="channels_last"),
        layer("norm", "BatchNormalization", norm, axis=-1, momentum=0.99, epsilon=0.001, center=True, scale=True),
    )  # fmt: skip


def conv_and_norm_of_flax(conv: Mapping[str, Any] = CONV, norm: Mapping[str, Any] = BATCH_NORM) -> Target:
    return target(
        {
            "conv": ("nnx.Conv", conv, {"kernel": (3, 3, 4, 4), "bias": (4,)}),
            "norm": ("nnx.BatchNorm", norm, {"scale": (4,), "bias": (4,), "mean": (4,), "var": (4,)}),
        }
    )
