"""A GraphDef without calls: the nodes of every function stand where it is called. Read as data, nothing is run.

TensorFlow has no gradient of its own of a call to a function that was read from a file. Bodies of loops and branches
stay functions, flat ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

from tf_reference._graph_nodes import definition
from workloads.protocol.framework import Unsupported

MOST_NODES = 100_000
"""The most nodes of a graph with all functions, each with its callees."""

_MOST_BYTES = 8 << 30
"""The most bytes of all nodes, with the nodes of a function counted at each call: a file has 2 GiB."""

_DEEPEST = 64
_CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
_CALL = re.compile(r"(Stateful)?PartitionedCall(_\d+)?")
_NOTES = ("_class", "_output_shapes", "_XlaMustCompile", "_xla_compile_id")
"""Attributes of nodes on their place and compilation."""


class FlatGraph:
    """Flattens one GraphDef."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        self._library = {function.signature.name: function for function in graph.library.function}
        self._flat: dict[str, Any] = {}
        self._open: list[str] = []
        self._count, self._bytes = 0, 0

    def flatten(self, tensors: Sequence[str] = ()) -> tuple[Any, list[str]]:
        """The GraphDef without calls, and what tensors are called in it.

        Raises:
          Unsupported: a function calls itself, is not there, or all of it is too large.
        """
        flat, new_names = type(self._graph)(), dict[str, str]()
        flat.versions.CopyFrom(self._graph.versions)
        nodes = self._expand(self._graph.node, True, new_names)
        flat.node.extend(nodes)
        for name in sorted(self._names_reached(nodes)):
            flat.library.function.add().CopyFrom(self._flat[name])
        return flat, [_follow(new_names, tensor) for tensor in tensors]

    def _names_reached(self, nodes: Iterable[Any]) -> set[str]:
        """The functions that stay: bodies of loops and branches, and those in them, all flat."""
        open_, names_reached = list(_functions_in(nodes)), set[str]()
        while open_:
            name = open_.pop()
            if name in self._library and name not in names_reached:
                names_reached.add(name)
                open_ += _functions_in(self._function(name).node_def)
        return names_reached

    def _function(self, name: str) -> Any:
        """A function without calls."""
        if name in self._flat:
            return self._flat[name]
        if name in self._open or len(self._open) > _DEEPEST:
            raise Unsupported(f"expected functions that call others in turn, found {name[:100]} within itself")
        self._open.append(name)
        function = self._library[name]
        flat = type(function)()
        flat.CopyFrom(function)
        # The types of what comes out of it are said by its signature; what remains speaks of its former nodes.
        flat.resource_arg_unique_id.clear()
        del flat.node_def[:]
        new_names: dict[str, str] = {}
        flat.node_def.extend(self._expand(function.node_def, False, new_names))
        for result, tensor in function.ret.items():
            flat.ret[result] = _follow(new_names, tensor)
        flat.control_ret.clear()
        del flat.signature.control_output[:]
        for node in flat.node_def:
            if _is_stateful(node):
                flat.signature.control_output.append(node.name)
                flat.control_ret[node.name] = node.name
        self._open.pop()
        self._flat[name] = flat
        return flat

    def _expand(self, nodes: Sequence[Any], in_graph: bool, new_names: dict[str, str]) -> list[Any]:
        """Nodes with those of the functions that they call in their place; fills `new_names`, by the former tensor."""
        last_nodes: dict[str, list[str]] = {}
        expansion: list[Any] = []
        for node in nodes:
            callee = self._callee_of(node)
            copies = self._inline(node, callee, in_graph, new_names) if callee else [_copy(node)]
            if callee:
                last_nodes[node.name] = [copy.name for copy in copies if _is_stateful(copy)]
            self._count_in(copies)
            expansion += copies
        for node in expansion:
            inputs = [_follow(new_names, tensor) for tensor in node.input if not tensor.startswith("^")]
            controls = [name for tensor in node.input if tensor.startswith("^") for name in _last(last_nodes, tensor)]
            del node.input[:]
            node.input.extend([*inputs, *dict.fromkeys(controls)])
        return expansion

    def _count_in(self, nodes: Sequence[Any]) -> None:
        self._count += len(nodes)
        self._bytes += sum(node.ByteSize() for node in nodes)
        if self._count > MOST_NODES:
            raise Unsupported(f"expected a graph of up to {MOST_NODES:,} operations with all calls, found more")
        if self._bytes > _MOST_BYTES:
            raise Unsupported(f"expected a graph of up to {_MOST_BYTES >> 30} GiB with all calls, found more")

    def _callee_of(self, node: Any) -> str:
        """The function that a node calls; "" where it is none that is read here."""
        name = node.attr["f"].func.name if node.op in _CALLS else node.op if node.op in self._library else ""
        if node.op in _CALLS and name not in self._library:
            raise Unsupported(f"expected the function {name[:100]!r} in the graph, found none: save the model again")
        return name

    def _inline(self, call: Any, callee: str, in_graph: bool, new_names: dict[str, str]) -> list[Any]:
        """The nodes of a function, under the name of its call; inputs of the call stand for its arguments."""
        function = self._function(callee)
        names = _NamesInCall(call, function, in_graph)
        copies = []
        for node in function.node_def:
            copy = _copy(node)
            copy.name = f"{call.name}/{node.name}"
            del copy.input[:]
            copy.input.extend(map(names.of_tensor, node.input))
            copy.input.extend(tensor for tensor in call.input if tensor.startswith("^") and _is_stateful(node))
            copies.append(copy)
        for number, result in enumerate(function.signature.output_arg):
            former = f"output:{number}" if call.op in _CALLS else f"{result.name}:0"
            tensor = names.of_tensor(function.ret[result.name])
            for former_name in (str(number), *([""] if not number else [])) if in_graph else (former,):
                new_names[f"{call.name}:{former_name}".removesuffix(":")] = tensor
        return copies


