"""A function that reads variables of its file as the judges take it."""

from __future__ import annotations

from collections.abc import Sequence

from tf_reference._function_graph import Spec, trace, variable_names
from tf_reference._model import Model
from workloads.core.target import resolve
from workloads.protocol.framework import Unsupported


def function_port(reference: str, inputs: Sequence[Spec], dtype: str) -> Model:
    """A function for `jaxport run`, with the variables that it reads as weights.

    Args:
      reference: FILE.py:NAME.
      inputs: name, shape and dtype of each argument.
      dtype: that it is judged in: the variables have the type that the file gives them.

    Raises:
      Unsupported: the variables are of another float type.
    """
    function = resolve(reference)
    variables = variable_names(trace(function, inputs).graph)
    other = {variable.dtype.name for variable in variables.values() if variable.dtype.is_floating} - {dtype}
    if other:
        raise Unsupported(f"expected variables of {dtype}, found {', '.join(sorted(other))}: the file makes them so")
    return Model(forward=function, weights=variables)
