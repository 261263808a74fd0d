"""Loops of which it is known how often they run: those whose conditions compare counters with their ends."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from compare.porting.functions.body_writer import BodyWriter
from compare.porting.functions.needed_nodes import needed_numbers
from compare.porting.functions.written_values import Value
from workloads.protocol.function_graph import Body, Place

_UP, _DOWN = frozenset({"Less", "LessEqual"}), frozenset({"Greater", "GreaterEqual"})
_SUM = re.compile(r"\((.+) ([+-]) (\d+)\)")


@dataclass(frozen=True)
class Count:
    """The counter of a loop, whose ends are known before the loop runs.

    Attributes:
      at: the number of the variable that counts.
      low: expression of the least number that it counts.
      high: expression of the end: one more than the largest number that it may count.
      down: whether it counts from the largest number to the least.
      is_static: whether Python knows both ends, as numbers or sizes.
      delta: by how much it grows in a step; 1 where it counts down.
    """

    at: int
    low: str
    high: str
    down: bool = False
    is_static: bool = True
    delta: int = 1

    @property
    def steps(self) -> tuple[str, int] | None:
        """How often it runs, as an expression and a number that is added to it; None where that is not known."""
        (low, less), (high, more) = linear(self.low), linear(self.high)
        if self.delta != 1 or low not in ("", high):
            return None
        return ("" if low else high), more - less


def linear(text: str) -> tuple[str, int]:
    """An expression of an integer as another one and a number: "(n - 1)" is "n" and -1, and "4" is "" and 4."""
    if re.fullmatch(r"-?\d+", text):
        return "", int(text)
    parts = _SUM.fullmatch(text)
    if parts is None or not _is_whole(parts[1]):
        return text, 0
    base, number = linear(parts[1])
    return base, number + int(parts[2] + parts[3])


def _is_whole(text: str) -> bool:
    """Whether every parenthesis in it is closed in it."""
    depth = 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth < 0:
            return False
    return depth == 0


def count_steps(
    writer: BodyWriter, body: Body, condition: Body, inputs: Sequence[Value], constant_inputs: set[int]
) -> Count | None:
    """The counter of a loop, where all that its condition says is that one by one it comes to an end."""
    counters: dict[int, Count] = {}
    for comparison in _conjunction(condition, condition.outputs[0]):
        count = _counter(writer, body, condition, comparison, inputs, constant_inputs)
        if count is None or (count.at in counters and counters[count.at] != count):
            return None
        counters[count.at] = count
    every = [(counter.steps, counter) for counter in counters.values()]
    if len(every) == 1:
        return every[0][1]
    # They end together, or the first to end ends the loop; the loop's own counter says the same as the user's.
    known_counts = [(steps, counter) for steps, counter in every if steps is not None]
    if len(known_counts) < len(every) or len({steps[0] for steps, _ in known_counts}) != 1:
        return None
    least = min(steps[1] for steps, _ in known_counts)
    return max((counter for steps, counter in known_counts if steps[1] == least), key=lambda counter: counter.at)


def _counter(
    writer: BodyWriter, body: Body, condition: Body, place: Place, inputs: Sequence[Value], constant_inputs: set[int]
) -> Count | None:
    node = condition.nodes[place[0]]
    down = node.type in _DOWN
    if not down and node.type not in _UP:
        return None
    counter = _input_of(condition, node.inputs[0])
    if not all(condition.nodes[index].results[number].dtype.startswith("int") for index, number in node.inputs):
        return None
    delta = None if counter is None else _delta(writer, body, counter, inputs)
    if counter is None or delta is None or (delta != -1 if down else delta < 1):
        return None
    limit = _limit(writer, condition, node.inputs[1], inputs, constant_inputs)
    if limit is None:
        return None
    start, stop = number(writer, inputs[counter]), number(writer, limit)
    is_static = inputs[counter].host is not None and limit.host is not None
    # What goes down, or by more than one, is a scan over the numbers, whose size is static.
    if not is_static and delta != 1:
        return None
    if not down:
        high = _one_more(stop) if node.type == "LessEqual" else stop
        return Count(counter, start, high, is_static=is_static, delta=delta)
    return Count(counter, stop if node.type == "GreaterEqual" else _one_more(stop), _one_more(start), down=True)


def _one_more(text: str) -> str:
    """An expression and one."""
    base, number = linear(text)
    if not base:
        return str(number + 1)
    return base if number == -1 else f"({base} {'+' if number >= -1 else '-'} {abs(number + 1)})"


def _conjunction(body: Body, place: Place) -> list[Place]:
    origin = source(body, place)
    node = body.nodes[origin[0]]
    if node.type == "LogicalAnd":
        return [comparison for operand in node.inputs for comparison in _conjunction(body, operand)]
    return [origin]


def _delta(writer: BodyWriter, body: Body, k: int, inputs: Sequence[Value]) -> int | None:
    """By how much a variable grows in each step; None where that is not known."""
    node = body.nodes[source(body, body.outputs[k])[0]]
    if node.type not in ("Add", "AddV2", "Sub"):
        return None
    places = [source(body, place) for place in node.inputs]
    own = (body.inputs[k], 0)
    if own not in places or (node.type == "Sub" and places[0] != own):
        return None
    other = places[1] if places[0] == own else places[0]
    step = body.nodes[other[0]]
    outside = _input_of(body, other)
    if step.constant:
        host = writer.module.arrays[step.constant]
    elif outside is not None and source(body, body.outputs[outside]) == other and inputs[outside].is_known:
        host = inputs[outside].host
    else:
        return None
    if host is None or host.size != 1:
        return None
    return int(host.reshape(())) * (-1 if node.type == "Sub" else 1)


def _limit(
    writer: BodyWriter, condition: Body, place: Place, inputs: Sequence[Value], constant_inputs: set[int]
) -> Value | None:
    """The limit of a counter: an invariant value, or a number or size that the condition computes from one."""
    outside = _input_of(condition, place)
    if outside is not None:
        return inputs[outside] if outside in constant_inputs else None
    read = needed_numbers(condition, [place[0]])
    if any(node in read for k, node in enumerate(condition.inputs) if k not in constant_inputs):
        return None
    state = writer.module.state
    inner = BodyWriter(writer.module, replace(condition, outputs=(place,)), inputs)
    (limit,) = inner.write()
    writer.module.restore(state)
    return limit if limit.host is not None and not inner.statements else None


def _input_of(body: Body, place: Place) -> int | None:
    index, _ = source(body, place)
    return body.inputs.index(index) if index in body.inputs else None


def source(body: Body, place: Place) -> Place:
    """The source of an Identity."""
    while body.nodes[place[0]].type == "Identity":
        place = body.nodes[place[0]].inputs[0]
    return place


def number(writer: BodyWriter, value: Value) -> str:
    """An expression of a number: Python's own where that is known."""
    if value.host is not None and value.host.size == 1:
        return str(value.host.reshape(())[()])
    return writer.array(value)
