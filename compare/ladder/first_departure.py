"""Where layers part first: at a layer, or between layers, where what departs has no module of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compare.ladder.layer_verdicts import BEFORE_ACTIVATION, Captured, Paired, far_from
from compare.record.rung_part import AGREES, DEPARTS, NOT_COMPARED, LayerVerdict
from workloads._layer_calls import NO_CALL, LayerCall


@dataclass(frozen=True)
class First:
    """The first departure.

    Attributes:
      layer: that departs, or that is the first to be given something else; "" of the result.
      told: one line.
      between: layers without a module, one of which departs; empty where `layer` itself does.
      after: layers whose output agrees, before these.
    """

    layer: str
    told: str
    between: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


def first_departure(
    original: Captured, port: Captured, pairs: Mapping[int, Paired], said: Sequence[LayerVerdict], bound: float
) -> First | None:
    """The first departure in the order in which TensorFlow's calls end; None where all that was compared agrees.

    Args:
      original: calls of TensorFlow.
      port: calls of JAX.
      pairs: by position in the original.
      said: of every call of the original.
      bound: of an error.
    """
    for at, verdict in enumerate(said):
        layer = original.calls.calls[at]
        if verdict.state in (AGREES, NOT_COMPARED) or not layer.path:
            continue
        pair = pairs[at]
        if pair.inputs_agree is False:
            return _before(original, said, layer, _departing(original, port, pair, bound))
        return First(label(layer), _itself(verdict, layer))
    departing = [leaf for leaf in original.calls.results if _result_differs(original, port, leaf, bound)]
    if not departing:
        return None
    makers = [original.calls.results[leaf] for leaf in departing]
    between, after = _between(original, said, makers)
    return First("", f"{_span(between, after, 'the result')} departs", between, after)


def label(call: LayerCall) -> str:
    """A call as messages have it: "block/conv", and from its second call on "block/conv, call 2"."""
    return f"{call.path}, call {call.number + 1}" if call.number else call.path


def _itself(verdict: LayerVerdict, layer: LayerCall) -> str:
    what = f" {verdict.seen_as}" if verdict.seen_as else ""
    values = f"{list(verdict.index)}: tf {_value(verdict.expected)}, jax {_value(verdict.found)}"
    error = f"off by {_value(verdict.error)} of the largest"
    named = f"{label(layer)} ({layer.class_name}, in the port {verdict.module})"
    if verdict.state == DEPARTS:
        return f"{named} departs{what}, given what TensorFlow's is given; {values}; {error}"
    return f"{named} differs{what}; {values}; {error}; {verdict.reason or 'its input is not known to agree'}"


def _value(value: float | None) -> str:
    return "?" if value is None else f"{value:.4g}"


def _departing(original: Captured, port: Captured, pair: Paired, bound: float) -> list[int]:
    """The makers of those inputs of a call that depart; of all, where they cannot be told apart."""
    if pair.inputs is None:
        return list(pair.layer.makers)
    makers: list[int] = []
    for name, at in zip(pair.module.inputs, pair.inputs, strict=True):
        expected = original.arrays[pair.layer.inputs[at]]
        if far_from(port.arrays[name], expected).error > bound:
            makers.append(pair.layer.makers[at])
    return makers


def _before(original: Captured, said: Sequence[LayerVerdict], layer: LayerCall, makers: Sequence[int]) -> First:
    between, after = _between(original, said, makers)
    told = f"{_span(between, after, f'the input of {label(layer)}')} departs"
    return First(label(layer), told, between, after)


def _span(between: Sequence[str], after: Sequence[str], end: str) -> str:
    start = " and ".join(after) or "the model's input"
    inner = f", where the port has no module for {', '.join(between)}," if between else ""
    return f"between {start} and {end}{inner} something"


def _between(
    original: Captured, said: Sequence[LayerVerdict], makers: Sequence[int]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Layers that were not compared on the way back from some calls to such as agree, and these; each in order."""
    calls = original.calls.calls
    waiting, met = list(makers), set[int]()
    between, after = dict[int, str](), dict[int, str]()
    while waiting:
        at = waiting.pop()
        if at == NO_CALL or at in met:
            continue
        met.add(at)
        if said[at].state == NOT_COMPARED or not calls[at].path:
            between |= {at: f"{label(calls[at])} ({calls[at].class_name})"} if calls[at].path else {}
            waiting += calls[at].makers
        elif said[at].seen_as == BEFORE_ACTIVATION:
            between[at] = f"the activation of {label(calls[at])}"
            after[at] = f"{label(calls[at])} {BEFORE_ACTIVATION}"
        else:
            after[at] = label(calls[at])
    return _ordered(between), _ordered(after)


def _ordered(layers: Mapping[int, str]) -> tuple[str, ...]:
    return tuple(layers[at] for at in sorted(layers))


def _result_differs(original: Captured, port: Captured, leaf: str, bound: float) -> bool:
    expected, actual = original.arrays.get(f"result/{leaf}"), port.arrays.get(f"result/{leaf}")
    if expected is None or actual is None or expected.shape != actual.shape:
        return False
    return far_from(actual, expected).error > bound
