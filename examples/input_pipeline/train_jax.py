"""The same training in JAX: one program for both devices, mixed precision and XLA, fed by tf.data or by Grain.

usage: python train_jax.py [tf_data | grain]
"""

import importlib
import os
import sys

os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"

import classifier
import jax
import jax.numpy as jnp
import optax
from jax.sharding import NamedSharding, PartitionSpec

mesh = jax.make_mesh((2,), ("data",))
SPLIT, WHOLE = NamedSharding(mesh, PartitionSpec("data")), NamedSharding(mesh, PartitionSpec())


def on_devices(batches):
    """Each batch split over the devices while the step before it runs: JAX does not wait."""
    for batch in batches:
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
    loader = importlib.import_module(f"{(sys.argv[1:] or ['tf_data'])[0]}_batches")
    values = jax.device_put(classifier.weights(), WHOLE)
    losses = list(trained(values, on_devices(loader.batches())))
    same = next(on_devices(loader.batches()))
    classifier.report(
        losses,
        batches=classifier.digest(loader.batches()),
        batch_s=classifier.seconds_each(jax.block_until_ready(batch) for batch in on_devices(loader.batches())),
        step_s=classifier.seconds_each(trained(values, [same] * classifier.STEPS)),
        loop_s=classifier.seconds_each(trained(values, on_devices(loader.batches()))),
    )


if __name__ == "__main__":
    main()
