"""Windows and spectra in TensorFlow."""

import tensorflow as tf


def stft(x: tf.Tensor) -> tf.Tensor:
    return tf.abs(tf.signal.stft(x, 8, 4)) ** 2


def stft_fft_length(x: tf.Tensor) -> tf.Tensor:
    return tf.abs(tf.signal.stft(x, 6, 4)) ** 2


def inverse_stft(x: tf.Tensor) -> tf.Tensor:
    return tf.signal.inverse_stft(tf.signal.stft(x, 8, 4), 8, 4)


def hann_window(x: tf.Tensor) -> tf.Tensor:
    return x * tf.signal.hann_window(8, dtype=x.dtype)


def hamming_window(x: tf.Tensor) -> tf.Tensor:
    return x * tf.signal.hamming_window(8, dtype=x.dtype)


def idct(x: tf.Tensor) -> tf.Tensor:
    return tf.signal.idct(x)


def mfcc(x: tf.Tensor) -> tf.Tensor:
    return tf.signal.mfccs_from_log_mel_spectrograms(x)


def mel_weights(x: tf.Tensor) -> tf.Tensor:
    return x @ tf.signal.linear_to_mel_weight_matrix(10, 65, 16000, dtype=x.dtype)


def fft3d(x: tf.Tensor) -> tf.Tensor:
    return tf.math.real(tf.signal.fft3d(tf.complex(x, tf.zeros_like(x))))


def rfft(x: tf.Tensor) -> tf.Tensor:
    return tf.math.real(tf.signal.rfft(x, [40]))


def frames(x: tf.Tensor) -> tf.Tensor:
    return tf.signal.frame(x, 8, 5)


def dct(x: tf.Tensor) -> tf.Tensor:
    return tf.signal.dct(x)


def dct_ortho(x: tf.Tensor) -> tf.Tensor:
    return tf.signal.dct(x, norm="ortho")


def fftshift(x: tf.Tensor) -> tf.Tensor:
    return tf.signal.fftshift(x)


def overlap_and_add(x: tf.Tensor) -> tf.Tensor:
    return tf.signal.overlap_and_add(x, 5)
