"""Finds the layers in a layer of Keras with their names, and the variables that are its own."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import keras
import tensorflow as tf

from tf_reference import _keras_config
from workloads.protocol.inspection import Plain, Value
from workloads.protocol.transfer import STATES

_CONTAINERS = frozenset({"Functional", "Sequential", "Model"})

_INNER: Mapping[str, tuple[str, ...]] = {
    "TimeDistributed": ("layer",),
    "Wrapper": ("layer",),
    "SpectralNormalization": ("layer",),
    "Bidirectional": ("forward_layer", "backward_layer"),
    "RNN": ("cell",),
    "StackedRNNCells": ("cells",),
}
"""By Keras' own classes that hold layers of the user's choice: the attributes that hold them."""

_OF_KERAS = frozenset({"_layers", "_metrics", "_functional", "_losses", "_seed_generators", "_operations"})
"""Attributes in which Keras itself lists the layers of a layer."""

_OF_TRACKING = "_self_unconditional_"
"""The prefix of attributes in which TensorFlow tracks what a checkpoint holds."""


def is_keras(layer: Any) -> bool:
    """Whether a layer is of one of Keras' own classes."""
    return type(layer).__module__.split(".")[0] in ("keras", "tf_keras")


def is_container(layer: Any) -> bool:
    """Whether it computes nothing that a rule would know: a model, a layer of a class that is not Keras', a Lambda."""
    return not is_keras(layer) or type(layer).__name__ in _CONTAINERS or is_lambda(layer)


def is_lambda(layer: Any) -> bool:
    """Whether a layer calls a function of the user's and no more, whatever the mask, and in training too."""
    asks = ("_fn_expects_training_arg", "_fn_expects_mask_arg")
    alone = isinstance(layer, keras.layers.Lambda) and layer.mask is None
    return alone and not any(getattr(layer, attribute, True) for attribute in asks)


def children(layer: Any) -> Iterator[tuple[str, Any]]:
    """The layers in a layer that stand for themselves, by name: those of a model, and attributes of a user's layer."""
    if is_keras(layer) and type(layer).__name__ in _CONTAINERS:
        layers = getattr(layer, "operations", None) or layer.layers
        yield from ((child.name, child) for child in layers if not isinstance(child, keras.layers.InputLayer))
    elif is_keras(layer):
        for name in _INNER.get(type(layer).__name__, ()):
            yield from _layers_held(name, getattr(layer, name, None))
    else:
        yield from _of_attributes(layer)


