"""A config as Keras 2 wrote it, and HDF5 files still do: completed, so that Keras 3 builds what it describes."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import keras

from tf_reference import _keras_2_calls, _keras_config
from workloads.protocol.inspection import Config

_CONTAINERS = {name: "keras.src.models.functional" for name in ("Functional", "Model")} | {"Sequential": "keras"}
_MODULES = ("keras.layers", "keras.initializers", "keras.regularizers", "keras.constraints")
_POLICIES, _MIXED = frozenset({"Policy", "PolicyV1"}), "keras.mixed_precision"
"""The classes of dtype policies of Keras 2: in Keras 3 it is DTypePolicy, by the same name."""

OPTIMIZER = "optimizer_config"

_WITHOUT_EFFECT: Config = {
    "time_major": False, "groups": 1, "unroll": False, "trainable": True, "softmax_robust_masking": False,
    "decay": 0.0, "is_legacy_optimizer": False,
}  # fmt: skip
"""Arguments that Keras 3 does not know any more, and the value that changes nothing."""

_BATCH_SHAPE = "batch_input_shape"
_NAME = {"name": "sequential"}
_NOT_COMPUTED = frozenset({"jit_compile", "rng_type", "implementation", "vocabulary_size", "input_length",
                           "query_shape", "key_shape", "value_shape"})  # fmt: skip
"""Arguments that say how something is compiled or built, and not what it computes."""


def complete(value: Any, key: str = "") -> Any:
    """An object of a config of Keras 2 with the module of its class, where that is Keras' own by its name.

    Arguments that Keras 3 does not know are left out where they change nothing.
    """
    if isinstance(value, list):
        return [complete(item, key) for item in value]
    if not isinstance(value, Mapping):
        return value
    inner = {name: complete(item, str(name)) for name, item in _with_input(value).items()}
    kind, under = inner.get("class_name"), _keras_config.module_under(key)
    if not isinstance(kind, str) or "config" not in inner:
        return inner
    if under and kind in _POLICIES and inner.get("module") in (None, _MIXED) and isinstance(inner["config"], Mapping):
        return {**inner, **_policy(inner["config"])}
    of_keras = _module(kind, (under,) if under else _MODULES)
    if isinstance(inner["config"], Mapping) and of_keras == _keras_config.KERAS_LAYERS:
        inner["config"] = _known_arguments(getattr(keras.layers, kind), inner["config"])
    if kind in _CONTAINERS and isinstance(inner["config"], Mapping) and isinstance(inner["config"].get("layers"), list):
        inner["config"] = _keras_2_calls.complete(inner["config"])
    of_keras = of_keras if inner.get("module") is None or kind in _CONTAINERS else ""
    return {"registered_name": None, **inner, "module": of_keras} if of_keras else inner


def training_config(training: Config) -> Config:
    """Convert the training config of an HDF5 file to that of a .keras file."""
    arguments = {name: item for name, item in training.items() if name not in (OPTIMIZER, "sample_weight_mode")}
    optimizer = training.get(OPTIMIZER)
    if not isinstance(optimizer, Mapping) or not isinstance(optimizer.get("config"), Mapping):
        return {"optimizer": optimizer, **arguments}
    kind = str(optimizer.get("class_name")).removeprefix("Custom>")
    optimizer_class = getattr(keras.optimizers, kind, None)
    config = optimizer["config"]
    optimizer_config = {"module": "keras.optimizers", "registered_name": None, **optimizer, "class_name": kind}
    return {
        "optimizer": {
            **optimizer_config,
            "config": _known_arguments(optimizer_class, config) if optimizer_class else config,
        },
        **arguments,
    }


def _with_input(model_config: Config) -> Config:
    """A Sequential with the layer for its input, where its first layer has the shape of that."""
    config = model_config.get("config")
    config_mapping: Config = config if isinstance(config, Mapping) else _NAME
    layers = config if isinstance(config, list) else config_mapping.get("layers")
    first = layers[0] if model_config.get("class_name") == "Sequential" and isinstance(layers, list) and layers else {}
    arguments = first.get("config") if isinstance(first, Mapping) and first.get("class_name") != "InputLayer" else None
    if not isinstance(arguments, Mapping) or not isinstance(arguments.get(_BATCH_SHAPE), list):
        return model_config
    input_layer = {"class_name": "InputLayer", "config": {_BATCH_SHAPE: arguments[_BATCH_SHAPE]}}
    return {**model_config, "config": {**config_mapping, "layers": [input_layer, *(layers or ())]}}


def _known_arguments(kind: Any, config: Config) -> Config:
    """The arguments of an object, without those that Keras 3 does not know and that change nothing."""
    parameters = inspect.signature(kind).parameters
    arguments = {
        name: item for name, item in config.items() if name in parameters or not _is_without_effect(name, item)
    }
    axis, shape, function = arguments.get("axis"), arguments.get(_BATCH_SHAPE), arguments.get("function")
    if isinstance(axis, list) and len(axis) == 1:
        arguments["axis"] = axis[0]
    if isinstance(shape, list):
        del arguments[_BATCH_SHAPE]
        arguments |= {"batch_shape": shape} if kind is keras.layers.InputLayer else {}
    if isinstance(function, list):
        arguments["function"] = {"class_name": "__lambda__", "config": {"value": function}}
    return arguments


def _is_without_effect(name: str, value: Any) -> bool:
    """Whether an argument that Keras 3 does not know changes nothing; an initializer then has no weight to set."""
    unset = value is None or name in _NOT_COMPUTED or name.endswith("_initializer")
    return unset or (name in _WITHOUT_EFFECT and value == _WITHOUT_EFFECT[name])


def _policy(config: Config) -> Config:
    policy_config = {"name": config.get("name")}
    return {"module": "keras", "class_name": "DTypePolicy", "config": policy_config, "registered_name": None}


def _module(kind: str, modules: Sequence[str]) -> str:
    """The module of Keras that has a class by this name; "" where none has."""
    if kind in _CONTAINERS:
        return _CONTAINERS[kind]
    for module in modules:
        if isinstance(getattr(getattr(keras, module.partition(".")[2]), kind, None), type):
            return module
    return ""
