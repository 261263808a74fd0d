"""How often the loops of a saved graph run at most: XLA compiles no gradient of a loop without that number.

Where XLA compiles a function, AutoGraph gives each loop over a tf.range its number of steps; a function that was saved
was traced for no compiler.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tf_reference._graph_nodes import node_of

_LOOPS = frozenset({"While", "StatelessWhile"})
_COMPARISONS = {"Less": (1, 0), "LessEqual": (1, 1), "Greater": (-1, 0), "GreaterEqual": (-1, 1)}
"""The direction in which a counter goes that one of these stops, and whether it takes the limit too."""

MOST_STEPS = 10**6
"""XLA sets aside the room for all steps: a loop that may run more often stays without a largest number."""

_FURTHEST = 2**61
"""Ends beyond it count as this one, so that differences stay integers of 64 bits."""

_INT64 = tf.int64.as_datatype_enum
_RESULTS = {"Const": "output", "Cast": "y", "SelectV2": "output"}
"""The name of an operation's result in a function; "z" for all that compute."""

_STEP, _MAXIMUM = 0, 1
"""The first two variables of a loop that tf.while_loop makes: its own counter, and its largest number of steps or -1.

Where the second is -1, neither condition nor step computes with it. The gradient keeps values of each step, and
TensorFlow sets aside the room for them by that number.
"""


def bound(graph: Any, outputs: Sequence[str] = ()) -> None:
    """Give the loops of a flat graph that count, in place, their largest number of steps."""
    library = {function.signature.name: function for function in graph.library.function}
    bodies = [(graph.node, outputs, True)]
    bodies += [(one.node_def, one.ret.values(), False) for one in library.values()]
    for nodes, results, in_graph in bodies:
        around = _Body(nodes, (), results)
        for node in [node for node in nodes if node.op in _LOOPS]:
            parts = [library.get(node.attr[name].func.name) for name in ("cond", "body")]
            condition, step = (None if part is None else _of_function(part) for part in parts)
            if condition is None or step is None:
                continue
            loop = _Loop(node, around, condition, step)
            counters = list(loop.counters()) if loop.has_free_maximum() else []
            if counters:
                node.input[_MAXIMUM] = _Counts(nodes, f"{node.name}/steps", in_graph).add_least(counters)


class _Body:
    """The nodes of a graph or a function."""

    def __init__(self, nodes: Sequence[Any], arguments: Sequence[str], results: Sequence[str]) -> None:
        self.arguments, self.results = list(arguments), list(results)
        self._nodes, self._by_name = nodes, {node.name: node for node in nodes}

    def source(self, tensor: str) -> str:
        """The tensor that an Identity stands for."""
        names_seen = set[str]()
        while (node := self.node(tensor)) is not None and node.op == "Identity" and node.name not in names_seen:
            names_seen.add(node.name)
            tensor = node.input[0]
        return tensor

    def node(self, tensor: str) -> Any:
        """The node that gives a tensor; None of an argument."""
        return self._by_name.get(node_of(tensor))

    def number(self, tensor: str) -> int | None:
        """A constant integer; None of what is none."""
        node = self.node(self.source(tensor))
        if node is None or node.op != "Const":
            return None
        array = tf.make_ndarray(node.attr["value"].tensor)
        return int(array.reshape(())) if array.size == 1 and array.dtype.kind == "i" else None

    def argument(self, tensor: str) -> int | None:
        """The number of an argument that a tensor stands for."""
        source = self.source(tensor)
        return self.arguments.index(source) if source in self.arguments else None

    def hands_on(self, number: int) -> bool:
        """Whether a step returns what it takes."""
        return self.argument(self.results[number]) == number

    def count_readers(self, tensor: str) -> int:
        """How many inputs of nodes that compute, and how many results, a tensor is."""
        inputs = [tensor_read for node in self._nodes if node.op != "Identity" for tensor_read in node.input]
        return sum(self.source(tensor_read) == tensor for tensor_read in (*inputs, *self.results))


def _of_function(function: Any) -> _Body:
    signature = function.signature
    results = [function.ret[result.name] for result in signature.output_arg]
    return _Body(function.node_def, [argument.name for argument in signature.input_arg], results)


@dataclass(frozen=True)
class _Counter:
    """A counter of a loop.

    Attributes:
      dtype: of it, a number of TensorFlow's protos.
      start: the tensor that it begins with.
      limit: the tensor or number that it is compared with.
      delta: what is added to it.
      inclusive: 1 where it takes the limit too, else 0.
    """

    dtype: int
    start: str
    limit: str | int
    delta: int
    inclusive: int


