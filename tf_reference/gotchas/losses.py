"""Losses in TensorFlow and Keras."""

from typing import Any

import keras
import tensorflow as tf


def masked_loss_mean(y_true: tf.Tensor, y_pred: tf.Tensor, mask: tf.Tensor) -> Any:
    y_pred = keras.layers.Masking()(y_pred * tf.cast(mask, y_pred.dtype)[..., None])
    return keras.losses.MeanSquaredError()(y_true, y_pred)


def ctc_lengths(labels: tf.Tensor, logits: tf.Tensor, label_length: tf.Tensor, logit_length: tf.Tensor) -> tf.Tensor:
    return tf.nn.ctc_loss(
        labels, 8 * tf.tanh(logits), label_length, logit_length, logits_time_major=False, blank_index=0
    )


def categorical_label_smoothing(y_true: tf.Tensor, y_pred: tf.Tensor) -> Any:
    return keras.losses.categorical_crossentropy(tf.one_hot(y_true, 8), y_pred, from_logits=True, label_smoothing=0.125)