class _NamesInCall:
    """Names of a function's tensors after its nodes replace a call."""

    def __init__(self, call: Any, function: Any, in_graph: bool) -> None:
        data = [tensor for tensor in call.input if not tensor.startswith("^")]
        arguments = [argument.name for argument in function.signature.input_arg]
        if len(arguments) != len(data):
            raise Unsupported(
                f"expected {len(arguments)} arguments of the function {function.signature.name[:100]!r}, found "
                f"{len(data)}: save the model again"
            )
        self._call = call.name
        self._by_argument = dict(zip(arguments, data, strict=True))
        self._starts = {node.name: _result_starts(node) for node in function.node_def} if in_graph else {}
        self._in_graph = in_graph

    def of_tensor(self, tensor: str) -> str:
        """The name that one has in the caller."""
        if tensor in self._by_argument:
            return self._by_argument[tensor]
        if tensor.startswith("^"):
            return f"^{self._call}/{tensor[1:]}"
        if not self._in_graph:
            return f"{self._call}/{tensor}"
        node, _, place = tensor.partition(":")
        result, _, number = place.partition(":")
        return f"{self._call}/{node}:{self._starts.get(node, {}).get(result, 0) + int(number or 0)}"


def with_own_functions(graph: Any, trace: int) -> Any:
    """A copy whose functions are named after what they compute and after the trace.

    Functions of another file or trace then never have the same name, and in every process the names are the same: XLA's
    cache of compiled programs knows a function by its name.

    Args:
      trace: the number of the trace that it becomes a part of.
    """
    own = type(graph)()
    own.CopyFrom(graph)
    functions = sorted(own.library.function, key=lambda function: function.signature.name)
    digest = sha256(b"".join(function.SerializeToString(deterministic=True) for function in functions))
    ending = f"{digest.hexdigest()[:16]}_{trace}"
    names = {function.signature.name: f"{function.signature.name}_{ending}" for function in own.library.function}
    for function in own.library.function:
        function.signature.name = names[function.signature.name]
    for node in (*own.node, *(node for function in own.library.function for node in function.node_def)):
        for value in node.attr.values():
            kind = value.WhichOneof("value")
            for callee in [value.func] if kind == "func" else value.list.func if kind == "list" else ():
                callee.name = names.get(callee.name, callee.name)
    return own


def scope_of(name: str) -> list[str]:
    """The scopes that a node of a flat graph stands in, and its own name, without the calls that led there."""
    return [part for part in name.split("/") if not _CALL.fullmatch(part)]


def _copy(node: Any) -> Any:
    """A node without where it is to run."""
    copy = type(node)()
    copy.CopyFrom(node)
    copy.device = ""
    copy.ClearField("experimental_debug_info")
    for name in _NOTES:
        copy.attr.pop(name, None)
    return copy


def _is_stateful(node: Any) -> bool:
    op_definition = definition(node.op)
    return op_definition is None or op_definition.is_stateful


def _follow(new_names: Mapping[str, str], tensor: str) -> str:
    """The tensor that stands for one: a call may be given what another one returns, and return it.

    Raises:
      Unsupported: it stands for itself.
    """
    start, tensors_seen = tensor, set[str]()
    while tensor in new_names:
        if tensor in tensors_seen:
            raise Unsupported(f"expected calls in turn, found {start[:100]!r} in a circle: save the model again")
        tensors_seen.add(tensor)
        tensor = new_names[tensor]
    return tensor


def _last(last_nodes: Mapping[str, Sequence[str]], control: str) -> list[str]:
    """The nodes behind a control input: for a call, all of its last nodes."""
    name = control[1:]
    return [f"^{node}" for node in last_nodes[name]] if name in last_nodes else [control]


def _functions_in(nodes: Iterable[Any]) -> Iterator[str]:
    for node in nodes:
        for value in node.attr.values():
            yield from (function.name for function in (value.func, *value.list.func) if function.name)


def _result_starts(node: Any) -> dict[str, int]:
    """By the name of an operation's result, the number of its first tensor."""
    starts, count = dict[str, int](), 0
    op_definition = definition(node.op)
    for argument in op_definition.output_arg if op_definition else ():
        starts[argument.name] = count
        if argument.type_list_attr:
            count += len(node.attr[argument.type_list_attr].list.type)
        else:
            count += node.attr[argument.number_attr].i if argument.number_attr else 1
    return starts
