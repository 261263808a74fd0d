"""Two dense layers with relu between them."""

from workloads import ArraySpec, Workload


def in_tf(weights, x):
    import tensorflow as tf

    hidden = tf.nn.relu(tf.matmul(x, weights["hidden/kernel"]) + weights["hidden/bias"])
    return tf.matmul(hidden, weights["head/kernel"]) + weights["head/bias"]


def in_jax(weights, x):
    import jax

    hidden = jax.nn.relu(x @ weights["hidden/kernel"] + weights["hidden/bias"])
    return hidden @ weights["head/kernel"] + weights["head/bias"]


port = Workload(
    name="mlp",
    summary="dense, relu, dense",
    inputs={"x": ArraySpec((8, 32))},
    weights={
        "hidden/kernel": ArraySpec((32, 64), scale=0.2),
        "hidden/bias": ArraySpec((64,), scale=0.1),
        "head/kernel": ArraySpec((64, 10), scale=0.1),
        "head/bias": ArraySpec((10,), scale=0.1),
    },
    tf="mlp.py:in_tf",
    jax="mlp.py:in_jax",
    builds=False,
)
