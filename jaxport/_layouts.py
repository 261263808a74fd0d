"""Whether a port keeps each weight as it comes, and the model that does so where it does not."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

from jaxport._model import Model


def keeps_layouts(model: Model, parameters: Any) -> bool:
    """Whether every canonical weight is one parameter, under another name at most.

    Args:
      parameters: as its `from_weights` gives them.
    """
    leaves, structure = jax.tree.flatten(parameters)
    number_arrays = _number_elements(leaves)
    by_first = {int(array.flat[0]): array for array in number_arrays}
    weights = model.to_weights(jax.tree.unflatten(structure, number_arrays))
    return all(_is_one_of(np.asarray(weight), by_first) for weight in weights.values())


def _number_elements(leaves: list[Any]) -> list[np.ndarray]:
    """Arrays of the shapes of leaves, every element another number."""
    arrays: list[np.ndarray] = []
    start = 0
    for leaf in leaves:
        size = math.prod(leaf.shape)
        arrays.append(np.arange(start, start + size, dtype=np.int32).reshape(leaf.shape))
        start += size
    return arrays


def _is_one_of(weight: np.ndarray, by_first: Mapping[int, np.ndarray]) -> bool:
    parameter = by_first.get(int(weight.flat[0]))
    return parameter is not None and np.array_equal(weight, parameter)


def in_canonical_layout(model: Model) -> Model:
    """The model over the canonical weights: every pass includes `from_weights`.

    Programs of both sides then take the same arrays.
    """
    into, back = model.from_weights, model.to_weights

    def taking(function: Callable[..., Any] | None) -> Callable[..., Any] | None:
        return (lambda weights, *inputs: function(into(weights), *inputs)) if function else None

    def stepping(step: Callable[..., Any] | None) -> Callable[..., Any] | None:
        def layout_step(weights: Any, state: Any, *inputs: Any) -> tuple[Any, Any, Any]:
            assert step is not None
            parameters, state, loss = step(into(weights), state, *inputs)
            return dict(back(parameters)), state, loss

        return layout_step if step else None

    return dataclasses.replace(
        model,
        forward=lambda weights, *inputs: model.forward(into(weights), *inputs),
        loss=taking(model.loss),
        init=taking(model.init),
        step=stepping(model.step),
        apart=stepping(model.apart) if model.step else taking(model.apart),
        from_weights=dict,
        to_weights=dict,
    )
