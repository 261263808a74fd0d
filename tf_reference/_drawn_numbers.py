"""Numbers that code of the user's own draws: in place of TensorFlow's generators, a kernel that is handed over.

A trace holds each draw as one operation, whatever seed it has; a judged model draws by place, as the port does.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tf_reference import _same_masks
from workloads.protocol.framework import Unsupported

Kernel = Callable[[str, Any, tf.DType], tf.Tensor]
"""A distribution, a shape and a type -> numbers of mean 0 and variance 1, or between 0 and 1."""

_STATELESS = {
    "normal": "stateless_normal",
    "uniform": "stateless_uniform",
    "truncated_normal": "stateless_truncated_normal",
}
"""By distribution, what Keras calls with a seed; TensorFlow's own has the name of the distribution."""

_OPERATIONS = {"normal": "RandomStandardNormal", "uniform": "RandomUniform", "truncated_normal": "TruncatedNormal"}


_DRAW = "jaxport_draw"
"""How operations are named that stand for draws."""


@contextmanager
def drawn_as_operations(wider: Mapping[str, str]) -> Iterator[None]:
    """Trace each draw in the block as one operation with a shape, without a seed.

    Raises:
      Unsupported: a seed is used for more than floats.
    """

    def kernel(distribution: str, shape: Any, dtype: tf.DType) -> tf.Tensor:
        return getattr(tf.raw_ops, _OPERATIONS[distribution])(shape=shape, dtype=dtype, name=_DRAW)

    with _draws_by(kernel, wider, lambda: tf.constant([0, 0], tf.int32)) as seeds:
        yield
        if any(seed.consumers() for seed in seeds):
            raise Unsupported("a seed in it gives more than floats of a normal or uniform distribution")


@contextmanager
def drawn_for_shapes() -> Iterator[None]:
    """Run a call in the block for its shapes alone, in a graph that is dropped: its seeds do not count as draws."""
    with ExitStack() as stack:
        replace_until_end(stack, keras.random.SeedGenerator, "next", lambda *_, **__: tf.constant([0, 0], tf.int32))
        yield


def check_draws(graph: tf.Graph) -> None:
    """Check that all floats in a graph are drawn by functions that are replaced while a model is judged.

    Args:
      graph: of a call that was traced by `drawn_as_operations`.

    Raises:
      Unsupported: another function draws.
    """
    kinds = _OPERATIONS.values()
    if any(operation.type in kinds and _DRAW not in operation.name for operation in graph.get_operations()):
        raise Unsupported("it draws by another function than those of tf.random and keras.random: call one of these")


@contextmanager
def drawn_by_place(dtype: str) -> Iterator[None]:
    """Replace draws in the block by a hash of each position.

    Args:
      dtype: that the model is judged in: of float64, nothing is drawn in float32.
    """
    # What else reads a seed stays random: a port in which it is a constant differs.
    uniform = tf.random.uniform
    with _draws_by(
        _same_masks.numbers,
        {"float32": "float64"} if dtype == "float64" else {},
        lambda: uniform((2,), 0, 2**31 - 1, tf.int32),
    ):
        yield


@contextmanager
def _draws_by(
    kernel: Kernel, wider: Mapping[str, str], make_seed: Callable[[], tf.Tensor]
) -> Iterator[list[tf.Tensor]]:
    """Draw floats by a kernel in the block; yields the seeds of a SeedGenerator, which identify its draws.

    Args:
      make_seed: i32[2], in place of the next seed of any SeedGenerator.
    """
    seeds: list[tf.Tensor] = []

    def next_seed(generator: Any, *positional: Any, **keywords: Any) -> tf.Tensor:
        # Keras hands an int32 seed on as it is: the draws of a SeedGenerator are those with one of these.
        seeds.append(make_seed())
        return seeds[-1]

    with ExitStack() as stack:
        replace_until_end(stack, keras.random.SeedGenerator, "next", next_seed)
        for distribution, stateless in _STATELESS.items():
            for name, own_seeds in ((distribution, None), (stateless, seeds)):
                original = getattr(tf.random, name)
                replace_until_end(stack, tf.random, name, _drawing(original, distribution, kernel, wider, own_seeds))
        yield seeds


def replace_until_end(stack: ExitStack, owner: Any, name: str, value: Any) -> None:
    """Set an attribute until a stack of contexts ends."""
    stack.callback(setattr, owner, name, getattr(owner, name))
    setattr(owner, name, value)


def _drawing(
    original: Callable[..., Any],
    distribution: str,
    kernel: Kernel,
    wider: Mapping[str, str],
    own_seeds: Sequence[tf.Tensor] | None,
) -> Callable[..., Any]:
    """A function of tf.random whose floats a kernel draws; of one that takes a seed, with these seeds alone."""
    signature = inspect.signature(original)

    @wraps(original)
    def draw(*positional: Any, **keywords: Any) -> Any:
        arguments = signature.bind(*positional, **keywords)
        arguments.apply_defaults()
        values = arguments.arguments
        dtype = tf.as_dtype(values["dtype"])
        is_foreign = own_seeds is not None and all(values["seed"] is not seed for seed in own_seeds)
        if dtype not in (tf.float32, tf.float64) or is_foreign:
            return original(*positional, **keywords)
        numbers = kernel(distribution, _shape(values["shape"]), tf.as_dtype(wider.get(dtype.name, dtype.name)))
        if distribution == "uniform":
            low, high = values["minval"], 1.0 if values["maxval"] is None else values["maxval"]
            return _affine(numbers, high - low, low)
        return _affine(numbers, values["stddev"], values["mean"])

    return draw


def _shape(shape: Any) -> tf.Tensor:
    """A shape as an operation takes it: sizes may be tensors."""
    sizes = shape.as_list() if isinstance(shape, tf.TensorShape) else shape
    return tf.cast(tf.convert_to_tensor(sizes), tf.int32)


def _affine(numbers: tf.Tensor, factor: Any, summand: Any) -> tf.Tensor:
    """Numbers times a factor, and a summand: no operation for what changes nothing."""
    is_one, is_zero = (_is(value, number) for value, number in ((factor, 1), (summand, 0)))
    numbers = numbers if is_one else numbers * tf.cast(factor, numbers.dtype)
    return numbers if is_zero else numbers + tf.cast(summand, numbers.dtype)


def _is(value: Any, number: int) -> bool:
    """Whether a number or a scalar tensor is known to be a number."""
    constant = tf.get_static_value(value) if tf.is_tensor(value) else value
    return constant is not None and np.ndim(constant) == 0 and bool(constant == number)
