"""Inputs and outputs of each Flax module in one call of a twin, with its own arrays and with those of the original."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxport._recorded_modules import Recording, Seen, enter, has_modules
from workloads.core.spec import Arrays
from workloads.core.tree import leaves
from workloads.protocol.layer_calls import NO_CALL, Given, LayerCall, LayerCalls, number_paths


def layer_calls(
    function: Callable[..., Any],
    arguments: Sequence[Any],
    with_gradients: bool,
    extra_inputs: Sequence[Given],
    arrays: Arrays,
) -> tuple[LayerCalls, dict[str, np.ndarray]]:
    """The calls of modules in one call of a function, and their arrays.

    Args:
      function: arguments -> any nest of arrays.
      with_gradients: whether the gradients of its result, a scalar, are taken too.
      extra_inputs: what calls are given besides.
    """
    by_start = {call.started: [arrays[name] for name in call.inputs] for call in extra_inputs}
    recording, result = _record(function, arguments, by_start)
    if all(seen_call.reason for seen_call in recording.ended) and has_modules():
        # Functions that are compiled inside run Python on symbols alone, or not at all.
        with jax.disable_jit():
            recording, result = _record(function, arguments, by_start)
            return _calls_of(recording, result, _gradients(function, arguments, recording) if with_gradients else {})
    return _calls_of(recording, result, _gradients(function, arguments, recording) if with_gradients else {})


def _record(
    function: Callable[..., Any], arguments: Sequence[Any], inputs_by_start: Mapping[int, Sequence[np.ndarray]]
) -> tuple[Recording, Any]:
    recording = Recording(inputs_by_start)
    with enter(recording):
        return recording, function(*arguments)


def _gradients(
    function: Callable[..., Any], arguments: Sequence[Any], recording: Recording
) -> dict[tuple[str, int, int], np.ndarray]:
    """By "in" or "out", call and place: the gradient with respect to an array that a call was given or gave.

    That of a zero that is added to it.
    """
    kinds = (("in", "inputs"), ("out", "outputs"))
    zeros = {
        (kind, seen_call.started, index): np.zeros(array.shape, array.dtype)
        for seen_call in recording.ended
        if not seen_call.reason
        for kind, name in kinds
        for index, array in enumerate(getattr(seen_call, name))
        if jax.numpy.issubdtype(array.dtype, np.inexact)
    }

    def perturb(perturbations: Any) -> Any:
        with enter(Recording({}, dict(zip(zeros, perturbations, strict=True)))):
            return function(*arguments)

    gradients = jax.grad(perturb)([*zeros.values()])
    return {place: np.array(gradient) for place, gradient in zip(zeros, gradients, strict=True)}


def _calls_of(
    recording: Recording, result: Any, gradients: Mapping[tuple[str, int, int], np.ndarray]
) -> tuple[LayerCalls, dict[str, np.ndarray]]:
    paths = recording.paths()
    arrays = {f"result/{leaf}": np.array(value) for leaf, value in leaves(result).items()}
    calls = tuple(
        _call(seen_call, path, number, gradients, arrays)
        for seen_call, path, number in zip(recording.ended, paths, number_paths(paths), strict=True)
    )
    weights = {
        path: seen_call.weights for seen_call, path in zip(recording.ended, paths, strict=True) if not seen_call.reason
    }
    return LayerCalls(calls, dict.fromkeys(leaves(result), NO_CALL), weights), arrays


def _call(
    seen_call: Seen,
    path: str,
    number: int,
    gradients: Mapping[tuple[str, int, int], np.ndarray],
    arrays: dict[str, np.ndarray],
) -> LayerCall:
    """One call; its arrays are added to the others."""
    if seen_call.reason:
        return LayerCall(path, number, seen_call.class_name, started=seen_call.started, reason=seen_call.reason)

    def keep(kind: str, values: Sequence[Any]) -> tuple[str, ...]:
        names = {f"{seen_call.started}/{kind}/{index}": np.array(value) for index, value in enumerate(values)}
        arrays.update(names)
        return tuple(names)

    def gradient(kind: str, index: int) -> str:
        name, array = f"{seen_call.started}/grad_{kind}/{index}", gradients.get((kind, seen_call.started, index))
        if array is None:
            return ""
        arrays[name] = array
        return name

    return LayerCall(
        path,
        number,
        seen_call.class_name,
        inputs=keep("in", seen_call.inputs),
        outputs=keep("out", seen_call.outputs),
        makers=(NO_CALL,) * len(seen_call.inputs),
        cotangents=tuple(gradient("out", index) for index in range(len(seen_call.outputs))),
        handed_back=tuple(gradient("in", index) for index in range(len(seen_call.inputs))),
        own=keep("own", seen_call.own),
        started=seen_call.started,
    )
