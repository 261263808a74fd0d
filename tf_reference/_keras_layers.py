"""The layers of a Keras model that is in memory, and what it was compiled with."""

from __future__ import annotations

import inspect
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

import keras

from tf_reference import _keras_config, _keras_described, _keras_variables
from workloads.core import frames
from workloads.protocol.inspection import Layer, Training, Value

_INNER = ("layer", "cell", "forward_layer")
"""Attributes of Keras' own wrappers that hold a layer."""

_WRAPPERS = frozenset({"Wrapper", "TimeDistributed", "SpectralNormalization", "RNN", "StackedRNNCells"})


def layers(model: Any) -> tuple[Layer, ...]:
    """Every layer of a model, those of models, wrappers and layers of the user's own behind them."""
    paths = _keras_variables.first_paths(dict(_keras_variables.by_path(model)))
    pairs = _layers(model, None, set(), None)
    return tuple(replace(description, path=paths.get(id(layer), "")) for layer, description in pairs)


def _layers(
    layer: Any, within: str | None, seen_ids: set[int], calls: Collection[int] | None
) -> Iterator[tuple[Any, Layer]]:
    """A layer and those in it; `calls` are those of the model around it, by id, None where that is not known."""
    if id(layer) in seen_ids:
        return
    seen_ids.add(id(layer))
    name = f"{within}/{layer.name}" if within else layer.name
    container = type(layer).__name__ in ("Functional", "Sequential", "Model") and _keras_variables.is_keras(layer)
    if not container and not isinstance(layer, keras.layers.InputLayer):
        yield layer, _layer(layer, name, calls)
    inside = _calls(layer) if container else None
    for inner in _inside(layer, container):
        yield from _layers(inner, "" if within is None else name, seen_ids, inside)


def _calls(model: Any) -> Collection[int] | None:
    """The calls of layers in a model; a Sequential makes its graph anew with each layer that is added to it."""
    graph = getattr(model, "_functional", None) or model
    by_depth = getattr(graph, "_nodes_by_depth", None)
    return None if by_depth is None else {id(node) for nodes in by_depth.values() for node in nodes}


def _inside(layer: Any, container: bool) -> list[Any]:
    """The layers in a layer that are not its own affair: of Keras' own, only wrappers have such."""
    if container:
        return list(getattr(layer, "operations", None) or layer.layers)
    if not _keras_variables.is_keras(layer):
        return [inner for inner in layer._flatten_layers(include_self=False, recursive=False)]
    kind = type(layer).__name__
    if kind == "Bidirectional":
        return [layer.forward_layer]
    if kind not in _WRAPPERS:
        return []
    cells = getattr(layer, "cells", None)
    children = list(cells) if cells else [getattr(layer, name) for name in _INNER if hasattr(layer, name)]
    return [inner for inner in children if isinstance(inner, keras.Layer)]


def _layer(layer: Any, name: str, calls: Collection[int] | None) -> Layer:
    kind = type(layer)
    nodes = getattr(layer, "_inbound_nodes", None)
    policy = getattr(layer, "dtype_policy", None)
    own = not _keras_variables.is_keras(layer)
    return Layer(
        name=name,
        module=_keras_config.module_of(kind.__module__),
        class_name=kind.__name__,
        config=_keras_variables.config(layer),
        policy=str(getattr(policy, "name", "") or ""),
        weights={weight.name: _type_text(weight) for weight in _own_weights(layer, own)},
        calls=sum(calls is None or id(node) in calls for node in nodes) if isinstance(nodes, list) else 0,
        shape=_keras_variables.input_shape(layer),
        source=_source(kind) if own else "",
    )


def _own_weights(layer: Any, own: bool) -> list[Any]:
    """The weights of a layer; of a user's layer or model, those that no layer in it has."""
    if not own:
        # An operation of keras.ops between layers has none.
        return list(getattr(layer, "weights", ()))
    inner = {id(weight) for child in layer._flatten_layers(include_self=False) for weight in child.weights}
    return [weight for weight in layer.weights if id(weight) not in inner]


def _type_text(weight: Any) -> str:
    return f"{weight.dtype}[{','.join(map(str, weight.shape))}]"


def _source(kind: type) -> str:
    try:
        file, (_, line) = inspect.getsourcefile(kind), inspect.getsourcelines(kind)
    except (OSError, TypeError):
        return ""
    return f"{os.path.realpath(file)}:{line}" if file and not frames.is_framework(file) else ""


def variables(model: Any) -> tuple[Value, ...]:
    """All variables of a model."""
    return tuple(
        Value(
            getattr(variable, "path", variable.name),
            str(variable.dtype),
            tuple(map(int, variable.shape)),
            bool(variable.trainable),
        )
        for variable in model.variables
    )


def training(model: Any) -> Training | None:
    """The arguments of `compile`; None where the model is not compiled."""
    if not getattr(model, "compiled", False):
        return None
    optimizer = model.optimizer
    config = _keras_described.config_of(optimizer) if optimizer is not None else {}
    compiled = _compile_settings(model)
    return Training(
        optimizer=type(optimizer).__name__ if optimizer is not None else "",
        config=_keras_config.plain_config(config),
        losses=_names_of(compiled.get("loss")),
        metrics=_names_of(compiled.get("metrics")),
    )


def _compile_settings(model: Any) -> Mapping[str, Any]:
    config = getattr(model, "_compile_config", None)
    return getattr(config, "config", None) or {}


def _names_of(value: Any) -> tuple[str, ...]:
    """The names of losses or metrics, however compile() was given them."""
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Mapping):
        return tuple(name for item in value.values() for name in _names_of(item))
    if isinstance(value, list | tuple):
        return tuple(name for item in value for name in _names_of(item))
    return (getattr(value, "__name__", type(value).__name__),)
