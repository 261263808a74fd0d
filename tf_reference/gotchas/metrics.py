"""Metrics in Keras: each is given its batches one by one."""

from typing import Any

import keras
import tensorflow as tf

FIRST = 4
"""Examples of the first batch; the second has what is left."""


def _over_batches(metric: Any, *arrays: tf.Tensor) -> Any:
    """What a metric says after two batches of unlike size, from which no gradient flows."""
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


def root_mean_squared_error(y_true: tf.Tensor, y_pred: tf.Tensor) -> Any:
    return _over_batches(RMSE, y_true, y_pred)


def auc_by_thresholds(y_true: tf.Tensor, y_pred: tf.Tensor) -> Any:
    return _over_batches(AUC, y_true, y_pred)


def precision_without_positives(y_true: tf.Tensor, y_pred: tf.Tensor) -> Any:
    return _over_batches(PRECISION, y_true, y_pred)


def recall_without_labels(y_true: tf.Tensor, y_pred: tf.Tensor) -> Any:
    return _over_batches(RECALL, y_true, y_pred)


def f1_score_per_class(y_true: tf.Tensor, y_pred: tf.Tensor) -> Any:
    return _over_batches(F1_SCORE, tf.one_hot(y_true, 4), y_pred)


def mean_iou_absent_class(y_true: tf.Tensor, y_pred: tf.Tensor) -> Any:
    return _over_batches(MEAN_IOU, y_true, y_pred)


def r2_score_of_outputs(y_true: tf.Tensor, y_pred: tf.Tensor) -> Any:
    return _over_batches(R2_SCORE, y_true, y_pred)


def cosine_metric_sign(y_true: tf.Tensor, y_pred: tf.Tensor) -> Any:
    return _over_batches(COSINE, y_true, y_pred)


def average_metric(x: tf.Tensor) -> Any:
    return _over_batches(MEAN, x)


def mean_squared_error_metric(y_true: tf.Tensor, y_pred: tf.Tensor) -> Any:
    return _over_batches(SQUARED, y_true, y_pred)
