"""The graph of a function of a user's file as data: nodes, lines, names of variables, arrays, gradients of its own."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import tensorflow as tf

from tf_reference import _private
from tf_reference._assigned_names import find_targets
from tf_reference._folded_constants import known_results
from tf_reference._graph_nodes import attributes, definition, known_shape
from tf_reference._saved_gradients import NOT_CARRIED
from tf_reference._sources import callees, line_of, users_frames, users_line
from workloads.core.spec import Arrays
from workloads.core.target import resolve
from workloads.protocol.framework import Unsupported
from workloads.protocol.function_graph import Body, Captured, Effect, FunctionGraph, Gradient, Node, Place, Result
from workloads.protocol.inspection import Plain

Spec = tuple[str, Sequence[int | None], str]
"""Name, shape and dtype of an input; None is a size that is not fixed."""

Origin = tuple[str, tuple[str, ...], tuple[str, ...]]
"""FILE:LINE or a scope, names of variables, and the functions or scopes around it, outermost first."""

_OTHER = {"float32": "float64", "float64": "float32", "float16": "float64", "bfloat16": "float64",
          "complex64": "complex128", "complex128": "complex64"}  # fmt: skip
UNTRACED = (TypeError, ValueError, AttributeError, LookupError, RuntimeError, tf.errors.OpError)
"""Errors of TensorFlow, Keras and user code for a function or a model that cannot be traced."""
_MOST_NODES = 20_000


def read(reference: str, inputs: Sequence[Spec]) -> tuple[FunctionGraph, Arrays]:
    """The graph of a function, and its constants and captured arrays.

    Args:
      reference: FILE.py:NAME.
      inputs: name, shape and dtype of each argument.

    Raises:
      Unsupported: it cannot be traced.
    """
    return of_function(resolve(reference), inputs, reference.rpartition(":")[2])


def of_function(function: Any, inputs: Sequence[Spec], name: str) -> tuple[FunctionGraph, Arrays]:
    """The graph of a function, and its constants and captured arrays.

    Args:
      inputs: name, shape and dtype of each argument.

    Raises:
      Unsupported: it cannot be traced.
    """
    try:
        concrete = trace(function, inputs)
    except UNTRACED as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise Unsupported(
            f"expected a function that TensorFlow can trace, found {type(error).__name__} in {name}: "
            f"{lines[-1][:200] if lines else ''}"
        ) from error
    other, why = _in_another_float(function, inputs)
    return Reading(concrete, other).all(name, [spec[0] for spec in inputs], why)


def trace(function: Any, inputs: Sequence[Spec]) -> Any:
    """A new trace of a function: a ConcreteFunction.

    Args:
      inputs: name, shape and dtype of each argument.
    """
    plain = getattr(function, "python_function", function)
    return tf.function(plain).get_concrete_function(*(tf.TensorSpec(shape, dtype, n) for n, shape, dtype in inputs))


def _in_another_float(function: Any, inputs: Sequence[Spec]) -> tuple[Any, str]:
    if not any(dtype in _OTHER for _, _, dtype in inputs):
        return None, "no input is of a float type"
    with _log_records() as records:
        try:
            concrete = trace(function, [(name, shape, _OTHER.get(dtype, dtype)) for name, shape, dtype in inputs])
        except UNTRACED as error:
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            return None, lines[-1][:200] if lines else type(error).__name__
    # A tf.TensorArray of another type than what is written to it is an error that TensorFlow logs, and goes on.
    errors = [record.getMessage().splitlines()[0] for record in records if record.levelno >= logging.ERROR]
    return (None, errors[0][:200]) if errors else (concrete, "")


@contextlib.contextmanager
def _log_records() -> Iterator[list[logging.LogRecord]]:
    """Capture TensorFlow's log in the block instead of showing it."""
    logger, records = tf.get_logger(), list[logging.LogRecord]()
    logger.addFilter(keep := lambda record: bool(records.append(record)))
    try:
        yield records
    finally:
        logger.removeFilter(keep)


