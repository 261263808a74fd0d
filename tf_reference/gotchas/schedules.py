"""Schedules of Keras at the steps of an array."""

import tensorflow as tf
from keras.optimizers import schedules

HALVING = schedules.ExponentialDecay(0.1, 1, 0.5)


def _of_each(schedule: schedules.LearningRateSchedule, step_tensor: tf.Tensor) -> tf.Tensor:
    return tf.stack([schedule(step) for step in tf.unstack(step_tensor)])


@tf.function(jit_compile=True)
def natural_exp_decay(step: tf.Tensor) -> tf.Tensor:
    return tf.compat.v1.train.natural_exp_decay(0.1, step, 4, 0.5)
