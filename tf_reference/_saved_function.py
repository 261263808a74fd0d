"""A part of a saved graph as a function of tensors, with its variables: nothing else of the file is run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tf_reference import (
    _bounded_loops,
    _graph_entries,
    _private,
    _saved_functions,
    _saved_gradients,
    _saved_model,
    _saved_variables,
)
from tf_reference._checkpoint_graph import DAMAGED
from tf_reference._flat_graph import FlatGraph, with_own_functions
from tf_reference._graph_entries import Entry, Tensor
from tf_reference._graph_nodes import definition, find_needed, known_shape, node_of
from tf_reference._keras_archive import bounded_memory
from tf_reference._own_traces import with_own_traces
from tf_reference._saved_variables import HANDLES, REFERENCES, Variable
from tf_reference._text_parts import behind_texts
from tf_reference._wider_floats import widen
from workloads.core import foreign
from workloads.core.foreign import Unusable
from workloads.protocol.framework import Unsupported
from workloads.protocol.saved_graph import SavedGraph

SCOPE = "saved"
"""The name scope of the file's nodes, which keeps their names distinct from arguments."""

DEFAULT = "serving_default"
_MOST_BYTES = 64 << 30
_NO_EFFECTS = frozenset({"NoOp", "Placeholder", "ReadVariableOp", "VarIsInitializedOp", *HANDLES, *REFERENCES})
_MOST_BYTES_OF_CONSTANTS = 4 << 30
"""A file has 2 GiB, and a constant of one number, written once, any shape."""

_BACK = frozenset({"NextIteration", "RefNextIteration"})


@dataclass(frozen=True)
class SavedFunction:
    """The function of a file that the user selected.

    Attributes:
      entry: where the graph is entered and left.
      graph: the GraphDef of it, without calls.
      held: the variables that it reads.
      remarks: on what of the file stays in TensorFlow's input pipeline, and on gradients that are not carried.
    """

    entry: Entry
    graph: Any
    held: Sequence[Variable]
    remarks: tuple[str, ...] = ()

    def wider(self) -> SavedFunction:
        """The same in float64."""
        variables_held = [replace(one, array=one.array.astype(_wider(one.array.dtype))) for one in self.held]
        return SavedFunction(self.entry, widen(self.graph), variables_held, self.remarks)

    @cached_property
    def variables(self) -> Mapping[str, tf.Variable]:
        """By node, with the values of the file."""
        return {one.node: tf.Variable(one.array, trainable=one.trainable, name=one.name) for one in self.held}

    def make_callable(self) -> Callable[..., dict[str, tf.Tensor]]:
        """A function of tensors, in the order of the entry's inputs, which returns them by name."""
        return with_own_traces(self.stage())

    def stage(self) -> Any:
        """Likewise, as a new tf.function."""
        variables, traces = self.variables, count()
        return tf.function(lambda *arguments: self._call(variables, arguments, next(traces)), autograph=False)

    def _call(
        self, variables: Mapping[str, tf.Variable], arguments: Sequence[tf.Tensor], trace: int
    ) -> dict[str, tf.Tensor]:
        graph: Any = tf.compat.v1.get_default_graph()
        handles = {node.name for node in self.graph.node if node.op in HANDLES}
        replacements: dict[str, tf.Tensor] = {}
        for node, variable in variables.items():
            graph.watch_variable(variable)
            replacements[f"{node}:0"] = graph.capture(variable.handle) if node in handles else variable.read_value()
        inputs = (tensor.name for tensor in self.entry.inputs.values())
        replacements |= dict(zip(inputs, arguments, strict=True))
        names = [tensor.name for tensor in self.entry.outputs.values()]
        own = with_own_functions(self.graph, trace)
        for function in own.library.function:
            # What is imported with a graph is not kept for where the graph is run.
            _private.define(function)
        body = _without(own, {node_of(name) for name in replacements})
        inner = [name for name in dict.fromkeys(names) if name not in replacements]
        results = tf.graph_util.import_graph_def(body, _read_in(body, replacements), inner, name=SCOPE)
        by_name = replacements | dict(zip(inner, results, strict=True))
        return {key: tf.identity(by_name[name]) for key, name in zip(self.entry.outputs, names, strict=True)}


