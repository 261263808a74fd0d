"""Training steps in one loop of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from workloads.protocol.attempting import Stage

_RATE = 0.05


def training_steps_in_a_loop(weight: tf.Variable, x: tf.Tensor, y: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    loss = tf.constant(0.0)
    for step in tf.range(tf.shape(x)[0]):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.tanh(x[step] @ weight) - y[step]))
        weight.assign_sub(_RATE * tape.gradient(loss, weight))
    return loss, weight.read_value()


def around_training_steps_in_a_loop(stage: Stage, weight: np.ndarray, x: np.ndarray, y: np.ndarray) -> Any:
    return stage()(tf.Variable(weight), x, y)
