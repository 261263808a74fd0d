"""The inputs of a check: what a caller writes, or an example of it, as specs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from compare.errors import RequestError
from compare.inputs.functions import EXAMPLES, parse_input
from workloads.core.spec import Arrays, ArraySpec, is_float, is_integer

_AS = "a spec such as 'f32[8,128]', or an example array"


@dataclass(frozen=True)
class CallInputs:
    """The inputs of both functions.

    Attributes:
      specs: of each input, in the order of the arguments.
      example: the arrays that the caller gave, by name.
    """

    specs: Mapping[str, ArraySpec[int | str]]
    example: Arrays


def call_inputs(inputs: Mapping[str, Any]) -> CallInputs:
    """The inputs as specs.

    Args:
      inputs: by name "f32[B,128]", "i32[B]:0..10", an `ArraySpec` or an array.

    Raises:
      RequestError: there is none, or one is nothing of these.
    """
    if not isinstance(inputs, Mapping) or not inputs:
        raise RequestError(
            f"expected inputs by name, such as {{'x': 'f32[8,128]'}}, found {inputs!r}: name each argument"
        )
    specs: dict[str, ArraySpec[int | str]] = {}
    example: dict[str, np.ndarray] = {}
    for name, value in inputs.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise RequestError(f"expected the name of an argument as the name of an input, found {name!r}: rename it")
        if isinstance(value, str):
            specs[name] = parse_input(f"{name}={value}")[1]
        elif isinstance(value, ArraySpec):
            specs[name] = value
        else:
            example[name] = _array(name, value)
            specs[name] = _spec_like(name, example[name])
    return CallInputs(specs, example)


def check_arguments(argument: str, function: Callable[..., Any], names: Mapping[str, Any]) -> None:
    """Raise RequestError where a function does not take these inputs by position, or names them in another order.

    Args:
      argument: of `jaxport.check`: "tf_fn" or "jax_fn".
      function: that is called.
      names: of the inputs, in their order.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # a function of C, say: its first call tells
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    arguments = [name for name, parameter in signature.parameters.items() if parameter.kind in positional]
    try:
        signature.bind(*names)
    except TypeError as error:
        raise RequestError(
            f"expected an input for each argument of {argument} ({', '.join(arguments) or 'none'}), found "
            f"{', '.join(names)}: {error}"
        ) from error
    out_of_place = [
        name
        for name, expected_name in zip(names, arguments, strict=False)
        if name != expected_name and name in arguments
    ]
    if out_of_place:
        raise RequestError(
            f"expected inputs in the order of the arguments of {argument} ({', '.join(arguments)}), found "
            f"{', '.join(names)}: inputs are passed by position, reorder them"
        )


def _array(name: str, value: Any) -> np.ndarray:
    if not hasattr(value, "__array__"):
        raise RequestError(f"expected {_AS} as input {name!r}, found {type(value).__name__}: write it like {EXAMPLES}")
    array = np.asarray(value)
    if not (array.dtype == np.bool_ or is_float(array.dtype) or is_integer(array.dtype)):
        raise RequestError(f"expected numbers in input {name!r}, found {array.dtype}: hand over an array of numbers")
    return array


def _spec_like(name: str, array: np.ndarray) -> ArraySpec[int | str]:
    """Other arrays of its shape and dtype: integers within its ends, since they may be indices; floats of its size."""
    try:
        if is_integer(array.dtype):
            return ArraySpec(array.shape, array.dtype.name, int(array.min()), int(array.max()) + 1)
        return ArraySpec(array.shape, array.dtype.name, scale=_scale(array))
    except ValueError as error:
        raise RequestError(f"{error}, in input {name!r}") from error


def _scale(array: np.ndarray) -> float:
    """The root mean square of its finite numbers; 1 where all are 0."""
    if array.dtype == np.bool_:
        return 1.0
    sizes = np.abs(array.astype(np.complex128 if array.dtype.kind == "c" else np.float64))
    finite = sizes[np.isfinite(sizes)]
    return float(np.sqrt(np.mean(np.square(finite)))) if finite.any() else 1.0
