"""Losses and schedules of the user's own as functions of a written training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from compare.porting.counter_range import require_range
from compare.porting.identifiers import comment_text, identifier, snake
from compare.porting.safe_expressions import UnwritableError
from compare.porting.traced_methods import array_of, method_body
from workloads.protocol.architecture import Call, Described, Graph, Inner

_HEADS = {
    ("targets", "predictions"): "targets: jax.Array, predictions: jax.Array",
    ("step",): "step: jax.Array, dtype: Any",
}


def function_name(value: Inner) -> str:
    """The name of the function that a loss or a schedule of the user's own becomes."""
    name = identifier(snake(value.class_name), "own")
    return f"own_{name}" if name in ("loss", "metrics", "train_step", "make_optimizer", "scaled_loss") else name


def function_lines(value: Inner) -> list[str]:
    """The lines of that function.

    Raises:
      UnwritableError: TensorFlow cannot trace it, or an operation of it has no rule.
    """
    graph = value.traced
    if graph is None:
        raise UnwritableError(f"{value.class_name} is no class of Keras, and its code is not followed")
    if "step" in graph.inputs:
        _require_range(graph)
    constants: dict[str, np.ndarray[Any, Any]] = {}
    body = method_body(graph, {name: name for name in graph.inputs}, {}, constants, _no_call)
    if constants:
        raise UnwritableError(f"{value.class_name} holds large constants")
    # A rate is computed in the type of the weights, whatever the schedule computes in.
    result = f"jnp.asarray({body.result}, dtype)" if "step" in graph.inputs else body.result
    return [
        f"def {function_name(value)}({_HEADS[tuple(graph.inputs)]}) -> jax.Array:",
        f'    """{comment_text(value.class_name)} of the original."""',
        *[f"    {part}" for line in body.lines for part in str(line).splitlines()],
        f"    return {result}",
    ]


def _require_range(schedule: Graph) -> None:
    """Check that JAX has each whole number that a schedule computes of the step.

    Raises:
      UnwritableError: one is too large for 32 bits.
    """
    traced = schedule.traced
    assert traced is not None
    arrays = {key: array_of(constant) for key, constant in traced.constants.items()}
    require_range(traced.function, traced.function.bodies[0].inputs[:1], arrays)


def takes_numbers_of_classes(loss: Described) -> bool:
    """Whether the targets of a loss of the user's own are numbers of classes: they have no axis of scores."""
    graph = loss.traced
    return graph is not None and len(graph.tensors[0].shape) < len(graph.tensors[1].shape)


def _no_call(call: Call, texts: Mapping[int, str], names: frozenset[str]) -> tuple[str, str, bool]:
    raise UnwritableError("it calls a layer")