def variable_names(graph: Any) -> dict[str, Any]:
    """The variables that a graph reads, by name; those of one name are numbered in the order in which it reads them."""
    by_name: dict[str, Any] = {}
    # The graph itself lists them by where they stand in memory: in another process, another order.
    read = {id(handle): place for place, (handle, _) in enumerate(graph.captures)}
    for variable in sorted(graph.variables, key=lambda variable: read.get(id(variable.handle), len(read))):
        name = base = variable.name.partition(":")[0]
        number = 1
        while name in by_name:
            number += 1
            name = f"{base}_{number}"
        by_name[name] = variable
    # Weights are grouped by scopes: one that is named as the scope of another is in it.
    return {f"{name}/value" if _is_scope(name, by_name) else name: one for name, one in by_name.items()}


def _is_scope(name: str, names: Iterable[str]) -> bool:
    return any(other.startswith(f"{name}/") for other in names)


_LARGEST_WEIGHT = 1e3
"""Larger values, such as the start of a running minimum, do not scale draws."""


def _magnitude(variable: Any) -> tuple[tuple[float, float] | None, float]:
    """The range for drawing a variable, by its value: its ends if nothing is below 0, else its scale."""
    values = np.asarray(variable.numpy(), np.float64) if variable.dtype.is_floating else np.zeros(1)
    if not values.size or not np.abs(values).max() < _LARGEST_WEIGHT:
        return None, 0.0
    if values.min() >= 0 and values.max() > 0:
        return (float(values.min()), float(values.max())), 0.0
    return None, float(np.sqrt(np.mean(np.square(values))))


