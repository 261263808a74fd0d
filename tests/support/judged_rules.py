"""One operation as a function of TensorFlow, written in jax.numpy, and both computed in float64: values and gradients.

An input of an `Example` that is a text such as "f32[2,3]" is an argument; all else is a constant.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import tensorflow as tf
from written_rows import drawn, run

from compare.inputs.functions import model_inputs
from compare.porting.functions.function_source import WrittenFunction, function_source
from tf_reference import _function_graph, _private

_QUICK = {"xla_backend_optimization_level": 0}
"""Most of the time would be LLVM's."""
_WIDE = {"f32": "f64", "c64": "c128"}
BOUND = 1e-10
"""Of the largest value, in float64: what XLA's and Eigen's sums and functions differ by is less."""
ROUNDING = 1e-5
"""The same in other types."""


@dataclass(frozen=True, eq=False)
class Example:
    """One call of an operation.

    Attributes:
      operation: its name in `tf.raw_ops`.
      given: what it takes, in order: texts of arguments, constants, or lists of these.
      attributes: of it.
      left: a part of the reason why it is a place; "" where it is written.
      kinks: whether it is computed on whole numbers, ties and zeros too.
      follows: whether what is written from float32 is judged in float64; otherwise it is as it is written.
      gradients: whether those are judged, where TensorFlow has some.
      results: how many of its results are compared; 0 compares all.
    """

    operation: str
    given: tuple[Any, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    left: str = ""
    kinks: bool = True
    follows: bool = True
    gradients: bool = True
    results: int = 0

    @property
    def label(self) -> str:
        """What it is called among tests."""
        return f"{self.operation}({', '.join(map(str, self.given))}, {dict(self.attributes)})"

    @property
    def inputs(self) -> list[str]:
        """Its arguments, as `jaxport init --input` takes them."""
        return [f"x{at}={text}" for at, text in enumerate(_texts(self.given))]

    @property
    def widened(self) -> list[str]:
        """Its arguments in float64."""
        return [_widened(each) for each in self.inputs] if self.follows else self.inputs

    @property
    def unsized(self) -> list[str]:
        """Its arguments with sizes that are not known."""
        return [_unsized(at, text) for at, text in enumerate(self.inputs)]


def of(
    operation: str,
    *given: Any,
    left: str = "",
    kinks: bool = True,
    follows: bool = True,
    gradients: bool = True,
    results: int = 0,
    **attributes: Any,
) -> Example:
    """An example: `of("Cumsum", "f32[2,3]", 1, exclusive=True)`."""
    return Example(operation, given, attributes, left, kinks, follows, gradients, results)


def called(example: Example) -> Callable[..., Any]:
    """The function of TensorFlow that makes the operation alone."""
    operation = getattr(tf.raw_ops, example.operation)
    names = [*inspect.signature(operation).parameters]
    taken = len(_private.operation_definition(example.operation).input_arg)

    def function(*arguments: tf.Tensor) -> Any:
        rest, dtype = (
            iter(arguments),
            next((each.dtype for each in arguments if each.dtype.is_floating or each.dtype.is_complex), tf.float32),
        )
        given = {name: _filled(each, rest, dtype) for name, each in zip(names[:taken], example.given, strict=True)}
        made = operation(**given, **example.attributes)
        return tuple(made)[: example.results or None] if isinstance(made, list | tuple) else made

    return function


def written(example: Example, inputs: Sequence[str] | None = None) -> WrittenFunction:
    """The operation, written."""
    return function_source(*_graph(example, tuple(example.inputs if inputs is None else inputs)))


@functools.cache
def _graph(example: Example, inputs: tuple[str, ...]) -> Any:
    return _function_graph.of_function(called(example), model_inputs(inputs), "f")


def departures(example: Example, made: WrittenFunction, gradients: bool = True) -> Iterator[str]:
    """Where what is written computes something else than TensorFlow, in words."""
    port = run(made)
    for kinks in (False, True) if example.kinks else (False,):
        with jax.enable_x64(True):
            yield from _departures(port, _arrays(example, kinks), _expected(example, kinks), gradients)


def _arrays(example: Example, kinks: bool) -> list[np.ndarray]:
    return [_whole(each) if kinks else each for each in drawn(example.widened)]


@dataclass(frozen=True)
class _Expected:
    """What TensorFlow computes: results, what each is multiplied by in the loss, and gradients of that."""

    results: list[np.ndarray]
    weights: list[np.ndarray | None]
    gradients: list[np.ndarray]


@functools.cache
def _expected(example: Example, kinks: bool) -> _Expected:
    function, arrays = called(example), _arrays(example, kinks)
    tensors = [tf.constant(each) for each in arrays]
    floats = [tensors[at] for at in _floats(arrays)]
    rng = np.random.default_rng(1)
    with tf.GradientTape() as tape:
        tape.watch(floats)
        results = [tf.convert_to_tensor(each) for each in tf.nest.flatten(function(*tensors))]
        smooth = [each.dtype.is_floating or each.dtype.is_complex for each in results]
        weights = [
            rng.standard_normal(each.shape) if is_smooth else None
            for each, is_smooth in zip(results, smooth, strict=True)
        ]
        loss = sum(_sum(each, w) for each, w in zip(results, weights, strict=True) if w is not None)
    found: list[np.ndarray] = []
    if example.gradients and floats and any(smooth):
        with contextlib.suppress(LookupError):  # TensorFlow has none
            found = [
                tf.convert_to_tensor(each).numpy() for each in tape.gradient(loss, floats, unconnected_gradients="zero")
            ]
    return _Expected([each.numpy() for each in results], weights, found)


def _floats(arrays: Sequence[np.ndarray]) -> list[int]:
    return [at for at, each in enumerate(arrays) if each.dtype.kind in "fc"]


def has_gradient(example: Example) -> bool:
    """Whether TensorFlow has gradients of it that are not zero, and they are judged."""
    return any(np.nan_to_num(each).any() for each in _expected(example, kinks=False).gradients)


def _departures(
    port: Callable[..., Any], arrays: Sequence[np.ndarray], expected: _Expected, gradients: bool
) -> Iterator[str]:
    floats = _floats(arrays)
    given = [jnp.asarray(each) for each in arrays]

    def total(*chosen: Any) -> tuple[Any, list[Any]]:
        every = [chosen[floats.index(at)] if at in floats else each for at, each in enumerate(given)]
        leaves = jax.tree.leaves(port(*every))
        parts = zip(leaves, expected.weights, strict=True)
        return sum(jnp.sum(jnp.real(each) * w) for each, w in parts if w is not None), leaves

    chosen, found = [given[at] for at in floats], []
    if gradients and expected.gradients:
        function = jax.grad(total, tuple(range(len(floats))), has_aux=True)
        found, theirs = jax.jit(function, compiler_options=_QUICK)(*chosen)
    else:
        theirs = jax.tree.leaves(jax.jit(port, compiler_options=_QUICK)(*given))
    for at, (a, b) in enumerate(zip(expected.results, theirs, strict=True)):
        yield from difference(f"result {at}", a, np.asarray(b))
    for at, a, b in zip(floats, expected.gradients, found, strict=False):
        # TensorFlow's gradient by a complex argument is the conjugate of JAX's.
        yield from difference(f"gradient {at}", a, np.conj(np.asarray(b)))


def _sum(tensor: tf.Tensor, weights: np.ndarray) -> tf.Tensor:
    return tf.reduce_sum(tf.cast(tf.math.real(tensor), tf.float64) * weights)


def difference(what: str, a: np.ndarray, b: np.ndarray) -> Iterator[str]:
    """How b departs from a, in words."""
    if a.shape != b.shape or a.dtype != b.dtype:
        yield f"{what}: {b.dtype}{b.shape}, and not {a.dtype}{a.shape}"
    elif a.dtype.kind not in "fcV":
        if (a != b).any():
            yield f"{what}: {b.tolist()}, and not {a.tolist()}"
    else:
        exact = a.dtype in (np.float64, np.complex128)
        wide = np.complex128 if a.dtype.kind == "c" else np.float64
        a, b = a.astype(wide), b.astype(wide)
        if (
            not (np.isnan(a) == np.isnan(b)).all()
            or not (a[np.isinf(a)] == b[np.isinf(a)]).all()
            or (np.isinf(b) & ~np.isinf(a)).any()
        ):
            yield f"{what}: {b.tolist()}, and not {a.tolist()}: not finite elsewhere"
            return
        finite = np.isfinite(a)
        scale = max(float(np.abs(a[finite]).max(initial=0.0)), 1e-3)
        with np.errstate(over="ignore"):
            error = float(np.abs(a[finite] - b[finite]).max(initial=0.0)) / scale
        if error > (BOUND if exact else ROUNDING):
            yield f"{what}: {error:.1e} of the largest value"


def _texts(given: Any) -> Iterator[str]:
    for each in given:
        if isinstance(each, str):
            yield each
        elif isinstance(each, list):
            yield from _texts(each)


def _filled(value: Any, rest: Iterator[tf.Tensor], dtype: tf.DType) -> Any:
    if isinstance(value, str):
        return next(rest)
    if isinstance(value, list) and any(isinstance(each, str) for each in value):
        return [_filled(each, rest, dtype) for each in value]
    if isinstance(value, np.ndarray):
        return value
    return tf.constant(value, dtype) if np.asarray(value).dtype.kind == "f" else value


def _widened(text: str) -> str:
    for narrow, wide in _WIDE.items():
        text = text.replace(f"={narrow}[", f"={wide}[")
    return text


def _unsized(at: int, text: str) -> str:
    head, _, rest = text.partition("[")
    sizes, _, behind = rest.partition("]")
    names = [f"d{at}_{k}" for k, each in enumerate(sizes.split(",")) if each]
    return f"{head}[{','.join(names)}]{behind}"


def _whole(array: np.ndarray) -> np.ndarray:
    # No negative zeros: whether those are told apart, TensorFlow's kernels and XLA do not agree on.
    return np.round(array) + 0.0 if array.dtype.kind in "fc" else array
