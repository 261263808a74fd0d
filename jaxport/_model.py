"""The model of a JAX twin: pure functions of parameters, and the map to the canonical weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from workloads.core.target import TargetError

PLATFORMS = ("cpu", "gpu", "tpu")
"""The platforms, as `jax.default_backend()` names them."""

OptionValue = bool | int | float | str


@dataclass(frozen=True)
class Parts:
    """A training step in two parts: a distributed step averages over devices what is between them.

    Attributes:
      gradients: (parameters, optimizer state, *inputs) -> (gradients, loss, moved): of the mean over the examples;
        moved is what a batch moves beside the weights, such as moving statistics, any pytree.
      update: (parameters, optimizer state, gradients, moved) -> (parameters, optimizer state).
    """

    gradients: Callable[..., tuple[Any, Any, Any]]
    update: Callable[..., tuple[Any, Any]]

    def step(self, parameters: Any, state: Any, *inputs: Any) -> tuple[Any, Any, Any]:
        """Both, as `Model.step`."""
        gradients, loss, statistics = self.gradients(parameters, state, *inputs)
        parameters, state = self.update(parameters, state, gradients, statistics)
        return parameters, state, loss


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
      compiler_options: by platform ("cpu", "gpu", "tpu"), options that `jax.jit` hands to XLA in one mode
        more, "tuned": `{"cpu": {"xla_cpu_experimental_ynn_fusion_type": ""}}`. Name beside them the
        measurement that chose them; `jaxport tune` makes it.
      apart: step once more, or forward where there is no step, of parts that are compiled each on its own,
        `jax.jit`: called as it is, in one mode more, "apart".
      parts: step once more, in two parts: `jaxport distribute` averages between them.
      sharded: a distributed step of your own: a `jax.sharding.Mesh` of one axis, "data" -> a function as step, of whole
        arrays that lie divided over that axis, the parameters and the state on every device.
    """

    forward: Callable[..., Any]
    from_weights: Callable[[Mapping[str, Any]], Any] = dict
    to_weights: Callable[[Any], Mapping[str, Any]] = dict
    loss: Callable[..., Any] | None = None
    init: Callable[[Any], Any] | None = None
    step: Callable[..., Any] | None = None
    compiler_options: Mapping[str, Mapping[str, OptionValue]] = field(default_factory=dict)
    apart: Callable[..., Any] | None = None
    parts: Parts | None = None
    sharded: Callable[[Any], Callable[..., Any]] | None = None

    def __post_init__(self) -> None:
        _check_options(self.compiler_options)
        if (self.step is None) != (self.init is None):
            raise TargetError(
                "expected a Model with both step and init, or neither, found one: init makes the state that step takes"
            )


def _check_options(by_platform: Mapping[str, Any]) -> None:
    """Raise TargetError unless these are options by platform, each a plain value."""
    example = "such as {'cpu': {'xla_cpu_experimental_ynn_fusion_type': ''}}"
    for platform, options in by_platform.items():
        if platform not in PLATFORMS or not isinstance(options, Mapping):
            raise TargetError(
                f"expected compiler_options by platform ({', '.join(PLATFORMS)}), {example}, "
                f"found {platform!r}: {options!r}"
            )
        for name, value in options.items():
            if not isinstance(value, OptionValue):
                raise TargetError(
                    f"expected compiler option {name!r} as a bool, number or string, found {value!r}: write it so"
                )


def of_function(function: Callable[..., Any]) -> Model:
    """A model without weights."""
    return Model(lambda parameters, *inputs: function(*inputs))
