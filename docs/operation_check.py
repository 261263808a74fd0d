"""The rows of the map evaluated in both frameworks."""

from __future__ import annotations

import operator
import traceback
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import flax.linen as linen
import jax
import jax.numpy as jnp
import keras
import ml_dtypes
import numpy as np
import optax
import tensorflow as tf
from flax import nnx
from operation_sides import Arrays, Computed, GradientError, Program, jax_runner, run_tensorflow, tensors
from scipy import stats

from compare.counterparts.rows import Layer, Operation, Row
from compare.inputs.functions import parse_input
from workloads.core.arrays import draw, draw_kinks
from workloads.protocol.expressions import evaluate

VALUES = 1e-5
GRADIENTS = 1e-4
NOISE = 1e-6
"""Of the largest gradient of a row: one that is 0 in exact arithmetic is noise of this size."""
ALIKE = 1e-6
"""The p-value of the Kolmogorov-Smirnov test below which two samples are not of one distribution."""

DIGITS = 5
"""Of samples: a value that occurs often is one value, whatever its last bit."""

NARROWED = {"int64": "int32", "uint64": "uint32"}
CASES = {"random": draw, "ties": draw_kinks}
WEIGHT = "w"
"""Before the number of a weight among the arrays."""


def check_all(
    operations: Mapping[str, Sequence[Operation]], layers: Mapping[str, Sequence[Layer]], words: Sequence[str] = ()
) -> Iterator[str]:
    """Every failure of every row, one a line, as it is found.

    Args:
      operations: by group.
      layers: by group.
      words: only rows that contain one of these are evaluated; all where there is none.
    """
    rows: list[Row] = [row for group in (*operations.values(), *layers.values()) for row in group]
    for row in rows:
        if not words or any(word in str(row) for word in words):
            yield from (f"{row.name}: {problem}" for problem in problems(row))
    yield from same_functions(rows)


def same_functions(rows: Sequence[Row]) -> Iterator[str]:
    """Two names of one function are one operation; a name that does not exist is none."""
    first: dict[int, str] = {}
    for name in dict.fromkeys(row.name for row in rows):
        try:
            other = first.setdefault(id(_public(name)), name)
        except AttributeError as error:
            yield f"{name}: expected a public name, found none: {error}"
        else:
            if other != name:
                yield f"{name}: expected an operation of its own, found another name of {other}"


def _public(name: str) -> Any:
    root, _, path = name.partition(".")
    return operator.attrgetter(path)({"tf": tf, "keras": keras}[root])


def problems(row: Row) -> list[str]:
    """What is wrong with a row; a row whose code raises anything that it should not is wrong."""
    try:
        keras.utils.set_random_seed(0)
        if isinstance(row, Layer) and row.linen:
            operator.attrgetter(row.linen.removeprefix("nn."))(linen)
        wrong = [problem for pair in pairs(row) for problem in _of_pair(row, pair)] if row.has_counterpart else []
    except Exception as error:  # noqa: BLE001  whatever a row's code raises is its failure
        place = traceback.extract_tb(error.__traceback__)[-1]
        first = (str(error).strip() or "nothing said").splitlines()[0]
        wrong = [f"raised {type(error).__name__} at {place.filename.rpartition('/')[2]}:{place.lineno}: {first}"]
    return list(dict.fromkeys(wrong))


@dataclass(frozen=True)
class Pair:
    """TensorFlow's program against one counterpart, and the arrays of every case."""

    what: str
    tensorflow: Program
    jax: Program
    cases: Mapping[str, Arrays]


