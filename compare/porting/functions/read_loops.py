"""Reads a loop of a graph: its counter, its carried values, the lists that it fills and those that it reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from compare.porting.functions.body_writer import BodyWriter
from compare.porting.functions.counted_loops import Count, count_steps, source
from compare.porting.functions.needed_nodes import needed_numbers
from compare.porting.functions.written_values import Value
from workloads.protocol.function_graph import Body, Node, Place

WRITES = frozenset({"TensorListSetItem", "TensorListPushBack"})
"""Operations that write an element of a list."""


@dataclass(frozen=True)
class Loop:
    """One loop.

    Attributes:
      node: of it.
      body: what a step computes; in the place of a list that is filled or rewritten, it returns the element alone.
      condition: whether it goes on.
      initial_values: of its variables.
      used: the numbers of those that something reads behind it.
      fixed: of those that never change.
      stacked: of lists that get an element a step, which a scan stacks.
      rewrites: of lists that each step writes to at one place, the same in all; the place, and the variable of the
        loop that has the value written.
      rows: of lists of which each step reads its own element, which a scan goes over.
      count: how often it runs, if that is known.
    """

    node: Node
    body: Body
    condition: Body
    initial_values: Sequence[Value]
    used: frozenset[int]
    fixed: frozenset[int]
    stacked: tuple[int, ...]
    rewrites: Mapping[int, tuple[int, int]]
    rows: tuple[int, ...]
    count: Count | None

    @property
    def read_behind(self) -> set[int]:
        """The variables that something reads behind it, or that stand for lists that something reads."""
        return {self.rewrites[k][1] if k in self.rewrites else k for k in self.used}

    @property
    def state_numbers(self) -> list[int]:
        """The variables that it has to carry."""
        numbers = {place: k for k, place in enumerate(self.body.inputs)}
        open_ = set(self.used) | (set() if self.count else _read_by(self.condition))
        selection, seen_variables = set[int](), set[int]()
        while open_:
            k = open_.pop()
            if k in seen_variables or k in self.fixed or (self.count and k == self.count.at):
                continue
            seen_variables.add(k)
            if k in self.rewrites:
                open_.add(self.rewrites[k][1])
                continue
            if k not in self.stacked:
                selection.add(k)
            open_ |= {numbers[node] for node in needed_numbers(self.body, [self.body.outputs[k][0]]) if node in numbers}
        return sorted(selection)


def read_loop(writer: BodyWriter, index: int, node: Node, inputs: Sequence[Value]) -> Loop:
    """Read a loop."""
    graph = writer.module.graph
    body, condition = graph.bodies[node.bodies["body"][0]], graph.bodies[node.bodies["cond"][0]]
    numbers = range(len(inputs))
    constants = {k for k in numbers if source(body, body.outputs[k]) == (body.inputs[k], 0)}
    numbers_read = {place[1] for reader in writer.body.nodes for place in reader.inputs if place[0] == index}
    numbers_read |= {number for place, number in writer.body.outputs if place == index}
    count = count_steps(writer, body, condition, inputs, constants)
    elements, rewrites, rows = dict[int, Place](), dict[int, tuple[int, int]](), list[int]()
    if count and count.is_static:
        writers = {k: last for k in numbers if (last := _writer_of_filled(body, condition, k, inputs[k]))}
        elements = {k: item for k, last in writers.items() if (item := _element(body, last, inputs[k], count))}
        pairs = {
            k: _find_rewrite(writer, node, body, writers[k], inputs[k], count, constants)
            for k in writers.keys() - elements.keys()
        }
        rewrites = {k: pair for k, pair in sorted(pairs.items()) if pair}
        rows = [k for k in sorted(constants) if _is_gone_over(body, k, inputs[k], count)]
    results = {k: body.outputs[j] for k, (_, j) in rewrites.items()} | elements
    for k in results:
        writer.module.written[list_writer(body, k).type] += 1
    outputs = tuple(results.get(k, place) for k, place in enumerate(body.outputs))
    return Loop(
        node, replace(body, outputs=outputs), condition, inputs, frozenset(numbers_read), frozenset(constants),
        tuple(k for k in sorted(elements) if k in numbers_read), rewrites, tuple(rows), count,
    )  # fmt: skip


def list_writer(body: Body, k: int) -> Node:
    """The node with the last value of a variable."""
    return body.nodes[source(body, body.outputs[k])[0]]


def _read_by(condition: Body) -> set[int]:
    """The numbers of the variables that a condition reads."""
    read = needed_numbers(condition, [place for place, _ in condition.outputs])
    return {k for k, place in enumerate(condition.inputs) if place in read}


def _writer_of_filled(body: Body, condition: Body, k: int, value: Value) -> Node | None:
    """The node that writes to a list that is empty before the loop, if the loop uses it in no other way."""
    if value.reserved is None or value.reserved.items or value.text:
        return None
    node, own = list_writer(body, k), (body.inputs[k], 0)
    if node.type not in WRITES or source(body, node.inputs[0]) != own:
        return None
    if k in _read_by(condition) or len(_readers(body, own)) != 1:
        return None
    return None if len(_readers(body, source(body, body.outputs[k]))) != 1 else node


def _element(body: Body, node: Node, value: Value, count: Count) -> Place | None:
    """The element that a step appends to a list, if the loop only fills it from its beginning."""
    assert value.reserved is not None
    if node.type == "TensorListPushBack":
        return None if count.down else node.inputs[1]
    whole = (
        count.low == "0"
        and count.delta == 1
        and (
            value.reserved.length == count.high
            or (
                value.reserved.length == "0" and node.attributes.get("resize_if_index_out_of_bounds") and not count.down
            )
        )
    )
    at_counter = source(body, node.inputs[1]) == (body.inputs[count.at], 0)
    return node.inputs[2] if whole and at_counter else None


def _find_rewrite(
    writer: BodyWriter, loop: Node, body: Body, node: Node, value: Value, count: Count, constants: set[int]
) -> tuple[int, int] | None:
    """The one place that every step writes to, and the variable that the loop carries and sets to the same."""
    assert value.reserved is not None
    where = body.nodes[source(body, node.inputs[1])[0]] if node.type == "TensorListSetItem" else None
    if where is None or not where.constant or not value.reserved.length.isdigit():
        return None
    place = int(writer.module.arrays[where.constant].reshape(()))
    if not 0 <= place < int(value.reserved.length):
        return None
    # Without a step nothing is written: zeros stay, and the variable is what it began with.
    base, steps = count.steps or ("", 0)
    runs = not base and steps > 0
    item = source(body, node.inputs[2])
    candidates = (j for j in range(len(body.outputs)) if j not in constants and j != count.at)
    same = (j for j in candidates if source(body, body.outputs[j]) == item)
    number = next((j for j in same if runs or _is_zeros(writer, loop.inputs[j])), None)
    return None if number is None else (place, number)


def _is_zeros(writer: BodyWriter, place: Place) -> bool:
    """Whether a result is zeros, whatever its sizes are."""
    body = writer.body
    node = body.nodes[source(body, place)[0]]
    if node.type == "Fill":
        node = body.nodes[source(body, node.inputs[1])[0]]
    return node.type == "ZerosLike" or bool(node.constant and not np.any(writer.module.arrays[node.constant]))


def _is_gone_over(body: Body, k: int, value: Value, count: Count) -> bool:
    """Whether all that a loop does with a list is that each step reads its own element, and none is left."""
    if not value.length or count.low != "0" or count.delta != 1 or value.length != count.high:
        return False
    own, counter = (body.inputs[k], 0), (body.inputs[count.at], 0)
    readers = [node for node in body.nodes if node.type != "Identity" and own in (source(body, p) for p in node.inputs)]
    at_counter = all(node.type == "TensorListGetItem" and source(body, node.inputs[1]) == counter for node in readers)
    return bool(readers) and at_counter and sum(source(body, output) == own for output in body.outputs) == 1


def _readers(body: Body, place: Place) -> list[Place]:
    """The readers of this result, also through nodes that only pass it on."""
    every = [read for node in body.nodes if node.type != "Identity" for read in node.inputs]
    return [read for read in (*every, *body.outputs) if source(body, read) == place]
