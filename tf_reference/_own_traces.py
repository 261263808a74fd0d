"""Each function that calls a tf.function gets a trace of it for itself: loops are traced for XLA in another way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tf_reference import _private


def with_own_traces(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function; of a tf.function, one that is traced anew by each function that calls it.

    TensorFlow keeps one trace of it for all modes. AutoGraph says the largest number of steps of a loop only where it
    traces for XLA, and a gradient changes the loops of the trace that it is taken of.
    """
    if not hasattr(function, "experimental_get_tracing_count"):
        return function
    compiled: Any = function

    def call(*arguments: Any, **keywords: Any) -> Any:
        if tf.executing_eagerly():
            return compiled(*arguments, **keywords)
        return tf.function(compiled.python_function, **_private.staged_with(compiled))(*arguments, **keywords)

    return call
