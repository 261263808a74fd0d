"""Matrices in TensorFlow."""

import tensorflow as tf


def _definite(x: tf.Tensor) -> tf.Tensor:
    """A matrix that is symmetric and positive, whatever x is."""
    return tf.matmul(x, x, transpose_b=True) + 4 * tf.eye(4, dtype=x.dtype)


def _spread(x: tf.Tensor) -> tf.Tensor:
    """A matrix without equal singular or eigenvalues, whatever x is."""
    return tf.tanh(x) + tf.linalg.diag(tf.constant([10, 20, 30, 40], x.dtype))


def _triangular(x: tf.Tensor) -> tf.Tensor:
    """A matrix whose triangles can both be solved for, whatever x is."""
    return tf.tanh(x) + 6 * tf.eye(4, dtype=x.dtype)


def _tall(x: tf.Tensor) -> tf.Tensor:
    """A matrix whose columns are independent, whatever x is."""
    return tf.tanh(x) + 4 * tf.eye(6, 4, dtype=x.dtype)


def svd(x: tf.Tensor) -> tf.Tensor:
    s, u, v = tf.linalg.svd(_spread(x))
    return tf.matmul(u * s, v, transpose_b=True)


def svd_full_matrices(x: tf.Tensor) -> tf.Tensor:
    _, u, _ = tf.linalg.svd(_tall(tf.stop_gradient(x)))
    return tf.matmul(u, u, transpose_b=True)


def eigh(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    matrix = _spread(x)
    values, vectors = tf.linalg.eigh(matrix + tf.transpose(matrix))
    return values, tf.matmul(vectors * values**2, vectors, transpose_b=True)


def qr(x: tf.Tensor) -> tf.Tensor:
    q, r = tf.linalg.qr(_tall(x))
    signs = tf.sign(tf.linalg.diag_part(r))
    return tf.concat([q * signs, r * signs[:, None]], 0)
