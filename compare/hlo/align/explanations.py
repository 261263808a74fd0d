"""Known differences between the frontends: what legitimately remains when two programs are the same mathematics."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from compare.hlo.align._alignment import Reason, ReasonKind
from compare.hlo.graph import Graph, Node
from compare.hlo.rewriting import Writer
from compare.hlo.rules.algebraic import ALGEBRAIC

_MOVES = frozenset({"broadcast", "reshape", "transpose"})
_CARRIERS = _MOVES | {"constant", "iota", "convert", "and", "compare", "slice"}
"""Operations that exist only for their users."""
_BY_ARGUMENTS = frozenset({"factors ordered", "transposed products"})
"""Rules whose order is that of the arguments' names, which a graph alone does not tell."""
_RULES = {rule.name: Reason(ReasonKind.RULE, rule.name, rule.meaning) for rule in ALGEBRAIC}
_FARTHEST = 6
"""Steps that an operation is looked away from."""


@dataclass(frozen=True)
class Explanation:
    """One difference as one side shows it; `applies` says whether a value of a graph is part of it."""

    reason: Reason
    applies: Callable[[Node, Graph], bool]


def explain(node: Node, graph: Graph) -> Reason | None:
    """The known difference that a value is part of, None of none.

    Beside `EXPLANATIONS`, a rule that touches numerics and that the algebraic level would rewrite the value by is
    one, under the rule's name: at that level it is gone.
    """
    for explanation in EXPLANATIONS:
        if explanation.applies(node, graph):
            return explanation.reason
    return _rewriting(graph).reason(node)


@functools.lru_cache(maxsize=4)
def _rewriting(graph: Graph) -> _Rewriting:
    return _Rewriting(graph)


class _Rewriting:
    """A graph as it is rewritten by the algebraic rules, as far as somebody asks."""

    def __init__(self, graph: Graph) -> None:
        self._graph, self._writer = graph, Writer(ALGEBRAIC)
        self._reasons: dict[tuple[str, str], Reason] = {}
        self._read = 0
        self._placed = {
            key: self._writer.parameter(graph.nodes[key], f"parameter {position}")
            for position, key in enumerate(graph.parameters)
        }

    def reason(self, node: Node) -> Reason | None:
        """The rule that touches numerics and that a value is rewritten by; values are known by their names."""
        self._write(node.id)
        for change in self._writer.changes[self._read :]:
            if change.numerics and change.rule not in _BY_ARGUMENTS:
                self._reasons.setdefault((change.name, change.before), _RULES[change.rule])
        self._read = len(self._writer.changes)
        return self._reasons.get((node.name, str(node)))

    def _write(self, key: int) -> None:
        waiting = [key]
        while waiting:
            node = self._graph.nodes[waiting[-1]]
            missing = [operand for operand in node.operands if operand not in self._placed]
            waiting.extend(missing)
            if not missing:
                waiting.pop()
                operands = tuple(self._placed[operand] for operand in node.operands)
                if node.id not in self._placed:
                    self._placed[node.id] = self._writer.write(node.but(operands=operands))


def _readers(node: Node, graph: Graph) -> list[Node]:
    return [graph.nodes[key] for key in graph.users[node.id]]


def _source(key: int, graph: Graph) -> Node:
    """The value behind operations that only change the shape."""
    node = graph.nodes[key]
    while node.opcode in _MOVES:
        node = graph.nodes[node.operands[0]]
    return node


def _number(key: int, graph: Graph) -> float | None:
    """The real number in every place of a value."""
    literal = _source(key, graph).literal
    return None if literal is None or literal.size != 1 or literal.dtype.kind == "c" else float(literal.reshape(()))


def _leads_to(node: Node, graph: Graph, accepts: Callable[[Node, Graph], bool], depth: int = _FARTHEST) -> bool:
    """Whether all that reads a value, through what is only there for others, is of a kind."""
    readers = _readers(node, graph)
    return bool(readers) and all(
        accepts(reader, graph)
        or (depth > 0 and reader.opcode in _CARRIERS | {"reduce"} and _leads_to(reader, graph, accepts, depth - 1))
        for reader in readers
    )


def _part_of(accepts: Callable[[Node, Graph], bool]) -> Callable[[Node, Graph], bool]:
    """The operation itself, or a value that is there for it alone."""
    return lambda node, graph: accepts(node, graph) or (node.opcode in _CARRIERS and _leads_to(node, graph, accepts))


def _unused_argument(node: Node, graph: Graph) -> bool:
    return node.opcode == "parameter" and node.id not in graph.results and not _readers(node, graph)


def _wraps(node: Node, graph: Graph) -> bool:
    """`i + n` where `i < 0`, else `i`."""
    if node.opcode != "select" or node.shape.dtype[0] not in "su":
        return False
    test, addition = graph.nodes[node.operands[0]], graph.nodes[node.operands[1]]
    below = test.opcode == "compare" and test.attribute("comparison_direction") == "LT"
    return (
        below
        and _number(test.operands[1], graph) == 0
        and addition.opcode == "add"
        and node.operands[2] in addition.operands
    )


def _index_wrap(node: Node, graph: Graph) -> bool:
    adds = node.opcode in ("add", "compare") and any(_wraps(reader, graph) for reader in _readers(node, graph))
    return adds or _part_of(_wraps)(node, graph)


def _checks_index(node: Node, graph: Graph) -> bool:
    """A value where indices are valid, NaN elsewhere."""
    numbers = [_number(key, graph) for key in node.operands[1:]] if node.opcode == "select" else []
    return any(number is not None and np.isnan(number) for number in numbers)


