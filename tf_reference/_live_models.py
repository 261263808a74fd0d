"""A Keras model that a caller holds: its layers and weights, and the model as the judges take one."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import keras
import numpy as np

from tf_reference import _keras_weights
from tf_reference._input_pipeline import behind_lookups
from tf_reference._model import Model
from tf_reference._recurrent_states import recurrent_states_of
from tf_reference._session import in_inference, written_in_calls
from workloads.core.errors import message
from workloads.core.precision import NARROW
from workloads.protocol.framework import Unsupported
from workloads.protocol.transfer import Source


def is_model(value: Any) -> bool:
    """Whether weights can be carried out of an object."""
    return isinstance(value, keras.layers.Layer)


def read(model: Any) -> tuple[Source, dict[str, np.ndarray]]:
    """The layers of a model or layer, and its weights by key.

    Raises:
      Unsupported: it has not made its weights yet, or has one in no layer.
    """
    if not model.built:
        raise Unsupported(
            "expected a Keras model that has made its weights, found one that was never called: build it, or call it "
            "on an example"
        )
    return _keras_weights.of_model(model)


def original(model: Any, keys: Collection[str]) -> Model:
    """A function, or a model in inference as a function of some of its weights.

    Args:
      model: of Keras, a layer, or without keys any function.
      keys: of these weights, as `read` gives them; what else it holds is read as it stands.
    """
    variables = dict(_keras_weights.variables(behind_lookups(model)[0])) if keys else {}
    weights = {key: variables[key] for key in keys}
    return Model(in_inference(model), weights, state=written_in_calls(model, set(map(id, weights.values()))))


def narrow_type(model: Any) -> str:
    """The narrow type that layers of a model say they compute in, the coarser of two; "" where none does."""
    types = {layer.compute_dtype for layer in model._flatten_layers()}
    return next((narrow for narrow in NARROW if narrow in types), "")


@contextmanager
def restore_afterwards(model: Any) -> Iterator[None]:
    """Afterwards every variable of a model holds what it held before."""
    variables = [*model.variables, *recurrent_states_of(model).values()]
    before = [(variable, np.array(variable.numpy())) for variable in variables]
    try:
        yield
    finally:
        for variable, array in before:
            if variable.numpy().tobytes() != array.tobytes():
                variable.assign(array)


def save(model: Any, path: Path) -> None:
    """Write a model to a .keras file.

    Raises:
      Unsupported: it is a layer alone, has not made its weights, or has what Keras cannot save.
    """
    if not isinstance(model, keras.Model) or not model.built:
        raise Unsupported(
            f"expected a Keras model that has made its weights, found {type(model).__name__}: put it into a model, and "
            "call that on an example"
        )
    try:
        with warnings.catch_warnings(action="ignore"):
            model.save(path)
    except (NotImplementedError, TypeError, ValueError) as error:
        raise Unsupported(
            f"expected a model that Keras can save, found that {message(error)}: name the function that makes it, as "
            "FILE.py:NAME"
        ) from error
