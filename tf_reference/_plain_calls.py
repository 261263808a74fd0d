"""Calls of layers as plain data: tensors in their arguments are numbered as they are met."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from workloads.protocol.architecture import ELLIPSIS, SLICE, TENSOR, TUPLE, UNKNOWN, Call, Tensor
from workloads.protocol.framework import Unsupported
from workloads.protocol.inspection import Plain


class Called(Protocol):
    """One call of a layer: itself, its arguments, and the tensors that it returned."""

    layer: Any
    given: tuple[Any, ...]
    named: Mapping[str, Any]
    results: Sequence[Any]


class Numbering:
    """Tensors by number.

    Args:
      is_tensor: whether a value is one.
      constant: what stands for a value that is an array; None of another.

    Attributes:
      tensors: so far.
    """

    def __init__(self, is_tensor: Callable[[Any], bool], constant: Callable[[Any], Plain] = lambda value: None) -> None:
        self.tensors: list[Tensor] = []
        self._is_tensor, self._constant = is_tensor, constant
        self._numbers: dict[int, int] = {}
        self._kept: list[Any] = []

    def number(self, tensor: Any) -> int:
        """The number of a tensor."""
        if id(tensor) not in self._numbers:
            self.add(tensor, Tensor(_shape(tensor), str(getattr(tensor.dtype, "name", tensor.dtype))))
        return self._numbers[id(tensor)]

    def numbers(self, tensors: Sequence[Any]) -> tuple[int, ...]:
        """The numbers of tensors."""
        return tuple(self.number(tensor) for tensor in tensors)

    def add(self, tensor: Any, description: Tensor) -> None:
        """Give a tensor the next number."""
        self._numbers[id(tensor)] = len(self.tensors)
        self._kept.append(tensor)
        self.tensors.append(description)

    def plain(self, value: Any) -> Plain:
        """An argument as plain data."""
        constant = self._constant(value)
        if constant is not None:
            return constant
        if self._is_tensor(value):
            return {TENSOR: self.number(value)}
        if isinstance(value, tuple):
            return {TUPLE: [self.plain(item) for item in value]}
        if isinstance(value, list):
            return [self.plain(item) for item in value]
        if isinstance(value, Mapping):
            return {"dict": [[str(key), self.plain(item)] for key, item in value.items()]}
        if isinstance(value, slice):
            return {SLICE: [self.plain(part) for part in (value.start, value.stop, value.step)]}
        if value is Ellipsis:
            return {ELLIPSIS: True}
        value = value.item() if isinstance(value, np.generic) else value
        return (
            value if value is None or isinstance(value, bool | int | float | str) else {UNKNOWN: type(value).__name__}
        )


def call(path: str, noted_call: Called, still: Called, numbering: Numbering) -> Call:
    """A call as data."""
    keywords = {
        str(name): numbering.plain(argument) for name, argument in noted_call.named.items() if argument is not None
    }
    # As the model is: what is said below is otherwise.
    keywords.pop("training", None)
    training = noted_call.named.get("training")
    if isinstance(training, bool) and training is still.named.get("training"):
        # This call has the same argument, whatever the model does.
        keywords[f"training={training}"] = True
    return Call(
        path,
        tuple(numbering.plain(argument) for argument in noted_call.given),
        keywords,
        numbering.numbers(noted_call.results),
    )


def tensors_in(nest: Any, is_tensor: Callable[[Any], bool]) -> list[Any]:
    """The tensors in a nest in the order in which they stand in it as data.

    Args:
      is_tensor: whether a value is one.
    """
    if is_tensor(nest):
        return [nest]
    if isinstance(nest, Mapping):
        return [tensor for item in nest.values() for tensor in tensors_in(item, is_tensor)]
    return [tensor for item in nest for tensor in tensors_in(item, is_tensor)] if isinstance(nest, list | tuple) else []


def _shape(tensor: Any) -> tuple[int | None, ...]:
    if getattr(tensor.shape, "rank", 0) is None:
        raise Unsupported("a tensor whose rank is not known")
    return tuple(None if size is None else int(size) for size in tensor.shape)
