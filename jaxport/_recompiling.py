"""Watches what JAX traces, lowers and compiles in each call of a stream, by `jax.monitoring`."""

from __future__ import annotations

import dataclasses
import inspect
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import jax
import numpy as np
from jax import export

from jaxport import _private
from workloads.core.spec import ArraySpec
from workloads.core.target import resolve
from workloads.protocol.framework import Unsupported
from workloads.protocol.recompiling import Named, Seen, Staging, bound

_TRACED = "/jax/core/compile/jaxpr_trace_duration"
_LOWERED = "/jax/core/compile/jaxpr_to_mlir_module_duration"
COMPILED = "/jax/core/compile/backend_compile_duration"


class Watched:
    """A jitted function whose calls are watched. Implements workloads.protocol.recompiling.Watch."""

    def __init__(self, staging: Staging) -> None:
        # What is drawn when the file is read is the same in the next process: results are compared.
        random.seed(0)
        np.random.seed(0)
        target = resolve(staging.target)
        self._given = inspect.unwrap(target) if _is_staged(target) else target
        self._options: dict[str, Any] = (
            _private.jitted_with(target) if _is_staged(target) else {"static_argnames": staging.static}
        )
        self._maker = "jax.jit" if not _is_staged(target) or _private.is_jitted(target) else type(target).__name__
        self._symbolic: Callable[[], Any] | None = None
        match staging.cure:
            case "":
                self._function = target if _is_staged(target) else self._stage(self._given)
            case "arrays":
                self._options = _without(self._options, staging.dynamic)
                self._function = self._stage(self._given)
            case "symbolic_shapes":
                self._symbolic, self._function = partial(self._of_any_size, staging.signature), None
            case other:
                raise Unsupported(f"jax.jit has no {other}")

    def describe(self) -> str:
        """Describe how it was staged."""
        numbers = {name for name in self._options if name.endswith("nums") and self._options.get(f"{name[:-4]}names")}
        options_shown = {name: value for name, value in self._options.items() if value and name not in numbers}
        return f"{self._maker}({', '.join(f'{name}={value}' for name, value in options_shown.items())})"

    def call(self, arguments: Named) -> Seen:
        """Call it, and say what the call did."""
        if self._function is not None:
            counts = self._watch(self._function, arguments)
            return dataclasses.replace(counts, traces=0) if self._symbolic else counts
        # What is exported is traced in the call that is first, and no more: later ones trace a call of it.
        with watched_events() as events:
            start = time.perf_counter()
            self._function = self._symbolic() if self._symbolic else None
            seconds = time.perf_counter() - start
        first, exports = self._watch(self._function, arguments), _count_events(events, seconds)
        return Seen(
            traces=exports.traces,
            compilations=exports.compilations + first.compilations,
            seconds=exports.seconds + first.seconds,
            trace_s=exports.trace_s + first.trace_s,
            lower_s=(exports.lower_s or 0.0) + (first.lower_s or 0.0),
            compile_s=exports.compile_s + first.compile_s,
            entries=first.entries,
            outputs=first.outputs,
        )

    def probe(self, before: Named, after: Named, body: bool) -> Seen:
        """The effect of a call in a cache that holds only another call.

        Args:
          before: the call that fills the cache.
          after: the call that is watched.
          body: whether the function itself is called, or one of its parameters that does nothing.
        """
        # JAX keeps traces by function: the same one under another jit would find what was traced for this one.
        function = self._stage(_anew(self._given) if body else _nothing_like(self._given))
        self._watch(function, before)
        return self._watch(function, after)

    def _stage(self, function: Callable[..., Any]) -> Any:
        return jax.jit(function, **self._options)

    def _watch(self, function: Any, arguments: Named) -> Seen:
        positional, keywords = bound(self._given, jax.tree.map(_argument, dict(arguments), is_leaf=_is_none))
        with watched_events() as events:
            start = time.perf_counter()
            results = jax.block_until_ready(function(*positional, **keywords))
            seconds = time.perf_counter() - start
        arrays = {str(number): np.asarray(leaf) for number, leaf in enumerate(jax.tree.leaves(results))}
        return _count_events(events, seconds, _private.signatures_kept(function), arrays)

    def _of_any_size(self, arguments: Named) -> Any:
        """The function exported once for all sizes, jitted.

        Raises:
          Unsupported: an argument is static, or the function needs a size as a number.
        """
        static = set(self._options.get("static_argnames") or ())
        if static or self._options.get("static_argnums"):
            raise Unsupported(f"jax.export takes no static arguments, and {', '.join(sorted(static))} is one")
        scope = export.SymbolicScope()
        positional, keywords = bound(self._given, arguments)
        specs = jax.tree.map(partial(_specify, scope), (positional, keywords), is_leaf=_is_spec)
        of_any_size = export.export(self._stage(self._given))(*specs[0], **specs[1])
        return jax.jit(of_any_size.call)


