"""Rewrites a graph by named rules, and says what each of them changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from compare.hlo.graph import UNDECLARED, Attributes, Graph, Node, Shape, find_needed
from compare.hlo.numbering import digest_of, distinguish, region_digest, slot_digest

_ACTING = frozenset({"outfeed", "send", "send-done", "infeed", "recv", "recv-done"})

_STRANGE = "an operation that no rule knows"

_DEEPEST = 64
"""Rules that undo each other would go on for ever."""


@dataclass(frozen=True)
class Rule:
    """One way to write the same value.

    `apply` is given a node of one of `opcodes` whose operands are in the new graph already, and the graph
    that is being written; it returns the value that stands for the node, or None to leave it. `numerics` says that
    the new value may differ from the old in its last bits, or where an operand is not an ordinary number.
    `assumes` says what must hold of the inputs for the two to be the same at all; "" where nothing must.
    """

    name: str
    meaning: str
    opcodes: Collection[str]
    apply: Callable[[Node, Writer], int | None]
    numerics: bool = False
    assumes: str = ""


@dataclass(frozen=True)
class Change:
    """A change by a rule: the original value and its replacement."""

    rule: str
    name: str
    before: str
    after: str
    source: str
    numerics: bool
    assumes: str = ""


@dataclass(frozen=True, eq=False)
class Rewritten:
    """A graph after a list of rules.

    `stands_for` maps the values of the graph that was rewritten to those of this one: same value, up
    to what rules that touch numerics changed. A value that nothing needs any more is left out.
    `digests` numbers the values of this one.
    """

    graph: Graph
    digests: dict[int, bytes]
    stands_for: dict[int, int]
    changes: tuple[Change, ...]


class Writer:
    """The graph that is being written. Equal values are written once."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = rules
        self._rules_of: dict[str, tuple[Rule, ...]] = {}
        self._numbers: dict[bytes, int] = {}
        self._regions: dict[Graph, tuple[Graph, bytes]] = {}
        self._depth = 0
        self._origin: Node | None = None
        self.nodes: dict[int, Node] = {}
        self._seen: dict[int, Node] = {}
        self.digests: dict[int, bytes] = {}
        self.changes: list[Change] = []

    def __getitem__(self, key: int) -> Node:
        """A value as rules see it: of an operation that no rule knows enough of, its opcode is none."""
        return self._seen[key]

    def add(
        self,
        opcode: str,
        shape: Shape,
        operands: Sequence[int] = (),
        attributes: Attributes = (),
        literal: np.ndarray | None = None,
        regions: tuple[Graph, ...] = (),
    ) -> int:
        """A value that a rule writes in place of the one that it was given, and to which all rules apply in turn.

        Args:
          operands: ids of values in this graph.
          attributes: in HLO's words, in any order.
          literal: what a constant holds, of that shape.
        """
        attributes = tuple(sorted(attributes))
        fields = {"opcode": opcode, "shape": shape, "operands": tuple(operands), "attributes": attributes}
        origin = self._origin or Node(0, "", opcode, shape)
        return self.write(origin.but(**fields, literal=literal, regions=regions, hints=()))

    def constant(self, value: np.ndarray | np.generic, dtype: str) -> int:
        """A constant of an HLO dtype."""
        array = np.asarray(value)
        return self.add("constant", Shape(dtype, array.shape), literal=array)

    def parameter(self, node: Node, slot: str) -> int:
        """A parameter, known by what fills it."""
        return self._put(node, slot_digest(slot))

    def write(self, node: Node) -> int:
        """The value that stands for a node whose operands are in this graph."""
        if self._depth < _DEEPEST:
            self._depth += 1
            try:
                replacement = self._rewritten(node)
            finally:
                self._depth -= 1
            if replacement is not None:
                return replacement
        operands = [self.digests[key] for key in node.operands]
        if not node.regions:
            return self._put(node, digest_of(node, operands, ()))
        regions = [self.region(region) for region in node.regions]
        digest = digest_of(node, operands, [region[1] for region in regions])
        return self._put(node.but(regions=tuple(region[0] for region in regions)), digest)

    def region(self, region: Graph) -> tuple[Graph, bytes]:
        """A computation rewritten by the same rules, and its digest."""
        if region not in self._regions:
            inner = Writer(self.rules)
            body = _rewrite(region, inner, ())
            self.changes += inner.changes
            digest = region_digest(body.graph, body.digests)
            self._regions[region] = body.graph, digest
            # What is written may be written again, and is known already then.
            self._regions[body.graph] = body.graph, digest
        return self._regions[region]

    def _rewritten(self, node: Node) -> int | None:
        if _is_strange(node):
            return None
        outer, self._origin = self._origin, node
        try:
            for rule in self._applicable(node.opcode):
                replacement = rule.apply(node, self)
                if replacement is not None:
                    self._note(rule, node, replacement)
                    return replacement
            return None
        finally:
            self._origin = outer

    def _applicable(self, opcode: str) -> tuple[Rule, ...]:
        if opcode not in self._rules_of:
            self._rules_of[opcode] = tuple(rule for rule in self.rules if opcode in rule.opcodes)
        return self._rules_of[opcode]

    def _note(self, rule: Rule, node: Node, replacement: int) -> None:
        after = str(self.nodes[replacement])
        self.changes.append(Change(rule.name, node.name, str(node), after, node.source, rule.numerics, rule.assumes))

    def _put(self, node: Node, digest: bytes) -> int:
        digest = distinguish(node, digest, self._numbers)
        if digest not in self._numbers:
            key = len(self.nodes)
            self._numbers[digest] = key
            self.nodes[key] = new_node = node.but(id=key)
            self._seen[key] = new_node.but(opcode=_STRANGE) if _is_strange(new_node) else new_node
            self.digests[key] = digest
        return self._numbers[digest]


