"""The functions that TensorFlow traces and XLA compiles in each call of a stream, from its profiler."""

from __future__ import annotations

import inspect
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tf_reference import _private
from tf_reference._private import TracedEvent
from workloads.core.spec import ArraySpec
from workloads.core.target import resolve
from workloads.protocol.framework import Unsupported
from workloads.protocol.recompiling import Named, Seen, Staging, bound

_GRAPH = "tf.function-graph_building"
_COMPILED = re.compile(r"^\w*Compiler::RunBackend$")
"""XLA makes one executable in it: as many as the modules that --xla_dump_to writes."""


class Watched:
    """A tf.function whose calls are profiled one by one. Implements workloads.protocol.recompiling.Watch."""

    def __init__(self, staging: Staging) -> None:
        # Weights that are drawn when the file is read are the same in the next process: results are compared.
        tf.keras.utils.set_random_seed(0)
        target = resolve(staging.target)
        self._given = target.python_function if _is_staged(target) else target
        self._options = _options(target)
        match staging.cure:
            case "" | "arrays":
                # As it was given: its captures and its name are part of what is watched.
                self._function = target if _is_staged(target) else self._stage(self._given)
            case "reduce_retracing":
                self._options |= {"reduce_retracing": True}
                self._function = self._stage(self._given)
            case "input_signature":
                self._options |= {"input_signature": _signature(self._given, staging.signature)}
                self._function = self._stage(self._given)
            case other:
                raise Unsupported(f"tf.function has no {other}")

    def describe(self) -> str:
        """Describe how it was staged."""
        options_shown = {name: value for name, value in self._options.items() if value and name != "autograph"}
        return f"tf.function({', '.join(f'{name}={value}' for name, value in options_shown.items())})"

    def call(self, arguments: Named) -> Seen:
        """Call it, and say what the call did."""
        return self._watch(self._function, arguments)

    def probe(self, before: Named, after: Named, body: bool) -> Seen:
        """Trace and compile a call in a cache that holds one other call.

        Args:
          before: the call that fills the cache.
          after: the call that is watched.
          body: whether the function itself is called, or one of its parameters that does nothing.
        """
        function = self._stage(self._given if body else _nothing_like(self._given))
        self._watch(function, before)
        return self._watch(function, after)

    def _stage(self, function: Callable[..., Any]) -> Any:
        return tf.function(function, **self._options)

    def _watch(self, function: Any, arguments: Named) -> Seen:
        positional, keywords = bound(self._given, tf.nest.map_structure(_argument, dict(arguments)))
        before = function.experimental_get_tracing_count()

        def call() -> tuple[Any, float]:
            start = time.perf_counter()
            results = tf.nest.map_structure(_array, function(*positional, **keywords))
            return results, time.perf_counter() - start

        (results, seconds), events = _profile(call)
        compiled = [event for event in events if _COMPILED.match(event.name)]
        return Seen(
            traces=function.experimental_get_tracing_count() - before,
            compilations=len(compiled),
            seconds=seconds,
            trace_s=_covered_time(event for event in events if event.name == _GRAPH),
            lower_s=None,
            compile_s=_covered_time(compiled),
            entries=_private.signatures_kept(function),
            outputs={str(number): value for number, value in enumerate(tf.nest.flatten(results)) if value is not None},
        )


def compiled_in(call: Callable[[], Any]) -> tuple[Any, int]:
    """The result of a call, and how many executables XLA compiled in it."""
    results, events = _profile(call)
    return results, sum(bool(_COMPILED.match(event.name)) for event in events)


def _profile(call: Callable[[], Any]) -> tuple[Any, Sequence[TracedEvent]]:
    with tempfile.TemporaryDirectory() as folder:
        with tf.profiler.experimental.Profile(folder):
            results = call()
        (trace,) = Path(folder).rglob("*.xplane.pb")
        return results, list(_private.events(trace.read_bytes()))


def _is_staged(function: Any) -> bool:
    return hasattr(function, "experimental_get_tracing_count")


def _options(function: Any) -> dict[str, Any]:
    """The options of tf.function: for a plain function, to compile it; for a staged one, its own options."""
    return _private.staged_with(function) if _is_staged(function) else {"jit_compile": True}


def _signature(function: Callable[..., Any], arguments: Named) -> list[Any]:
    """TensorSpecs by position, with None for each size that varies.

    Raises:
      Unsupported: an argument has no place in a signature.
    """
    positional, keywords = bound(function, arguments)
    if keywords:
        raise Unsupported(f"an input_signature is by position, and {', '.join(keywords)} is passed by name alone")
    return [tf.nest.map_structure(_specify, one) for one in positional]


def _specify(leaf: Any) -> tf.TensorSpec:
    if isinstance(leaf, ArraySpec):
        return tf.TensorSpec([None if isinstance(size, str) else size for size in leaf.shape], leaf.dtype)
    if isinstance(leaf, bool | int | float | np.generic):
        return tf.TensorSpec([], tf.convert_to_tensor(leaf).dtype)
    raise Unsupported(f"an input_signature holds tensors alone, and {leaf!r} cannot be one")


def _argument(leaf: Any) -> Any:
    return tf.constant(leaf) if isinstance(leaf, np.ndarray) else leaf


def _array(leaf: Any) -> np.ndarray | None:
    """A result as an array, once it is there; None of what is none, such as a string."""
    if leaf is None:
        return None
    array = np.asarray(tf.convert_to_tensor(leaf).numpy())
    return None if array.dtype == object else array


def _nothing_like(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the same parameters that does nothing."""

    def nothing(*_: Any, **__: Any) -> tf.Tensor:
        return tf.constant(0.0)

    nothing.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return nothing


def _covered_time(events: Iterable[TracedEvent]) -> float:
    """Seconds in which at least one of the events went on: functions are traced inside of others."""
    total, end = 0.0, float("-inf")
    for event in sorted(events, key=lambda event: event.start_s):
        stop = event.start_s + event.seconds
        total += max(0.0, stop - max(event.start_s, end))
        end = max(end, stop)
    return total
