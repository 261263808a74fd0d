"""A whole training step inside `strategy.run`, with `all_reduce` in the replica context: plain, and compiled by XLA.

Two logical devices of the processor each take half of a batch. TensorFlow's documentation writes the compiled step so,
for GPUs. Prints what came of each way to write it; the last line is JSON.

  python examples/distribution/replica_all_reduce.py
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

BATCHES = (1.0, 1.5)
"""The input of each replica, four times over; after a step the weights are neither 0 nor 1."""
RATE = 0.1


def start() -> tuple[Any, Any, Any]:
    """The strategy on two logical devices, a variable of it, and the inputs of its replicas."""
    (processor,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(processor, [tf.config.LogicalDeviceConfiguration()] * len(BATCHES))
    strategy = tf.distribute.MirroredStrategy([device.name for device in tf.config.list_logical_devices("CPU")])
    with strategy.scope():
        weights = tf.Variable(tf.ones([4]))
    inputs = strategy.experimental_distribute_values_from_function(
        lambda context: tf.fill([4], BATCHES[context.replica_id_in_sync_group])
    )
    return strategy, weights, inputs


def whole_step(weights: Any, x: tf.Tensor) -> tf.Tensor:
    """The loss of a replica; the weights of both moved by the gradient of both."""
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum((weights * x) ** 2)
    gradient = tape.gradient(loss, weights)
    context = tf.distribute.get_replica_context()
    weights.assign_sub(RATE * context.all_reduce(tf.distribute.ReduceOp.SUM, gradient))
    return loss


def only_exchange(x: tf.Tensor) -> tf.Tensor:
    """The sum over replicas, and nothing else: no variable of ours."""
    return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, x)


def is_right(name: str, results: Sequence[np.ndarray], copies: Sequence[np.ndarray]) -> bool:
    """Whether one way from weights of ones gave what one computes by hand, on each replica.

    Args:
      name: of the way.
      results: of each replica: its loss, or the sum over replicas; none where the way was refused.
      copies: the weights of each replica, afterwards.
    """
    weights, wanted = 1.0, [np.full(4, sum(BATCHES))] * len(BATCHES)
    if "alone" not in name:
        wanted = [np.full((), 4 * x**2) for x in BATCHES]  # the loss: the sum of (w x)^2, whose gradient is 2 w x^2
        weights = 1 - RATE * sum(2 * x**2 for x in BATCHES)
    if not results:
        weights, wanted = 1.0, []
    pairs = [*zip(results, wanted, strict=True), *((copy, np.full(4, weights)) for copy in copies)]
    return all(found.shape == value.shape and np.allclose(found, value, rtol=1e-6) for found, value in pairs)


def attempt(call: Callable[[], Sequence[tf.Tensor]]) -> tuple[list[np.ndarray], str]:
    """The results; what TensorFlow says where there are none, in one line."""
    try:
        return [result.numpy() for result in call()], ""
    except (tf.errors.OpError, ValueError, RuntimeError, NotImplementedError) as error:
        return [], f"{type(error).__name__}: {' '.join(str(error).split())}".replace(f"{Path(__file__).parent}/", "")


def main() -> None:
    """Try each way once, from the same weights."""
    strategy, weights, inputs = start()

    def step(x: tf.Tensor) -> tf.Tensor:
        return whole_step(weights, x)

    def of_both(of_replica: Callable[..., Any], compiled: bool | None = None) -> Callable[[], Any]:
        whole = tf.function(lambda x: strategy.run(of_replica, args=(x,)), jit_compile=compiled)
        return lambda: strategy.experimental_local_results(whole(inputs))

    ways = {
        "plain": of_both(step),
        "compiled in strategy.run": of_both(tf.function(step, jit_compile=True)),
        "compiled around strategy.run": of_both(step, True),
        "all_reduce alone, compiled in strategy.run": of_both(tf.function(only_exchange, jit_compile=True)),
        "all_reduce alone, compiled around strategy.run": of_both(only_exchange, True),
    }
    refusals: dict[str, str] = {}
    wrong: list[str] = []
    for name, way in ways.items():
        weights.assign(tf.ones([4]))
        results, refusals[name] = attempt(way)
        if not is_right(name, results, [copy.numpy() for copy in weights.values]):
            wrong.append(name)
        print(f"{name}: {refusals[name] or 'runs'}")
    print(json.dumps({"refused": refusals, "wrong": wrong}))


if __name__ == "__main__":
    main()
