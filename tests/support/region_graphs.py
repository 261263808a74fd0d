"""Pairs of small random graphs with an alignment, and NumPy to run graphs and regions without a compiler."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from compare.hlo.align import Alignment, Match, ResultMatch
from compare.hlo.align._alignment import SLOT, VALUE
from compare.hlo.graph import Graph, Node, Shape
from compare.hlo.levels import STRUCTURE
from compare.hlo.pair import Pair
from compare.hlo.rewriting import Rewritten, rewrite
from compare.hlo.rules.structural import STRUCTURAL
from compare.regions.parts import Region, Regions
from compare.regions.pieces import make_programs

PARAMETERS = 3
VECTOR = Shape("f64", (4,))
SLOTS = [f"input {at}" for at in range(PARAMETERS)]
OPERATIONS: Mapping[str, Callable[..., np.ndarray]] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "maximum": np.maximum, "negate": np.negative,
    "tanh": np.tanh,
}  # fmt: skip
Values = dict[int, np.ndarray]


@dataclass(frozen=True)
class Line:
    """One operation and the lines that it reads, counted from the first parameter."""

    opcode: str
    reads: tuple[int, ...]


@st.composite
def lines(draw: st.DrawFn) -> list[Line]:
    """A program of some operations."""
    made: list[Line] = []
    for at in range(draw(st.integers(3, 12))):
        opcode = draw(st.sampled_from(sorted(OPERATIONS)))
        operand = st.integers(0, PARAMETERS + at - 1)
        made.append(Line(opcode, tuple(draw(operand) for _ in range(1 if opcode in ("negate", "tanh") else 2))))
    return made


@st.composite
def variant(draw: st.DrawFn, program: Sequence[Line]) -> list[Line]:
    """The same results by other operations in places: a difference is a sum, operands change places, zero is added."""
    made: list[Line] = []
    places = list(range(PARAMETERS))
    for line in program:
        reads = tuple(places[key] for key in line.reads)
        way = draw(st.integers(0, 3))
        if line.opcode == "subtract" and way:
            made.append(Line("negate", (reads[1],)))
            line, reads = Line("add", ()), (reads[0], PARAMETERS + len(made) - 1)
        elif line.opcode == "maximum" and way == 1:
            made.append(Line("maximum", reads))
            line, reads = Line("maximum", ()), (PARAMETERS + len(made) - 1, reads[0])
        made.append(Line(line.opcode, reads[::-1] if way == 2 and line.opcode in ("add", "multiply") else reads))
        places.append(PARAMETERS + len(made) - 1)
    return made


def form(program: Sequence[Line], results: int = 2) -> Rewritten:
    """A program in its structural form; its last operations are its results."""
    nodes = {
        at: Node(at, f"p{at}", "parameter", VECTOR, attributes=(("parameter_number", at),)) for at in range(PARAMETERS)
    }
    for line in program:
        key = len(nodes)
        nodes[key] = Node(key, f"v{key}", line.opcode, VECTOR, line.reads)
    ends = tuple(nodes)[-results:]
    return rewrite(Graph("test", nodes, tuple(range(PARAMETERS)), ends), STRUCTURAL, SLOTS)


def run(graph: Graph, arguments: Sequence[np.ndarray]) -> Values:
    """Every value of a graph."""
    values: Values = dict(zip(graph.parameters, arguments, strict=True))
    for node in graph:
        if node.opcode != "parameter":
            values[node.id] = OPERATIONS[node.opcode](*(values[key] for key in node.operands))
    return values


def arguments(seed: int = 0) -> list[np.ndarray]:
    return list(np.random.default_rng(seed).standard_normal((PARAMETERS, 4)))


def aligned(forms: Pair[Rewritten], pairs: Sequence[tuple[int, int]]) -> Alignment:
    """An alignment whose matches by value are told; results are paired in order."""
    left, right = forms.map(lambda one: one.graph)
    slots = [Match(one, other, SLOT) for one, other in zip(left.parameters, right.parameters, strict=True)]
    matches = (*slots, *(Match(one, other, VALUE, 0.0) for one, other in pairs))
    ends = zip(left.results, right.results, strict=True)
    results = tuple(ResultMatch(str(at), one, other, False) for at, (one, other) in enumerate(ends))
    return Alignment(STRUCTURE, forms.left, forms.right, matches, (), results=results)


def equal_pairs(forms: Pair[Rewritten]) -> list[tuple[int, int]]:
    """Pairs of values that are equal for some arguments, to the last bits."""
    left, right = (run(one.graph, arguments()) for one in forms)
    return [
        (one, other)
        for one, value in left.items()
        for other, partner in right.items()
        if np.allclose(value, partner, rtol=1e-12, atol=1e-12)
    ]


def outputs(region: Region, regions: Regions, inputs: Mapping[int, np.ndarray]) -> Pair[list[np.ndarray]]:
    """What both pieces compute from values of the cut points that they read."""
    made = make_programs(region, regions)

    def computed(graph: Graph) -> list[np.ndarray]:
        values = run(graph, [inputs[at] for at in made.inputs])
        return [values[key] for key in graph.results]

    return made.graphs.map(computed)


def composed(regions: Regions, given: Sequence[np.ndarray], side: int) -> dict[str, np.ndarray]:
    """The results of one program, computed region by region."""
    whole = regions.graphs[side]
    positions = {key: at for at, key in enumerate(whole.parameters)}
    values = {at: given[positions[cut.nodes[side][0]]] for at, cut in enumerate(regions.cut_points) if cut.is_parameter}
    results: dict[str, np.ndarray] = {}
    for region in regions.regions:
        first = outputs(region, regions, values)[side][0]
        if region.cut_point is not None:
            values[region.cut_point] = first
        results |= dict.fromkeys(region.results, first)
    return results


def holds(region: Region, regions: Regions, given: Sequence[np.ndarray]) -> bool:
    """Whether both pieces compute one value from the values that the left program has."""
    values = run(regions.graphs.left, given)
    left, right = outputs(region, regions, {at: values[cut.nodes.left[0]] for at, cut in enumerate(regions.cut_points)})
    return all(np.allclose(left[0], one, rtol=1e-12, atol=1e-12) for one in (*left, *right))
