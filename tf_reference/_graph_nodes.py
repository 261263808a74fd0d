"""The operations of a GraphDef, and of the functions that it calls: read as data, nothing is run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import tensorflow as tf

from tf_reference import _private
from workloads.protocol.framework import Unsupported
from workloads.protocol.inspection import Operation, Plain

MOST_NODES = 400_000
"""The most nodes of a model: the largest of the zoo has 40,000, and about 300 bytes are read of each."""

_LONGEST_TEXT, _MOST_ITEMS = 200, 32

_CONVOLUTIONS = frozenset({"Conv2D", "Conv3D", "DepthwiseConv2dNative"})
_HANDED_ON = frozenset({"Identity", "ReadVariableOp", "Cast"})
_MOST_BEFORE = 6
"""Nodes between a convolution and what its kernel comes from."""

Place = tuple[str, bool]
"""FILE:LINE of a node, and whether a layer of Keras made it."""


@dataclass(frozen=True)
class Body:
    """The nodes of a function that its results and side effects need; "" is the graph itself."""

    name: str
    nodes: Sequence[Any]


def operations(bodies: Iterable[Body], places: Callable[[str, str], Place]) -> tuple[Operation, ...]:
    """The operations of a model, node by node.

    Args:
      bodies: of the graph and of the functions that it calls.
      places: by function and node, where it comes from.

    Raises:
      Unsupported: there are more than MOST_NODES.
    """
    all_operations: list[Operation] = []
    for body in bodies:
        constant = _of_constants(body.nodes)
        by_name = {node.name: node for node in body.nodes}
        for node in body.nodes:
            operation = _operation(body.name, node, places(body.name, node.name), node.name in constant)
            all_operations.append(
                replace(operation, kernel=_kernel(node, by_name)) if node.op in _CONVOLUTIONS else operation
            )
            if len(all_operations) > MOST_NODES:
                raise Unsupported(f"expected a model of up to {MOST_NODES:,} operations, found more")
    return tuple(all_operations)


def reach(graph: Any, outputs: Iterable[str] | None, functions: Iterable[str] = ()) -> list[Body]:
    """The needed parts of a graph and of the functions that it calls, each once.

    Args:
      outputs: names of tensors of the graph; None takes the whole graph.
      functions: further functions to start from.
    """
    library = {function.signature.name: function for function in graph.library.function}
    nodes = list(graph.node) if outputs is None else find_needed(graph.node, outputs)
    bodies, open_, seen_names = [Body("", nodes)], [*_functions_called(nodes), *functions], set[str]()
    while open_:
        name = open_.pop()
        if name in seen_names or name not in library:
            continue
        seen_names.add(name)
        body = Body(name, _of_function(library[name]))
        bodies.append(body)
        open_ += _functions_called(body.nodes)
    return bodies


def _of_function(function: Any) -> list[Any]:
    """The nodes that the results of a function need, and those with side effects."""
    stateful = [node.name for node in function.node_def if node.op in _side_effects(function)]
    return find_needed(function.node_def, [*function.ret.values(), *function.control_ret.values(), *stateful])


def _side_effects(function: Any) -> set[str]:
    return {
        op
        for op in {node.op for node in function.node_def}
        if (op_definition := definition(op)) and op_definition.is_stateful
    }


def find_needed(nodes: Iterable[Any], outputs: Iterable[str]) -> list[Any]:
    """The nodes that lead to these tensors, in their order."""
    by_name = {node.name: node for node in nodes}
    open_, seen_names = [node_of(output) for output in outputs], set[str]()
    while open_:
        name = open_.pop()
        if name not in seen_names and name in by_name:
            seen_names.add(name)
            open_ += map(node_of, by_name[name].input)
    return [node for name, node in by_name.items() if name in seen_names]


def node_of(tensor: str) -> str:
    """The node of "node", "node:0", "node:output:0" or "^node"."""
    return tensor.removeprefix("^").partition(":")[0]


def _functions_called(nodes: Iterable[Any]) -> list[str]:
    values = (value for node in nodes for value in node.attr.values())
    return [function.name for value in values for function in (value.func, *value.list.func) if function.name]


def _of_constants(nodes: Sequence[Any]) -> set[str]:
    """The names of those that depend on constants alone, and have no state."""
    names: set[str] = set()
    before = -1
    # Until nothing is added: a node may stand in front of what it depends on.
    while len(names) > before:
        before = len(names)
        for node in nodes:
            op_definition = definition(node.op)
            inputs = {node_of(tensor) for tensor in node.input}
            if op_definition and not op_definition.is_stateful and (node.op == "Const" or (inputs and inputs <= names)):
                names.add(node.name)
    return names


def _operation(function: str, node: Any, place: Place, of_constants: bool) -> Operation:
    op_definition = definition(node.op)
    return Operation(
        type=node.op,
        name=node.name,
        function=function,
        inputs=tuple(_dtypes(op_definition.input_arg, node)) if op_definition else (),
        outputs=tuple(_dtypes(op_definition.output_arg, node)) if op_definition else (),
        shapes=tuple(shape_of(shape) for shape in node.attr["_output_shapes"].list.shape)
        if "_output_shapes" in node.attr
        else (),
        attributes=attributes(node),
        source=place[0],
        in_layer=place[1],
        registered=op_definition is not None,
        stateful=bool(op_definition and op_definition.is_stateful),
        of_constants=of_constants,
    )


def _kernel(node: Any, by_name: Mapping[str, Any]) -> tuple[int | None, ...]:
    """The sizes of a kernel [..., in, out] along the axes that it moves, from what makes it in the same body."""
    source = by_name.get(node_of(node.input[1])) if len(node.input) > 1 else None
    for _ in range(_MOST_BEFORE):
        shape = _shape_of_result(source) if source is not None else None
        if shape is not None:
            return shape[:-2]
        if source is None or source.op not in _HANDED_ON or not source.input:
            break
        source = by_name.get(node_of(source.input[0]))
    return ()


def _shape_of_result(node: Any) -> tuple[int | None, ...] | None:
    """The shape of a node's first result, as a constant, a variable or shape inference says it."""
    if node.op == "Const":
        return shape_of(node.attr["value"].tensor.tensor_shape)
    if node.op == "VarHandleOp":
        return shape_of(node.attr["shape"].shape)
    shapes = node.attr["_output_shapes"].list.shape if "_output_shapes" in node.attr else ()
    return shape_of(shapes[0]) if shapes and node.op not in ("_Arg", "Placeholder") else None


