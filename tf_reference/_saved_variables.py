"""The variables of a saved graph, and the array of the checkpoint that each one takes, by the graph's restore nodes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tf_reference import _private, _saved_weights
from tf_reference._checkpoint_graph import CheckpointGraph
from tf_reference._flat_graph import FlatGraph
from tf_reference._graph_nodes import find_needed, node_of
from tf_reference._saved_functions import OBJECT
from workloads.core.foreign import Unusable

HANDLES, REFERENCES = frozenset({"VarHandleOp"}), frozenset({"VariableV2", "Variable"})
_ASSIGNMENTS = frozenset({"Assign", "AssignVariableOp"})
_RESTORING = frozenset({"RestoreV2"})
_HANDED_ON = frozenset({"Identity", "Cast"})
_SLICE = re.compile(r"(\d+),(\d+)")
_COPY = re.compile(r"_\d+$")


@dataclass(frozen=True)
class Origin:
    """Where the array of a variable comes from.

    Attributes:
      key: of it in the checkpoint.
      part: of it, as TensorFlow writes it ("10 4 0,5:0,4"); "" is all of it.
    """

    key: str
    part: str = ""


@dataclass(frozen=True)
class Variable:
    """A variable of a graph.

    Attributes:
      node: its name in the graph.
      name: that it was made with.
      array: that it holds.
      trainable: whether gradients are taken with respect to it.
    """

    node: str
    name: str
    array: np.ndarray
    trainable: bool


def read(folder: Path, meta: Any, graph: Any) -> list[Variable]:
    """The variables that a graph needs.

    Args:
      graph: the GraphDef of what is computed, without calls.

    Raises:
      Unusable: the checkpoint is not there, or lacks one.
    """
    nodes = [node for node in graph.node if node.op in HANDLES | REFERENCES]
    if not nodes:
        return []
    checkpoint = _saved_weights.open_checkpoint(folder)
    origins = _find_origins(meta)
    has_objects = checkpoint.proto.nodes and meta.object_graph_def.nodes
    objects = {variable.key: variable for variable in checkpoint.variables()} if has_objects else {}
    names_trained = _names_trained(meta)
    variables, names_taken = [], set[str]()
    for node in nodes:
        origin = _of_object(checkpoint, node.attr[OBJECT].i) if OBJECT in node.attr else origins.get(node.name)
        origin = origin or _of_name(checkpoint, meta, node)
        # Saving names a copy by the original and a number.
        variable = objects.get(origin.key)
        name = (variable and variable.full_name) or node.attr["shared_name"].s.decode("utf-8", "replace") or node.name
        while name in names_taken:
            number = int(name.rpartition("_")[2]) + 1 if _COPY.search(name) else 1
            name = f"{_COPY.sub('', name)}_{number}"
        names_taken.add(name)
        # Objects may share a name, so the number decides whether one is trained.
        is_trained = (
            _is_trained(meta, variable.number) if variable else names_trained is None or node.name in names_trained
        )
        variables.append(Variable(node.name, name, _array(checkpoint, origin, node), is_trained))
    return variables


def of_frozen(graph: Any) -> tuple[Any, list[Variable]]:
    """Turn the constants that freezing made of variables back into variables; return the graph and these variables."""
    copy = type(graph)()
    copy.CopyFrom(graph)
    constants = {node.name: node for node in copy.node if node.op == "Const"}
    read = {node_of(node.input[0]): node.name for node in copy.node if _reads(node) and node.input}
    variables = []
    for name, reader in read.items():
        dtype = tf.dtypes.as_dtype(constants[name].attr["dtype"].type) if name in constants else tf.string
        if dtype == tf.string:
            continue
        array = tf.make_ndarray(constants[name].attr["value"].tensor)
        constants[name].op = "VariableV2"
        constants[name].attr["shape"].shape.CopyFrom(constants[name].attr["value"].tensor.tensor_shape)
        constants[name].attr.pop("value")
        short = reader if reader.endswith(_READS[1]) else name
        variables.append(Variable(name, short.removesuffix(_READS[1]).removesuffix("/resource"), array, True))
    return copy, variables


_READS = ("/read", "/ReadVariableOp")


def _reads(node: Any) -> bool:
    """Whether freezing made this node from a read of a variable."""
    return node.op == "Identity" and node.name.endswith(_READS)


def _of_object(checkpoint: CheckpointGraph, number: int) -> Origin:
    """The array of an object: a SavedModel and its checkpoint have the same numbers of objects."""
    nodes = checkpoint.proto.nodes
    attributes = nodes[number].attributes if number < len(nodes) else ()
    if not attributes:
        raise Unusable(f"none of the object {number}")
    return Origin(attributes[0].checkpoint_key)


def _of_name(checkpoint: CheckpointGraph, meta: Any, node: Any) -> Origin:
    """The array of a variable of which the graph restores a copy, such as a Keras 3 model in a tf.Module."""
    name = node.attr["shared_name"].s.decode("utf-8", "replace")
    objects = meta.object_graph_def.nodes
    numbers = [number for number, one in enumerate(objects) if one.HasField("variable") and one.variable.name == name]
    return _of_object(checkpoint, numbers[0]) if name and len(numbers) == 1 else Origin(node.name)


def _array(checkpoint: CheckpointGraph, origin: Origin, node: Any) -> np.ndarray:
    if not checkpoint.reader.has_tensor(origin.key):
        raise Unusable(f"none with the key {origin.key[:200]} for {node.name[:200]}")
    array = np.asarray(checkpoint.reader.get_tensor(origin.key))
    if origin.part:
        array = array[tuple(slice(int(a), int(a) + int(b)) for a, b in _SLICE.findall(origin.part))]
    dtype = tf.dtypes.as_dtype(node.attr["dtype"].type).base_dtype.as_numpy_dtype
    shape = tf.TensorShape(node.attr["shape"].shape)
    if array.dtype != dtype or not shape.is_compatible_with(array.shape):
        raise Unusable(
            f"{node.name[:200]} as {array.dtype}{list(array.shape)}, and the graph has another type or shape"
        )
    return array


def _is_trained(meta: Any, number: int) -> bool:
    """Whether the object of this number is a variable that is trained."""
    objects = meta.object_graph_def.nodes
    if number >= len(objects) or not objects[number].HasField("variable"):
        raise Unusable(f"an object {number} in the checkpoint that is no variable in the graph")
    return objects[number].variable.trainable


def _names_trained(meta: Any) -> frozenset[str] | None:
    """The names of the trained variables of TensorFlow 1; None where they are not listed."""
    if "trainable_variables" not in meta.collection_def:
        return None
    message = _private.protocol("variable_pb2", "VariableDef", "framework")
    definitions = meta.collection_def["trainable_variables"].bytes_list.value
    return frozenset(node_of(message.FromString(definition).variable_name) for definition in definitions)


def _find_origins(meta: Any) -> dict[str, Origin]:
    """By the node of a variable, the entry of the checkpoint that the graph restores."""
    restoring = meta.saver_def.restore_op_name
    if not restoring:
        return {}
    part = type(meta.graph_def)()
    part.CopyFrom(meta.graph_def)
    del part.node[:]
    part.node.extend(find_needed(meta.graph_def.node, [restoring]))
    by_name = {node.name: node for node in FlatGraph(part).flatten()[0].node}
    origins = {}
    for node in by_name.values():
        if node.op not in _ASSIGNMENTS or len(node.input) < 2:
            continue
        source = node.input[1]
        while (origin := by_name.get(node_of(source))) is not None and origin.op in _HANDED_ON and origin.input:
            source = origin.input[0]
        if origin is not None and origin.op in _RESTORING:
            origins[node_of(node.input[0])] = _origin(origin, int(source.partition(":")[2] or 0), by_name)
    return origins


def _origin(restoring: Any, number: int, by_name: Mapping[str, Any]) -> Origin:
    """The variable that the output of this number restores."""
    keys, parts = (_texts(by_name.get(node_of(restoring.input[place]))) for place in (1, 2))
    if number >= len(keys):
        raise Unusable("an operation that restores more than it names")
    return Origin(keys[number], parts[number] if number < len(parts) else "")


def _texts(node: Any) -> list[str]:
    if node is None or node.op != "Const":
        raise Unusable("names of variables that are no constants")
    return [text.decode("utf-8", "replace") for text in node.attr["value"].tensor.string_val]
