"""Slots: which parameters and results of two programs are one, and arrays for those that are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from compare.hlo.align._alignment import SLOT, Match
from compare.hlo.align.equal_values import Arguments
from compare.hlo.graph import Graph, Shape
from compare.hlo.levels import Subject, read

_MOST = 4
"""Random integers are below: they count loops and index short axes."""


@dataclass(frozen=True)
class ResultPair:
    """Results of one name, by id; None where a side has none."""

    name: str
    left: int | None
    right: int | None


def parameter_names(subject: Subject, graph: Graph) -> dict[int, str]:
    """By id, what fills each parameter; its position where nobody says."""
    names = subject.parameters or [f"parameter {at}" for at in range(len(graph.parameters))]
    return dict(zip(graph.parameters, names, strict=True))


def matched_parameters(left: Subject, right: Subject, graphs: tuple[Graph, Graph]) -> list[Match]:
    """Parameters of one name and shape; where a side has no names, of one position in as many parameters."""
    pairs = _parameter_pairs(left, right, graphs)
    shapes = tuple({key: graph.nodes[key].shape for key in graph.parameters} for graph in graphs)
    return [Match(one, other, SLOT) for one, other in pairs if shapes[0][one] == shapes[1][other]]


def _parameter_pairs(left: Subject, right: Subject, graphs: tuple[Graph, Graph]) -> list[tuple[int, int]]:
    one, other = graphs
    if not left.parameters or not right.parameters:
        alike = len(one.parameters) == len(other.parameters)
        return list(zip(one.parameters, other.parameters, strict=True)) if alike else []
    places = {name: key for key, name in parameter_names(right, other).items()}
    named = parameter_names(left, one).items()
    return [(key, places[name]) for key, name in named if name in places]


def result_pairs(left: Subject, right: Subject, graphs: tuple[Graph, Graph]) -> list[ResultPair]:
    """Results by name, the left program's first; where a side has no names, by position."""
    lists = graphs[0].results, graphs[1].results
    named = left.results and right.results
    names = [
        (subject.results if named else [str(at) for at in range(len(found))])
        for subject, found in zip((left, right), lists, strict=True)
    ]
    one, other = (dict(zip(*each, strict=True)) for each in zip(names, lists, strict=True))
    return [ResultPair(name, one.get(name), other.get(name)) for name in (one | other)]


def random_cases(left: Subject, right: Subject, seeds: Sequence[int] = (0, 1)) -> list[Arguments]:
    """Arguments for programs that come without data: one array for one slot, on both sides.

    Floats are standard normal, integers 0 to 3, booleans either. A program whose loops end for some
    inputs only may not end on these.

    Raises:
      UnreadableProgram: the bytes of a program are no HLO.
    """
    graphs = read(left), read(right)
    partners = {match.right: match.left for match in matched_parameters(left, right, graphs)}
    cases: list[Arguments] = []
    for seed in seeds:
        generator = np.random.default_rng(seed)
        made = {key: random_array(graphs[0].nodes[key].shape, generator) for key in graphs[0].parameters}
        other = [
            made[partners[key]] if key in partners else random_array(graphs[1].nodes[key].shape, generator)
            for key in graphs[1].parameters
        ]
        cases.append((list(made.values()), other))
    return cases


def random_array(shape: Shape, generator: np.random.Generator) -> np.ndarray:
    """One array of an HLO shape."""
    dtype = DTYPES[shape.dtype]
    if shape.dtype == "pred":
        return generator.integers(0, 2, shape.dimensions).astype(np.bool_)
    if np.issubdtype(dtype, np.integer) or "int" in dtype.name:
        return generator.integers(0, _MOST, shape.dimensions).astype(dtype)
    values = generator.standard_normal(shape.dimensions)
    if dtype.kind == "c":
        values = values + 1j * generator.standard_normal(shape.dimensions)
    return np.asarray(values).astype(dtype)


DTYPES: Mapping[str, np.dtype] = {
    name: np.dtype(dtype)
    for name, dtype in {
        "pred": np.bool_, "s8": np.int8, "s16": np.int16, "s32": np.int32, "s64": np.int64, "u8": np.uint8,
        "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
        "f32": np.float32, "f64": np.float64, "c64": np.complex64, "c128": np.complex128,
        "f8e5m2": ml_dtypes.float8_e5m2, "f8e4m3fn": ml_dtypes.float8_e4m3fn, "s4": ml_dtypes.int4,
        "u4": ml_dtypes.uint4,
    }.items()
}  # fmt: skip
"""NumPy's types by HLO's names."""
