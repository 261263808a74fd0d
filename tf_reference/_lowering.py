"""A traced function as XLA gets it: its arguments and variables as parameters, whatever functions it calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tf_reference import _private
from tf_reference._stateless import without_arguments
from workloads.protocol.framework import Unsupported

_CONSTANT = re.compile(r"Input (\d+) to node `[^`]*` with op (\w+) must be a compile-time constant")


@dataclass(frozen=True)
class Lowered:
    """Returns the stages of a program, its signature, and the ConcreteFunction whose captures it takes."""

    stage: Callable[..., Any]
    layout: _private.Layout
    concrete: Any


def lower(function: Any, tensors: Sequence[tf.Tensor]) -> Lowered:
    """Lower a function to a program with a parameter for each argument and each variable.

    Args:
      function: of tf.function(jit_compile=True).

    Raises:
      Unsupported: XLA has to know the value of an argument.
    """
    lowering = _lower(function, tensors, tensors)
    if _is_complete(lowering, tensors):
        return lowering
    # TensorFlow takes an argument for a constant wherever a function that is called within might need its value, as
    # the gradient of a function needs the shapes that the function returned. Without values it has to find out.
    specs = [tf.TensorSpec(tensor.shape, tensor.dtype) for tensor in tensors]
    stage = function if _variables_alone(lowering.concrete) else _with_constants(lowering.concrete)
    try:
        return _lower(stage, specs, tensors)
    except ValueError as error:
        match = _CONSTANT.search(str(error))
        if match is None:
            raise
        raise Unsupported(
            f"XLA has to know input {match[1]} of TensorFlow's {match[2]} when it compiles: its program has no "
            "parameter for that"
        ) from error


def _lower(function: Any, specs: Sequence[Any], tensors: Sequence[tf.Tensor]) -> Lowered:
    stage = function.experimental_get_compiler_ir(*specs)
    layout = _private.layout(stage(stage="hlo_serialized"))
    return Lowered(stage, layout, function.get_concrete_function(*tensors))


def _is_complete(lowered: Lowered, tensors: Sequence[tf.Tensor]) -> bool:
    return len(lowered.layout.parameters) == len(tensors) + len(lowered.concrete.captured_inputs)


def _variables_alone(concrete: Any) -> bool:
    return all(tensor.dtype == tf.resource for tensor in concrete.captured_inputs)


def _with_constants(concrete: Any) -> Any:
    """The function with every tensor that it captured as a constant, which it is, and its variables as they are."""
    names = [tensor.op.name for tensor in concrete.graph.inputs]
    body, read = without_arguments(concrete.graph.as_graph_def(), names)
    results = {leaf: tensor.name for leaf, tensor in sorted(concrete.structured_outputs.items())}

    def call(*arguments: tf.Tensor) -> dict[str, tf.Tensor]:
        values = [*arguments, *map(_value_held, concrete.captured_inputs)]
        values_by_name = {f"{name}:0": value for name, value in zip(names, values, strict=True)}
        read_values = {name: value for name, value in values_by_name.items() if name.removesuffix(":0") in read}
        # An argument that is returned as it is has no node of its own.
        new_names = [name for name in results.values() if name not in values_by_name]
        by_name = values_by_name | dict(
            zip(new_names, tf.graph_util.import_graph_def(body, read_values, new_names, name=""), strict=True)
        )
        return {leaf: by_name[name] for leaf, name in results.items()}

    return tf.function(call, jit_compile=True, autograph=False)


def _value_held(tensor: tf.Tensor) -> tf.Tensor:
    # What is no array of numbers is captured anew.
    return tf.identity(tensor) if tensor.dtype in (tf.resource, tf.variant) else tf.constant(tensor.numpy())
