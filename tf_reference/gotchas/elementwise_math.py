"""Sums, norms and special functions in TensorFlow."""

import tensorflow as tf


def cumsum_default_axis(x: tf.Tensor) -> tf.Tensor:
    return tf.cumsum(x)


def cumsum_exclusive(x: tf.Tensor) -> tf.Tensor:
    return tf.cumsum(x, axis=1, exclusive=True)


def cumsum_reverse(x: tf.Tensor) -> tf.Tensor:
    return tf.cumsum(x, axis=1, reverse=True)


def cumulative_logsumexp(x: tf.Tensor) -> tf.Tensor:
    return tf.math.cumulative_logsumexp(x, axis=1)


def reduce_logsumexp(x: tf.Tensor) -> tf.Tensor:
    return tf.reduce_logsumexp(x, axis=1)


def variance_one_pass(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    return tf.nn.moments(x, axes=[1])


def log1p(x: tf.Tensor) -> tf.Tensor:
    return tf.math.log1p(x)


def expm1(x: tf.Tensor) -> tf.Tensor:
    return tf.math.expm1(x)


def reduce_std_ddof(x: tf.Tensor) -> tf.Tensor:
    return tf.math.reduce_std(x, axis=1)


def clip_by_norm(x: tf.Tensor) -> tf.Tensor:
    return tf.clip_by_norm(x, 2.0)


def clip_crossed_bounds(x: tf.Tensor, low: tf.Tensor, high: tf.Tensor) -> tf.Tensor:
    return tf.clip_by_value(x, low, high)


def reciprocal_no_nan(x: tf.Tensor) -> tf.Tensor:
    return tf.math.reciprocal_no_nan(x)


def xdivy(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    return tf.math.xdivy(x, y)


def cumsum(x: tf.Tensor) -> tf.Tensor:
    return tf.cumsum(x, axis=1)


def squared_difference(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    return tf.math.squared_difference(x, y)


def lgamma(x: tf.Tensor) -> tf.Tensor:
    return tf.math.lgamma(x)


def digamma(x: tf.Tensor) -> tf.Tensor:
    return tf.math.digamma(x)


def erfinv(x: tf.Tensor) -> tf.Tensor:
    return tf.math.erfinv(x)


def betainc(a: tf.Tensor, b: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
    return tf.math.betainc(tf.stop_gradient(a), tf.stop_gradient(b), x)


def zeta(x: tf.Tensor, q: tf.Tensor) -> tf.Tensor:
    return tf.math.zeta(tf.stop_gradient(x), q)


def bessel_i0e(x: tf.Tensor) -> tf.Tensor:
    return tf.math.bessel_i0e(x)


def complex_product(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    return tf.math.real(x * y)


def atan2(y: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
    return tf.math.atan2(y, x)
