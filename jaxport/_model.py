"""What a JAX twin hands over: pure functions of parameters, and the map to the canonical weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from workloads._target import TargetError


@dataclass(frozen=True)
class Model:
    """A model the way JAX users write one: functions of a pytree of parameters and the inputs.

    Inputs follow the parameters, positionally and in the workload's order.

    Attributes:
      forward: (parameters, *inputs) -> any nest of arrays.
      from_weights: `{canonical path: array}` -> parameters.
      to_weights: parameters -> `{canonical path: array}`; the inverse of `from_weights`.
      loss: (parameters, *inputs) -> scalar; its gradients are compared. Without one, every
        floating-point output takes part through a fixed cotangent.
      init: parameters -> optimizer state.
      step: (parameters, optimizer state, *inputs) -> (parameters, optimizer state, loss).
    """

    forward: Callable[..., Any]
    from_weights: Callable[[Mapping[str, Any]], Any] = dict
    to_weights: Callable[[Any], Mapping[str, Any]] = dict
    loss: Callable[..., Any] | None = None
    init: Callable[[Any], Any] | None = None
    step: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        if (self.step is None) != (self.init is None):
            raise TargetError(
                "expected a Model with both step and init, or neither, found one: init makes the state that step takes"
            )


def of_function(function: Callable[..., Any]) -> Model:
    """A model without weights."""
    return Model(lambda parameters, *inputs: function(*inputs))
