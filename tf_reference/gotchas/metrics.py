"""Metrics in Keras: each is given its batches one by one."""

from typing import Any

import keras
import tensorflow as tf

FIRST = 4
"""Examples of the first batch; the second has what is left."""


def _over_batches(metric: Any, *arrays: tf.Tensor) -> Any:
    """The value of a metric after two batches of unlike size; no gradient flows from it."""
    state = [tf.zeros(variable.shape, variable.dtype) for variable in metric.variables]
    for part in (slice(0, FIRST), slice(FIRST, None)):
        state = metric.stateless_update_state(state, *(array[part] for array in arrays))
    return tf.stop_gradient(metric.stateless_result(state))


def _build(metric: Any, *shape: int) -> Any:
    """The metric with its state, whose shape is that of examples."""
    metric.update_state(tf.zeros(shape), tf.zeros(shape))
    return metric


MEAN = keras.metrics.Mean()
RMSE = keras.metrics.RootMeanSquaredError()
AUC = keras.metrics.AUC()
PRECISION, RECALL = keras.metrics.Precision(), keras.metrics.Recall()
BINARY_ACCURACY = keras.metrics.BinaryAccuracy()
F1_SCORE = _build(keras.metrics.F1Score(), 1, 4)
MEAN_IOU = keras.metrics.MeanIoU(num_classes=6)
TOP_K = keras.metrics.SparseTopKCategoricalAccuracy(k=2)
R2_SCORE = _build(keras.metrics.R2Score(), 1, 4)
COSINE = keras.metrics.CosineSimilarity()
SQUARED = keras.metrics.MeanSquaredError()
ABSOLUTE = keras.metrics.MeanAbsoluteError()
TRUE_POSITIVES = keras.metrics.TruePositives()