def pairs(row: Row) -> list[Pair]:
    """A row's programs: an operation has one counterpart, a layer has code, a module, or both."""
    cases = {case: _arrays(row, case) for case in CASES}
    if isinstance(row, Operation):
        return [Pair("JAX", _code_program(row.tf, TENSORFLOW), _code_program(row.jax, JAX), cases)]
    layer = evaluate(row.keras, TENSORFLOW)
    evaluate(row.call, {**TENSORFLOW, "layer": layer, **tensors(cases["random"])})
    cases = {case: {**arrays, **_weights(layer, case)} for case, arrays in cases.items()}
    counterparts = {"JAX": lambda arrays: evaluate(row.jax, {**JAX, **_split(arrays)})} if row.jax else {}
    counterparts |= {"Flax": _module_program(row)} if row.flax else {}
    return [Pair(what, _keras_program(row, layer), program, cases) for what, program in counterparts.items()]


def _arrays(row: Row, case: str) -> dict[str, np.ndarray]:
    seed = zlib.crc32(row.name.encode())
    parsed = dict(parse_input(f"{name}={text}") for name, text in row.inputs.items())
    return {name: CASES[case](spec.resolve({}), name, seed) for name, spec in parsed.items()}


def _weights(layer: keras.Layer, case: str) -> dict[str, np.ndarray]:
    """Random weights, those of variances above 0."""
    generator = np.random.default_rng(list(CASES).index(case))
    drawn = {f"{WEIGHT}{i}": (w, generator.standard_normal(w.shape) / 2) for i, w in enumerate(layer.weights)}
    return {
        name: (abs(values) + 0.5 if "variance" in weight.path else values).astype(weight.dtype)
        for name, (weight, values) in drawn.items()
    }


TENSORFLOW = {"tf": tf, "keras": keras, "np": np}
JAX = {"jax": jax, "jnp": jnp, "np": np, "optax": optax, "nnx": nnx}


def _code_program(code: str, names: Mapping[str, Any]) -> Program:
    return lambda arrays: evaluate(code, {**names, **arrays})


