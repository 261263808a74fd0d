"""Calls of models with stateful recurrent layers as functions of the states: no call changes a variable."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import keras
import tensorflow as tf

from tf_reference import _keras_variables
from workloads._written_port import with_states


def states_in(model: Any, variables: Mapping[str, Any]) -> dict[str, Any]:
    """The states of the stateful layers in a model, among its variables by key.

    Args:
      model: of Keras.
      variables: of it, by key.
    """
    held = {id(state) for layer in model._flatten_layers() for state in _keras_variables.recurrent_states(layer)}
    return {key: variable for key, variable in variables.items() if id(variable) in held}


def with_states_left(call: Callable[..., Any], states: Mapping[str, Any]) -> Callable[..., Any]:
    """A call that starts from the states as they are, and returns those that it leaves beside its result.

    Args:
      call: of a model.
      states: by key.
    """

    def functional(*given: Any) -> Any:
        with _kept(states) as left:
            return with_states(call(*given), {key: left(state) for key, state in states.items()})

    return functional if states else call


def without_states_left(call: Callable[..., Any], states: Mapping[str, Any]) -> Callable[..., Any]:
    """A call that starts from the states as they are, and leaves them so.

    Args:
      call: of a model.
      states: by key.
    """

    def functional(*given: Any) -> Any:
        with _kept(states):
            return call(*given)

    return functional if states else call


@contextmanager
def _kept(states: Mapping[str, Any]) -> Iterator[Callable[[Any], Any]]:
    """Inside, no variable of Keras changes; gives the value that one would have."""
    start = [(state, tf.convert_to_tensor(state.value)) for state in states.values()]
    with _CuttingScope(state_mapping=start, collect_losses=True) as scope:
        yield scope.get_current_value


class _CuttingScope(keras.StatelessScope):
    """No gradient flows through what a variable would be assigned, as none flows through a variable."""

    def add_update(self, update: tuple[Any, Any]) -> None:
        variable, value = update
        super().add_update((variable, tf.stop_gradient(value)))
