"""A program of each framework run on given arrays, with its gradients."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import jax
import jax.numpy as jnp
import numpy as np
import tensorflow as tf

Arrays = Mapping[str, np.ndarray]
Program = Callable[[Mapping[str, Any]], Any]
"""The outputs of one side, from its arrays."""


@dataclass(frozen=True)
class Computed:
    """What a side makes of a case: its outputs, and the gradients by input; none of either where it has none."""

    outputs: list[np.ndarray]
    gradients: dict[str, np.ndarray]


class GradientError(Exception):
    """A side that computes the outputs, but has no gradient."""


def _cotangent(shape: tuple[int, ...], turn: int) -> np.ndarray:
    return np.random.default_rng([turn, *shape]).uniform(0.5, 1.5, shape).astype(np.float32)


def is_float(array: Any) -> bool:
    return np.dtype(array.dtype).kind in "fc" or array.dtype == jnp.bfloat16


def tensors(arrays: Arrays) -> dict[str, tf.Tensor]:
    return {name: tf.constant(array) for name, array in arrays.items()}


def run_tensorflow(program: Program, arrays: Arrays, differentiate: bool) -> Computed:
    """A program's outputs, eagerly, and the gradients of a weighted sum of them."""
    given = tensors(arrays)
    floats = {name: tensor for name, tensor in given.items() if is_float(arrays[name])}
    with tf.GradientTape() as tape:
        tape.watch(list(floats.values()))
        leaves = [tf.convert_to_tensor(leaf) for leaf in tf.nest.flatten(program(given))]
        total = _tensorflow_total(leaves) if differentiate and floats else None
    outputs = [leaf.numpy() for leaf in leaves]
    if total is None:
        return Computed(outputs, {})
    try:
        gradients = tape.gradient(total, floats, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    except LookupError as error:
        raise GradientError(f"no gradient in TensorFlow: {error}") from error
    return Computed(outputs, {name: tf.convert_to_tensor(value).numpy() for name, value in gradients.items()})


def _tensorflow_total(leaves: Sequence[tf.Tensor]) -> tf.Tensor | None:
    parts: list[tf.Tensor] = []
    for turn, leaf in enumerate(leaves):
        if leaf.dtype.is_complex:
            parts += [_tensorflow_sum(tf.math.real(leaf), turn), _tensorflow_sum(tf.math.imag(leaf), -turn - 1 & 0xFF)]
        elif leaf.dtype.is_floating:
            parts.append(_tensorflow_sum(leaf, turn))
    return tf.add_n(parts) if parts else None


def _tensorflow_sum(leaf: tf.Tensor, turn: int) -> tf.Tensor:
    return tf.reduce_sum(tf.cast(leaf, tf.float32) * _cotangent(tuple(leaf.shape), turn))


def jax_runner(program: Program, differentiate: bool, jit: bool) -> Callable[[Arrays], Computed]:
    """As `run_tensorflow` in JAX, compiled once for all cases."""

    def total(floats: Mapping[str, Any], others: Mapping[str, Any]) -> tuple[Any, list[Any]]:
        leaves = [jnp.asarray(leaf) for leaf in jax.tree.leaves(program({**floats, **others}))]
        return _jax_total(leaves), leaves

    def run(arrays: Arrays) -> Computed:
        floats = {name: jnp.asarray(array) for name, array in arrays.items() if is_float(array)}
        others = {name: jnp.asarray(array) for name, array in arrays.items() if name not in floats}
        if not differentiate or not floats:
            return Computed([np.asarray(leaf) for leaf in values(floats, others)], {})
        (_, leaves), by_name = gradients(floats, others)
        has_floats = any(is_float(leaf) for leaf in leaves)
        taken = {name: np.conj(value) for name, value in by_name.items()} if has_floats else {}
        return Computed([np.asarray(leaf) for leaf in leaves], {n: np.asarray(value) for n, value in taken.items()})

    compiled: Callable[..., Any] = jax.jit if jit else lambda function: function
    values = compiled(lambda floats, others: total(floats, others)[1])
    gradients = compiled(jax.value_and_grad(total, has_aux=True))
    return run


def _jax_total(leaves: Sequence[Any]) -> Any:
    parts = [jnp.zeros(())]
    for turn, leaf in enumerate(leaves):
        if jnp.iscomplexobj(leaf):
            parts += [_jax_sum(leaf.real, turn), _jax_sum(leaf.imag, -turn - 1 & 0xFF)]
        elif is_float(leaf):
            parts.append(_jax_sum(leaf, turn))
    return sum(parts)


def _jax_sum(leaf: Any, turn: int) -> Any:
    return jnp.sum(leaf.astype(jnp.float32) * _cotangent(leaf.shape, turn))
