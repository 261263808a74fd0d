"""Where layers part first: at a layer, or between layers, where what departs has no module of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compare.ladder.layer_verdicts import BEFORE_ACTIVATION, Captured, Paired, far_from
from compare.record.rung_part import AGREES, DEPARTS, NOT_COMPARED, LayerVerdict
from workloads.protocol.layer_calls import NO_CALL, LayerCall


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
    original: Captured,
    port: Captured,
    pairs: Mapping[int, Paired],
    layer_verdicts: Sequence[LayerVerdict],
    bound: float,
) -> First | None:
    """The first departure in the order in which TensorFlow's calls end; None where all that was compared agrees.

    Args:
      pairs: by position in the original.
      layer_verdicts: of every call of the original.
    """
    for index, verdict in enumerate(layer_verdicts):
        layer = original.calls.calls[index]
        if verdict.state in (AGREES, NOT_COMPARED) or not layer.path:
            continue
        pair = pairs[index]
        if pair.inputs_agree is False:
            return _before(original, layer_verdicts, layer, _departing(original, port, pair, bound))
        return First(label(layer), _itself(verdict, layer))
    departing = [leaf for leaf in original.calls.results if _result_differs(original, port, leaf, bound)]
    if not departing:
        return None
    makers = [original.calls.results[leaf] for leaf in departing]
    between, after = _between(original, layer_verdicts, makers)
    return First("", f"{_span(between, after, 'the result')} departs", between, after)


def label(call: LayerCall) -> str:
    """A call as messages have it: "block/conv", and from its second call on "block/conv, call 2"."""
    return f"{call.path}, call {call.number + 1}" if call.number else call.path


def _itself(verdict: LayerVerdict, layer: LayerCall) -> str:
    what = f" {verdict.seen_as}" if verdict.seen_as else ""
    values = f"{list(verdict.index)}: tf {_value(verdict.expected)}, jax {_value(verdict.found)}"
    error = f"off by {_value(verdict.error)} of the largest"
    subject = f"{label(layer)} ({layer.class_name}, in the port {verdict.module})"
    if verdict.state == DEPARTS:
        return f"{subject} departs{what}, given what TensorFlow's is given; {values}; {error}"
    return f"{subject} differs{what}; {values}; {error}; {verdict.reason or 'its input is not known to agree'}"


def _value(value: float | None) -> str:
    return "?" if value is None else f"{value:.4g}"


def _departing(original: Captured, port: Captured, pair: Paired, bound: float) -> list[int]:
    """The producers of the inputs of a call that differ; of all inputs if these cannot be distinguished."""
    if pair.inputs is None:
        return list(pair.layer.makers)
    makers: list[int] = []
    for name, index in zip(pair.module.inputs, pair.inputs, strict=True):
        expected = original.arrays[pair.layer.inputs[index]]
        if far_from(port.arrays[name], expected).error > bound:
            makers.append(pair.layer.makers[index])
    return makers


def _before(
    original: Captured, layer_verdicts: Sequence[LayerVerdict], layer: LayerCall, makers: Sequence[int]
) -> First:
    between, after = _between(original, layer_verdicts, makers)
    sentence = f"{_span(between, after, f'the input of {label(layer)}')} departs"
    return First(label(layer), sentence, between, after)


def _span(between: Sequence[str], after: Sequence[str], end: str) -> str:
    start = " and ".join(after) or "the model's input"
    inner = f", where the port has no module for {', '.join(between)}," if between else ""
    return f"between {start} and {end}{inner} something"


def _between(
    original: Captured, layer_verdicts: Sequence[LayerVerdict], makers: Sequence[int]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Layers that were not compared on the way back from some calls to such as agree, and these; each in order."""
    calls = original.calls.calls
    waiting, seen_calls = list(makers), set[int]()
    between, after = dict[int, str](), dict[int, str]()
    while waiting:
        index = waiting.pop()
        if index == NO_CALL or index in seen_calls:
            continue
        seen_calls.add(index)
        if layer_verdicts[index].state == NOT_COMPARED or not calls[index].path:
            between |= {index: f"{label(calls[index])} ({calls[index].class_name})"} if calls[index].path else {}
            waiting += calls[index].makers
        elif layer_verdicts[index].seen_as == BEFORE_ACTIVATION:
            between[index] = f"the activation of {label(calls[index])}"
            after[index] = f"{label(calls[index])} {BEFORE_ACTIVATION}"
        else:
            after[index] = label(calls[index])
    return _in_order(between), _in_order(after)


def _in_order(layers: Mapping[int, str]) -> tuple[str, ...]:
    return tuple(layers[index] for index in sorted(layers))


def _result_differs(original: Captured, port: Captured, leaf: str, bound: float) -> bool:
    expected, actual = original.arrays.get(f"result/{leaf}"), port.arrays.get(f"result/{leaf}")
    if expected is None or actual is None or expected.shape != actual.shape:
        return False
    return far_from(actual, expected).error > bound
