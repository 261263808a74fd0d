"""Bodies of loops and branches as programs of their own, with an array parameter for each part of their state."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compare.hlo import values
from compare.hlo.graph import Graph, Node, Shape

State = Sequence[np.ndarray]
"""What a region is entered with: an array for each parameter of the flattened region."""


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
        reached: Mapping[int, State] = dict(enumerate(starts))
        while reached:
            held = self._goes_on.each(list(reached.values()))
            goes_on = [all(bool(value.all()) for value in by_result.values()) for by_result in held]
            entered = {call: state for (call, state), stays in zip(reached.items(), goes_on, strict=True) if stays}
            yield Turn(reached, entered)
            after = self._step.each(list(entered.values())) if entered else []
            reached = {
                call: [by_result[key] for key in self._results] for call, by_result in zip(entered, after, strict=True)
            }


def flattened(region: Graph) -> Graph | None:
    """The region with an array parameter for each part of the tuple that it takes; None of a tuple in a tuple."""
    if not any(region.nodes[key].shape.dtype == "tuple" for key in region.parameters):
        return region
    (taken,) = region.parameters
    parts = region.nodes[taken].shape.parts
    users = [region.nodes[key] for key in region.users[taken]]
    if not all(part.is_array for part in parts) or any(user.opcode != "get-tuple-element" for user in users):
        return None
    nodes = {key: node for key, node in region.nodes.items() if key != taken}
    parameters = _placed(parts, users, max(region.nodes))
    return dataclasses.replace(
        region, nodes={node.id: node for node in parameters} | {
            key: node for key, node in nodes.items() if key not in {parameter.id for parameter in parameters}
        }, parameters=tuple(node.id for node in parameters),
    )  # fmt: skip


def _placed(parts: Sequence[Shape], users: Sequence[Node], last: int) -> list[Node]:
    """A parameter for every part: the node that took it out of the tuple, or a new one where none did."""
    took = {user.attribute("tuple_index"): user for user in users}
    return [
        took.get(at, Node(last + 1 + at, f"part.{at}", "parameter", part)).but(
            opcode="parameter", operands=(), attributes=(("parameter_number", at),)
        )
        for at, part in enumerate(parts)
    ]  # fmt: skip


def given(graph: Graph, operands: Sequence[int]) -> list[int]:
    """The values that fill the parameters of a flattened region, tuples taken apart."""
    return [
        key
        for operand in operands
        for key in (graph.nodes[operand].operands if graph.nodes[operand].opcode == "tuple" else (operand,))
    ]