def _clamps_scattered(node: Node, graph: Graph) -> bool:
    """An index that is clamped for a scatter, which would drop it."""
    if node.opcode not in ("maximum", "minimum", "clamp") or node.shape.dtype[0] not in "su":
        return False
    readers = _readers(node, graph)
    return bool(readers) and all(
        reader.opcode == "scatter" or reader.opcode == "reshape" or _clamps_scattered(reader, graph)
        for reader in readers
    )


def _one_hot(node: Node, graph: Graph) -> bool:
    """Whole numbers compared with an iota."""
    if node.opcode != "compare" or node.attribute("comparison_direction") != "EQ":
        return False
    sides = [_source(key, graph) for key in node.operands]
    return sides[0].shape.dtype[0] in "su" and any(side.opcode == "iota" for side in sides)


def _exponentials(key: int, graph: Graph) -> bool:
    """Whether a value is a sum of exponentials: what a softmax divides by."""
    node = _source(key, graph)
    return node.opcode == "reduce" and graph.nodes[node.operands[0]].opcode == "exponential" and _adds(node)


def _adds(node: Node) -> bool:
    region = node.regions[0]
    return region.nodes[region.results[0]].opcode == "add"


def _normalizes(node: Node, graph: Graph) -> bool:
    """A quotient by a sum of exponentials, its square in a derivative, or the quotient scaled later."""
    if node.opcode == "divide":
        return _exponentials(node.operands[1], graph)
    if node.opcode != "multiply":
        return False
    if node.operands[0] == node.operands[1]:
        return _exponentials(node.operands[0], graph)
    differences = [operand for operand in map(graph.nodes.__getitem__, node.operands) if operand.opcode == "subtract"]
    return any(_normalizes(graph.nodes[key], graph) for difference in differences for key in difference.operands)


def _logs(node: Node, graph: Graph) -> bool:
    """The logarithm of a sum of exponentials, in a sum or difference."""
    sources = [_source(key, graph) for key in node.operands] if node.opcode in ("add", "subtract") else []
    return any(source.opcode == "log" and _exponentials(source.operands[0], graph) for source in sources)


def _picks_logit(node: Node, graph: Graph) -> bool:
    """A gather of single logits, or the scatter of one number that is its gradient."""
    if node.opcode == "gather":
        return any(
            reader.opcode == "exponential" for difference in _readers(graph.nodes[node.operands[0]], graph)
            if difference.opcode == "subtract" for reader in _readers(difference, graph)
        )  # fmt: skip
    if node.opcode != "scatter" or _number(node.operands[0], graph) != 0:
        return False
    update = _source(node.operands[2], graph)
    return _number(update.id, graph) is not None or _picks_logit(update, graph)


def _tanh_derivative(node: Node, graph: Graph) -> bool:
    """`t * t`, or `1 - t`, of a tanh `t`."""
    if node.opcode == "multiply" and node.operands[0] == node.operands[1]:
        return graph.nodes[node.operands[0]].opcode == "tanh"
    if node.opcode != "subtract" or _number(node.operands[0], graph) != 1:
        return False
    return graph.nodes[node.operands[1]].opcode == "tanh"


def _rsqrt_derivative(node: Node, graph: Graph) -> bool:
    """`r / v` or `r * r`, of `r = rsqrt(v)`."""
    root = graph.nodes[node.operands[0]] if node.opcode in ("divide", "multiply") else node
    if root is node or root.opcode != "rsqrt":
        return False
    return node.operands[1] == (root.operands[0] if node.opcode == "divide" else root.id)


def _difference(name: str, meaning: str, *parts: Callable[[Node, Graph], bool]) -> tuple[Explanation, ...]:
    """One difference between the frontends, which may look another way on either side."""
    return tuple(Explanation(Reason(ReasonKind.FRONTEND, name, meaning), part) for part in parts)


EXPLANATIONS = (
    *_difference(
        "unused argument", "TensorFlow keeps an argument that nothing reads, JAX leaves it out", _unused_argument
    ),
    *_difference("index wrap-around", "JAX counts a negative index from the end, TensorFlow does not", _index_wrap),
    *_difference(
        "NaN for invalid indices",
        "JAX's gathers fill with NaN where an index is out of bounds; TensorFlow's cross-entropy, where a label is",
        _part_of(_checks_index),
    ),
    *_difference(
        "clamped scatter",
        "JAX's gradient of a clipping gather clips its indices too, TensorFlow's drops what is out of bounds",
        _part_of(_clamps_scattered),
    ),
    *_difference(
        "one-hot labels",
        "one side compares with an iota and multiplies by the one-hot, as TensorFlow's sparse cross-entropy does; "
        "the other gathers, and scatters its gradient",
        _part_of(_one_hot),
        _part_of(_picks_logit),
    ),
    *_difference(
        "softmax normalized elsewhere",
        "by the sum of exponentials TensorFlow divides a softmax, and JAX what the softmax is multiplied by",
        _part_of(_normalizes),
    ),
    *_difference(
        "logarithm of a softmax",
        "TensorFlow subtracts the logarithm from each logit, JAX adds it to the maximum",
        _part_of(_logs),
    ),
    *_difference(
        "derivative of tanh", "TensorFlow's is 1 - t * t, JAX's (1 - t) * (1 + t), multiplied out", _tanh_derivative
    ),
    *_difference("derivative of rsqrt", "TensorFlow's is made of r * r * r, JAX's of r / v", _rsqrt_derivative),
)  # fmt: skip
"""In the order in which they are tried."""
