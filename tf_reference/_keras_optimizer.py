"""The variables of the optimizer that a Keras model is compiled with, each by the weight that it is of; and steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from tf_reference import _keras_config
from workloads.protocol.framework import Unsupported
from workloads.protocol.optimizer_transfer import PREFIX, Slot, SourceOptimizer

_WRAPPER = "LossScaleOptimizer"


def of_model(model: Any) -> Any:
    """The optimizer of a model, with its variables.

    Raises:
      Unsupported: it has none, or one around another.
    """
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None:
        raise Unsupported("expected a compiled model for its optimizer, found one without: compile it, or drop it")
    if type(optimizer).__name__ == _WRAPPER:
        raise Unsupported(
            f"expected an optimizer that updates weights itself, found {_WRAPPER} around "
            f"{type(optimizer.inner_optimizer).__name__}: compile with the inner one, and scale losses in JAX"
        )
    if not optimizer.built:
        optimizer.build(model.trainable_variables)
    return optimizer


def read(model: Any, keys: Mapping[int, str]) -> SourceOptimizer:
    """Read the state of a model's optimizer.

    Args:
      keys: of its weights, by their ids.

    Raises:
      Unsupported: it has no optimizer, or that has a variable of no weight's shape which it names nowhere.
    """
    optimizer = of_model(model)
    return SourceOptimizer(
        class_name=type(optimizer).__name__,
        own=type(optimizer).__module__.split(".")[0] == "keras",
        config=_keras_config.plain_config(optimizer.get_config()),
        slots=tuple(slot for slot, _ in _slots(optimizer, keys)),
        trained=tuple(keys[id(variable)] for variable in optimizer._trainable_variables),
    )


def variables(model: Any, keys: Mapping[int, str]) -> dict[str, Any]:
    """Every variable of the optimizer, by the key that `read` gives it."""
    return {slot.key: variable for slot, variable in _slots(of_model(model), keys)}


def _slots(optimizer: Any, keys: Mapping[int, str]) -> Iterator[tuple[Slot, Any]]:
    own = {id(variable): variable for variable in optimizer.variables}
    trained_variables = [keys[id(variable)] for variable in optimizer._trainable_variables]
    for name, value in vars(optimizer).items():
        if name in ("_variables", "_trainable_variables"):
            continue
        several = isinstance(value, list) and len(value) == len(trained_variables)
        for weight, held_variable in zip(trained_variables, value, strict=True) if several else [("", value)]:
            # Twice in one optimizer stands only what is another's.
            if own.pop(id(held_variable), None) is not None:
                yield _slot(name.strip("_"), weight, held_variable), held_variable
    if own:
        path = next(iter(own.values())).path
        raise Unsupported(f"expected every variable of the optimizer by an attribute of its, found {path} by none")


def _slot(name: str, weight: str, variable: Any) -> Slot:
    key = f"{PREFIX}{name}{'/' if weight else ''}{weight}"
    return Slot(name, weight, key, tuple(map(int, variable.shape)), str(variable.dtype))


def take_steps(
    model: Any, keys: Mapping[int, str], gradients: Mapping[str, np.ndarray], steps: int, fresh: bool
) -> dict[str, np.ndarray]:
    """The trained weights after each of some steps, as "STEP/KEY".

    Args:
      model: the model, compiled; it is changed.
      keys: of its weights, by their ids.
      gradients: as "STEP/KEY".
      fresh: whether the optimizer starts anew, in place of going on from where it is.
    """
    optimizer = of_model(model)
    trained_variables = list(optimizer._trainable_variables)
    if fresh:
        anew = type(optimizer).from_config(optimizer.get_config())
        anew.build(trained_variables)
        # Into the optimizer that is there: which weights do not decay, it says in no attribute.
        for variable, start in zip(optimizer.variables, anew.variables, strict=True):
            variable.assign(start)
    weights: dict[str, np.ndarray] = {}
    for step in range(steps):
        optimizer.apply(
            [tf.constant(gradients[f"{step}/{keys[id(weight)]}"]) for weight in trained_variables], trained_variables
        )
        weights |= {f"{step}/{keys[id(weight)]}": np.array(weight.numpy()) for weight in trained_variables}
    return weights
