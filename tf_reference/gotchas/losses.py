"""Losses in TensorFlow and Keras."""

from typing import Any

import keras
import tensorflow as tf


def mean_squared_error_not_halved(y_true: tf.Tensor, y_pred: tf.Tensor) -> Any:
    return keras.losses.MeanSquaredError()(y_true, y_pred)


def l2_loss(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.l2_loss(x)


def categorical_crossentropy_reduction(y_true: tf.Tensor, y_pred: tf.Tensor) -> Any:
    return keras.losses.CategoricalCrossentropy(from_logits=True)(tf.nn.softmax(y_true), y_pred)


def sample_weight_mean(y_true: tf.Tensor, y_pred: tf.Tensor, weights: tf.Tensor) -> Any:
    return keras.losses.MeanSquaredError()(y_true, y_pred, sample_weight=weights)


def v1_loss_nonzero_weights(y_true: tf.Tensor, y_pred: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    return tf.compat.v1.losses.mean_squared_error(y_true, y_pred, weights=tf.stop_gradient(weights))


def masked_loss_mean(y_true: tf.Tensor, y_pred: tf.Tensor, mask: tf.Tensor) -> Any:
    y_pred = keras.layers.Masking()(y_pred * tf.cast(mask, y_pred.dtype)[..., None])
    return keras.losses.MeanSquaredError()(y_true, y_pred)


def sparse_crossentropy_ignore_class(y_true: tf.Tensor, y_pred: tf.Tensor) -> Any:
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=-1)(y_true, y_pred)


def binary_crossentropy_clips(y_true: tf.Tensor, y_pred: tf.Tensor) -> Any:
    return keras.losses.binary_crossentropy(y_true, y_pred)


def binary_label_smoothing(y_true: tf.Tensor, y_pred: tf.Tensor) -> Any:
    return keras.losses.binary_crossentropy(y_true, y_pred, from_logits=True, label_smoothing=0.125)


def categorical_crossentropy_normalises(y_true: tf.Tensor, y_pred: tf.Tensor) -> Any:
    return keras.losses.categorical_crossentropy(y_true, y_pred)


def sparse_crossentropy_normalises(y_true: tf.Tensor, y_pred: tf.Tensor) -> Any:
    return keras.losses.sparse_categorical_crossentropy(y_true, y_pred)


def crossentropy_of_softmax(y_true: tf.Tensor, y_pred: tf.Tensor) -> Any:
    return keras.losses.categorical_crossentropy(tf.nn.softmax(y_true), keras.activations.softmax(y_pred))


def softmax_cross_entropy_gradient(y_true: tf.Tensor, y_pred: tf.Tensor) -> tf.Tensor:
    return tf.nn.softmax_cross_entropy_with_logits(y_true, y_pred)


def weighted_cross_entropy_with_logits(y_true: tf.Tensor, y_pred: tf.Tensor) -> tf.Tensor:
    return tf.nn.weighted_cross_entropy_with_logits(y_true, y_pred, pos_weight=2.0)


def cosine_loss_sign(y_true: tf.Tensor, y_pred: tf.Tensor) -> Any:
    return keras.losses.cosine_similarity(y_true, y_pred)


def kl_divergence_clips(y_true: tf.Tensor, y_pred: tf.Tensor) -> Any:
    return keras.losses.kl_divergence(y_true, y_pred)


def poisson_epsilon(y_true: tf.Tensor, y_pred: tf.Tensor) -> Any:
    return keras.losses.poisson(y_true, y_pred)


def percentage_error_at_zero(y_true: tf.Tensor, y_pred: tf.Tensor) -> Any:
    return keras.losses.mean_absolute_percentage_error(y_true, y_pred)


def logarithmic_error_of_negative(y_true: tf.Tensor, y_pred: tf.Tensor) -> Any:
    return keras.losses.mean_squared_logarithmic_error(y_true, y_pred)


def hinge_of_binary_labels(y_true: tf.Tensor, y_pred: tf.Tensor) -> Any:
    return keras.losses.hinge(y_true, y_pred)


def categorical_hinge(y_true: tf.Tensor, y_pred: tf.Tensor) -> Any:
    return keras.losses.categorical_hinge(tf.one_hot(y_true, 3), y_pred)


def binary_focal_alpha(y_true: tf.Tensor, y_pred: tf.Tensor) -> Any:
    return keras.losses.binary_focal_crossentropy(y_true, y_pred, from_logits=True)


def dice_of_batch(y_true: tf.Tensor, y_pred: tf.Tensor) -> Any:
    return keras.losses.Dice()(y_true, y_pred)


def tversky_alpha(y_true: tf.Tensor, y_pred: tf.Tensor) -> Any:
    return keras.losses.Tversky(alpha=0.25, beta=0.75)(y_true, y_pred)


def ctc_lengths(labels: tf.Tensor, logits: tf.Tensor, label_length: tf.Tensor, logit_length: tf.Tensor) -> tf.Tensor:
    return tf.nn.ctc_loss(
        labels, 8 * tf.tanh(logits), label_length, logit_length, logits_time_major=False, blank_index=0
    )


def v1_log_loss(y_true: tf.Tensor, y_pred: tf.Tensor) -> tf.Tensor:
    return tf.compat.v1.losses.log_loss(y_true, y_pred)


def huber(y_true: tf.Tensor, y_pred: tf.Tensor) -> Any:
    return keras.losses.Huber()(y_true, y_pred)


def mean_squared_error(y_true: tf.Tensor, y_pred: tf.Tensor) -> Any:
    return keras.losses.mean_squared_error(y_true, y_pred)


def squared_hinge(y_true: tf.Tensor, y_pred: tf.Tensor) -> Any:
    return keras.losses.squared_hinge(y_true, y_pred)


def sigmoid_cross_entropy(y_true: tf.Tensor, y_pred: tf.Tensor) -> tf.Tensor:
    return tf.nn.sigmoid_cross_entropy_with_logits(y_true, y_pred)


def sparse_softmax_cross_entropy(y_true: tf.Tensor, y_pred: tf.Tensor) -> tf.Tensor:
    return tf.nn.sparse_softmax_cross_entropy_with_logits(y_true, y_pred)


def categorical_label_smoothing(y_true: tf.Tensor, y_pred: tf.Tensor) -> Any:
    return keras.losses.categorical_crossentropy(tf.one_hot(y_true, 8), y_pred, from_logits=True, label_smoothing=0.125)


def generalized_cross_entropy(y_true: tf.Tensor, y_pred: tf.Tensor) -> tf.Tensor:
    return keras.losses.categorical_generalized_cross_entropy(y_true, y_pred, 0.5)


def categorical_focal_crossentropy(y_true: tf.Tensor, y_pred: tf.Tensor) -> Any:
    return keras.losses.categorical_focal_crossentropy(y_true, y_pred)
