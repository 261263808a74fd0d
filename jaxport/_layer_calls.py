"""What each Flax module was given and gave in one call of a twin, as it is and on arrays of the original's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxport._recorded_modules import Recording, Seen, entered, has_modules
from workloads._layer_calls import NO_CALL, Given, LayerCall, LayerCalls, numbered
from workloads._spec import Arrays
from workloads._tree import leaves


def layer_calls(
    function: Callable[..., Any], arguments: Sequence[Any], differentiated: bool, given: Sequence[Given], sent: Arrays
) -> tuple[LayerCalls, dict[str, np.ndarray]]:
    """The calls of modules in one call of a function, and their arrays.

    Args:
      function: arguments -> any nest of arrays.
      arguments: its own.
      differentiated: whether the gradients of its result, a scalar, are taken too.
      given: what calls are given besides.
      sent: the arrays of these.
    """
    by_start = {call.started: [sent[name] for name in call.inputs] for call in given}
    recording, result = _recorded(function, arguments, by_start)
    if all(seen.reason for seen in recording.ended) and has_modules():
        # What is compiled within the function runs no Python, or on symbols alone.
        with jax.disable_jit():
            recording, result = _recorded(function, arguments, by_start)
            return _told(recording, result, _gradients(function, arguments, recording) if differentiated else {})
    return _told(recording, result, _gradients(function, arguments, recording) if differentiated else {})


def _recorded(
    function: Callable[..., Any], arguments: Sequence[Any], given: Mapping[int, Sequence[np.ndarray]]
) -> tuple[Recording, Any]:
    recording = Recording(given)
    with entered(recording):
        return recording, function(*arguments)


def _gradients(
    function: Callable[..., Any], arguments: Sequence[Any], recording: Recording
) -> dict[tuple[str, int, int], np.ndarray]:
    """By "in" or "out", call and place: the gradient with respect to an array that a call was given or gave.

    That of a zero that is added to it.
    """
    kinds = (("in", "inputs"), ("out", "outputs"))
    zeros = {
        (kind, seen.started, at): np.zeros(array.shape, array.dtype)
        for seen in recording.ended
        if not seen.reason
        for kind, name in kinds
        for at, array in enumerate(getattr(seen, name))
        if jax.numpy.issubdtype(array.dtype, np.inexact)
    }

    def moved(added: Any) -> Any:
        with entered(Recording({}, dict(zip(zeros, added, strict=True)))):
            return function(*arguments)

    gradients = jax.grad(moved)([*zeros.values()])
    return {place: np.array(gradient) for place, gradient in zip(zeros, gradients, strict=True)}


def _told(
    recording: Recording, result: Any, gradients: Mapping[tuple[str, int, int], np.ndarray]
) -> tuple[LayerCalls, dict[str, np.ndarray]]:
    paths = recording.paths()
    arrays = {f"result/{leaf}": np.array(value) for leaf, value in leaves(result).items()}
    calls = tuple(
        _call(seen, path, number, gradients, arrays)
        for seen, path, number in zip(recording.ended, paths, numbered(paths), strict=True)
    )
    weights = {path: seen.weights for seen, path in zip(recording.ended, paths, strict=True) if not seen.reason}
    return LayerCalls(calls, dict.fromkeys(leaves(result), NO_CALL), weights), arrays


def _call(
    seen: Seen,
    path: str,
    number: int,
    gradients: Mapping[tuple[str, int, int], np.ndarray],
    arrays: dict[str, np.ndarray],
) -> LayerCall:
    """One call, its arrays added to the others."""
    if seen.reason:
        return LayerCall(path, number, seen.class_name, started=seen.started, reason=seen.reason)

    def kept(kind: str, values: Sequence[Any]) -> tuple[str, ...]:
        names = {f"{seen.started}/{kind}/{at}": np.array(value) for at, value in enumerate(values)}
        arrays.update(names)
        return tuple(names)

    def gradient(kind: str, at: int) -> str:
        name, array = f"{seen.started}/grad_{kind}/{at}", gradients.get((kind, seen.started, at))
        if array is None:
            return ""
        arrays[name] = array
        return name

    return LayerCall(
        path,
        number,
        seen.class_name,
        inputs=kept("in", seen.inputs),
        outputs=kept("out", seen.outputs),
        makers=(NO_CALL,) * len(seen.inputs),
        cotangents=tuple(gradient("out", at) for at in range(len(seen.outputs))),
        handed_back=tuple(gradient("in", at) for at in range(len(seen.inputs))),
        own=kept("own", seen.own),
        started=seen.started,
    )
