"""A traced function as XLA gets it: its arguments and variables as parameters, whatever functions it calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tf_reference import _private
from tf_reference._stateless import without_arguments
from workloads._framework import Unsupported

_CONSTANT = re.compile(r"Input (\d+) to node `[^`]*` with op (\w+) must be a compile-time constant")


@dataclass(frozen=True)
class Lowered:
    """What gives the stages of a program, its signature, and the ConcreteFunction whose captures it takes."""

    stage: Callable[..., Any]
    layout: _private.Layout
    concrete: Any


def lowered(function: Any, tensors: Sequence[tf.Tensor]) -> Lowered:
    """What gives the stages of a function's program, with a parameter for each argument and each variable.

    Args:
      function: of tf.function(jit_compile=True).
      tensors: its arguments.

    Raises:
      Unsupported: XLA has to know the value of an argument.
    """
    told = _lowered(function, tensors, tensors)
    if _is_complete(told, tensors):
        return told
    # TensorFlow takes an argument for a constant wherever a function that is called within might need its value, as
    # the gradient of a function needs the shapes that the function returned. Without values it has to find out.
    specs = [tf.TensorSpec(tensor.shape, tensor.dtype) for tensor in tensors]
    staged = function if _variables_alone(told.concrete) else _with_constants(told.concrete)
    try:
        return _lowered(staged, specs, tensors)
    except ValueError as error:
        wanted = _CONSTANT.search(str(error))
        if wanted is None:
            raise
        raise Unsupported(
            f"XLA has to know input {wanted[1]} of TensorFlow's {wanted[2]} when it compiles: its program has no "
            "parameter for that"
        ) from error


def _lowered(function: Any, given: Sequence[Any], tensors: Sequence[tf.Tensor]) -> Lowered:
    stage = function.experimental_get_compiler_ir(*given)
    layout = _private.layout(stage(stage="hlo_serialized"))
    return Lowered(stage, layout, function.get_concrete_function(*tensors))


def _is_complete(lowered: Lowered, tensors: Sequence[tf.Tensor]) -> bool:
    return len(lowered.layout.parameters) == len(tensors) + len(lowered.concrete.captured_inputs)


def _variables_alone(concrete: Any) -> bool:
    return all(captured.dtype == tf.resource for captured in concrete.captured_inputs)


def _with_constants(concrete: Any) -> Any:
    """The function with every tensor that it captured as a constant, which it is, and its variables as they are."""
    names = [tensor.op.name for tensor in concrete.graph.inputs]
    body, read = without_arguments(concrete.graph.as_graph_def(), names)
    results = {leaf: tensor.name for leaf, tensor in sorted(concrete.structured_outputs.items())}

    def call(*arguments: tf.Tensor) -> dict[str, tf.Tensor]:
        values = [*arguments, *map(_held, concrete.captured_inputs)]
        given = {f"{name}:0": value for name, value in zip(names, values, strict=True)}
        passed = {name: value for name, value in given.items() if name.removesuffix(":0") in read}
        # An argument that is returned as it is has no node of its own.
        made = [name for name in results.values() if name not in given]
        by_name = given | dict(zip(made, tf.graph_util.import_graph_def(body, passed, made, name=""), strict=True))
        return {leaf: by_name[name] for leaf, name in results.items()}

    return tf.function(call, jit_compile=True, autograph=False)


def _held(captured: tf.Tensor) -> tf.Tensor:
    # What is no array of numbers is captured anew.
    return tf.identity(captured) if captured.dtype in (tf.resource, tf.variant) else tf.constant(captured.numpy())
