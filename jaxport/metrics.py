"""Metrics of whole data sets as keras.metrics counts them: with its thresholds, ties and empty classes.

Each takes everything at once. Keras adds up sums and counts over batches and divides at the end; a mean of the batches'
own results is another number.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from jaxport.elementwise import divide_no_nan

_SMALL = 1e-7
"""keras.config.epsilon()."""


def weighted_mean(values: jax.Array, sample_weight: jax.Array) -> jax.Array:
    """keras.metrics.Mean: the weighted sum over the sum of the weights, unlike a loss; 0 where that is 0.

    Args:
      values: floats of any shape.
      sample_weight: weights in that shape.
    """
    return divide_no_nan(jnp.sum(values * sample_weight), jnp.sum(sample_weight))


def precision(y_true: jax.Array, y_pred: jax.Array, threshold: float = 0.5) -> jax.Array:
    """keras.metrics.Precision: positive is what is above the threshold; 0 where nothing is.

    Args:
      y_true: 0 and 1.
      y_pred: probabilities, of y_true's shape.
      threshold: itself is not positive.
    """
    positive = (y_pred > threshold).astype(y_pred.dtype)
    return divide_no_nan(jnp.sum(positive * y_true), jnp.sum(positive))


def recall(y_true: jax.Array, y_pred: jax.Array, threshold: float = 0.5) -> jax.Array:
    """keras.metrics.Recall: positive is what is above the threshold; 0 where no label is 1.

    Args:
      y_true: 0 and 1.
      y_pred: probabilities, of y_true's shape.
      threshold: itself is not positive.
    """
    positive = (y_pred > threshold).astype(y_pred.dtype)
    return divide_no_nan(jnp.sum(positive * y_true), jnp.sum(y_true).astype(y_pred.dtype))


def auc(y_true: jax.Array, y_pred: jax.Array, num_thresholds: int = 200) -> jax.Array:
    """keras.metrics.AUC: the area under the ROC curve by trapezia between so many thresholds.

    Predictions between two thresholds count as equal, so that it is not the exact area.

    Args:
      y_true: [n], 0 and 1.
      y_pred: [n], probabilities.
      num_thresholds: evenly from 0 to 1; the first is just below, the last just above.
    """
    inner = jnp.arange(1, num_thresholds - 1, dtype=y_pred.dtype) / (num_thresholds - 1)
    thresholds = jnp.concatenate([jnp.array([-_SMALL]), inner, jnp.array([1 + _SMALL])]).astype(y_pred.dtype)
    above = (y_pred > thresholds[:, None]).astype(y_pred.dtype)
    hits, alarms = above @ y_true.astype(y_pred.dtype), above @ (1 - y_true).astype(y_pred.dtype)
    # Counts are exact: no difference of two rates is left over where there is none.
    twice = jnp.sum((alarms[:-1] - alarms[1:]) * (hits[:-1] + hits[1:]))
    return divide_no_nan(twice / 2, alarms[0] * hits[0])


def f1_score(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    """keras.metrics.F1Score of each class [classes], which is not averaged by default.

    Every class with the largest score is predicted, unless it is 0; 1e-7 is added to each denominator.

    Args:
      y_true: [n, classes], 0 and 1.
      y_pred: [n, classes], scores.
    """
    largest = jnp.max(y_pred, axis=-1, keepdims=True)
    predictions = ((y_pred >= largest) & (jnp.abs(y_pred) > 1e-9)).astype(y_pred.dtype)
    both = jnp.sum(predictions * y_true, axis=0)
    precise, recall = (both / (jnp.sum(labels, axis=0) + _SMALL) for labels in (predictions, y_true))
    return 2 * precise * recall / (precise + recall + _SMALL)


def mean_iou(y_true: jax.Array, y_pred: jax.Array, num_classes: int) -> jax.Array:
    """keras.metrics.MeanIoU over the classes that are there or predicted, with 1e-7 added to each denominator.

    Args:
      y_true: integers of any shape, classes.
      y_pred: integers of that shape, classes.
      num_classes: classes from 0 on.
    """
    counts = confusion_matrix(y_true.ravel(), y_pred.ravel(), num_classes).astype(jnp.float32)
    intersection = jnp.diag(counts)
    whole = jnp.sum(counts, axis=0) + jnp.sum(counts, axis=1) - intersection
    there = whole > 1e-9
    shares = jnp.where(there, intersection / (whole + _SMALL), 0)
    return jnp.sum(shares) / (jnp.sum(there).astype(shares.dtype) + _SMALL)


def confusion_matrix(labels: jax.Array, predictions: jax.Array, num_classes: int) -> jax.Array:
    """tf.math.confusion_matrix: i32[labels, predictions], how often each pair occurs.

    Args:
      labels: i32[n].
      predictions: i32[n].
      num_classes: classes from 0 on.
    """
    return jnp.zeros((num_classes, num_classes), jnp.int32).at[labels, predictions].add(1)


def in_top_k(targets: jax.Array, predictions: jax.Array, k: int) -> jax.Array:
    """tf.math.in_top_k: whether fewer than k classes score above the target's; ties count as in.

    A target whose score is NaN or infinite is not in, as in TensorFlow compiled by XLA. TensorFlow's CPU kernel leaves
    out every target beside such a score.

    Args:
      targets: i32[...], classes.
      predictions: [..., classes], scores.
      k: the number of highest scores that count.
    """
    own = jnp.take_along_axis(predictions, targets[..., None], axis=-1)
    return (jnp.sum(predictions > own, axis=-1) < k) & jnp.isfinite(own[..., 0])


def r2_score(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    """keras.metrics.R2Score: the mean over the outputs of each one's own score.

    Args:
      y_true: [n, outputs].
      y_pred: [n, outputs].
    """
    total = jnp.sum(jnp.square(y_true), axis=0) - jnp.sum(y_true, axis=0) * jnp.mean(y_true, axis=0)
    scores = 1 - jnp.sum(jnp.square(y_true - y_pred), axis=0) / total
    return jnp.mean(jnp.where(jnp.isinf(scores), 0, scores))
