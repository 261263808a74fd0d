"""Losses in JAX."""

import jax
import jax.numpy as jnp
import optax

from jaxport import losses


def v1_loss_nonzero_weights(y_true: jax.Array, y_pred: jax.Array, weights: jax.Array) -> jax.Array:
    weights = jax.lax.stop_gradient(weights)
    count = jnp.sum(weights != 0).astype(y_pred.dtype)
    return jnp.sum(jnp.square(y_true - y_pred) * weights) / jnp.maximum(count, 1)


def naive_v1_loss_nonzero_weights(y_true: jax.Array, y_pred: jax.Array, weights: jax.Array) -> jax.Array:
    weights = jax.lax.stop_gradient(weights)
    return jnp.mean(jnp.square(y_true - y_pred) * weights)


def masked_loss_mean(y_true: jax.Array, y_pred: jax.Array, mask: jax.Array) -> jax.Array:
    valid = mask & jnp.any(y_pred != 0, axis=-1)
    return losses.reduce(jnp.mean(jnp.square(y_true - y_pred), axis=-1), mask=valid)


def naive_masked_loss_mean(y_true: jax.Array, y_pred: jax.Array, mask: jax.Array) -> jax.Array:
    valid = mask & jnp.any(y_pred != 0, axis=-1)
    return jnp.mean(jnp.where(valid, jnp.mean(jnp.square(y_true - y_pred), axis=-1), 0))


def sparse_crossentropy_ignore_class(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    valid = y_true != -1
    by_label = optax.losses.softmax_cross_entropy_with_integer_labels(y_pred, jnp.where(valid, y_true, 0))
    return losses.reduce(by_label, mask=valid)


def naive_sparse_crossentropy_ignore_class(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    valid = y_true != -1
    by_label = optax.losses.softmax_cross_entropy_with_integer_labels(y_pred, jnp.where(valid, y_true, 0))
    return jnp.mean(jnp.where(valid, by_label, 0))


def binary_label_smoothing(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    labels = y_true * (1 - 0.125) + 0.125 / 2
    return jnp.mean(optax.losses.sigmoid_binary_cross_entropy(y_pred, labels), axis=-1)


def naive_binary_label_smoothing(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    labels = optax.smooth_labels(y_true, 0.125)
    return jnp.mean(optax.losses.sigmoid_binary_cross_entropy(y_pred, labels), axis=-1)


def dice_of_batch(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return losses.dice(y_true, y_pred)


def naive_dice_of_batch(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    overlap = jnp.sum(y_true * y_pred, axis=-1)
    whole = jnp.sum(y_true, axis=-1) + jnp.sum(y_pred, axis=-1)
    return jnp.mean(1 - (2 * overlap + 1) / (whole + 1))


def tversky_alpha(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return losses.tversky(y_true, y_pred, alpha=0.25, beta=0.75)


def naive_tversky_alpha(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    overlap = jnp.sum(y_true * y_pred)
    misses, alarms = jnp.sum(y_true * (1 - y_pred)), jnp.sum((1 - y_true) * y_pred)
    return 1 - overlap / (overlap + 0.25 * alarms + 0.75 * misses)


def ctc_lengths(labels: jax.Array, logits: jax.Array, label_length: jax.Array, logit_length: jax.Array) -> jax.Array:
    return losses.ctc_loss(labels, 8 * jnp.tanh(logits), label_length, logit_length)


def naive_ctc_lengths(
    labels: jax.Array, logits: jax.Array, label_length: jax.Array, logit_length: jax.Array
) -> jax.Array:
    return optax.losses.ctc_loss(8 * jnp.tanh(logits), jnp.zeros(logits.shape[:2]), labels, jnp.zeros(labels.shape))
