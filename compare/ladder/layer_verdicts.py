"""Finds the first layer that differs: by its outputs in the model, and by its outputs for TensorFlow's inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compare.parity.measure import Distance, distance, scale_of
from compare.record.rung_part import AGREES, DEPARTS, DIFFERS, INHERITS, NOT_COMPARED, LayerVerdict
from workloads.core.spec import Arrays
from workloads.protocol.layer_calls import LayerCall, LayerCalls

BOUNDS = {"float64": 1e-10, "float32": 2e-5}
"""Relative to the largest value of an output. In float64 that of `jaxport locate`: an epsilon that is off by a part in
100000 shows, rounding of whole networks does not. In float32 a sum over a few thousand products may come so far."""

_LAST_STEP = ("LSTM", "GRU", "SimpleRNN", "RNN", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D")
"""Layers that give the last step alone, where a module gives all."""

BEFORE_ACTIVATION, AT_LAST_STEP = "before its activation", "at the last step"


@dataclass(frozen=True)
class Captured:
    """Calls of one side, with their arrays."""

    calls: LayerCalls
    arrays: Arrays

    def all_of(self, names: Sequence[str]) -> list[np.ndarray] | None:
        """The arrays of these names; None where one of them did not travel."""
        return [self.arrays[name] for name in names] if all(name in self.arrays for name in names) else None


@dataclass(frozen=True)
class Paired:
    """A call of the original and the call of the port.

    Attributes:
      layer: of the original.
      module: of the port.
      inputs: by input of the module, the input of the layer that it gets; None if unknown.
      inputs_agree: whether each input has TensorFlow's values; None if unknown.
      reason: why it cannot.
    """

    layer: LayerCall
    module: LayerCall
    inputs: tuple[int, ...] | None
    inputs_agree: bool | None
    reason: str = ""


def pair_calls(original: Captured, port: Captured, matches: Mapping[int, int], bound: float) -> dict[int, Paired]:
    """Every pair of calls that has values on both sides, by position in the original.

    Args:
      matches: position of a call in the original -> in the port.
    """
    pairs: dict[int, Paired] = {}
    for index, other in matches.items():
        layer, module = original.calls.calls[index], port.calls.calls[other]
        if not layer.reason and not module.reason:
            pairs[index] = _with_inputs(original, port, layer, module, bound)
    return pairs


def _with_inputs(original: Captured, port: Captured, layer: LayerCall, module: LayerCall, bound: float) -> Paired:
    """Match inputs by shape, and inputs of one shape by their values: each side has an order of its own."""
    ours, theirs = port.all_of(module.inputs), original.all_of(layer.inputs)
    if ours is None or theirs is None:
        return Paired(layer, module, None, None, "an input is no array of numbers")
    selection: list[int] = []
    agree = True
    for array in ours:
        alike = [
            index for index, other in enumerate(theirs) if other.shape == array.shape and _kind(other) == _kind(array)
        ]
        if not alike:
            shapes = f"{_shapes(ours)} in the port, {_shapes(theirs)} in the original"
            return Paired(layer, module, None, None, f"its inputs are others: {shapes}")
        errors = [far_from(array, theirs[index]).error for index in alike]
        nearest = int(np.argmin(errors))
        if errors[nearest] > bound:
            agree = False
            if len(alike) > 1:
                return Paired(layer, module, None, False, "its inputs cannot be distinguished")
        selection.append(alike[nearest])
    return Paired(layer, module, tuple(selection), agree)


def verdicts(
    original: Captured, port: Captured, pairs: Mapping[int, Paired], matches: Mapping[int, int], bound: float
) -> list[LayerVerdict]:
    """The verdict on each call of the original except the model's, in the order of their ends.

    Args:
      port: calls of JAX, those that were given TensorFlow's inputs too.
      pairs: by position in the original.
      matches: position of a call in the original -> in the port.
    """
    results: list[LayerVerdict] = []
    for index, layer in enumerate(original.calls.calls):
        identity = {"path": layer.path, "number": layer.number, "class_name": layer.class_name}
        if index in pairs:
            results.append(_verdict(original, port, pairs[index], bound))
        elif index in matches:
            module = port.calls.calls[matches[index]]
            why = layer.reason or module.reason
            results.append(LayerVerdict(**identity, module=module.path, state=NOT_COMPARED, reason=why))
        else:
            results.append(LayerVerdict(**identity, state=NOT_COMPARED, reason="the port has no module of its name"))
    return results


def _verdict(original: Captured, port: Captured, pair: Paired, bound: float) -> LayerVerdict:
    layer, module = pair.layer, pair.module
    identity = {"path": layer.path, "number": layer.number, "class_name": layer.class_name, "module": module.path}
    ours, own = port.all_of(module.outputs), port.all_of(module.own) if module.own else None
    views = _views(original, layer, ours)
    if ours is None or not views:
        theirs = original.all_of(layer.outputs)
        shapes = "no array of numbers" if ours is None or theirs is None else f"{_shapes(ours)}, where the original's "
        shapes += "" if ours is None or theirs is None else f"gives {_shapes(theirs)}"
        return LayerVerdict(**identity, state=NOT_COMPARED, reason=f"it gives {shapes}")
    seen_as = min(views, key=lambda view: _farthest(own or ours, views[view], view).error)
    far = _farthest(ours, views[seen_as], seen_as)
    alone = None if own is None else _farthest(own, views[seen_as], seen_as)
    return LayerVerdict(
        **identity,
        state=_state(far.error <= bound, None if alone is None else alone.error <= bound, pair.inputs_agree),
        error=far.error,
        own_error=None if alone is None else alone.error,
        index=far.index,
        expected=_number(far.expected),
        found=_number(far.found),
        seen_as=seen_as,
        reason=pair.reason,
    )


def _state(agrees: bool, alone_agrees: bool | None, inputs_agree: bool | None) -> str:
    if alone_agrees is False or (not agrees and inputs_agree and alone_agrees is None):
        return DEPARTS
    if agrees:
        return AGREES
    return INHERITS if alone_agrees else DIFFERS


def _views(original: Captured, layer: LayerCall, ours: Sequence[np.ndarray] | None) -> dict[str, list[np.ndarray]]:
    """The outputs of a layer that the outputs of a module can correspond to, by name and shape."""
    theirs = original.all_of(layer.outputs)
    if ours is None or theirs is None or not theirs:
        return {}
    views: dict[str, list[np.ndarray]] = {}
    if [array.shape for array in ours] == [array.shape for array in theirs]:
        views[""] = theirs
    before = original.arrays.get(layer.before_activation)
    if before is not None and [array.shape for array in ours] == [before.shape]:
        views[BEFORE_ACTIVATION] = [before]
    if layer.class_name in _LAST_STEP and len(ours) == len(theirs) == 1 and ours[0].ndim == theirs[0].ndim + 1:
        views |= {AT_LAST_STEP: theirs} if ours[0][:, -1].shape == theirs[0].shape else {}
    return views


def _farthest(ours: Sequence[np.ndarray], theirs: Sequence[np.ndarray], seen_as: str) -> Distance:
    arrays = [array[:, -1] for array in ours] if seen_as == AT_LAST_STEP else ours
    return max((far_from(*pair) for pair in zip(arrays, theirs, strict=True)), key=lambda far: far.error)


def far_from(actual: np.ndarray, expected: np.ndarray) -> Distance:
    """How far an array is from another, of its largest value."""
    return distance(actual, expected, scale_of(expected, 0.0))


def _kind(array: np.ndarray) -> str:
    return "float" if array.dtype.kind not in "biu" else array.dtype.kind.replace("u", "i")


def _shapes(arrays: Sequence[np.ndarray]) -> str:
    return ", ".join(str(list(array.shape)) for array in arrays) or "nothing"


def _number(value: Any) -> float | None:
    return float(np.real(np.asarray(value))) if value is not None else None
