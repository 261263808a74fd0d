"""Numbers that code of the user's own draws: in place of TensorFlow's generators, a kernel that is handed over.

A trace holds each draw as one operation, whatever seed it has; a judged model draws by place, as the port does.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tf_reference import _same_masks

Kernel = Callable[[str, Any, tf.DType], tf.Tensor]
"""A distribution, a shape and a type -> numbers of mean 0 and variance 1, or between 0 and 1."""

_STATELESS = {
    "normal": "stateless_normal",
    "uniform": "stateless_uniform",
    "truncated_normal": "stateless_truncated_normal",
}
"""By distribution, what Keras calls with a seed; TensorFlow's own has the name of the distribution."""

_OPERATIONS = {
    "normal": tf.raw_ops.RandomStandardNormal,
    "uniform": tf.raw_ops.RandomUniform,
    "truncated_normal": tf.raw_ops.TruncatedNormal,
}


@contextmanager
def drawn_as_operations(wider: Mapping[str, str]) -> Iterator[None]:
    """Inside, each draw is one operation with a shape, and leaves no seed behind.

    Args:
      wider: types in place of others.
    """

    def kernel(distribution: str, shape: Any, dtype: tf.DType) -> tf.Tensor:
        return _OPERATIONS[distribution](shape=shape, dtype=dtype)

    with _draws_by(kernel, wider):
        yield


@contextmanager
def drawn_by_place(dtype: str) -> Iterator[None]:
    """Inside, a draw gives what a hash of each place says.

    Args:
      dtype: that the model is judged in: of float64, nothing is drawn in float32.
    """
    with _draws_by(_same_masks.numbers, {"float32": "float64"} if dtype == "float64" else {}):
        yield


@contextmanager
def _draws_by(kernel: Kernel, wider: Mapping[str, str]) -> Iterator[None]:
    # Keras hands an int32 seed on as it is: the draws of a SeedGenerator are those with this one.
    seed = tf.constant([0, 0], tf.int32)
    with ExitStack() as stack:
        _replace(stack, keras.random.SeedGenerator, "next", lambda generator, *positional, **keywords: seed)
        for distribution, stateless in _STATELESS.items():
            for name, wanted_seed in ((distribution, None), (stateless, seed)):
                original = getattr(tf.random, name)
                _replace(stack, tf.random, name, _drawing(original, distribution, kernel, wider, wanted_seed))
        yield


def _replace(stack: ExitStack, owner: Any, name: str, value: Any) -> None:
    """Set an attribute until the stack ends."""
    stack.callback(setattr, owner, name, getattr(owner, name))
    setattr(owner, name, value)


def _drawing(
    original: Callable[..., Any],
    distribution: str,
    kernel: Kernel,
    wider: Mapping[str, str],
    wanted_seed: tf.Tensor | None,
) -> Callable[..., Any]:
    """A function of tf.random whose floats a kernel draws; of one that takes a seed, with this seed alone."""
    signature = inspect.signature(original)

    @wraps(original)
    def draw(*positional: Any, **keywords: Any) -> Any:
        arguments = signature.bind(*positional, **keywords)
        arguments.apply_defaults()
        values = arguments.arguments
        dtype = tf.as_dtype(values["dtype"])
        if not dtype.is_floating or (wanted_seed is not None and values["seed"] is not wanted_seed):
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
