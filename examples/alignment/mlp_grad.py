"""Loss and gradients of a classifier: a tape in TensorFlow, value_and_grad and optax in JAX."""

from workloads import ArraySpec, Workload


def in_tf(weights, x, labels):
    import tensorflow as tf

    with tf.GradientTape() as tape:
        hidden = tf.nn.relu(tf.matmul(x, weights["hidden/kernel"]) + weights["hidden/bias"])
        logits = tf.matmul(hidden, weights["head/kernel"]) + weights["head/bias"]
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
    return {"loss": loss, "gradients": tape.gradient(loss, weights)}


def in_jax(weights, x, labels):
    import jax
    import optax

    def loss_of(weights):
        hidden = jax.nn.relu(x @ weights["hidden/kernel"] + weights["hidden/bias"])
        logits = hidden @ weights["head/kernel"] + weights["head/bias"]
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

    loss, gradients = jax.value_and_grad(loss_of)(weights)
    return {"loss": loss, "gradients": gradients}


port = Workload(
    name="mlp_grad",
    summary="loss and gradients of dense, relu, dense, cross-entropy",
    inputs={"x": ArraySpec((8, 32)), "labels": ArraySpec((8,), "int32", low=0, high=10)},
    weights={
        "hidden/kernel": ArraySpec((32, 64), scale=0.2),
        "hidden/bias": ArraySpec((64,), scale=0.1),
        "head/kernel": ArraySpec((64, 10), scale=0.1),
        "head/bias": ArraySpec((10,), scale=0.1),
    },
    tf="mlp_grad.py:in_tf",
    jax="mlp_grad.py:in_jax",
    builds=False,
)