def _split(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs by name, and the weights as the list `w`."""
    held = [name for name in arrays if name.startswith(WEIGHT) and name[1:].isdecimal()]
    return {n: a for n, a in arrays.items() if n not in held} | {WEIGHT: [arrays[name] for name in held]}


def _keras_program(row: Layer, layer: keras.Layer) -> Program:
    def program(arrays: Mapping[str, Any]) -> Any:
        names = _split(arrays)
        mapping = list(zip(layer.weights, names.pop(WEIGHT), strict=True))
        with keras.StatelessScope(state_mapping=mapping):
            return evaluate(row.call, {**TENSORFLOW, "layer": layer, **names})

    return program


def _module_program(row: Layer) -> Program:
    def program(arrays: Mapping[str, Any]) -> Any:
        names = {**JAX, **_split(arrays)}
        layer = evaluate(row.flax, {**names, "rngs": nnx.Rngs(0)})
        for path, code in row.params.items():
            parameter, value = evaluate(f"layer.{path}", {"layer": layer}), evaluate(code, names)
            if parameter.shape != value.shape:
                raise ValueError(f"expected {path} of shape {parameter.shape}, found {value.shape}")
            parameter[...] = value
        return evaluate(row.flax_call or row.call, {**names, "layer": layer})

    return program


def _of_pair(row: Row, pair: Pair) -> Iterator[str]:
    """What is wrong with one counterpart."""
    jit = not isinstance(row, Operation) or row.jit
    if not jit and not _raises(lambda: jax.jit(pair.jax)(dict(pair.cases["random"])), (TypeError, IndexError)):
        yield f"{pair.what}: expected that it cannot be compiled, found that jax.jit takes it"
    differentiate = row.gradients != "none" and row.values == "same"
    run_jax = jax_runner(pair.jax, differentiate, jit)
    differ = False
    for case, arrays in pair.cases.items():
        expected, actual = run_tensorflow(pair.tensorflow, arrays, differentiate), run_jax(arrays)
        compare = distribution_problem if row.values == "distribution" else difference
        yield from (f"{pair.what}, {case}: {text}" for text in _outputs(expected, actual, compare))
        of_case = list(_gradients(expected, actual))
        differ = differ or bool(of_case)
        if row.gradients == "same":
            yield from (f"{pair.what}, {case}: {text}" for text in of_case)
    if row.gradients == "differ" and not differ:
        yield f"{pair.what}: expected gradients that differ, found that they agree"
    if row.gradients == "none" and not _lacks_gradient(pair):
        yield f"{pair.what}: expected that one side has no gradient, found that both have"


def _raises(action: Callable[[], Any], errors: tuple[type[Exception], ...]) -> bool:
    try:
        action()
    except errors:
        return True
    return False


def _lacks_gradient(pair: Pair) -> bool:
    arrays = pair.cases["random"]
    return _raises(lambda: run_tensorflow(pair.tensorflow, arrays, True), (GradientError,)) or _raises(
        lambda: jax_runner(pair.jax, True, True)(arrays), (ValueError, TypeError, NotImplementedError)
    )


def _outputs(expected: Computed, actual: Computed, compare: Callable[[np.ndarray, np.ndarray], str]) -> Iterator[str]:
    if len(expected.outputs) != len(actual.outputs) or not expected.outputs:
        yield f"expected {len(expected.outputs)} outputs and at least one, found {len(actual.outputs)}"
        return
    for number, (left, right) in enumerate(zip(expected.outputs, actual.outputs, strict=True)):
        if problem := compare(left, right):
            yield f"output {number}: {problem}"


def _gradients(expected: Computed, actual: Computed) -> Iterator[str]:
    if expected.gradients.keys() != actual.gradients.keys():
        yield f"expected gradients of {list(expected.gradients)}, found {list(actual.gradients)}"
        return
    floor = NOISE / GRADIENTS * max(map(_largest, expected.gradients.values()), default=0.0)
    for name, left in expected.gradients.items():
        if problem := difference(left, actual.gradients[name], GRADIENTS, floor):
            yield f"gradient of {name}: {problem}"


def difference(expected: np.ndarray, actual: np.ndarray, bound: float = VALUES, floor: float = 0.0) -> str:
    """How two arrays differ, or nothing.

    Args:
      bound: of the error of floats, relative to the largest value.
    """
    if problem := structure_problem(expected, actual):
        return problem
    if expected.dtype.kind in "biu":
        wrong = int(np.sum(expected != actual))
        return f"{wrong} of {expected.size} elements differ" if wrong else ""
    left, right = _wide(expected), _wide(actual)
    finite = np.isfinite(left) & np.isfinite(right)
    if not np.array_equal(left[~finite], right[~finite], equal_nan=True):
        return "NaN or infinities differ"
    if expected.size and not finite.any():
        return "nothing is finite"
    largest = max(_largest(expected), floor, float(np.finfo(np.float32).tiny))
    error = float(np.max(abs(left[finite] - right[finite]), initial=0)) / largest
    bound = max(bound, float(ml_dtypes.finfo(expected.dtype).eps)) if expected.dtype.itemsize == 2 else bound
    return "" if error <= bound else f"off by {error:.2g} of the largest value"


def _largest(array: np.ndarray) -> float:
    wide = abs(_wide(array))
    return float(np.max(wide[np.isfinite(wide)], initial=0))


def structure_problem(expected: np.ndarray, actual: np.ndarray) -> str:
    """How shapes or dtypes differ, or nothing."""
    if expected.shape != actual.shape:
        return f"expected shape {expected.shape}, found {actual.shape}"
    if str(actual.dtype) not in (str(expected.dtype), NARROWED.get(str(expected.dtype))):
        return f"expected {expected.dtype}, found {actual.dtype}"
    return ""


def _wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def distribution_problem(expected: np.ndarray, actual: np.ndarray) -> str:
    """How the distributions of two samples differ, or nothing."""
    if problem := structure_problem(expected, actual):
        return problem
    left, right = (np.round(_wide(array).ravel(), DIGITS) for array in (expected, actual))
    p = float(stats.ks_2samp(left, right).pvalue)
    return "" if p > ALIKE else f"not of one distribution, p = {p:.1g}"
