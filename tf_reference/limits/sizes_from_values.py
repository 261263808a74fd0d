"""Functions of sizes that are not known when they are traced."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from workloads.protocol.attempting import Stage


def size_from_an_argument(x: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
    steps = tf.cast(tf.range(count), x.dtype)
    return tf.tanh(steps * x[0]) * 2.0 + x[1]


def repeat_by_counts(x: tf.Tensor, counts: tf.Tensor) -> tf.Tensor:
    repeats = tf.repeat(tf.tanh(x), counts)
    return tf.abs(repeats * 2.0 + 1.0)


def size_from_a_random_number(x: tf.Tensor) -> tf.Tensor:
    size = tf.cast(tf.random.uniform([], 8.1, 8.9), tf.int32)
    return tf.zeros([size]) + tf.tanh(x[0])


def comparison_of_an_unknown_size(x: tf.Tensor) -> tf.Tensor:
    if x.shape[0] > 32:
        return tf.tanh(x) * 2.0
    return x


def around_comparison_of_an_unknown_size(stage: Stage, x: np.ndarray) -> Any:
    return stage(input_signature=[tf.TensorSpec([None], tf.float32)])(x)
