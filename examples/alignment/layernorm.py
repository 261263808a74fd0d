"""Layer normalization over the last axis: moments in TensorFlow, mean and var in JAX."""

from workloads import ArraySpec, Workload


def in_tf(weights, x):
    import tensorflow as tf

    mean, variance = tf.nn.moments(x, axes=-1, keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-3) * weights["gamma"] + weights["beta"]


def in_jax(weights, x):
    import jax

    mean = x.mean(axis=-1, keepdims=True)
    variance = x.var(axis=-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-3) * weights["gamma"] + weights["beta"]


port = Workload(
    name="layernorm",
    summary="layer normalization with scale and offset",
    inputs={"x": ArraySpec((8, 48))},
    weights={"gamma": ArraySpec((48,), low=0.5, high=1.5), "beta": ArraySpec((48,), scale=0.1)},
    tf="layernorm.py:in_tf",
    jax="layernorm.py:in_jax",
    builds=False,
)