class Reading:
    """One function: each body that it calls is read once for a call, since a call says what it is given.

    Args:
      other: its trace in another float type, if there is one.
    """

    def __init__(self, concrete: Any, other: Any, place_of: Callable[[Any], Origin] | None = None) -> None:
        self._concrete, self._other = concrete, other
        self._place_of = place_of or _line_of
        self._bodies: list[Body | None] = []
        self._arrays: dict[str, np.ndarray] = {}

    def all(self, name: str, inputs: Sequence[str], why: str) -> tuple[FunctionGraph, Arrays]:
        """Its graph, and its constants and captured arrays.

        Args:
          why: there is no other trace; "" where there is.
        """
        graph = self._concrete.graph
        if self._other is not None and not _alike(graph, self._other.graph):
            self._other, why = None, "it computes something else in another float type"
        captures = self._captures()
        self._body(graph, None if self._other is None else self._other.graph)
        outputs = _nest(graph.structured_outputs, iter(range(len(graph.outputs))))
        bodies = tuple(body for body in self._bodies if body is not None)
        return FunctionGraph(name, tuple(inputs), captures, outputs, bodies, why), self._arrays

    def _captures(self) -> tuple[Captured, ...]:
        graph = self._concrete.graph
        variables = {id(variable.handle): (name, variable) for name, variable in variable_names(graph).items()}
        others = {} if self._other is None else variable_names(self._other.graph)
        captures = []
        for outside, inside in graph.captures:
            if id(outside) in variables:
                name, variable = variables[id(outside)]
                follows = name in others and others[name].dtype != variable.dtype
                result = Result(variable.dtype.name, known_shape(variable.shape), follows)
                captures.append(Captured(name, True, result, variable.trainable, *_magnitude(variable)))
                continue
            key = f"captured{len(captures)}"
            if outside.dtype not in (tf.resource, tf.variant, tf.string) and hasattr(outside, "numpy"):
                self._arrays[key] = np.asarray(outside.numpy())
            captures.append(Captured(key, False, Result(inside.dtype.name, known_shape(inside.shape))))
        return tuple(captures)

    def _body(self, graph: Any, other: Any) -> int:
        """Read a body; its number."""
        number = len(self._bodies)
        self._bodies.append(None)
        every = list(graph.get_operations())
        others = [None] * len(every) if other is None else list(other.get_operations())
        twin = dict(zip((id(operation) for operation in every), others, strict=True))
        gradients, gradients_lost = _own_gradients(graph, every)
        roots = [*(t.op for t in graph.outputs), *(t.op for t in graph.inputs)]
        roots += [t.op for _, _, results in gradients for t in results if t is not None]
        order = _find_needed(roots, list(graph.get_operations()))
        positions = {id(operation): place for place, operation in enumerate(order)}
        constants = known_results(graph, order, other, twin)
        if len(order) > _MOST_NODES:
            raise Unsupported(f"expected a function of up to {_MOST_NODES:,} operations, found {len(order):,}")
        self._bodies[number] = Body(
            name=graph.name,
            nodes=tuple(
                self._node(graph, operation, other, twin.get(id(operation)), positions, number, constants)
                for operation in order
            ),
            inputs=tuple(positions[id(tensor.op)] for tensor in graph.inputs),
            outputs=tuple(_place(tensor, positions) for tensor in graph.outputs),
            effects=tuple(_effects(graph, every, positions)),
            gradients=tuple(
                Gradient(
                    positions[id(node)],
                    tuple(positions.get(id(tensor.op), -1) for tensor in gradient_tensors),
                    tuple(None if gradient is None else _place(gradient, positions) for gradient in results),
                )
                for node, gradient_tensors, results in gradients
                if id(node) in positions
            ),
            lost={positions[id(node)]: reason for node, reason in gradients_lost if id(node) in positions},
        )
        return number

    def _node(
        self, graph: Any, node: Any, other: Any, twin: Any, positions: Mapping[int, int], body: int,
        constants: Mapping[int, Sequence[np.ndarray]],
    ) -> Node:  # fmt: skip
        line, targets, within = self._place_of(node)
        constant = ""
        if node.type == "Const" and node.outputs[0].dtype != tf.string:
            constant = f"constant{body}_{positions[id(node)]}"
            # The more exact of the two: it rounds to the other.
            exact = twin if twin is not None and twin.outputs[0].dtype in (tf.float64, tf.complex128) else node
            self._arrays[constant] = tf.make_ndarray(exact.node_def.attr["value"].tensor)
        constant_arrays = {
            f"known{body}_{positions[id(node)]}_{i}": array for i, array in enumerate(constants.get(id(node), ()))
        }
        self._arrays |= constant_arrays
        bodies = self._called_bodies(graph, node, other, twin)
        return Node(
            type=_CALLED if bodies and not definition(node.type) else node.type,
            name=node.name,
            inputs=tuple(_place(tensor, positions) for tensor in node.inputs),
            results=tuple(
                Result(
                    tensor.dtype.name,
                    known_shape(tensor.shape),
                    twin is not None and twin.outputs[i].dtype != tensor.dtype,
                )
                for i, tensor in enumerate(node.outputs)
            ),
            attributes=_attributes(node, twin),
            bodies=bodies,
            line=line,
            assigned=targets,
            constant=constant,
            known=tuple(constant_arrays),
            within=within,
        )

    def _called_bodies(self, graph: Any, node: Any, other: Any, twin: Any) -> dict[str, tuple[int, ...]]:
        graphs = _graphs_called(graph, node)
        twins = {} if twin is None else _graphs_called(other, twin)
        bodies = {}
        for name, functions in _functions_of(node).items():
            theirs = [""] * len(functions) if twin is None else _functions_of(twin)[name]
            pairs = [(one, there) for one, there in zip(functions, theirs, strict=True) if one in graphs]
            if pairs:
                bodies[name] = tuple(self._body(graphs[one], twins.get(there)) for one, there in pairs)
        return bodies


def _line_of(node: Any) -> Origin:
    """The user's line, what it assigns to, and the functions that led to it."""
    frames = users_frames(node.traceback or ())
    line = line_of(frames)
    # AutoGraph's loops and branches are functions of the same name in the function that they stand in.
    return line, find_targets(line), tuple(name for name, _ in groupby(frame.name for frame in frames))


_CALLED = "PartitionedCall"
"""The type for an operation whose type is the name of a function."""


def _functions_of(node: Any) -> dict[str, list[str]]:
    """By attribute, the names of the functions that it holds; of an operation that is a call, as of that."""
    if not definition(node.type):
        return {"f": [node.type]}
    return {
        name: [function.name for function in (value.func, *value.list.func)]
        for name, value in sorted(node.node_def.attr.items())
        if not name.startswith("_")
    }


def _graphs_called(graph: Any, node: Any) -> dict[str, Any]:
    """By name, the graphs of the functions that an operation calls."""
    graphs = dict(callees(graph, node))
    shapes = [tensor.shape for tensor in node.inputs]
    for name in {name for names in _functions_of(node).values() for name in names if name} - graphs.keys():
        inner_graph = _private.defined_graph(graph, name, shapes)
        graphs |= {} if inner_graph is None else {name: inner_graph}
    return graphs


