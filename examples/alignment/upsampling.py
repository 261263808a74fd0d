"""A gelu and a transposed convolution over NHWC images."""

from workloads import ArraySpec, Workload


def in_tf(weights, maps):
    import tensorflow as tf

    active = tf.nn.gelu(maps)
    return tf.nn.conv2d_transpose(active, weights["kernel"], (2, 8, 8, 1), strides=2, padding="SAME") + weights["bias"]


def in_jax(weights, maps):
    import jax

    active = jax.nn.gelu(maps, approximate=False)
    images = jax.lax.conv_transpose(active, weights["kernel"], (2, 2), "SAME", transpose_kernel=True)
    return images + weights["bias"]


port = Workload(
    name="upsampling",
    summary="gelu, transposed convolution",
    inputs={"maps": ArraySpec((2, 4, 4, 3))},
    weights={"kernel": ArraySpec((3, 3, 1, 3), scale=0.3), "bias": ArraySpec((1,), scale=0.1)},
    tf="upsampling.py:in_tf",
    jax="upsampling.py:in_jax",
    builds=False,
)
