"""Whether a call computes the same in training as otherwise, but for what its layers do by themselves."""

from __future__ import annotations

from collections.abc import Mapping, Set
from itertools import count
from typing import Any

from tf_reference import _keras_config
from workloads.protocol.architecture import TENSOR, Graph

_TRAINING = "training"

_WRAPPED = ("build", "quantize")
"""Methods that Keras wraps anew in each layer: not what makes a layer another one."""


def name_of(operation: Any) -> str:
    """The name of an operation, equal in every trace."""
    left_out = ("name", *_WRAPPED)
    settings = {
        name: value for name, value in vars(operation).items() if not name.startswith("_") and name not in left_out
    }
    return f"{type(operation).__name__} {sorted(_keras_config.plain_config(settings).items())}"


def differ(in_training: Graph, still: Graph, identities: Set[str]) -> bool:
    """Whether two graphs of one call compute something else.

    Args:
      identities: the names of layers whose calls stand for what they are given.
    """
    return _outline(in_training, identities) != _outline(still, identities)


def _outline(graph: Graph, identities: Set[str]) -> Any:
    """A graph as comparable data: tensors are numbered as they are made, and no call has its training argument."""
    numbers: dict[int, int] = {number: position for position, number in enumerate(graph.inputs.values())}
    fresh, calls = count(len(numbers)), list[Any]()
    for call in graph.calls:
        first_argument = call.arguments[0] if call.arguments else None
        if call.layer in identities and isinstance(first_argument, Mapping) and first_argument.get(TENSOR) in numbers:
            numbers[call.outputs[0]] = numbers[first_argument[TENSOR]]
            continue
        keywords = {name: value for name, value in call.keywords.items() if not name.startswith(_TRAINING)}
        calls.append((call.layer, _renumber(call.arguments, numbers), _renumber(keywords, numbers)))
        numbers |= {number: next(fresh) for number in call.outputs}
    return calls, _renumber(graph.outputs, numbers)


def _renumber(value: Any, numbers: Mapping[int, int]) -> Any:
    if isinstance(value, Mapping):
        if TENSOR in value:
            return {TENSOR: numbers[value[TENSOR]]}
        return {name: _renumber(inner, numbers) for name, inner in value.items()}
    return [_renumber(inner, numbers) for inner in value] if isinstance(value, list | tuple) else value
