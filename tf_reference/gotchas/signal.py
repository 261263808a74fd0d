"""Windows and spectra in TensorFlow."""

import tensorflow as tf


def inverse_stft(x: tf.Tensor) -> tf.Tensor:
    return tf.signal.inverse_stft(tf.signal.stft(x, 8, 4), 8, 4)


def mel_weights(x: tf.Tensor) -> tf.Tensor:
    return x @ tf.signal.linear_to_mel_weight_matrix(10, 65, 16000, dtype=x.dtype)
