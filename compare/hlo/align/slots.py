"""Slots: which parameters and results of two programs are one, and arrays for those that are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from compare.hlo.align._alignment import SLOT, Match
from compare.hlo.graph import Graph, Shape
from compare.hlo.levels import Subject
from compare.hlo.pair import Pair

_MOST = 4
"""Random integers are below: they count loops and index short axes."""


@dataclass(frozen=True)
class ResultPair:
    """Results of one name, by id; None where a side has none."""

    name: str
    left: int | None
    right: int | None


def parameter_names(subject: Subject, graph: Graph) -> dict[int, str]:
    """By id, what fills each parameter; its position where that is not known."""
    names = subject.parameters or [f"parameter {position}" for position in range(len(graph.parameters))]
    return dict(zip(graph.parameters, names, strict=True))


def matched_parameters(subjects: Pair[Subject], graphs: Pair[Graph]) -> list[Match]:
    """Parameters of one name and shape; where a side has no names, of one position in as many parameters."""
    left, right = graphs.map(lambda graph: {key: graph.nodes[key].shape for key in graph.parameters})
    return [Match(one, other, SLOT) for one, other in _parameter_pairs(subjects, graphs) if left[one] == right[other]]


def _parameter_pairs(subjects: Pair[Subject], graphs: Pair[Graph]) -> list[tuple[int, int]]:
    if not subjects.left.parameters or not subjects.right.parameters:
        left, right = graphs.left.parameters, graphs.right.parameters
        return list(zip(left, right, strict=True)) if len(left) == len(right) else []
    places = {name: key for key, name in parameter_names(subjects.right, graphs.right).items()}
    left_names = parameter_names(subjects.left, graphs.left).items()
    return [(key, places[name]) for key, name in left_names if name in places]


def result_pairs(subjects: Pair[Subject], graphs: Pair[Graph]) -> list[ResultPair]:
    """Results by name, the left program's first; where a side has no names, by position."""
    are_named = bool(subjects.left.results and subjects.right.results)
    left = _result_ids(subjects.left, graphs.left, are_named)
    right = _result_ids(subjects.right, graphs.right, are_named)
    return [ResultPair(name, left.get(name), right.get(name)) for name in (left | right)]


def _result_ids(subject: Subject, graph: Graph, are_named: bool) -> dict[str, int]:
    names = subject.results if are_named else [str(position) for position in range(len(graph.results))]
    return dict(zip(names, graph.results, strict=True))


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
