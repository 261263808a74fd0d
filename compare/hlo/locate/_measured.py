"""The values of a program, and how far each may lie from the same value of another program."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from compare.hlo import values
from compare.hlo.disturbing import disturb_array
from compare.hlo.graph import Graph
from compare.hlo.locate._canonical import CARRIERS, RESULT, Computation, runnable

_DRAWS = 2
"""How often arguments and constants are moved."""
_CONSTANTS = 2.0**-24
_SIMPLE_BITS = 12
_SUMS = frozenset({"add", "subtract", "reduce", "dot", "convolution"})
_ADDING = frozenset({"add", "subtract", "reduce"}) | CARRIERS
_MARGIN = 12.0


@dataclass(frozen=True)
class Precision:
    """How exact programs are held to be.

    Attributes:
      moved: by what part of itself each argument is moved to see what such an error does.
      floor: the part of a value's largest element that it may be off by in any case.
      cancelled: the part of the terms of a sum that it may be off by in any case.
    """

    moved: float
    floor: float
    cancelled: float


DOUBLE = Precision(2.0**-42, 1e-10, 1e-14)
SINGLE = Precision(2.0**-23, 4e-6, 1e-6)


@dataclass(frozen=True, eq=False)
class MeasuredValues:
    """Per value and case, the array, and the largest difference that rounding explains.

    `again` gives all values for other arguments.
    """

    arrays: dict[int, list[np.ndarray]]
    bounds: dict[int, list[float]]
    again: Callable[[Sequence[np.ndarray]], dict[int, np.ndarray]]


def measure(program: Computation, cases: Sequence[Sequence[np.ndarray]], smooth: Sequence[bool],
            precision: Precision) -> MeasuredValues:  # fmt: skip
    """Run a program on every case: as it is, and with constants and arguments moved within their rounding.

    Constants of frontends are rounded to float32, each frontend's in its own place: what that does to a
    value is no departure.

    Args:
      cases: by case, arrays in the order of its parameters.
      smooth: by case, whether its arguments are moved as well.

    Raises:
      UnreadableProgram: this process's XLA cannot run it.
    """
    graph, constants = _lift_constants(runnable(program.graph))
    keys = wanted_of(program)
    prepared_graph = values.prepare(graph, keys)
    measurement = MeasuredValues(
        {key: [] for key in keys}, {key: [] for key in keys}, lambda inputs: prepared_graph([*inputs, *constants])
    )
    for arguments, is_smooth in zip(cases, smooth, strict=True):
        base = prepared_graph([*arguments, *constants])
        spreads = dict.fromkeys(keys, 0.0)
        for seed in range(_DRAWS):
            generator = np.random.default_rng(seed)
            near_arguments = [_disturb(array, precision.moved * is_smooth, generator) for array in arguments]
            again = prepared_graph(
                [*near_arguments, *(_disturb(constant, _CONSTANTS, generator) for constant in constants)]
            )
            spreads = {key: max(spreads[key], distance(base[key], again[key])) for key in keys}
        terms = _terms(program, base)
        for key in keys:
            measurement.arrays[key].append(base[key])
            measurement.bounds[key].append(_bound(base[key], terms.get(key, 0.0), spreads[key], precision))
    return measurement


def wanted_of(program: Computation) -> list[int]:
    """The values to look at: every array, of what no parameter has a part in the single numbers."""
    return [
        key
        for key, node in program.graph.nodes.items()
        if node.shape.is_array and (key not in program.constants or node.opcode == RESULT or node.shape.elements == 1)
    ]


def distance(left: np.ndarray, right: np.ndarray) -> float:
    """The largest difference of two arrays of one size; infinite where one alone is not a number, or infinite."""
    if left.dtype.kind in "bui":
        return 0.0 if np.array_equal(left, right) else np.inf
    left, right = exact(left).ravel(), exact(right).ravel()
    finite = np.isfinite(left) & np.isfinite(right)
    if not np.array_equal(left[~finite], right[~finite], equal_nan=True):
        return np.inf
    return float(np.max(np.abs(left[finite] - right[finite]), initial=0.0))


def exact(array: np.ndarray) -> np.ndarray:
    """The array in a type that NumPy computes differences in."""
    return array.astype(np.float64) if array.dtype == ml_dtypes.bfloat16 or array.dtype.kind not in "fc" else array


def size(array: np.ndarray) -> float:
    """The largest finite element."""
    values_ = np.abs(exact(array))
    return float(np.max(values_, initial=0.0, where=np.isfinite(values_)))


def is_float(array: np.ndarray) -> bool:
    """Whether an array is of floats, real or complex, of any width."""
    return array.dtype.kind in "fc" or array.dtype == ml_dtypes.bfloat16


def is_real(array: np.ndarray) -> bool:
    """Whether an array is of floats that are not complex."""
    return is_float(array) and array.dtype.kind != "c"


def _terms(program: Computation, base: dict[int, np.ndarray]) -> dict[int, float]:
    """By sum, or copy of one, the largest term that it is made of: of sums of sums, that of any of them."""
    terms: dict[int, float] = {}
    for key, node in program.graph.nodes.items():
        own = [size(base[operand]) for operand in node.operands if operand in base and node.opcode in _SUMS]
        operand_terms = [terms.get(operand, 0.0) for operand in node.operands if node.opcode in _ADDING]
        terms[key] = max([*own, *operand_terms], default=0.0)
    return terms


def _bound(value: np.ndarray, terms: float, spread: float, precision: Precision) -> float:
    if not is_float(value):
        return 0.0
    # At an edge a moved constant may jump: a spread as large as the value explains nothing, unless it is all that
    # is left of much larger terms. Where those cancel, what is left is as uncertain as they were.
    steady = np.isfinite(spread) and (spread < 1e-2 * (size(value) or 1.0) or spread < precision.floor * terms)
    return max(_MARGIN * spread if steady else 0.0, precision.floor * size(value), precision.cancelled * terms)


def _disturb(array: np.ndarray, by: float, generator: np.random.Generator) -> np.ndarray:
    if array.dtype.kind != "f" or not by:
        return array
    return disturb_array(array, by, generator).astype(array.dtype)


def _lift_constants(graph: Graph) -> tuple[Graph, list[np.ndarray]]:
    """The graph with every constant that looks rounded as one more parameter, and those constants."""
    nodes, constants, parameters = dict(graph.nodes), [], list(graph.parameters)
    for node in graph:
        if node.literal is not None and node.literal.dtype.kind == "f" and _looks_rounded(node.literal):
            number = (("parameter_number", len(parameters)),)
            nodes[node.id] = node.but(opcode="parameter", attributes=number, literal=None)
            parameters.append(node.id)
            constants.append(node.literal)
    return dataclasses.replace(graph, nodes=nodes, parameters=tuple(parameters)), constants


def _looks_rounded(literal: np.ndarray) -> bool:
    mantissa, _ = np.frexp(literal[np.isfinite(literal)].astype(np.float64))
    multiples = mantissa * 2.0**_SIMPLE_BITS
    return bool(np.any(multiples != np.rint(multiples)))