def _without(options: Mapping[str, Any], dynamic: Sequence[str]) -> dict[str, Any]:
    """The options with these arguments static no longer: JAX knows those of static_argnums by name too."""
    names = tuple(name for name in options.get("static_argnames") or () if name not in dynamic)
    return {name: value for name, value in options.items() if name != "static_argnums"} | {"static_argnames": names}


def _is_staged(function: Any) -> bool:
    return hasattr(function, "lower") and hasattr(function, "trace")


def _is_none(leaf: Any) -> bool:
    return leaf is None


def _is_spec(leaf: Any) -> bool:
    return isinstance(leaf, ArraySpec)


def _argument(leaf: Any) -> Any:
    # jnp.asarray compiles a copy for every shape.
    return jax.device_put(leaf) if isinstance(leaf, np.ndarray) else leaf


def _specify(scope: export.SymbolicScope, leaf: Any) -> jax.ShapeDtypeStruct:
    if isinstance(leaf, ArraySpec):
        shape = export.symbolic_shape(", ".join(map(str, leaf.shape)) + ",", scope=scope) if leaf.shape else ()
        return jax.ShapeDtypeStruct(shape, jax.dtypes.canonicalize_dtype(leaf.dtype))
    if isinstance(leaf, bool | int | float | np.generic):
        return jax.typeof(leaf)
    raise Unsupported(f"jax.export takes arrays alone, and {leaf!r} cannot be one")


def _anew(function: Callable[..., Any]) -> Callable[..., Any]:
    def again(*positional: Any, **keywords: Any) -> Any:
        return function(*positional, **keywords)

    again.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return again


def _nothing_like(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the same parameters that does nothing."""

    def nothing(*_: Any, **__: Any) -> float:
        return 0.0

    nothing.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return nothing


@contextmanager
def watched_events() -> Iterator[Mapping[str, list[float]]]:
    """Seconds of what JAX tells of inside, by the name of the event."""
    seconds: dict[str, list[float]] = defaultdict(list)

    def note(event: str, duration_secs: float, **_: str | int) -> None:
        seconds[event].append(duration_secs)

    jax.monitoring.register_event_duration_secs_listener(note)
    try:
        yield seconds
    finally:
        jax.monitoring.unregister_event_duration_listener(note)


def _count_events(
    events: Mapping[str, list[float]],
    seconds: float,
    entries: int | None = None,
    outputs: Mapping[str, np.ndarray] | None = None,
) -> Seen:
    return Seen(
        traces=len(events.get(_TRACED, ())),
        compilations=len(events.get(COMPILED, ())),
        seconds=seconds,
        trace_s=sum(events.get(_TRACED, ())),
        lower_s=sum(events.get(_LOWERED, ())),
        compile_s=sum(events.get(COMPILED, ())),
        entries=entries,
        outputs=outputs or {},
    )
