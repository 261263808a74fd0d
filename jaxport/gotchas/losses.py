"""Losses in JAX."""

import jax
import jax.numpy as jnp
import optax

from jaxport import losses


def mean_squared_error_not_halved(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return jnp.mean(optax.losses.squared_error(y_pred, y_true))


def naive_mean_squared_error_not_halved(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return jnp.mean(optax.losses.l2_loss(y_pred, y_true))


def l2_loss(x: jax.Array) -> jax.Array:
    return jnp.sum(optax.losses.l2_loss(x))


def naive_l2_loss(x: jax.Array) -> jax.Array:
    return jnp.mean(optax.losses.l2_loss(x))


def categorical_crossentropy_reduction(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return jnp.mean(optax.losses.softmax_cross_entropy(y_pred, jax.nn.softmax(y_true)))


def naive_categorical_crossentropy_reduction(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return optax.losses.softmax_cross_entropy(y_pred, jax.nn.softmax(y_true))


def sample_weight_mean(y_true: jax.Array, y_pred: jax.Array, weights: jax.Array) -> jax.Array:
    return losses.reduce(jnp.mean(jnp.square(y_true - y_pred), axis=-1), weights)


def naive_sample_weight_mean(y_true: jax.Array, y_pred: jax.Array, weights: jax.Array) -> jax.Array:
    return jnp.average(jnp.mean(jnp.square(y_true - y_pred), axis=-1), weights=weights)


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


def binary_crossentropy_clips(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return losses.binary_crossentropy(y_true, y_pred)


def naive_binary_crossentropy_clips(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return -jnp.mean(y_true * jnp.log(y_pred) + (1 - y_true) * jnp.log(1 - y_pred), axis=-1)


def binary_label_smoothing(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    labels = y_true * (1 - 0.125) + 0.125 / 2
    return jnp.mean(optax.losses.sigmoid_binary_cross_entropy(y_pred, labels), axis=-1)


def naive_binary_label_smoothing(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    labels = optax.smooth_labels(y_true, 0.125)
    return jnp.mean(optax.losses.sigmoid_binary_cross_entropy(y_pred, labels), axis=-1)


def categorical_crossentropy_normalises(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return losses.categorical_crossentropy(y_true, y_pred)


def naive_categorical_crossentropy_normalises(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return -jnp.sum(y_true * jnp.log(y_pred), axis=-1)


def sparse_crossentropy_normalises(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return losses.sparse_categorical_crossentropy(y_true, y_pred)


def naive_sparse_crossentropy_normalises(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return -jnp.log(jnp.take_along_axis(y_pred, y_true[:, None], axis=-1)[:, 0])


def crossentropy_of_softmax(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return optax.losses.softmax_cross_entropy(y_pred, jax.nn.softmax(y_true))


def naive_crossentropy_of_softmax(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return -jnp.sum(jax.nn.softmax(y_true) * jnp.log(jnp.clip(jax.nn.softmax(y_pred), 1e-7, 1)), axis=-1)


def softmax_cross_entropy_gradient(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return losses.softmax_cross_entropy(y_true, y_pred)


def naive_softmax_cross_entropy_gradient(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return optax.losses.softmax_cross_entropy(y_pred, y_true)


def weighted_cross_entropy_with_logits(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return losses.weighted_cross_entropy_with_logits(y_true, y_pred, pos_weight=2.0)


def naive_weighted_cross_entropy_with_logits(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return 2 * optax.losses.sigmoid_binary_cross_entropy(y_pred, y_true)


def cosine_loss_sign(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return losses.cosine_similarity(y_true, y_pred)


def naive_cosine_loss_sign(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return optax.losses.cosine_distance(y_pred, y_true)


def kl_divergence_clips(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return losses.kl_divergence(y_true, y_pred)


def naive_kl_divergence_clips(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return optax.losses.kl_divergence(jnp.log(y_pred), y_true)


def poisson_epsilon(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return losses.poisson(y_true, y_pred)


def naive_poisson_epsilon(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return jnp.mean(y_pred - y_true * jnp.log(y_pred), axis=-1)


def percentage_error_at_zero(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return losses.mean_absolute_percentage_error(y_true, y_pred)


def naive_percentage_error_at_zero(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return 100 * jnp.mean(jnp.abs((y_true - y_pred) / y_true), axis=-1)


def logarithmic_error_of_negative(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return losses.mean_squared_logarithmic_error(y_true, y_pred)


def naive_logarithmic_error_of_negative(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return jnp.mean(jnp.square(jnp.log1p(y_pred) - jnp.log1p(y_true)), axis=-1)


def hinge_of_binary_labels(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return losses.hinge(y_true, y_pred)


def naive_hinge_of_binary_labels(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return jnp.mean(optax.losses.hinge_loss(y_pred, y_true), axis=-1)


def categorical_hinge(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return losses.categorical_hinge(jax.nn.one_hot(y_true, 3), y_pred)


def naive_categorical_hinge(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return optax.losses.multiclass_hinge_loss(y_pred, y_true)


def binary_focal_alpha(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return losses.binary_focal_crossentropy(y_true, y_pred, from_logits=True)


def naive_binary_focal_alpha(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return jnp.mean(optax.losses.sigmoid_focal_loss(y_pred, y_true, alpha=0.25), axis=-1)


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


def v1_log_loss(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return jnp.mean(-y_true * jnp.log(y_pred + 1e-7) - (1 - y_true) * jnp.log(1 - y_pred + 1e-7))


def naive_v1_log_loss(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return -jnp.mean(y_true * jnp.log(y_pred) + (1 - y_true) * jnp.log(1 - y_pred))


def huber(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return jnp.mean(optax.losses.huber_loss(y_pred, y_true))


def mean_squared_error(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return jnp.mean(optax.losses.squared_error(y_pred, y_true), axis=-1)


def squared_hinge(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return jnp.mean(jnp.square(optax.losses.hinge_loss(y_pred, y_true)), axis=-1)


def sigmoid_cross_entropy(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return optax.losses.sigmoid_binary_cross_entropy(y_pred, y_true)


def sparse_softmax_cross_entropy(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return optax.losses.softmax_cross_entropy_with_integer_labels(y_pred, y_true)


def categorical_label_smoothing(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return optax.losses.softmax_cross_entropy(y_pred, optax.smooth_labels(jax.nn.one_hot(y_true, 8), 0.125))


def generalized_cross_entropy(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return (1 - jnp.sqrt(jnp.take_along_axis(y_pred, y_true[:, None], axis=-1)[:, 0])) / 0.5


def categorical_focal_crossentropy(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return losses.categorical_focal_crossentropy(y_true, y_pred)