def _read_in(graph: Any, tensors: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    """The tensors that a node of the graph reads."""
    names_taken = {tensor for node in graph.node for tensor in node.input}
    return {name: tensor for name, tensor in tensors.items() if {name, name.removesuffix(":0")} & names_taken}


def _wider(dtype: np.dtype) -> np.dtype:
    kind = tf.dtypes.as_dtype(dtype)
    return np.dtype(np.complex128 if kind.is_complex else np.float64 if kind.is_floating else dtype)


def _without(graph: Any, names: set[str]) -> Any:
    """A graph without the nodes that arguments and variables stand for."""
    body = type(graph)()
    body.CopyFrom(graph)
    del body.node[:]
    body.node.extend(node for node in graph.node if node.name not in names)
    for node in body.node:
        inputs = [tensor for tensor in node.input if not (tensor.startswith("^") and tensor[1:] in names)]
        del node.input[:]
        node.input.extend(inputs)
    return body


def read(selection: SavedGraph) -> SavedFunction:
    """Read the function of a file that the user selected.

    Raises:
      Unsupported: there is no such file, it is damaged or hostile, or has no such signature or tensor.
    """
    path = Path(selection.path)
    with _as_refusal(path), bounded_memory(_MOST_BYTES):
        if not path.is_dir():
            if selection.signature:
                raise Unsupported(
                    f"expected no signature of {path.name}, which has none, found {selection.signature}: drop it"
                )
            graph = _saved_model.read_message(
                path, tf.compat.v1.GraphDef, "a GraphDef", "check the path", "freeze the graph again"
            )
            entry = _graph_entries.of_ends(graph, selection.outputs, path.stem)
            entry, graph, in_calls = _flatten(graph, entry)
            graph, variables_held = _saved_variables.of_frozen(graph)
            entry, graph, remarks = _part(graph, entry, in_calls)
            names = {node.name for node in graph.node}
            return SavedFunction(entry, graph, [one for one in variables_held if one.node in names], remarks)
        meta = _saved_model.read_graph(path)
        entry, graph = _enter(meta, selection, path.name)
        entry, graph, in_calls = _flatten(graph, entry)
        entry, graph, remarks = _part(graph, entry, in_calls)
        return SavedFunction(entry, graph, _saved_variables.read(path, meta, graph), remarks)


def _enter(meta: Any, selection: SavedGraph, name: str) -> tuple[Entry, Any]:
    """Where a SavedModel is entered, and the graph that this is in."""
    if selection.outputs:
        return _graph_entries.of_ends(meta.graph_def, selection.outputs, name), meta.graph_def
    signatures, methods = _graph_entries.signatures(meta), _saved_functions.methods(meta)
    names = signatures or list(methods)
    default = DEFAULT if DEFAULT in names else names[0] if len(names) == 1 else ""
    name_chosen = selection.signature or default
    if name_chosen in signatures:
        return _graph_entries.of_signature(meta, name_chosen), meta.graph_def
    if name_chosen in methods:
        return _saved_functions.entry_of(meta, methods[name_chosen])
    request = f"the signature {name_chosen[:100]}" if name_chosen else f"one signature, or {DEFAULT} among several"
    functions = [method for method in methods if method not in signatures]
    also = f", and the functions {_graph_entries.list_names(functions)}" if functions else ""
    raise Unsupported(
        f"expected {request}, found {_graph_entries.list_names(signatures)}{also}: name one by --signature"
    )


@contextmanager
def _as_refusal(path: Path) -> Iterator[None]:
    """Turn the errors of a damaged file into one line."""
    try:
        yield
    except Unusable as error:
        raise Unsupported(
            f"expected a graph and its variables in {path}, found {error}: save the model again"
        ) from error
    except (*DAMAGED, OSError) as error:
        raise Unsupported(
            f"expected a graph and its variables in {path}, found what cannot be read "
            f"({foreign.error_line(error)[:200]}): save the model again"
        ) from error


def _flatten(graph: Any, entry: Entry) -> tuple[Entry, Any, set[str]]:
    """The nodes that the entry's outputs need, with calls inlined; and the names of nodes of called functions."""
    inputs = {node_of(tensor.name) for tensor in entry.inputs.values()}
    outputs = [tensor.name for tensor in entry.outputs.values()]
    missing = {node_of(name) for name in (*inputs, *outputs)} - {node.name for node in graph.node}
    if missing:
        raise Unusable(f"no node {sorted(missing)[0][:200]}, which it names as an input or output")
    part = type(graph)()
    part.CopyFrom(graph)
    del part.node[:]
    part.node.extend(find_needed((_cut(node, inputs) for node in graph.node), outputs))
    flat, names = FlatGraph(part).flatten(outputs)
    _check_constants(flat)
    tensors = [replace(tensor, name=name) for tensor, name in zip(entry.outputs.values(), names, strict=True)]
    entry = replace(entry, outputs=dict(zip(entry.outputs, tensors, strict=True)))
    return entry, flat, {node.name for node in flat.node} - {node.name for node in part.node}


def _check_constants(graph: Any) -> None:
    """Raise Unsupported where constants are larger together than any that a file has written out."""
    functions = (function.node_def for function in graph.library.function)
    nodes = (node for nodes in (graph.node, *functions) for node in nodes)
    tensors = (value.tensor for node in nodes for value in node.attr.values() if value.WhichOneof("value") == "tensor")
    size = sum(
        prod(max(axis.size, 0) for axis in tensor.tensor_shape.dim) * max(tf.dtypes.as_dtype(tensor.dtype).size, 1)
        for tensor in tensors
    )
    if size > _MOST_BYTES_OF_CONSTANTS:
        raise Unsupported(
            f"expected constants of up to {_MOST_BYTES_OF_CONSTANTS >> 30} GiB, found {size / 2**30:,.1f} GiB: save "
            "the model with variables"
        )


def _part(flat: Any, entry: Entry, in_calls: set[str]) -> tuple[Entry, Any, tuple[str, ...]]:
    """The part of a flat graph that begins behind text operations; and the effects in called functions."""
    entry, remarks = behind_texts(entry, flat)
    entry = replace(entry, inputs={key: _with_shape(tensor, flat) for key, tensor in entry.inputs.items()})
    starts = {node_of(tensor.name) for tensor in entry.inputs.values()}
    effects = [node.name for node in flat.node if node.name in in_calls and _has_effect(node)]
    ends = [*(tensor.name for tensor in entry.outputs.values()), *effects]
    nodes = list(find_needed([_cut(node, starts) for node in flat.node], ends))
    loop = next((node for node in nodes if node.op in _BACK), None)
    if loop is not None:
        raise Unsupported(
            f"expected no loop of TensorFlow 1, found {loop.op} at {loop.name[:100]}: save the model with control flow "
            "of version 2, or name outputs in front of it by --output"
        )
    del flat.node[:]
    flat.node.extend(nodes)
    _bounded_loops.bound(flat, [tensor.name for tensor in entry.outputs.values()])
    return entry, flat, (*remarks, *_saved_gradients.mark(flat))


def _with_shape(tensor: Tensor, graph: Any) -> Tensor:
    """A tensor with the shape that TensorFlow infers, where the file says none."""
    if tensor.shape is not None:
        return tensor
    with tf.Graph().as_default() as whole:
        tf.graph_util.import_graph_def(graph, name="")
    producer = whole.get_tensor_by_name(tensor.name).op
    # A table that was read from a file does not say that it gives a value for each key.
    likely = producer.inputs[1] if producer.type.startswith("LookupTableFind") else producer.outputs[0]
    number = int(tensor.name.rpartition(":")[2])
    return replace(tensor, shape=known_shape((likely if number == 0 else producer.outputs[number]).shape))


def _cut(node: Any, inputs: set[str]) -> Any:
    """A node; one that stands for an argument takes nothing."""
    if node.name not in inputs or not node.input:
        return node
    start = type(node)()
    start.CopyFrom(node)
    del start.input[:]
    return start


def _has_effect(node: Any) -> bool:
    op_definition = definition(node.op)
    return node.op not in _NO_EFFECTS and (op_definition is None or op_definition.is_stateful)
