"""The clock of a training step: the state that nothing but time changes, and what the step decides by it alone.

Counters of an optimizer are such state, and whatever follows from them, as the product of Nadam's momenta. What they
are after so many steps is known without training: the part of the step that moves them is run as a loop of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compare.hlo.graph import Graph, Node, find_needed

MOST_ELEMENTS = 64
"""The most elements of a counter and of a value that is compared with it: a list of boundaries."""
COUNTED = frozenset({"pred", *(f"{kind}{bits}" for kind in "su" for bits in (8, 16, 32, 64)), "f32", "f64"})
"""Types of a clock's values."""
_DRAWS = frozenset({"rng", "rng-get-and-update-state", "infeed"})
_COMBINES = frozenset({"and", "or", "not", "xor", "select", "broadcast", "reshape", "convert"})
"""Operations on truth values that decide nothing themselves."""
_WHOLE = frozenset({"floor", "ceil", "round-nearest-afz", "round-nearest-even", "sign"})
_LARGEST = frozenset(
    limit
    for width in (32, 64)
    for of in (np.iinfo(f"int{width}"), np.iinfo(f"uint{width}"))
    for limit in (int(of.max), int(of.max) - 1)
)
"""A counter that stops here would have overflowed before: such a comparison guards against overflow."""


@dataclass(frozen=True, eq=False)
class Clock:
    """The state of a step that depends on time alone.

    Attributes:
      graph: the step without conditionals.
      states: positions of its parameters that count, by position of the result that is their next value.
      fixed: the other values that this state depends on, by node: states that no step changes, and decisions over data
        that are taken as they came out so far.
      decisions: nodes that decide by this state alone, and come to something.
      is_read: whether anything else that the step leaves depends on this state.
    """

    graph: Graph
    states: Mapping[int, int]
    fixed: Mapping[int, np.ndarray]
    decisions: tuple[int, ...]
    is_read: bool


class Dependence:
    """The parameters that each value of a step depends on, as bits by position."""

    def __init__(self, graph: Graph, cut: Collection[int] = ()) -> None:
        """`cut` are values that count as known."""
        self.graph = graph
        parameter_bits = {key: 1 << position for position, key in enumerate(graph.parameters)}
        draw_bit = 1 << len(graph.parameters)
        self.of: dict[int, int] = {}
        for node in graph:
            bits = parameter_bits.get(node.id, draw_bit if node.opcode in _DRAWS else 0)
            for operand in node.operands:
                bits |= self.of[operand]
            self.of[node.id] = 0 if node.id in cut else bits

    def counting(self, states: Mapping[int, int], fixed_positions: Collection[int]) -> dict[int, int]:
        """The states that depend only on each other and on fixed parameters.

        Args:
          states: positions of parameters, and of the results that are their next values.
          fixed_positions: positions of parameters that no step changes.
        """
        nodes, parameters, results = self.graph.nodes, self.graph.parameters, self.graph.results
        counting = {
            position: to
            for position, to in states.items()
            if nodes[parameters[position]].shape.elements <= MOST_ELEMENTS
        }
        while True:
            known_bits = _bits(counting) | _bits(fixed_positions)
            rest = {position: to for position, to in counting.items() if not self.of[results[to]] & ~known_bits}
            if len(rest) == len(counting):
                return rest
            counting = rest


def _bits(positions: Collection[int]) -> int:
    return sum(1 << position for position in positions)


def cuts(graph: Graph, states: Mapping[int, int], fixed_positions: Collection[int]) -> tuple[int, ...]:
    """Decisions over data that counters wait for, as one that counts the steps whose gradients are finite.

    Args:
      states: positions of parameters that a step changes, and of the results that are their next values.
      fixed_positions: positions of parameters that it does not.
    """
    plain = Dependence(graph)
    own = plain.counting(states, fixed_positions)
    known_bits = _bits(own) | _bits(fixed_positions)
    waited_for = [
        node.id
        for node in graph
        if node.shape.dtype == "pred" and node.shape.is_array and not node.shape.dimensions
        and node.opcode not in _COMBINES and plain.of[node.id] & ~known_bits
    ]  # fmt: skip
    if not waited_for:
        return ()
    with_cuts = Dependence(graph, waited_for).counting(states, fixed_positions)
    more = [graph.results[to] for position, to in with_cuts.items() if position not in own]
    needed_keys = _needed_until(graph, more, set(waited_for))
    return tuple(key for key in waited_for if key in needed_keys)


def _needed_until(graph: Graph, targets: Sequence[int], ends: Collection[int]) -> set[int]:
    nodes = {key: node.but(operands=()) if key in ends else node for key, node in graph.nodes.items()}
    return find_needed(nodes, targets)


def clock_of(
    graph: Graph, states: Mapping[int, int], fixed_values: Mapping[int, np.ndarray], outcomes: Mapping[int, np.ndarray]
) -> Clock:
    """The clock of a step; one without states where it keeps none.

    Args:
      states: positions of parameters that a step changes, and of the results that are their next values.
      fixed_values: by position, parameters that it does not change.
      outcomes: by node, decisions over data as they came out so far, which count as known.
    """
    depends = Dependence(graph, outcomes)
    counting = depends.counting(states, fixed_values)
    moving = _bits([position for position, to in counting.items() if graph.results[to] != graph.parameters[position]])
    known_bits = _bits(counting) | _bits(fixed_values)
    read = [key for position, key in enumerate(graph.results) if position not in counting.values()]
    alive = find_needed(graph.nodes, [*read, *(graph.results[to] for to in counting.values())])
    decisions = [
        node.id
        for node in graph
        if node.id in alive and depends.of[node.id] & moving and not depends.of[node.id] & ~known_bits
        and _decides(graph, node)
    ]  # fmt: skip
    return Clock(
        graph,
        counting if moving else {},
        {graph.parameters[position]: value for position, value in fixed_values.items()} | dict(outcomes),
        tuple(decisions),
        any(depends.of[key] & moving for key in read),
    )


def _decides(graph: Graph, node: Node) -> bool:
    """Whether a value jumps where what it is computed from does not."""
    if not node.shape.is_array or node.shape.elements > MOST_ELEMENTS:
        return False
    if node.opcode == "compare":
        return not any(_is_overflow(graph.constant(key)) for key in node.operands)
    if node.opcode == "convert":
        return graph.nodes[node.operands[0]].shape.dtype.startswith("f") and node.shape.dtype[0] in "su"
    if node.opcode == "divide":
        return node.shape.dtype[0] in "su"
    if node.opcode in ("maximum", "minimum", "clamp"):
        return len({graph.nodes[key].shape.dimensions for key in node.operands}) == 1
    return node.opcode in _WHOLE or node.opcode == "remainder"


def _is_overflow(literal: np.ndarray | None) -> bool:
    return literal is not None and literal.size == 1 and literal.dtype.kind in "iu" and int(literal.flat[0]) in _LARGEST
