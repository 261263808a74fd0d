"""A training step while it is traced: the operations that stand for its calls, gradients and updates, and its names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import keras

from tf_reference import _call_graphs, _keras_weights
from workloads.protocol.architecture import ITERATIONS, Described, OptimizerUpdate, TapeGradient
from workloads.protocol.framework import Unsupported


@dataclass
class Trace:
    """One trace of a step, in float32 or float64."""

    calls: _call_graphs.Trace = field(default_factory=_call_graphs.Trace)
    concrete: Any = None
    inputs: list[Any] = field(default_factory=list)
    operations: dict[str, tuple[str, int]] = field(default_factory=dict)
    results: list[Any] = field(default_factory=list)
    losses: list[Described] = field(default_factory=list)
    gradients: list[TapeGradient] = field(default_factory=list)
    updates: list[OptimizerUpdate] = field(default_factory=list)
    assigned: list[str] = field(default_factory=list)
    clips: list[float] = field(default_factory=list)
    optimizers: dict[str, Any] = field(default_factory=dict)

    def add(
        self,
        kind: str,
        number: int,
        inputs: Sequence[Any],
        outputs: Sequence[tuple[Any, Any]],
        *,
        is_kept: bool = True,
    ) -> list[Any]:
        """Add an operation that is read and never run, and return its results.

        Args:
          outputs: dtype and shape of each.
          is_kept: whether it is a part of the step where nothing reads it.
        """
        results = _call_graphs.add_operation(inputs, outputs)
        self.operations[results[0].op.name] = kind, number
        self.results += results[:1] if is_kept else []
        return results


class ModelNames:
    """The names of a model's weights and optimizers."""

    def __init__(self, model: Any) -> None:
        self._model = model
        keys = _keras_weights.keys(model)
        variables = {id(variable): variable for layer in model._flatten_layers() for variable in layer.weights}
        # Of Keras' own: what it counts and draws by is no weight.
        self.weights = [(key, variables[one]) for one, key in keys.items() if one in variables]
        optimizers = {
            id(one): one for one in (getattr(model, "optimizer", None), *vars(model).values()) if _is_optimizer(one)
        }
        self.counters = [(f"{ITERATIONS}{self.optimizer_name(one)}", self.counter(one)) for one in optimizers.values()]
        self._key_of = {id(variable): key for key, variable in self.weights}

    def counter(self, optimizer: Any) -> Any:
        """The variable in which an optimizer counts its updates."""
        return optimizer._iterations

    def key(self, variable: Any, what: str) -> str:
        """The key of a weight.

        Raises:
          Unsupported: it is none of the model.
        """
        if id(variable) not in self._key_of:
            name = getattr(variable, "path", None) or getattr(variable, "name", type(variable).__name__)
            raise Unsupported(f"it {what} {name}, which is no weight of the model")
        return self._key_of[id(variable)]

    def optimizer_name(self, optimizer: Any) -> str:
        """The attribute of the model that holds an optimizer."""
        attributes = {name: value for name, value in vars(self._model).items() if value is optimizer}
        if getattr(self._model, "optimizer", None) is optimizer:
            return "optimizer"
        if not attributes:
            raise Unsupported("it updates weights by an optimizer that is no attribute of the model")
        return next(iter(attributes))

    @property
    def trainable(self) -> Sequence[Any]:
        """The weights that an optimizer is given where it is given none."""
        return self._model.trainable_variables


def _is_optimizer(value: Any) -> bool:
    return isinstance(value, keras.optimizers.Optimizer)