def by_path(layer: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every layer in a layer with its path; one that is shared stands under each."""
    for name, child in children(layer):
        inner = f"{path}/{name}" if path else name
        yield inner, child
        yield from by_path(child, inner)


def first_paths(layers: Mapping[str, keras.Layer]) -> dict[int, str]:
    """The path that each layer stands under first, by its id."""
    return {id(layer): path for path, layer in reversed(layers.items())}


def _of_attributes(layer: Any) -> Iterator[tuple[str, Any]]:
    """The attributes of a user's object, public ones first; then the layers that only Keras' list has."""
    functional = getattr(layer, "operations", None)
    by_name = [(child.name, child) for child in functional or () if not isinstance(child, keras.layers.InputLayer)]
    attributes = sorted(vars(layer).items(), key=lambda item: item[0].startswith("_"))
    for name, value in attributes:
        if name not in _OF_KERAS and not name.startswith(_OF_TRACKING):
            by_name.extend(_layers_held(name, value))
    by_name.extend((child.name, child) for child in layer._flatten_layers(include_self=False, recursive=False))
    seen_ids: set[int] = set()
    for name, child in by_name:
        if id(child) not in seen_ids and not isinstance(child, keras.layers.InputLayer):
            seen_ids.add(id(child))
            yield name, child


def _layers_held(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, keras.Layer):
        yield name, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _layers_held(f"{name}/{key}", item)
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from _layers_held(f"{name}/{number}", item)


def leaves(layer: Any, inner: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """The variables of a layer, and of layers that Keras keeps in it: "kernel", "query/kernel"."""
    # An operation of keras.ops between layers has none.
    apart = {id(weight) for _, child in inner for weight in getattr(child, "weights", None) or ()}
    for name, variable in _own(layer, "", set()):
        if id(variable) not in apart:
            yield name, variable
    yield from ((f"{STATES}{number}", state) for number, state in enumerate(recurrent_states(layer)))


def recurrent_states(layer: Any) -> list[Any]:
    """The states that a recurrent layer carries from call to call, in Keras' order; Keras lists them nowhere else."""
    is_stateful = isinstance(layer, keras.layers.RNN) and layer.stateful
    return keras.tree.flatten(layer.states) if is_stateful and layer.states is not None else []


def is_made_to_train(variable: Any) -> bool:
    """Whether a variable was made to be trained, though Keras may say that it is not: it or its layer is frozen."""
    tf_variable = variable if isinstance(variable, tf.Variable) else variable.value
    return bool(tf_variable.trainable)


def frozen_variables(layer: Any) -> set[int]:
    """The variables, by id, that a layer does not train: all of one that is frozen, and those that are frozen alone."""
    if not getattr(layer, "trainable", True):
        return {id(variable) for variable in layer.variables}
    if not isinstance(layer, keras.Layer):
        return set()
    inner = layer._flatten_layers(include_self=False, recursive=False)
    alone = {id(variable) for variable in layer.variables if not variable.trainable and is_made_to_train(variable)}
    return alone | {id(variable) for child in inner if not child.trainable for variable in child.variables}


def _own(layer: Any, prefix: str, seen_ids: set[int]) -> Iterator[tuple[str, Any]]:
    if not isinstance(layer, keras.Layer) or id(layer) in seen_ids:
        return
    seen_ids.add(id(layer))
    for variable in (*layer._trainable_variables, *layer._non_trainable_variables):
        yield f"{prefix}{variable.name}", variable
    for child in layer._layers:
        yield from _own(child, f"{prefix}{child.name}/", seen_ids)


def has_own(layer: Any) -> bool:
    """Whether a layer has variables of its own, beside those of layers that stand for themselves."""
    return any(True for _ in leaves(layer, list(children(layer))))


def seeds(layer: Any) -> list[Any]:
    """The states of the random generators in a layer."""
    weights = {id(weight) for weight in layer.weights}
    metrics = {id(variable) for variable in getattr(layer, "metrics_variables", ())}
    return [variable for variable in layer.variables if id(variable) not in weights | metrics]


def own_seeds(layer: Any) -> list[Any]:
    """The states of the random generators in a layer that are in none of the layers in it."""
    inner = {id(state) for child in layer._flatten_layers(include_self=False) for state in seeds(child)}
    return [state for state in seeds(layer) if id(state) not in inner]


def config(layer: Any) -> dict[str, Plain]:
    """The config of a layer or operation as plain data; empty where it has none, as users' layers often."""
    try:
        plain = _keras_config.plain_config(layer.get_config())
    except (NotImplementedError, TypeError, AttributeError, ValueError):
        return {}
    # The dtype of an operation is what it makes; that of a layer is its policy, which stands elsewhere.
    dtype = None if isinstance(layer, keras.Layer) else getattr(layer, "dtype", None)
    return plain if dtype is None else {**plain, "dtype": keras.backend.standardize_dtype(dtype)}


def defaults(layer: Any, config: Mapping[str, Plain]) -> tuple[str, ...]:
    """The attributes that are as the class of a layer of Keras has them where nothing is said."""
    parameters = inspect.signature(type(layer).__init__).parameters if is_keras(layer) else {}
    plain = {name: _keras_config.plain(parameter.default) for name, parameter in parameters.items()}
    return tuple(name for name, value in config.items() if name in plain and plain[name] == value)


def input_shape(layer: Any) -> tuple[int | None, ...]:
    """The shape of a layer's input; empty where it is not known, or there are several."""
    try:
        shape = layer.input.shape
    except (AttributeError, ValueError, RuntimeError):
        return ()
    return tuple(None if size is None else int(size) for size in shape)


def inputs(model: Any) -> tuple[Value, ...]:
    """The inputs of a model, as far as it knows them."""
    return tuple(
        Value(tensor.name, str(tensor.dtype), tuple(None if size is None else int(size) for size in tensor.shape))
        for tensor in getattr(model, "inputs", None) or ()
    )


@contextmanager
def seeds_kept(layer: Any) -> Iterator[list[Any]]:
    """Inside, the states of the random generators in a layer; behind, these are as if it had drawn nothing."""
    states = seeds(layer)
    before = [state.numpy() for state in states]
    try:
        yield states
    finally:
        for state, value in zip(states, before, strict=True):
            state.assign(value)
