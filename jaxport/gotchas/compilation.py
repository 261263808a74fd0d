"""In JAX what XLA makes of such arguments."""

import jax
import jax.numpy as jnp
import optax

from jaxport import indexing


def sparse_label_beyond(labels: jax.Array, logits: jax.Array) -> jax.Array:
    losses = optax.losses.softmax_cross_entropy_with_integer_labels(logits, labels)
    return losses * jnp.where((labels >= 0) & (labels < logits.shape[-1]), 1, jnp.nan)


def naive_sparse_label_beyond(labels: jax.Array, logits: jax.Array) -> jax.Array:
    return optax.losses.softmax_cross_entropy_with_integer_labels(logits, labels)


def in_top_k_beyond(targets: jax.Array, predictions: jax.Array) -> jax.Array:
    beyond = (targets < 0) | (targets >= predictions.shape[-1])
    own = jnp.where(beyond, 0, jnp.take_along_axis(predictions, targets[:, None], axis=-1)[:, 0])
    return (jnp.sum(predictions > own[:, None], axis=-1) < 2) & jnp.isfinite(own)


def naive_in_top_k_beyond(targets: jax.Array, predictions: jax.Array) -> jax.Array:
    _, best = jax.lax.top_k(predictions, 2)
    return jnp.any(best == targets[:, None], axis=-1)


def confusion_matrix_beyond(labels: jax.Array, predictions: jax.Array) -> jax.Array:
    counts = jnp.zeros((4, 4), jnp.int32)
    return counts.at[labels, predictions].add(1, mode="drop", wrap_negative_indices=False)


def naive_confusion_matrix_beyond(labels: jax.Array, predictions: jax.Array) -> jax.Array:
    return jnp.zeros((4, 4), jnp.int32).at[labels, predictions].add(1)


def tensor_array_write_beyond(x: jax.Array, value: jax.Array, index: jax.Array) -> jax.Array:
    x, value = jax.lax.stop_gradient((x, value))
    return x.at[jnp.clip(index, 0, len(x) - 1)].set(value)


def naive_tensor_array_write_beyond(x: jax.Array, value: jax.Array, index: jax.Array) -> jax.Array:
    x, value = jax.lax.stop_gradient((x, value))
    return x.at[index].set(value)


def reverse_sequence_beyond(x: jax.Array, lengths: jax.Array) -> jax.Array:
    steps = jnp.arange(x.shape[1])
    places = jnp.where(steps < lengths[:, None], lengths[:, None] - 1 - steps, steps)
    return jnp.take_along_axis(jax.lax.stop_gradient(x), jnp.minimum(places, x.shape[1] - 1), axis=1)


def naive_reverse_sequence_beyond(x: jax.Array, lengths: jax.Array) -> jax.Array:
    return indexing.reverse_sequence(jax.lax.stop_gradient(x), jnp.minimum(lengths, x.shape[1]))


def segment_sum_beyond(x: jax.Array, segments: jax.Array) -> jax.Array:
    # a value beyond adds to the last segment what it takes off again, and leaves its gradient
    beyond = (segments >= 5)[:, None]
    values = jnp.where(beyond, x - jax.lax.stop_gradient(x), x)
    return jax.ops.segment_sum(values, jnp.minimum(segments, 4), 5)


def naive_segment_sum_beyond(x: jax.Array, segments: jax.Array) -> jax.Array:
    return jax.ops.segment_sum(x, segments, 5)


def floordiv_by_zero(x: jax.Array, y: jax.Array) -> jax.Array:
    of_zero = jnp.where(x < 0, -2, -1)
    return jnp.where(y == 0, of_zero, x // jnp.where(y == 0, 1, y))


def naive_floordiv_by_zero(x: jax.Array, y: jax.Array) -> jax.Array:
    return x // y


def integer_power_negative(x: jax.Array, y: jax.Array) -> jax.Array:
    of_one = jnp.where(y % 2 == 0, jnp.abs(x), x)
    return jnp.where(y < 0, jnp.where(jnp.abs(x) == 1, of_one, 0), x ** jnp.maximum(y, 0))


def naive_integer_power_negative(x: jax.Array, y: jax.Array) -> jax.Array:
    return x**y
