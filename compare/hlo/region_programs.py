"""Bodies of loops and branches as programs of their own, with an array parameter for each part of their state."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compare.hlo import values
from compare.hlo.graph import Graph, Node, Shape

State = Sequence[np.ndarray]
"""The state at a region's entry: an array for each parameter of the flattened region."""


@dataclass(frozen=True)
class Turn:
    """One turn of several calls of a loop.

    Attributes:
      reached: by call, the state that the condition is asked about; calls that ended before are left out.
      entered: those of them with which the body is entered.
    """

    reached: Mapping[int, State]
    entered: Mapping[int, State]


class PreparedLoop:
    """The body and the condition of a while, flattened and compiled."""

    def __init__(self, body: Graph, condition: Graph) -> None:
        """Compile both.

        Raises:
          UnreadableProgram: XLA cannot compile the body or the condition.
        """
        self._results = body.results
        self._step = values.prepare(body, body.results)
        self._goes_on = values.prepare(condition, condition.results)

    def turns(self, starts: Sequence[State]) -> Iterator[Turn]:
        """The states that a loop goes through, turn by turn, until every call has ended: a loop may never end.

        Args:
          starts: by call, the state that the loop starts from.
        """
        states: Mapping[int, State] = dict(enumerate(starts))
        while states:
            verdicts = self._goes_on.each(list(states.values()))
            goes_on = [all(bool(value.all()) for value in by_result.values()) for by_result in verdicts]
            going_on = {call: state for (call, state), stays in zip(states.items(), goes_on, strict=True) if stays}
            yield Turn(states, going_on)
            after = self._step.each(list(going_on.values())) if going_on else []
            states = {
                call: [by_result[key] for key in self._results] for call, by_result in zip(going_on, after, strict=True)
            }


def flatten(region: Graph) -> Graph | None:
    """The region with an array parameter for each part of the tuple that it takes; None of a tuple in a tuple."""
    if not any(region.nodes[key].shape.dtype == "tuple" for key in region.parameters):
        return region
    (state,) = region.parameters
    parts = region.nodes[state].shape.parts
    users = [region.nodes[key] for key in region.users[state]]
    if not all(part.is_array for part in parts) or any(user.opcode != "get-tuple-element" for user in users):
        return None
    nodes = {key: node for key, node in region.nodes.items() if key != state}
    parameters = _make_parameters(parts, users, max(region.nodes))
    return dataclasses.replace(
        region, nodes={node.id: node for node in parameters} | {
            key: node for key, node in nodes.items() if key not in {parameter.id for parameter in parameters}
        }, parameters=tuple(node.id for node in parameters),
    )  # fmt: skip


def _make_parameters(parts: Sequence[Shape], users: Sequence[Node], last: int) -> list[Node]:
    """A parameter for every part: the node that took it out of the tuple, or a new one where none did."""
    took = {user.attribute("tuple_index"): user for user in users}
    return [
        took.get(position, Node(last + 1 + position, f"part.{position}", "parameter", part)).but(
            opcode="parameter", operands=(), attributes=(("parameter_number", position),)
        )
        for position, part in enumerate(parts)
    ]  # fmt: skip


def region_operands(graph: Graph, operands: Sequence[int]) -> list[int]:
    """The values that fill the parameters of a flattened region, tuples taken apart."""
    return [
        key
        for operand in operands
        for key in (graph.nodes[operand].operands if graph.nodes[operand].opcode == "tuple" else (operand,))
    ]