def rewrite(graph: Graph, rules: Sequence[Rule], slots: Sequence[str] = ()) -> Rewritten:
    """Apply rules everywhere, regions included, until none applies; equal values are merged, dead ones dropped.

    Args:
      rules: tried on every node in this order.
      slots: what fills each parameter; without them, parameters are known by their position.
    """
    return _rewrite(graph, Writer(rules), slots)


def _rewrite(graph: Graph, writer: Writer, slots: Sequence[str]) -> Rewritten:
    slots = slots or [f"parameter {position}" for position in range(len(graph.parameters))]
    names = dict(zip(graph.parameters, slots, strict=True))
    new_keys: dict[int, int] = {}
    for node in graph:
        new_node = node.but(operands=tuple(new_keys[key] for key in node.operands))
        new_keys[node.id] = writer.parameter(new_node, names[node.id]) if node.id in names else writer.write(new_node)
    parameters = tuple(new_keys[key] for key in graph.parameters)
    results = tuple(new_keys[key] for key in graph.results)
    acting = tuple(key for key, node in writer.nodes.items() if acts(node))
    alive = find_needed(writer.nodes, (*results, *parameters, *acting))
    nodes = {key: node for key, node in writer.nodes.items() if key in alive}
    return Rewritten(
        graph=Graph(graph.name, nodes, parameters, results),
        digests={key: writer.digests[key] for key in nodes},
        stands_for={old: new for old, new in new_keys.items() if new in alive},
        changes=tuple(writer.changes),
    )


def _is_strange(node: Node) -> bool:
    """Whether something is said of an operation that no rule hands on."""
    return any(name == "result_accuracy" or name.startswith(UNDECLARED) for name, _ in node.attributes)


def acts(node: Node) -> bool:
    """Whether it has an effect beside its value, and is kept where nothing reads it."""
    return node.opcode in _ACTING or bool(node.attribute("custom_call_has_side_effect"))