@cache
def definition(operation: str) -> Any:
    """TensorFlow's OpDef of a type of operation; None where this TensorFlow has none."""
    return _private.operation_definition(operation)


def _dtypes(arguments: Iterable[Any], node: Any) -> Iterator[str]:
    """The dtypes of an operation's inputs or outputs, as its definition derives them from the node's attributes."""
    for argument in arguments:
        if argument.type_list_attr:
            yield from map(dtype_name, node.attr[argument.type_list_attr].list.type)
            continue
        dtype = argument.type or node.attr[argument.type_attr].type
        times = node.attr[argument.number_attr].i if argument.number_attr else 1
        yield from [dtype_name(dtype)] * min(times, _MOST_ITEMS)


def dtype_name(number: int) -> str:
    """The name of a dtype of TensorFlow's protos; "not known" of a number that is none."""
    try:
        return tf.dtypes.as_dtype(number).name
    except TypeError:
        return "not known"


def shape_of(shape: Any) -> tuple[int | None, ...] | None:
    """A TensorShapeProto: None where the rank is not known, and for a size that is not."""
    if shape.unknown_rank:
        return None
    return tuple(None if dim.size < 0 else dim.size for dim in shape.dim)


def known_shape(shape: Any) -> tuple[int | None, ...] | None:
    """A TensorShape: None likewise."""
    return None if shape.rank is None else tuple(shape.as_list())


def attributes(node: Any) -> dict[str, Plain]:
    """The attributes that define a node's computation, without tensors, functions and the runtime's notes ("_...")."""
    plain = {name: _plain(value) for name, value in sorted(node.attr.items()) if not name.startswith("_")}
    return {name: value for name, value in plain.items() if value is not None}


def _plain(value: Any) -> Plain:
    """A number, string, dtype, shape, or list of these; None of tensors and functions."""
    match value.WhichOneof("value"):
        case "s":
            return _text(value.s)
        case "i" | "f" | "b" as kind:
            return getattr(value, kind)
        case "type":
            return dtype_name(value.type)
        case "shape":
            sizes = shape_of(value.shape)
            return None if sizes is None else list(sizes)
        case "list":
            return _as_list(value.list)
    return None


def _as_list(values: Any) -> Plain:
    items: list[Any] = [_text(data) for data in values.s] + [*values.i, *values.f, *values.b]
    items += [dtype_name(number) for number in values.type]
    return items[:_MOST_ITEMS] if items else None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")[:_LONGEST_TEXT]


def from_traced(graph: Any, lines: Mapping[tuple[str, str], Place]) -> tuple[Operation, ...]:
    """The operations of a FuncGraph and of what it calls.

    Args:
      lines: by function and node, where it comes from.
    """
    definition_ = graph.as_graph_def(add_shapes=True)
    return operations(reach(definition_, None), lambda function, name: lines.get((function, name), ("", False)))
