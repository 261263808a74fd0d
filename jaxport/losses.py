"""Losses as Keras and TensorFlow compute them, whose clipping, normalising and averaging differ from optax's.

The arguments are in Keras' order: what is wanted, then what is predicted.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax

from jaxport.elementwise import absolute, clip_by_value, maximum
from jaxport.normalization import unit_normalize

SMALL = 1e-7
"""keras.config.epsilon()."""


def reduce(losses: jax.Array, sample_weight: jax.Array | None = None, mask: jax.Array | None = None) -> jax.Array:
    """The mean of losses as keras.losses.Loss takes it: the sum of the weighted ones over their number.

    The weights' sum does not count: a batch with small weights has a small loss. What is masked is not counted.

    Args:
      losses: floats of any shape.
      sample_weight: weights in the shape of the losses.
      mask: bool, of the losses' shape, or of its first axes; True is kept.
    """
    weighted_losses = losses if sample_weight is None else losses * sample_weight
    if mask is None:
        return jnp.mean(weighted_losses)
    mask = jnp.broadcast_to(jnp.expand_dims(mask, range(mask.ndim, losses.ndim)), losses.shape)
    count = jnp.sum(mask)
    return jnp.sum(jnp.where(mask, weighted_losses, 0)) / jnp.maximum(count, 1).astype(losses.dtype)


def _probabilities(y_pred: jax.Array) -> jax.Array:
    return clip_by_value(y_pred, SMALL, 1 - SMALL)


def binary_crossentropy(y_true: jax.Array, y_pred: jax.Array, label_smoothing: float = 0.0) -> jax.Array:
    """keras.losses.binary_crossentropy of probabilities, clipped to [1e-7, 1 - 1e-7]: the mean over the last axis.

    Args:
      y_true: [..., n], between 0 and 1.
      y_pred: [..., n], probabilities.
      label_smoothing: the share of the labels that goes to one half.
    """
    y_true, y_pred = y_true * (1 - label_smoothing) + 0.5 * label_smoothing, _probabilities(y_pred)
    return -jnp.mean(y_true * jnp.log(y_pred) + (1 - y_true) * jnp.log(1 - y_pred), axis=-1)


def categorical_crossentropy(y_true: jax.Array, y_pred: jax.Array, axis: int = -1) -> jax.Array:
    """keras.losses.categorical_crossentropy of probabilities, which are divided by their sum and clipped.

    Args:
      y_true: floats, of y_pred's shape.
      y_pred: probabilities.
      axis: the axis of the classes.
    """
    shares = _probabilities(y_pred / jnp.sum(y_pred, axis, keepdims=True))
    return -jnp.sum(y_true * jnp.log(shares), axis)


def sparse_categorical_crossentropy(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    """keras.losses.sparse_categorical_crossentropy of probabilities: clipped, then divided by their sum.

    Args:
      y_true: integers [...], classes.
      y_pred: [..., classes], probabilities.
    """
    return optax.softmax_cross_entropy_with_integer_labels(jnp.log(_probabilities(y_pred)), y_true)


def categorical_focal_crossentropy(
    y_true: jax.Array, y_pred: jax.Array, alpha: float = 0.25, gamma: float = 2.0, axis: int = -1
) -> jax.Array:
    """keras.losses.categorical_focal_crossentropy of probabilities.

    Args:
      y_true: floats, of y_pred's shape.
      y_pred: probabilities.
      alpha: factor of the loss.
      gamma: exponent of what is missing from certainty.
      axis: the axis of the classes.
    """
    shares = _probabilities(y_pred / jnp.sum(y_pred, axis, keepdims=True))
    return jnp.sum(-y_true * jnp.log(shares) * jnp.power(1 - shares, gamma) * alpha, axis)


def binary_focal_crossentropy(
    y_true: jax.Array, y_pred: jax.Array, gamma: float = 2.0, alpha: float | None = None, from_logits: bool = False
) -> jax.Array:
    """keras.losses.binary_focal_crossentropy: the mean over the last axis.

    Args:
      y_true: [..., n], between 0 and 1.
      y_pred: [..., n], probabilities, which are clipped, or logits, which are not.
      gamma: exponent of what is missing from certainty.
      alpha: weight of the positive class, one minus that of the negative one; None weighs both the same.
      from_logits: whether y_pred are logits, not probabilities.
    """
    if from_logits:
        losses = optax.losses.sigmoid_binary_cross_entropy(y_pred, y_true)
        y_pred = jax.nn.sigmoid(y_pred)
    else:
        probabilities = _probabilities(y_pred)
        losses = -(y_true * jnp.log(probabilities) + (1 - y_true) * jnp.log(1 - probabilities))
    certain = y_true * y_pred + (1 - y_true) * (1 - y_pred)
    losses = jnp.power(1 - certain, gamma) * losses
    if alpha is not None:
        losses = (y_true * alpha + (1 - y_true) * (1 - alpha)) * losses
    return jnp.mean(losses, axis=-1)


def kl_divergence(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    """keras.losses.kl_divergence: both are clipped to [1e-7, 1], the sum is over the last axis.

    Args:
      y_true: [..., n], probabilities.
      y_pred: [..., n], probabilities.
    """
    y_true, y_pred = clip_by_value(y_true, SMALL, 1), clip_by_value(y_pred, SMALL, 1)
    return jnp.sum(y_true * jnp.log(y_true / y_pred), axis=-1)


def poisson(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    """keras.losses.poisson: 1e-7 is added to what the logarithm takes, the mean is over the last axis.

    Args:
      y_true: [..., n], counts.
      y_pred: [..., n], rates.
    """
    return jnp.mean(y_pred - y_true * jnp.log(y_pred + SMALL), axis=-1)


def mean_absolute_percentage_error(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    """keras.losses.mean_absolute_percentage_error, relative to at least 1e-7: the mean over the last axis.

    Args:
      y_true: [..., n].
      y_pred: [..., n].
    """
    return 100 * jnp.mean(absolute((y_true - y_pred) / maximum(absolute(y_true), SMALL)), axis=-1)


def mean_squared_logarithmic_error(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    """keras.losses.mean_squared_logarithmic_error, of values raised to 1e-7: the mean over the last axis.

    Args:
      y_true: [..., n].
      y_pred: [..., n].
    """
    log_predictions, log_targets = (jnp.log(maximum(values, SMALL) + 1) for values in (y_pred, y_true))
    return jnp.mean(jnp.square(log_predictions - log_targets), axis=-1)


def hinge(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    """keras.losses.hinge, which takes labels that all are 0 and 1 for -1 and 1: the mean over the last axis.

    Args:
      y_true: [..., n], -1 and 1, or 0 and 1.
      y_pred: [..., n].
    """
    binary = jnp.all((y_true == 0) | (y_true == 1))
    signs = jnp.where(binary, 2 * y_true - 1, y_true).astype(y_pred.dtype)
    return jnp.mean(maximum(1 - signs * y_pred, 0), axis=-1)


def categorical_hinge(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    """keras.losses.categorical_hinge over the last axis, where the true class competes with a score of 0.

    Args:
      y_true: [..., classes], 0 and 1.
      y_pred: [..., classes], scores.
    """
    rival = jnp.max((1 - y_true) * y_pred, axis=-1)
    return maximum(rival - jnp.sum(y_true * y_pred, axis=-1) + 1, 0)


def cosine_similarity(y_true: jax.Array, y_pred: jax.Array, axis: int = -1) -> jax.Array:
    """keras.losses.cosine_similarity: minus the cosine, 0 where one of both is 0.

    Args:
      y_true: floats.
      y_pred: floats, of y_true's shape.
      axis: along which the vectors lie.
    """
    return -jnp.sum(unit_normalize(y_true, axis, SMALL) * unit_normalize(y_pred, axis, SMALL), axis)


def dice(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    """keras.losses.dice: one over the whole batch, with 1e-7 added to the denominator alone.

    Args:
      y_true: floats of any shape.
      y_pred: floats of that shape.
    """
    return 1 - 2 * jnp.sum(y_true * y_pred) / (jnp.sum(y_true) + jnp.sum(y_pred) + SMALL)


def tversky(y_true: jax.Array, y_pred: jax.Array, alpha: float = 0.5, beta: float = 0.5) -> jax.Array:
    """keras.losses.tversky over the whole batch, where alpha weighs what was missed and beta false alarms.

    Args:
      y_true: floats of any shape.
      y_pred: floats of that shape.
      alpha: weight of the false negatives: Keras calls them false positives.
      beta: weight of the false positives.
    """
    intersection = jnp.sum(y_true * y_pred)
    misses, alarms = jnp.sum((1 - y_pred) * y_true), jnp.sum(y_pred * (1 - y_true))
    return 1 - intersection / (intersection + misses * alpha + alarms * beta + SMALL)


@jax.custom_vjp
def softmax_cross_entropy(labels: jax.Array, logits: jax.Array) -> jax.Array:
    """tf.nn.softmax_cross_entropy_with_logits, whose gradient by the logits is softmax - labels.

    The derivative is the sum of the labels times the softmax, less the labels: see optax.losses.softmax_cross_entropy.

    Args:
      labels: [..., classes].
      logits: [..., classes].
    """
    return optax.losses.softmax_cross_entropy(logits, labels)


def _cross_entropy_forward(labels: jax.Array, logits: jax.Array) -> tuple[jax.Array, Any]:
    return softmax_cross_entropy(labels, logits), (labels, logits)


def _cross_entropy_backward(residuals: Any, cotangent: jax.Array) -> tuple[jax.Array, jax.Array]:
    labels, logits = residuals
    gradient = cotangent[..., None]
    return -gradient * jax.nn.log_softmax(logits), gradient * (jax.nn.softmax(logits) - labels)


softmax_cross_entropy.defvjp(_cross_entropy_forward, _cross_entropy_backward)


def weighted_cross_entropy_with_logits(labels: jax.Array, logits: jax.Array, pos_weight: float) -> jax.Array:
    """tf.nn.weighted_cross_entropy_with_logits: the weight is that of the positive part alone.

    The gradient by the logits at zero is that of TensorFlow's formula, 1 - labels.

    Args:
      labels: between 0 and 1.
      logits: logits in the shape of the labels.
      pos_weight: factor of the loss of a positive label.
    """
    positive = jnp.log1p(jnp.exp(-absolute(logits))) + jax.nn.relu(-logits)
    return (1 - labels) * logits + (1 + (pos_weight - 1) * labels) * positive


def orthogonality(matrix: jax.Array, factor: float = 0.01, mode: str = "rows") -> jax.Array:
    """keras.regularizers.OrthogonalRegularizer: the factor times the mean size of the products of two rows, as f32[].

    Args:
      matrix: floats [rows, columns], of which each row, or each column, is divided by its norm first.
      factor: the factor of the mean.
      mode: "rows", or "columns" for the products of columns.
    """
    units = unit_normalize(matrix if mode == "rows" else matrix.T, epsilon=SMALL)
    products, count = units @ units.T, len(units)
    others = products * (1 - jnp.eye(count, dtype=matrix.dtype))
    return factor * 0.5 * jnp.sum(absolute(others)) / (count * (count - 1) / 2)


def ctc_loss(labels: jax.Array, logits: jax.Array, label_length: jax.Array, logit_length: jax.Array) -> jax.Array:
    """tf.nn.ctc_loss, batch first and with blank 0: lengths instead of the paddings of optax.losses.ctc_loss.

    Where logits differ by hundreds it is off by a thousandth, as optax's is.

    Args:
      labels: i32[batch, labels], from 1 on.
      logits: [batch, time, classes].
      label_length: i32[batch].
      logit_length: i32[batch].
    """
    logit_paddings, label_paddings = (
        (jnp.arange(array.shape[1]) >= length[:, None]).astype(logits.dtype)
        for array, length in ((logits, logit_length), (labels, label_length))
    )
    return optax.losses.ctc_loss(logits, logit_paddings, labels, label_paddings)
