"""Masks that Keras hands from layer to layer beside the tensors: which a call takes, as arguments of that call."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import keras
import tensorflow as tf

from tf_reference import _keras_variables

BESIDE = "masks beside its tensors"
"""Stands among the arguments of a call that reads masks in another way than as an argument."""

_ATTENTION = keras.layers.MultiHeadAttention
_MERGES = (keras.layers.Maximum, keras.layers.Minimum, keras.layers.Multiply)
"""Their calls read the masks that their tensors carry."""


def of(tensor: Any) -> Any:
    """The mask that a tensor carries; None where it carries none."""
    return getattr(tensor, "_keras_mask", None)


def makes(layer: Any) -> bool:
    """Whether a layer, or one in it, may make a mask."""
    return any(_makes(part) for part in layer._flatten_layers())


def _makes(layer: Any) -> bool:
    own = not _keras_variables.is_keras(layer) and not type(layer).compute_mask.__module__.startswith("keras.")
    makes_own = getattr(layer, "mask_zero", False) or (
        isinstance(layer, keras.layers.Lambda) and layer.mask is not None
    )
    return bool(own or makes_own or isinstance(layer, keras.layers.Masking))


def in_graph(graph: Any) -> bool:
    """Whether tensors of a functional model may carry masks, made by a layer or given to one by name."""
    nodes = (node for operation in graph.operations for node in operation._inbound_nodes)
    return makes(graph) or any(node.arguments.kwargs.get("mask") is not None for node in nodes)


def takes(layer: Any) -> bool:
    """Whether the call of a layer, or of one in it, computes with masks."""
    return any(
        isinstance(part, _MERGES) or any(name.endswith("mask") for name in inspect.signature(part.call).parameters)
        for part in layer._flatten_layers()
    )


def added_masks(layer: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The masks that Keras adds to the arguments of a call; None where it takes one away."""
    signature = inspect.signature(layer.call)
    keywords = {name: value for name, value in kwargs.items() if name in signature.parameters}
    try:
        bound = signature.bind(*args, **keywords).arguments
    except TypeError:
        return {}
    tensors = {name: value for name, value in bound.items() if _is_tensors(value)}
    tensor_names = {"mask": next(iter(tensors))} if len(tensors) == 1 else {f"{name}_mask": name for name in tensors}
    masks = {
        mask: tf.nest.map_structure(of, tensors[name])
        for mask, name in tensor_names.items()
        if mask in signature.parameters and bound.get(mask) is None
    }
    masks = {name: nest for name, nest in masks.items() if any(one is not None for one in tf.nest.flatten(nest))}
    others = [name for name in tensors if name != "mask"]
    if "mask" in tensors and len(others) == 1 and _agree(bound["mask"], tensors[others[0]]):
        # A graph that Keras has names the mask that it added when it was made.
        masks["mask"] = bound["mask"]
    if isinstance(layer, _ATTENTION):
        # Whatever its argument is, it takes the mask that the query carries.
        masks["query_mask"] = of(bound["query"])
    if isinstance(layer, _MERGES) and any(of(tensor) is not None for tensor in tf.nest.flatten(list(tensors.values()))):
        masks[BESIDE] = True
    return masks


def beside(layer: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], masks: Mapping[str, Any], result: Any) -> bool:
    """Whether a model, or a layer of the user's, does with the masks of what it is given what no argument says.

    Raises:
      TypeError: or what else a call raises that takes no symbols.
    """
    masked_inputs = [value for value in tf.nest.flatten((args, dict(kwargs))) if of(value) is not None]
    if not masked_inputs or not _keras_variables.is_container(layer):
        return False
    # What Keras hands to the call by name is followed there.
    if takes(layer) and (_keras_variables.is_keras(layer) or "mask" not in masks):
        return True
    results = tf.nest.flatten(layer.call(*args, **{**kwargs, **masks}))
    # To what carries none Keras adds that which the class says.
    return any(
        of(one) is not None and not _same(of(one), of(other))
        for one, other in zip(results, tf.nest.flatten(result), strict=True)
    )


def hand_on(before: Any, after: Any) -> None:
    """Let what a function returned carry the mask of what it was given, as the result of one layer does."""
    if of(before) is not None and of(after) is None:
        after._keras_mask = of(before)


def forget(layer: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Take the masks from tensors as a call does: attention leaves none on what it is given."""
    if isinstance(layer, _ATTENTION):
        mask_inputs = (kwargs[name] for name in ("query", "value", "key") if name in kwargs)
        for tensor in (*args, *mask_inputs):
            # One of another type is copied first.
            if of(tensor) is not None and str(tensor.dtype) == layer.compute_dtype:
                tensor._keras_mask = None


def _agree(masks: Any, tensors: Any) -> bool:
    """Whether masks are those that tensors carry."""
    pairs = zip(tf.nest.flatten(masks), tf.nest.flatten(tensors), strict=False)
    return all(_same(mask, of(tensor)) for mask, tensor in pairs)


def _same(one: Any, other: Any) -> bool:
    """Whether two masks are one, or are computed alike."""
    if one is other or not all(isinstance(mask, keras.KerasTensor) for mask in (one, other)):
        return one is other or (type(one) is type(other) and isinstance(one, bool | int | float) and one == other)
    (operation, node, index), (another, node_of_other, place) = (_maker(mask) for mask in (one, other))
    if (
        operation is None
        or index != place
        or type(operation) is not type(another)
        or isinstance(operation, keras.Layer)
    ):
        return False
    if _settings(operation) != _settings(another):
        return False
    mine, its = (tf.nest.flatten((call.arguments.args, call.arguments.kwargs)) for call in (node, node_of_other))
    return len(mine) == len(its) and all(map(_same, mine, its))


def _maker(mask: Any) -> tuple[Any, Any, Any]:
    """The operation that makes a mask, its node, and which of its results the mask is."""
    history = getattr(mask, "_keras_history", None)
    if history is None or history.operation is None:
        return None, None, None
    return history.operation, history.operation._inbound_nodes[history.node_index], history.tensor_index


def _settings(operation: Any) -> dict[str, str]:
    return {name: repr(value) for name, value in vars(operation).items() if name[0] != "_" and name != "name"}


def _is_tensors(value: Any) -> bool:
    flat = tf.nest.flatten(value) if isinstance(value, list | tuple | Mapping) else [value]
    symbols = [leaf for leaf in flat if leaf is not None]
    return bool(symbols) and all(isinstance(symbol, keras.KerasTensor) for symbol in symbols)
