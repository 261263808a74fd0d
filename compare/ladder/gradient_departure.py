"""Finds the first layer, from the loss backwards, whose input gradients differ from TensorFlow's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from compare.ladder.first_departure import First, label
from compare.ladder.layer_verdicts import Captured, Paired, far_from
from compare.record.rung_part import LayerVerdict
from workloads.protocol.layer_calls import LayerCall

_AGREES, _DEPARTS, _UNKNOWN = "agrees", "departs", "unknown"


def gradient_departure(
    original: Captured, port: Captured, pairs: Mapping[int, Paired], layer_verdicts: Sequence[LayerVerdict]
) -> First | None:
    """The first departure from the loss backwards; None where every gradient that was compared agrees.

    Of a layer that TensorFlow's own gradient reaches, and that hands back another, it is itself. Where a layer is
    reached by another, what departs is behind it, before the layers that its output goes to.

    Args:
      original: calls of TensorFlow, with gradients.
      pairs: by position in the original.
      layer_verdicts: of every call of the original.
    """
    calls = original.calls.calls
    for index in sorted(pairs, reverse=True):
        layer = calls[index]
        if not layer.path or _holds_others(layer, [calls[other] for other in pairs]):
            continue
        pair = pairs[index]
        arrival = _gradient_reached(original, port, pair) if not layer_verdicts[index].seen_as else (_UNKNOWN, "")
        if arrival[0] == _DEPARTS:
            behind = tuple(label(call) for call in calls if index in call.makers and call.path)
            return First(label(layer), f"{_name_of(layer)} is reached by another gradient: between its output and "
                         f"{' and '.join(behind) or 'the loss'}; {arrival[1]}", behind)  # fmt: skip
        handover, explanation = _handed_back(original, port, pair)
        if handover == _DEPARTS:
            own = "given TensorFlow's, " if arrival[0] == _AGREES else ""
            activation = "" if arrival[0] == _AGREES else ", or what its output goes through,"
            return First(label(layer), f"{_name_of(layer)}{activation} hands back another gradient: {own}{explanation}")
    return None


def _name_of(layer: LayerCall) -> str:
    return f"{label(layer)} ({layer.class_name})"


def _holds_others(layer: LayerCall, others: Sequence[LayerCall]) -> bool:
    """Whether layers in it are compared themselves."""
    return any(other.path.startswith(f"{layer.path}/") for other in others)


def _gradient_reached(original: Captured, port: Captured, pair: Paired) -> tuple[str, str]:
    if not pair.layer.cotangents or len(pair.layer.cotangents) != len(pair.module.cotangents):
        return _UNKNOWN, ""
    return _compare(original, port, zip(pair.layer.cotangents, pair.module.cotangents, strict=True))


def _handed_back(original: Captured, port: Captured, pair: Paired) -> tuple[str, str]:
    """Compare gradients of inputs that occur once: for a tensor used twice, only the sum of its gradients is known."""
    if pair.inputs is None or sorted(pair.inputs) != list(range(len(pair.layer.inputs))):
        return _UNKNOWN, ""
    theirs = (pair.layer.handed_back[index] for index in pair.inputs)
    return _compare(original, port, zip(theirs, pair.module.handed_back, strict=True))


def _compare(original: Captured, port: Captured, names: zip[tuple[str, str]]) -> tuple[str, str]:
    state = _UNKNOWN
    for theirs, ours in names:
        expected, actual = original.arrays.get(theirs), port.arrays.get(ours)
        if expected is None or actual is None or expected.shape != actual.shape:
            continue
        state = _AGREES
        far = far_from(actual, expected)
        if far.error > _BOUND:
            place_text = f"{list(far.index)}: tf {_number(far.expected)}, jax {_number(far.found)}"
            return _DEPARTS, f"{place_text}; off by {far.error:.3g} of the largest"
    return state, ""


_BOUND = 1e-8
"""Relative to the largest value, in float64: a gradient that batch norm centres is a small rest of large terms."""


def _number(value: object) -> str:
    return f"{float(np.real(np.asarray(value, np.complex128))):.4g}"
