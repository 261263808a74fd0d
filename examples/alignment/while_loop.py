"""A loop of a fixed number of steps: tf.while_loop and jax.lax.fori_loop."""

from workloads import ArraySpec, Workload

STEPS = 5


def in_tf(x, matrix):
    import tensorflow as tf

    def body(step, state):
        return step + 1, tf.tanh(tf.matmul(state, matrix)) * 0.5

    # XLA allocates what the gradient needs, and wants to know for how many steps.
    return tf.while_loop(lambda step, state: step < STEPS, body, (0, x), maximum_iterations=STEPS)[1]


def in_jax(x, matrix):
    import jax
    import jax.numpy as jnp

    return jax.lax.fori_loop(0, STEPS, lambda step, state: jnp.tanh(state @ matrix) * 0.5, x)


port = Workload(
    name="while_loop",
    summary="five steps of a recurrence",
    inputs={"x": ArraySpec((4, 16)), "matrix": ArraySpec((16, 16), scale=0.25)},
    tf="while_loop.py:in_tf",
    jax="while_loop.py:in_jax",
    builds=False,
)