def _attributes(node: Any, twin: Any) -> dict[str, Plain]:
    """The attributes of a node; a dtype that changes with the float type of the model is marked."""
    own = attributes(node.node_def)
    if twin is None:
        return own
    other = attributes(twin.node_def)
    return own | {f"{name}:follows": True for name, value in own.items() if other.get(name) != value}


def _alike(graph: Any, other: Any) -> bool:
    """Whether two graphs have the same operations, in those that they call too."""
    left, right = list(graph.get_operations()), list(other.get_operations())
    if [(a.type, len(a.outputs)) for a in left] != [(b.type, len(b.outputs)) for b in right]:
        return False
    for a, b in zip(left, right, strict=True):
        of_a, of_b = [g for _, g in callees(graph, a)], [g for _, g in callees(other, b)]
        if len(of_a) != len(of_b) or not all(map(_alike, of_a, of_b)):
            return False
    return True


def _find_needed(roots: Sequence[Any], every: Sequence[Any]) -> list[Any]:
    open_, needed_by_id = list(roots), dict[int, Any]()
    while open_:
        operation = open_.pop()
        if id(operation) not in needed_by_id:
            needed_by_id[id(operation)] = operation
            open_ += [tensor.op for tensor in operation.inputs]
    return [operation for operation in every if id(operation) in needed_by_id]


def _effects(graph: Any, every: Sequence[Any], positions: Mapping[int, int]) -> list[Effect]:
    """Operations with an effect and without a needed result; for a branch or call, those inside."""
    effects = []
    for operation in every:
        op_definition = definition(operation.type)
        left_out = operation.type in ("NoOp", "Placeholder", "ReadVariableOp") or id(operation) in positions
        if not op_definition or not op_definition.is_stateful or left_out:
            continue
        bodies = [body for _, body in callees(graph, operation)]
        inner = [effect for body in bodies for effect in _effects(body, list(body.get_operations()), {})]
        effects += inner if bodies else [Effect(operation.type, users_line(operation.traceback or ()))]
    return effects


def _own_gradients(graph: Any, every: Sequence[Any]) -> tuple[list[Any], list[tuple[Any, str]]]:
    """Gradients of the user's or TensorFlow's own, traced into the graph that they belong to; those that cannot be."""
    gradients, failures = [], []
    for node in every:
        name = node.node_def.attr["_gradient_op_type"].s.decode() if "_gradient_op_type" in node.node_def.attr else ""
        if name in ("", NOT_CARRIED):
            continue
        try:
            with graph.as_default():
                placeholders = [tf.compat.v1.placeholder(tensor.dtype, tensor.shape) for tensor in node.outputs]
                results = _private.gradient_function(name)(node, *placeholders)
        except UNTRACED as error:
            failures.append((node, str(error).strip().splitlines()[0][:100] if str(error).strip() else "it raises"))
            continue
        results = list(results) if isinstance(results, list | tuple) else [results]
        if any(isinstance(gradient, tf.IndexedSlices) for gradient in results) or len(results) != len(node.inputs):
            failures.append((node, "its gradients are no tensors"))
            continue
        gradients.append((node, placeholders, results))
    return gradients, failures


def _place(tensor: Any, positions: Mapping[int, int]) -> Place:
    return positions[id(tensor.op)], tensor.value_index


def _nest(value: Any, count: Iterator[int]) -> Plain:
    """The structure of a function's result; outputs are numbered in tf.nest's order."""
    if isinstance(value, Mapping):
        by_key = {key: _nest(value[key], count) for key in sorted(value)}
        return {"dict": [[str(key), by_key[key]] for key in value]}
    if isinstance(value, tuple):
        return {"tuple": [_nest(item, count) for item in value]}
    if isinstance(value, list):
        return [_nest(item, count) for item in value]
    if value is None:
        return None
    if not tf.is_tensor(value) or isinstance(value, tf.RaggedTensor | tf.SparseTensor | tf.IndexedSlices):
        raise Unsupported(
            f"expected a function that returns tensors, found {type(value).__name__}: return its tensors one by one"
        )
    return {"tensor": next(count)}
