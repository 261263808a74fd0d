"""A traced function with its variables as arguments and what it writes to them as results.

TensorFlow lowers for a device that is not there, and then takes no variable. Its XLA bridge makes of a variable what is
made of it here: a parameter, and a result where it is updated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import tensorflow as tf

from tf_reference import _private
from workloads.protocol.framework import Unsupported

_NONE = "no program for a device that is not there"

_LOOPS = ("While", "StatelessWhile")
_CALLS = {
    **dict.fromkeys(_LOOPS, ("cond", "body")),
    **dict.fromkeys(("If", "StatelessIf"), ("then_branch", "else_branch")),
    **dict.fromkeys(("PartitionedCall", "StatefulPartitionedCall"), ("f",)),
}
"""By operation, the attributes that name the functions which it hands its arguments to."""

_CONDITIONS = ("If", "StatelessIf")
"""Their first argument is no argument of the functions."""

_UPDATES = {"AssignVariableOp": "Identity", "AssignAddVariableOp": "AddV2", "AssignSubVariableOp": "Sub"}


@dataclass(frozen=True)
class Stateless:
    """The function, the values of what it captured, and the positions of the captured that it updates, in order."""

    call: Callable[..., list[tf.Tensor]]
    captured: tuple[tf.Tensor, ...]
    updated: tuple[int, ...]


@dataclass(frozen=True)
class _Held:
    """The value of a variable at one place of the graph."""

    dtype: int
    shape: Any


def lowered_for(kind: str, concrete: Any, tensors: Sequence[tf.Tensor]) -> tuple[Callable[..., Any], _private.Layout]:
    """A function that returns the stages of a program for a device that may be absent, and the program's signature.

    Args:
      kind: of the device: "cpu" or "gpu".

    Raises:
      Unsupported: as `stateless`.
    """
    values = stateless(concrete)
    stage = tf.function(values.call, jit_compile=True, autograph=False)
    lower = partial(stage.experimental_get_compiler_ir(*tensors, *values.captured), platform_name=kind.upper())
    layout = _private.layout(lower(stage="hlo_serialized"))
    own = len(layout.results) - len(values.updated)
    aliases = {own + place: len(tensors) + place_captured for place, place_captured in enumerate(values.updated)}
    return lower, replace(layout, aliases=aliases)


def stateless(concrete: Any) -> Stateless:
    """The function with every variable as a trailing argument, and every updated one as a trailing result.

    Raises:
      Unsupported: it does with a variable what has no counterpart among functions of values.
    """
    graph = concrete.graph
    variables = {id(variable.handle): variable for variable in concrete.variables}
    names = [tensor.op.name for tensor in graph.inputs]
    of_captured = names[len(names) - len(concrete.captured_inputs) :]
    handles = {
        name: variables[id(tensor)]
        for name, tensor in zip(of_captured, concrete.captured_inputs, strict=True)
        if tensor.dtype == tf.resource
    }
    rewriting = _Rewriting(graph.as_graph_def(), {name: _hold(variable) for name, variable in handles.items()})
    rewriting.run([operation.name for operation in graph.get_operations()])
    places_updated = [place for place, name in enumerate(of_captured) if rewriting.current.get(name, name) != name]
    result_names = [tensor.name for tensor in graph.outputs]
    result_names += [f"{rewriting.current[of_captured[place]]}:0" for place in places_updated]

    body, read = rewriting.without(names)

    def call(*values: tf.Tensor) -> list[tf.Tensor]:
        values_by_name = {f"{name}:0": value for name, value in zip(names, values, strict=True)}
        read_values = {f"{name}:0": values_by_name[f"{name}:0"] for name in read}
        new_names = [name for name in result_names if name not in values_by_name]
        by_name = (
            dict(zip(new_names, tf.graph_util.import_graph_def(body, read_values, new_names, name=""), strict=True))
            | values_by_name
        )
        return [by_name[name] for name in result_names]

    captures = [
        variables[id(tensor)].read_value() if id(tensor) in variables else tensor for tensor in concrete.captured_inputs
    ]
    return Stateless(call, tuple(captures), tuple(places_updated))


def without_arguments(graph: Any, names: Sequence[str]) -> tuple[Any, set[str]]:
    """A graph without its arguments, for which XLA has no kernel, and those of them that something reads."""
    body = type(graph)()
    body.CopyFrom(graph)
    del body.node[:]
    body.node.extend(node for node in graph.node if node.name not in names)
    sources = {source.removesuffix(":0") for node in body.node for source in node.input}
    return body, sources & set(names)


def _hold(variable: tf.Variable) -> _Held:
    return _Held(variable.dtype.as_datatype_enum, variable.shape.as_proto())


class _Rewriting:
    """A graph in which every variable is the value that it has there; `current` names that at the end."""

    def __init__(self, graph: Any, handles: Mapping[str, _Held]) -> None:
        self.graph = graph
        self.current = {name: name for name in handles}
        self._handles = dict(handles)
        self._nodes = {node.name: node for node in graph.node}
        self._functions = {function.signature.name: function for function in graph.library.function}
        self._loops: dict[str, tuple[str, str]] = {}
        self._done: set[str] = set()

    def run(self, order: Sequence[str]) -> None:
        """Rewrite every node, in the order in which they were traced: that in which they read and write."""
        for name in order:
            node = self._nodes[name]
            if name in self._handles:
                node.attr["dtype"].type = self._handles[name].dtype
                node.attr["shape"].shape.CopyFrom(self._handles[name].shape)
                continue
            handles = {place: source for place, source in enumerate(_data(node)) if source in self._handles}
            if handles:
                self._rewrite(node, handles)

    def without(self, names: Sequence[str]) -> tuple[Any, list[str]]:
        """The graph without its arguments, for which XLA has no kernel, and those of them that something reads."""
        body, read = without_arguments(self.graph, names)
        return body, [name for name in names if name in read]

    def _rewrite(self, node: Any, handles: Mapping[int, str]) -> None:
        variables = {place: self._handles[source] for place, source in handles.items()}
        for place, source in handles.items():
            node.input[place] = self.current[source]
        if node.op not in _UPDATES:
            self._check_fresh(node, handles)
            self._read(node, variables)
            self._hand_on(node, handles)
        elif handles[0] in self._loops:
            raise Unsupported(f"{_NONE}: a variable is updated that a loop returns")
        else:
            _update(node, variables[0])
            self.current[handles[0]] = node.name

    def _check_fresh(self, node: Any, handles: Mapping[int, str]) -> None:
        """Check that no loop returns an old value of a variable: its shape stays, its value may change."""
        for source in handles.values() if node.op != "VariableShape" else ():
            variable, held_then = self._loops.get(source, (source, self.current[source]))
            if self.current[variable] != held_then:
                raise Unsupported(f"{_NONE}: a variable that a loop returns is read after it is updated")

    def _hand_on(self, node: Any, handles: Mapping[int, str]) -> None:
        """A loop returns the variables that it reads: they are values from then on, as it found them."""
        if node.op in _LOOPS:
            for place, source in handles.items():
                output_name = f"{node.name}:{place}"
                self._handles[output_name], self.current[output_name] = self._handles[source], output_name
                self._loops[output_name] = (source, self.current[source])

    def _read(self, node: Any, variables: Mapping[int, _Held]) -> None:
        if node.op in _CALLS:
            self._call(node, variables)
        elif node.op == "ReadVariableOp":
            _become(node, "Identity", T=variables[0].dtype)
        elif node.op == "VariableShape":
            _become_shape(node, variables[0])
        elif node.op == "ResourceGather" and not node.attr["batch_dims"].i:
            indices, dtype = node.attr["Tindices"].type, variables[0].dtype
            _become(node, "Gather", Tindices=indices, Tparams=dtype)
        else:
            raise Unsupported(f"{_NONE}: {node.op} is given a variable")

    def _call(self, node: Any, variables: Mapping[int, _Held]) -> None:
        first = 1 if node.op in _CONDITIONS else 0
        arguments = {place - first: value for place, value in variables.items()}
        for attribute in ("T", "Tin"):
            if attribute in node.attr:
                _retype(node.attr[attribute].list.type, arguments)
        if node.op in _LOOPS:
            shapes = node.attr["output_shapes"].list.shape
            for place, value in arguments.items():
                shapes[place].CopyFrom(value.shape)
        for attribute in _CALLS[node.op]:
            function_attribute = node.attr[attribute].func
            function_attribute.name = self._function(function_attribute.name, arguments)

    def _function(self, name: str, arguments: Mapping[int, _Held]) -> str:
        """The function that takes values in the place of another one, which may read variables and hand them on."""
        # Under a name of its own: that of the other one is taken in this process.
        values = f"{name}_of_values_{'_'.join(map(str, sorted(arguments)))}"
        if values not in self._done:
            self._done.add(values)
            function = self.graph.library.function.add()
            function.CopyFrom(self._functions[name])
            function.signature.name = values
            self._take_values(function, arguments)
            _private.define(function)
        return values

    def _take_values(self, function: Any, arguments: Mapping[int, _Held]) -> None:
        handles = {function.signature.input_arg[place].name: value for place, value in arguments.items()}
        for place, value in arguments.items():
            _as_value(function.signature.input_arg[place], value)
            function.arg_attr[place].attr.clear()
        for result in function.signature.output_arg:
            source = function.ret[result.name]
            if source in handles:
                _as_value(result, handles[source])
        for node in function.node_def:
            variables = {place: handles[source] for place, source in enumerate(_data(node)) if source in handles}
            if variables:
                was = node.op
                self._read(node, variables)
                _rename_result(function, node.name, was)
                if was in _LOOPS:
                    handles |= {f"{node.name}:output:{place}": value for place, value in variables.items()}


def _data(node: Any) -> list[str]:
    return [source for source in node.input if not source.startswith("^")]


def _update(node: Any, variable: _Held) -> None:
    operation = node.op
    if operation == "AssignVariableOp":
        del node.input[0]
    _become(node, _UPDATES[operation], T=variable.dtype)


def _become_shape(node: Any, variable: _Held) -> None:
    """As XLA's bridge has it: a constant. Asked of a value, a shape is put together from its sizes."""
    dtype = tf.as_dtype(node.attr["out_type"].type)
    sizes = tf.TensorShape(variable.shape).as_list()
    del node.input[0]
    _become(node, "Const", dtype=dtype.as_datatype_enum)
    node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(sizes, dtype))


def _become(node: Any, operation: str, **types: int) -> None:
    node.op = operation
    # Attributes that begin with an underscore hold for any operation.
    for name in [name for name in node.attr if not name.startswith("_")]:
        del node.attr[name]
    for name, value in types.items():
        node.attr[name].type = value


def _as_value(argument: Any, variable: _Held) -> None:
    argument.type = variable.dtype
    del argument.handle_data[:]


def _retype(types: Any, arguments: Mapping[int, _Held]) -> None:
    for place, value in arguments.items():
        types[place] = value.dtype


_RESULTS = {"ReadVariableOp": ("value", "output")}
"""The name of an operation's one result, and the name in the operation that replaces it."""


def _rename_result(function: Any, name: str, was: str) -> None:
    """A function's body names results by what the operation calls them."""
    if was not in _RESULTS:
        return
    before, after = (f"{name}:{result_name}:0" for result_name in _RESULTS[was])
    for node in function.node_def:
        for place, source in enumerate(node.input):
            if source == before:
                node.input[place] = after
    for result, source in function.ret.items():
        if source == before:
            function.ret[result] = after