@dataclass(frozen=True)
class _Loop:
    """A loop.

    Attributes:
      node: of it.
      around: the body that it stands in.
      condition: whether it goes on.
      step: what it repeats.
    """

    node: Any
    around: _Body
    condition: _Body
    step: _Body

    def has_free_maximum(self) -> bool:
        """Whether tf.while_loop made it, without a largest number of steps: a loop of other variables looks alike.

        The first variable counts from 0 by 1, and the second is -1, which each step hands on and nothing else reads.
        """
        sizes = {len(self.condition.arguments), len(self.step.arguments), len(self.step.results)}
        if len(self.node.input) <= _MAXIMUM or len(sizes) != 1:
            return False
        starts = [self.around.number(self.node.input[k]) for k in (_STEP, _MAXIMUM)]
        dtypes = list(self.node.attr["T"].list.type[: _MAXIMUM + 1])
        return (
            starts == [0, -1]
            and dtypes == [tf.int32.as_datatype_enum] * 2
            and self._delta(_STEP) == 1
            and self.step.hands_on(_MAXIMUM)
            and self.step.count_readers(self.step.arguments[_MAXIMUM]) == 1
            and not self.condition.count_readers(self.condition.arguments[_MAXIMUM])
            and not any(self.around.count_readers(f"{self.node.name}:{place}{_MAXIMUM}") for place in ("", "output:"))
        )

    def counters(self) -> Iterator[_Counter]:
        """The counters, each of which can end the loop."""
        open_ = list(self.condition.results)
        while open_:
            node = self.condition.node(self.condition.source(open_.pop()))
            if node is None:
                continue
            if node.op == "LogicalAnd":
                open_ += node.input[:2]
            elif node.op in _COMPARISONS:
                counter = self._counter(node)
                if counter is not None:
                    yield counter

    def _counter(self, node: Any) -> _Counter | None:
        direction, inclusive = _COMPARISONS[node.op]
        number = self.condition.argument(node.input[0])
        dtype = node.attr["T"].type
        if number is None or dtype not in (tf.int32.as_datatype_enum, tf.int64.as_datatype_enum):
            return None
        limit, delta = self._limit(node.input[1]), self._delta(number)
        if limit is None or delta is None or delta * direction <= 0:
            return None
        return _Counter(dtype, self.node.input[number], limit, delta, inclusive)

    def _limit(self, tensor: str) -> str | int | None:
        number = self.condition.argument(tensor)
        if number is None:
            return self.condition.number(tensor)
        return self.node.input[number] if self.step.hands_on(number) else None

    def _delta(self, number: int) -> int | None:
        """The increment of a counter in a step."""
        node = self.step.node(self.step.source(self.step.results[number]))
        if node is None or node.op not in ("Add", "AddV2"):
            return None
        operands = list(node.input[:2])
        own = [operand for operand in operands if self.step.argument(operand) == number]
        if len(own) != 1:
            return None
        operands.remove(own[0])
        outside = self.step.argument(operands[0])
        if outside is None:
            return self.step.number(operands[0])
        return self.around.number(self.node.input[outside]) if self.step.hands_on(outside) else None


class _Counts:
    """Adds the nodes that compute the most iterations of a loop, in integers of 64 bits.

    Args:
      in_graph: whether that body is a graph; else it is a function.
    """

    def __init__(self, nodes: Any, scope: str, in_graph: bool) -> None:
        self._nodes, self._scope, self._in_graph, self._size = nodes, scope, in_graph, len(nodes)

    def add_least(self, counters: Sequence[_Counter]) -> str:
        """The tensor of the largest number of steps: the first counter to end ends the loop; -1 above `MOST_STEPS`."""
        least, *others = [self._count(counter) for counter in counters]
        for other in others:
            least = self._add("Minimum", (least, other))
        most = self._constant(MOST_STEPS)
        is_too_large = self._add("Greater", (least, most))
        steps = self._add("SelectV2", (is_too_large, self._constant(-1), least))
        return self._cast(steps, _INT64, tf.int32.as_datatype_enum)

    def _count(self, counter: _Counter) -> str:
        """How often one counts: max(0, ceil((limit - start) / delta))."""
        size = abs(counter.delta)
        start, limit = (
            self._constant(end) if isinstance(end, int) else self._within_ends(self._cast(end, counter.dtype, _INT64))
            for end in (counter.start, counter.limit)
        )
        ends = (limit, start) if counter.delta > 0 else (start, limit)
        distance = self._add("Sub", ends)
        whole = self._add("AddV2", (distance, self._constant(size - 1 + counter.inclusive)))
        return self._add("Maximum", (self._add("FloorDiv", (whole, self._constant(size))), self._constant(0)))

    def _within_ends(self, tensor: str) -> str:
        least = self._add("Minimum", (tensor, self._constant(_FURTHEST)))
        return self._add("Maximum", (least, self._constant(-_FURTHEST)))

    def _cast(self, tensor: str, dtype: int, target: int) -> str:
        return self._add("Cast", (tensor,), {"SrcT": dtype, "DstT": target})

    def _constant(self, number: int) -> str:
        tensor = self._add("Const", (), {"dtype": _INT64})
        within = max(-_FURTHEST, min(number, _FURTHEST))
        self._nodes[-1].attr["value"].tensor.CopyFrom(tf.make_tensor_proto(within, tf.int64))
        return tensor

    def _add(self, operation: str, inputs: Sequence[str], types: Mapping[str, int] | None = None) -> str:
        node = self._nodes.add(op=operation, name=f"{self._scope}/{operation}_{len(self._nodes) - self._size}")
        node.input.extend(inputs)
        for key, dtype in (types or {"T": _INT64}).items():
            node.attr[key].type = dtype
        return f"{node.name}:0" if self._in_graph else f"{node.name}:{_RESULTS.get(operation, 'z')}:0"
