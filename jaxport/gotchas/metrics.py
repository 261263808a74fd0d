"""Metrics in JAX: what no gradient flows from, like Keras' state."""

import jax
import jax.numpy as jnp
from flax import nnx

from jaxport import losses, metrics

FIRST = 4


def _batches(*arrays: jax.Array) -> list[tuple[jax.Array, ...]]:
    """Two batches of unlike size."""
    constants = jax.lax.stop_gradient(arrays)
    return [tuple(array[part] for array in constants) for part in (slice(0, FIRST), slice(FIRST, None))]


def root_mean_squared_error(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return jax.lax.stop_gradient(jnp.sqrt(jnp.mean(jnp.square(y_true - y_pred))))


def naive_root_mean_squared_error(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return jnp.mean(
        jnp.stack(
            [jnp.sqrt(jnp.mean(jnp.square(targets - predictions))) for targets, predictions in _batches(y_true, y_pred)]
        )
    )


def auc_by_thresholds(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return jax.lax.stop_gradient(metrics.auc(y_true, y_pred))


def naive_auc_by_thresholds(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    y_pred = jax.lax.stop_gradient(y_pred)
    pairs = (y_true[:, None] == 1) & (y_true == 0)
    won = (y_pred[:, None] > y_pred) + 0.5 * (y_pred[:, None] == y_pred)
    return jnp.sum(jnp.where(pairs, won, 0)) / jnp.maximum(jnp.sum(pairs), 1)


def precision_without_positives(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return jax.lax.stop_gradient(metrics.precision(y_true, y_pred))


def naive_precision_without_positives(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    positive = jax.lax.stop_gradient(y_pred) > 0.5
    return jnp.sum(positive & (y_true == 1)) / jnp.sum(positive)


def recall_without_labels(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return jax.lax.stop_gradient(metrics.recall(y_true, y_pred))


def naive_recall_without_labels(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    positive = jax.lax.stop_gradient(y_pred) > 0.5
    return jnp.sum(positive & (y_true == 1)) / jnp.sum(y_true)


def f1_score_per_class(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return jax.lax.stop_gradient(metrics.f1_score(jax.nn.one_hot(y_true, 4), y_pred))


def naive_f1_score_per_class(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    targets, predictions = jax.nn.one_hot(y_true, 4), jax.nn.one_hot(jnp.argmax(y_pred, axis=-1), 4)
    both = jnp.sum(targets * predictions, axis=0)
    return jnp.mean(2 * both / jnp.maximum(jnp.sum(targets, axis=0) + jnp.sum(predictions, axis=0), 1))


def mean_iou_absent_class(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return metrics.mean_iou(y_true, y_pred, num_classes=6)


def naive_mean_iou_absent_class(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    targets, predictions = jax.nn.one_hot(y_true, 6), jax.nn.one_hot(y_pred, 6)
    overlap = jnp.sum(targets * predictions, axis=0)
    return jnp.mean(overlap / (jnp.sum(targets, axis=0) + jnp.sum(predictions, axis=0) - overlap))


def r2_score_of_outputs(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    return jax.lax.stop_gradient(metrics.r2_score(y_true, y_pred))


def naive_r2_score_of_outputs(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    y_true, y_pred = jax.lax.stop_gradient((y_true, y_pred))
    return 1 - jnp.sum(jnp.square(y_true - y_pred)) / jnp.sum(jnp.square(y_true - jnp.mean(y_true, axis=0)))


def cosine_metric_sign(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    y_true, y_pred = jax.lax.stop_gradient((y_true, y_pred))
    return -jnp.mean(losses.cosine_similarity(y_true, y_pred))


def naive_cosine_metric_sign(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    y_true, y_pred = jax.lax.stop_gradient((y_true, y_pred))
    return jnp.mean(losses.cosine_similarity(y_true, y_pred))


def average_metric(x: jax.Array) -> jax.Array:
    metric = nnx.metrics.Average()
    for (batch,) in _batches(x):
        metric.update(values=batch)
    return jnp.asarray(metric.compute())


def mean_squared_error_metric(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    metric = nnx.metrics.Average()
    for targets, predictions in _batches(y_true, y_pred):
        metric.update(values=jnp.square(targets - predictions))
    return jnp.asarray(metric.compute())
