"""Expressions traced, and every type of operation in them given to XLA: alone, or else with what is around it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tf_reference._compiling_alone import REFUSALS, alone, can_stand_alone, opcodes_of
from tf_reference._graph_nodes import definition, reach
from tf_reference._sources import callees
from workloads.protocol.expressions import evaluate
from workloads.protocol.raw_operations import NOT_TRIED, Expression, Traced, Trial, Tried

CALLS = 3
"""How many calls of a type of operation are tried, with different shapes, dtypes or attributes."""

_NAMES = {"tf": tf, "keras": keras, "np": np}


@dataclass(frozen=True)
class Program:
    """A traced function, and what calls it."""

    graph: Any
    function: Any
    specs: Sequence[Any]

    @property
    def types(self) -> tuple[str, ...]:
        """The types of operation that its results need, once each."""
        bodies = reach(self.graph.as_graph_def(), [tensor.name for tensor in self.graph.outputs])
        types = {node.op for body in bodies for node in body.nodes}
        # A function may be called as a type of operation that has its name.
        return tuple(sorted(name for name in types if definition(name) is not None))


def try_expressions(expressions: Sequence[Expression]) -> Tried:
    """Compile and run expressions, and judge the types of operation in them."""
    traced, programs = [], []
    for expression in expressions:
        one, of_expression = _traced(expression)
        traced.append(one)
        programs += of_expression
    trials = {name: _best(calls) for name, calls in _alone(programs).items()}
    return Tried(tuple(traced), dict(sorted(_within(programs, trials).items())))


def _traced(expression: Expression) -> tuple[Traced, list[Program]]:
    """The types of operation of an expression, and its programs, that of its gradients behind it."""
    forward, gradient_function = _functions(expression)
    program = _program(forward, expression)
    try:
        backward = _program(gradient_function, expression)
    except (LookupError, *REFUSALS):  # one that has no gradient
        return Traced(program.types), [program]
    return Traced(program.types, backward.types), [program, backward]


def _functions(expression: Expression) -> tuple[Any, Any]:
    """The program of an expression, and that of its gradients, as functions of the inputs."""
    names = [name for name, _, _ in expression.inputs]
    layer = _layer(expression)

    def forward(*arguments: Any) -> Any:
        value = evaluate(expression.code, {**_NAMES, "layer": layer, **dict(zip(names, arguments, strict=True))})
        return [leaf for leaf in tf.nest.flatten(value, expand_composites=True) if tf.is_tensor(leaf)]

    def backward(*arguments: Any) -> Any:
        floats = [argument for argument in arguments if _is_float(argument)]
        with tf.GradientTape() as tape:
            tape.watch(floats)
            outputs = [output for output in forward(*arguments) if _is_float(output)]
        weights = list(layer.trainable_variables) if layer is not None else []
        return _without_none(tape.gradient(outputs, floats + weights)) if outputs else []

    return forward, backward


def _without_none(gradients: Sequence[Any]) -> list[Any]:
    """The gradients that are not None."""
    return [gradient for gradient in gradients if gradient is not None]


def _is_float(tensor: Any) -> bool:
    return tensor.dtype.is_floating or tensor.dtype.is_complex


def _layer(expression: Expression) -> Any:
    """The layer of an expression, with its weights."""
    if not expression.layer:
        return None
    layer = evaluate(expression.layer, _NAMES)
    inputs = {name: tf.ones(shape, dtype) for name, shape, dtype in expression.inputs}
    evaluate(expression.code, {**_NAMES, "layer": layer, **inputs})
    return layer


def _program(function: Any, expression: Expression) -> Program:
    specs = [tf.TensorSpec(shape, dtype, name) for name, shape, dtype in expression.inputs]
    concrete = tf.function(function, autograph=False).get_concrete_function(*specs)
    return Program(concrete.graph, function, specs)


def _alone(programs: Sequence[Program]) -> dict[str, list[Trial]]:
    """By type of operation, what became of its calls."""
    by_type: dict[str, list[Trial]] = {}
    seen_keys: set[tuple[str, str]] = set()
    for program in programs:
        library = program.graph.as_graph_def().library
        for operation in _operations(program.graph, set()):
            calls = by_type.setdefault(operation.type, [])
            key = (operation.type, _likeness(operation))
            if key not in seen_keys and len(calls) < CALLS and can_stand_alone(operation):
                seen_keys.add(key)
                calls.append(alone(operation, library))
    return {name: calls for name, calls in by_type.items() if definition(name) is not None}


def _likeness(operation: Any) -> str:
    """The key of similar calls of one type: dtypes and shapes of inputs, and attributes."""
    attributes = [(name, value) for name, value in operation.node_def.attr.items() if not name.startswith("_")]
    return str(([(tensor.dtype, tensor.shape) for tensor in operation.inputs], sorted(attributes, key=str)))


def _operations(graph: Any, seen_names: set[str]) -> Iterator[Any]:
    """The operations of a graph and of the functions that it calls."""
    for operation in graph.get_operations():
        yield operation
        for name, callee in callees(graph, operation):
            if name not in seen_names:
                seen_names.add(name)
                yield from _operations(callee, seen_names)


def _best(calls: Sequence[Trial]) -> Trial:
    """The best outcome of several calls of one type of operation."""
    outcomes = [call.outcome for call in calls]
    reasons = [call.reason for call in calls if call.outcome == "refused"]
    return Trial(
        outcome=next((outcome for outcome in ("compiled", "refused") if outcome in outcomes), "not tried"),
        reason=reasons[-1] if reasons else "",
        constants=tuple(sorted({name for call in calls for name in call.constants})),
        opcodes=tuple(sorted({opcode for call in calls for opcode in call.opcodes})),
        alone="compiled" in outcomes,
    )


def _within(programs: Sequence[Program], trials: Mapping[str, Trial]) -> dict[str, Trial]:
    """The trials, and as compiled those of what compiles with an expression around it."""
    by_type = {name: Trial(NOT_TRIED) for program in programs for name in program.types} | dict(trials)
    for program in programs:
        open_ = [name for name in program.types if by_type[name].outcome != "compiled"]
        if open_ and _compiles(program):
            by_type |= {name: replace(by_type[name], outcome="compiled") for name in open_}
    return by_type


def _compiles(program: Program) -> bool:
    try:
        opcodes_of(program.function, program.specs)
    except REFUSALS:
        return False
    return True
