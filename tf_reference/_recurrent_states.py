"""Calls of models with stateful recurrent layers as functions of the states: no call changes a variable."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import keras
import tensorflow as tf

from tf_reference import _keras_variables
from workloads.core.written_port import with_states


def states_in(model: Any, variables: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of `variables` that are states of the stateful layers in a model."""
    state_ids = set(map(id, recurrent_states_of(model).values()))
    return {key: variable for key, variable in variables.items() if id(variable) in state_ids}


def recurrent_states_of(model: Any) -> dict[str, Any]:
    """The states of the stateful layers in a model or layer, by the path of the layer and their number."""
    return {
        f"{layer.path} {number}": state
        for layer in model._flatten_layers()
        for number, state in enumerate(_keras_variables.recurrent_states(layer))
    }


def with_states_left(call: Callable[..., Any], states: Mapping[str, Any]) -> Callable[..., Any]:
    """A call that starts from the current states, and returns its final states with its result.

    Args:
      states: by key.
    """

    def functional(*arguments: Any) -> Any:
        with _keep_states(states) as final_value:
            return with_states(call(*arguments), {key: final_value(state) for key, state in states.items()})

    return functional if states else call


def without_states_left(call: Callable[..., Any], states: Mapping[str, Any]) -> Callable[..., Any]:
    """A call that starts from the current states, and does not change them.

    Args:
      states: by key.
    """

    def functional(*arguments: Any) -> Any:
        with _keep_states(states):
            return call(*arguments)

    return functional if states else call


@contextmanager
def _keep_states(states: Mapping[str, Any]) -> Iterator[Callable[[Any], Any]]:
    """Inside, no variable of Keras changes; yields a function that returns the value a variable would have."""
    start = [(state, tf.convert_to_tensor(state.value)) for state in states.values()]
    with _CuttingScope(state_mapping=start, collect_losses=True) as scope:
        yield scope.get_current_value


class _CuttingScope(keras.StatelessScope):
    """Stops gradients through values assigned to variables, since none flow through a variable."""

    def add_update(self, update: tuple[Any, Any]) -> None:
        variable, value = update
        super().add_update((variable, tf.stop_gradient(value)))
