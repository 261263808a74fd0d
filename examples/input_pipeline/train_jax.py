"""The same training in JAX: the same tf.data pipeline, one program for both devices, mixed precision and XLA.

usage: python train_jax.py
"""

import os

os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"

import classifier
import jax
import jax.numpy as jnp
import optax
import tensorflow as tf
from jax.sharding import NamedSharding, PartitionSpec

mesh = jax.make_mesh((2,), ("data",))
SPLIT, WHOLE = NamedSharding(mesh, PartitionSpec("data")), NamedSharding(mesh, PartitionSpec())


def pipeline():
    made = tf.data.Dataset.from_tensor_slices(classifier.examples())
    made = made.map(lambda pixels, label: (tf.cast(pixels, tf.float32) / 255 - 0.5, label), tf.data.AUTOTUNE)
    return made.batch(classifier.BATCH, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def batches():
    """Each batch split over the devices while the step before it runs: JAX does not wait."""
    for batch in pipeline().as_numpy_iterator():
        yield jax.device_put(batch, SPLIT)


def loss_of(values, pixels, labels):
    """Products in bfloat16, weights and the loss in float32."""
    hidden = jax.nn.relu(pixels.astype(jnp.bfloat16) @ values[0].astype(jnp.bfloat16))
    logits = (hidden @ values[1].astype(jnp.bfloat16)).astype(jnp.float32)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


@jax.jit
def step(values, batch):
    """The partitioner writes the all-reduce: the batch is split, the weights are whole."""
    loss, found = jax.value_and_grad(loss_of)(values, *batch)
    return [value - classifier.RATE * gradient for value, gradient in zip(values, found, strict=True)], loss


def trained(values, given):
    for batch in given:
        values, loss = step(values, batch)
        yield jax.block_until_ready(loss)


def main():
    values = jax.device_put(classifier.weights(), WHOLE)
    losses = list(trained(values, batches()))
    same = next(batches())
    classifier.report(
        losses,
        batch_s=classifier.seconds_each(jax.block_until_ready(batch) for batch in batches()),
        step_s=classifier.seconds_each(trained(values, [same] * classifier.STEPS)),
        loop_s=classifier.seconds_each(trained(values, batches())),
    )


if __name__ == "__main__":
    main()
