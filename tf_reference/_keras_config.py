"""Layers as Keras writes them into a config: read as data, without Keras."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from workloads.protocol.inspection import Config, Layer, Plain, Training

KERAS_LAYERS, KERAS_OPS = "keras.layers", "keras.ops"

MOST_ENTRIES = 64
"""The longest list or object of a config that is shown; of longer ones, such as a vocabulary, the length is."""

LONGEST_TEXT = 200

_FILE = "_file_"
"""Before the name of a user's file that was run as a module."""
_LAMBDA = "__lambda__"
_CONTAINERS = frozenset({"Functional", "Sequential", "Model"})
_OTHER_MODULES = (
    "keras.initializers", "keras.regularizers", "keras.constraints", "keras.optimizers", "keras.losses",
    "keras.metrics", "keras.activations", "keras.dtype_policies", "keras.random", "builtins",
)  # fmt: skip
_NO_LAYERS = frozenset({"DTypePolicy", "DTypePolicyMap", "__keras_tensor__", "__tensor__", "__numpy__", "__typespec__",
                        "__bytes__", "__ellipsis__", "__tuple__", "slice", "function", _LAMBDA})  # fmt: skip

_BY_KEY = {
    "initializer": "keras.initializers",
    "regularizer": "keras.regularizers",
    "constraint": "keras.constraints",
    "dtype": "keras.dtype_policies",
}
"""By what a key of a config ends with, as "kernel_initializer" does: Keras 2 often leaves the module out."""


def layers(layer_config: Config, within: str | None = None, calls: int = 0) -> Iterator[Layer]:
    """Every layer of a config, those of models and wrappers behind them.

    Args:
      within: names of what is around it; None is the outermost model, whose name says nothing.
      calls: how often it is called where its own description does not say; 0 where that is not known.
    """
    config = layer_config.get("config")
    config = config if isinstance(config, Mapping) else {}
    own = str(config.get("name") or layer_config.get("name") or layer_config.get("class_name"))
    name = f"{within}/{own}" if within else own
    if is_container(layer_config):
        # No layer stands twice in a Sequential; one inside another model may be called again with all its layers.
        once = within is None and layer_config.get("class_name") == "Sequential"
        for inner in _inside(config):
            yield from layers(inner, "" if within is None else name, int(once))
    elif layer_config.get("class_name") != "InputLayer":
        yield _layer(layer_config, config, name, calls)
        for inner in _inside(config):
            yield from layers(inner, name)


def is_container(layer_config: Config) -> bool:
    """Whether this is one of Keras' own classes of models, which compute nothing but what their layers do."""
    module = str(layer_config.get("module"))
    return str(layer_config.get("class_name")) in _CONTAINERS and module.startswith(("keras", "tf_keras"))


def module_of(module: str) -> str:
    """The public module of a class: Keras' own are "keras.layers" and "keras.ops"; that of a user's file is NAME.py."""
    if module.startswith(_FILE):
        return f"{module.removeprefix(_FILE)}.py"
    if module == KERAS_LAYERS or module.startswith("keras.src.layers"):
        return KERAS_LAYERS
    return KERAS_OPS if module.startswith("keras.src.ops") else module


def _layer(layer_config: Config, config: Config, name: str, calls: int) -> Layer:
    registered_name = str(layer_config.get("registered_name") or "")
    module = layer_config.get("module") or registered_name.partition(">")[0] or "not known"
    build_config = layer_config.get("build_config")
    nodes = layer_config.get("inbound_nodes")
    class_name = str(layer_config.get("class_name"))
    return Layer(
        name=name or class_name,
        module=module_of(str(module)),
        class_name=class_name,
        config=plain_config(config),
        policy=policy_of(config.get("dtype")),
        calls=len(nodes) if isinstance(nodes, list) else calls,
        shape=_shape(build_config.get("input_shape") if isinstance(build_config, Mapping) else None),
        bytecode=holds_bytecode(config),
    )


def _shape(shape: Any) -> tuple[int | None, ...]:
    fits = isinstance(shape, list | tuple) and all(size is None or isinstance(size, int) for size in shape)
    return tuple(shape) if fits else ()


def module_under(key: str) -> str:
    """The module of Keras whose objects stand under a key of a config: no layers; "" where others may."""
    return next((module for ends, module in _BY_KEY.items() if key.endswith(ends)), "")


def _inside(config: Config) -> Iterator[Config]:
    """The objects in a config that are layers or models: not initializers, policies, functions."""
    for key, value in config.items():
        if not module_under(str(key)):
            yield from _inner(value)


def _inner(value: Any) -> Iterator[Config]:
    if isinstance(value, Mapping):
        if _is_layer(value):
            yield value
        elif "class_name" not in value:
            yield from _inside(value)
    elif isinstance(value, list):
        for item in value:
            yield from _inner(item)


def _is_layer(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    has_config = isinstance(value.get("class_name"), str) and isinstance(value.get("config"), Mapping)
    other = str(value.get("module") or "").startswith(_OTHER_MODULES) or str(value.get("class_name")) in _NO_LAYERS
    return has_config and not other


def holds_bytecode(value: Any) -> bool:
    """Whether a config holds a function as marshalled bytecode, outside of the layers within it."""
    if isinstance(value, Mapping):
        if value.get("class_name") == _LAMBDA:
            return True
        return any(holds_bytecode(item) for item in value.values() if not _is_layer(item))
    return isinstance(value, list) and any(holds_bytecode(item) for item in value if not _is_layer(item))


def policy_of(dtype: Any) -> str:
    """The name of a dtype policy as a config has it."""
    if isinstance(dtype, Mapping):
        config = dtype.get("config")
        return str(config.get("name") or "") if isinstance(config, Mapping) else ""
    return dtype if isinstance(dtype, str) else ""


def plain_config(config: Config) -> dict[str, Plain]:
    """A config as short plain data: an object by the name of its class, a long list by its length."""
    left_out = {"name", "dtype", "layers", "input_layers", "output_layers"}
    return {str(key): plain(value) for key, value in config.items() if key not in left_out}


def plain(value: Any) -> Plain:
    """One attribute as short plain data."""
    if isinstance(value, Mapping):
        if "class_name" in value:
            inner = value.get("config")
            return inner if isinstance(inner, str) and value["class_name"] == "function" else str(value["class_name"])
        return {str(key): plain(item) for key, item in list(value.items())[:MOST_ENTRIES]}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value] if len(value) <= MOST_ENTRIES else f"{len(value)} entries"
    if isinstance(value, str):
        return value[:LONGEST_TEXT]
    value = value.item() if isinstance(value, np.generic) else value
    return value if value is None or isinstance(value, bool | int | float) else str(value)[:LONGEST_TEXT]


def training(compiled: Any) -> Training | None:
    """The arguments of `compile` from a config; None where the model is not compiled."""
    if not isinstance(compiled, Mapping):
        return None
    optimizer = compiled.get("optimizer")
    has_config = isinstance(optimizer, Mapping)
    config = optimizer.get("config") if isinstance(optimizer, Mapping) else None
    return Training(
        optimizer=str(optimizer.get("class_name")) if has_config else str(optimizer or ""),
        config=plain_config(config) if isinstance(config, Mapping) else {},
        losses=tuple(_names(compiled.get("loss"))),
        metrics=tuple(_names(compiled.get("metrics"))),
    )


def _names(value: Any) -> Iterator[str]:
    """The names of losses or metrics, however they were given."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        if "class_name" in value:
            inner = value.get("config")
            yield inner if isinstance(inner, str) else str(value["class_name"])
        else:
            for item in value.values():
                yield from _names(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _names(item)
