"""The tanh approximation of gelu: TensorFlow's on request, JAX's by default."""

from workloads import ArraySpec, Workload


def in_tf(x):
    import tensorflow as tf

    return tf.nn.gelu(x, approximate=True)


def in_jax(x):
    import jax

    return jax.nn.gelu(x)


port = Workload(
    name="gelu",
    summary="gelu by its tanh approximation",
    inputs={"x": ArraySpec((8, 32), scale=2.0)},
    tf="gelu.py:in_tf",
    jax="gelu.py:in_jax",
    builds=False,
)
