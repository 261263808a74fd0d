"""The computations of tf.distribute's replicas, one after another on one device."""

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

REPLICAS, BATCH = 2, 8
UNEQUAL = (5, 3)


def _build(layer: Any) -> Any:
    layer.build((4, 6))
    return layer


BATCH_NORM = _build(keras.layers.BatchNormalization(scale=False, center=False))
SYNCHRONIZED = _build(keras.layers.BatchNormalization(scale=False, center=False, synchronized=True))
MEAN = keras.metrics.Mean()


def _over(replica: Callable[..., Any], *arrays: tf.Tensor, sizes: Any = REPLICAS) -> list[Any]:
    """The result of each replica on its part."""
    parts: Any = [tf.split(array, sizes) for array in arrays]
    return [replica(*part) for part in zip(*parts, strict=True)]


def _gradient(x: tf.Tensor, y: tf.Tensor, weights: tf.Tensor, count: int) -> Any:
    """The gradient of a sum of squared errors over a count."""
    with tf.GradientTape() as tape:
        tape.watch(weights)
        loss = tf.reduce_sum(tf.square(tf.linalg.matvec(x, weights) - y)) / count
    return tape.gradient(loss, weights)


def average_loss_of_unequal_replicas(x: tf.Tensor) -> tf.Tensor:
    return tf.add_n(_over(lambda x: tf.nn.compute_average_loss(x * x, global_batch_size=BATCH), x, sizes=UNEQUAL))


def keras_loss_of_unequal_replicas(x: tf.Tensor, y: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    def replica(x: tf.Tensor, y: tf.Tensor) -> Any:
        predictions = tf.linalg.matvec(x, weights)
        return keras.losses.MeanSquaredError(dtype=x.dtype.name)(y[:, None], predictions[:, None]) / REPLICAS

    return tf.add_n(_over(replica, x, y, sizes=UNEQUAL))


def average_loss_of_padding(x: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    def replica(x: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        return tf.nn.compute_average_loss(x * x, weights, global_batch_size=BATCH)

    return tf.add_n(_over(replica, x, weights))


def gradients_add_up(x: tf.Tensor, y: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    gradients = _over(lambda x, y: _gradient(x, y, weights, BATCH // REPLICAS), x, y)
    return weights - 0.1 * tf.add_n(gradients)


def regularization_once(x: tf.Tensor, y: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    def replica(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        errors = tf.square(tf.linalg.matvec(x, weights) - y)
        penalty = tf.reduce_sum(tf.square(weights)) / REPLICAS  # tf.nn.scale_regularization_loss
        return tf.nn.compute_average_loss(errors, global_batch_size=BATCH) + penalty

    return tf.add_n(_over(replica, x, y))


def batch_norm_of_replica(x: tf.Tensor) -> tf.Tensor:
    state = [tf.zeros(6, x.dtype), tf.ones(6, x.dtype)]
    return tf.concat(_over(lambda x: BATCH_NORM.stateless_call([], state, x, training=True)[0], x), 0)


def batch_norm_moves_by_replicas(x: tf.Tensor, mean: tf.Tensor, variance: tf.Tensor) -> dict[str, tf.Tensor]:
    x, mean, variance = (tf.stop_gradient(tensor) for tensor in (x, mean, variance))
    statistics = _over(lambda x: BATCH_NORM.stateless_call([], [mean, variance], x, training=True)[1], x)
    means, variances = zip(*statistics, strict=True)
    return {"mean": tf.add_n(means) / REPLICAS, "variance": tf.add_n(variances) / REPLICAS}


def contrast_within_replica(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    def replica(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        pairs = tf.range(BATCH // REPLICAS)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(pairs, tf.matmul(x, y, transpose_b=True))
        return tf.nn.compute_average_loss(losses, global_batch_size=BATCH)

    return tf.add_n(_over(replica, x, y))


def metric_of_replicas(x: tf.Tensor, weights: tf.Tensor) -> Any:
    MEAN.reset_state()
    _over(MEAN.update_state, x, weights)
    return tf.stop_gradient(MEAN.result())
