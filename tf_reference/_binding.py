"""Finds the source of each parameter of a lowered program, and the names of its results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tf_reference._private import Layout
from tf_reference._session import Session
from workloads.core.spec import Arrays
from workloads.core.state_names import Own, owner_and_part
from workloads.protocol.framework import WEIGHTS, Parameter, Result, Unsupported


def bound_parameters(
    session: Session, concrete: Any, layout: Layout, input_kind: str = "input"
) -> tuple[tuple[Parameter, ...], Arrays]:
    """The program's parameters by what fills them, and the values of those that carry their own.

    Args:
      session: the twin in one float type.
      input_kind: what fills the parameters that are no variables: "input" or "batches".

    Raises:
      Unsupported: a parameter that nothing fills, or a resource that is no variable.
    """
    own = {path: Own(session.own_names[path], tuple(variable.shape)) for path, variable in session.weights.items()}
    by_handle = {id(variable.handle): ("weight", path, "", "") for path, variable in session.weights.items()}
    by_handle |= {
        id(variable.handle): ("state", name, *owner_and_part(name, tuple(variable.shape), own))
        for name, variable in session.state.items()
    }
    sources = [(input_kind, name, "", "") for name in session.twin.inputs]
    states: dict[str, np.ndarray] = {}
    for index, tensor in enumerate(concrete.captured_inputs):
        sources.append(by_handle.get(id(tensor), ("state", f"captured{index}", "", "")))
        kind, name, *_ = sources[-1]
        if kind == "state":
            states[name] = session.state[name].numpy() if name in session.state else _captured_value(tensor, concrete)
    if len(sources) != len(layout.parameters):
        raise Unsupported(
            f"TensorFlow's program has {len(layout.parameters)} parameters for {len(sources)} inputs and variables"
        )
    pairs = zip(sources, layout.parameters, strict=True)
    parameters = (Parameter(kind, name, shape, dtype, *whose) for (kind, name, *whose), (dtype, shape) in pairs)
    return tuple(parameters), states


def _captured_value(tensor: tf.Tensor, concrete: Any) -> np.ndarray:
    if tensor.dtype != tf.resource:
        return tensor.numpy()
    held_variable = next((variable for variable in concrete.variables if variable.handle is tensor), None)
    if held_variable is None:
        raise Unsupported("TensorFlow's program takes a resource that is no variable, such as a lookup table")
    return held_variable.numpy()


def result_names(leaves: Sequence[str], parameters: Sequence[Parameter], layout: Layout) -> list[str]:
    """Leaf names of the program's results.

    Args:
      leaves: names of the function's own results, in order.
      parameters: those of the program, in order.

    Raises:
      Unsupported: a result that updates no variable.
    """
    # Results are the function's own, then one for each variable that it updates, aliased to its parameter.
    names = list(leaves)
    for index in range(len(leaves), len(layout.results)):
        if index not in layout.aliases:
            raise Unsupported(f"result {index} of TensorFlow's program updates no variable that can be named")
        source = parameters[layout.aliases[index]]
        names.append((WEIGHTS if source.kind == "weight" else "state/") + source.name)
    return names


def results(names: Sequence[str], layout: Layout) -> tuple[Result, ...]:
    """The program's results under their names."""
    return tuple(Result(name, shape, dtype) for name, (dtype, shape) in zip(names, layout.results, strict=True))
