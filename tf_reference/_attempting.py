"""A function that is tried in one mode: what it gives, or TensorFlow's refusal as it is raised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from tf_reference._clustering import WARM_CALLS
from tf_reference._host_arrays import on_host
from tf_reference._profiling import profiled_nodes
from workloads.core.spec import Arrays
from workloads.core.target import resolve
from workloads.protocol.attempting import around
from workloads.protocol.framework import PROFILED_CALLS, Attempted


def attempt(target: str, options: dict[str, Any] | None, arrays: Arrays, profile: bool) -> Attempted:
    """Call a function in a mode, and return its results.

    Args:
      options: of tf.function; None calls it eagerly.
      arrays: its arguments in order. Tensors are made in the call: some functions configure devices before the first.
      profile: whether to profile warm calls.
    """
    function = resolve(target)
    stage = _Stage(function, options)

    def call() -> Any:
        stage.next = 0
        return around(function)(stage, *arrays.values())

    outputs = {str(number): on_host(value) for number, value in enumerate(tf.nest.flatten(call()))}
    for _ in range(WARM_CALLS * profile):
        call()
    return Attempted(outputs, [profiled_nodes(call) for _ in range(PROFILED_CALLS * profile)])


class _Stage:
    """Stages a function; when everything is called once more, gives the functions of the first time in order."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any] | None) -> None:
        self._function, self._options = function, options
        self._made: list[Callable[..., Any]] = []
        self.next = 0

    def __call__(self, **more: Any) -> Callable[..., Any]:
        if self.next == len(self._made):
            self._made.append(self._stage(more))
        self.next += 1
        return self._made[self.next - 1]

    def _stage(self, more: dict[str, Any]) -> Callable[..., Any]:
        stage = self._function if self._options is None else tf.function(self._function, **self._options, **more)

        def on_tensors(*arguments: Any) -> Any:
            return stage(*(tf.constant(one) if isinstance(one, np.ndarray | np.generic) else one for one in arguments))

        return on_tensors
