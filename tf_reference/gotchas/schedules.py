"""Schedules of Keras at the steps of an array."""

from typing import Any

import tensorflow as tf
from keras import optimizers
from keras.optimizers import schedules

from tf_reference.gotchas._steps import steps

HALVING = schedules.ExponentialDecay(0.1, 1, 0.5)


def _of_each(schedule: schedules.LearningRateSchedule, step_tensor: tf.Tensor) -> tf.Tensor:
    return tf.stack([schedule(step) for step in tf.unstack(step_tensor)])


def cosine_warmup_alpha(step: tf.Tensor) -> tf.Tensor:
    return _of_each(schedules.CosineDecay(0.0, 8, alpha=0.1, warmup_target=0.5, warmup_steps=4), step)


def cosine_warmup_first_step(step: tf.Tensor) -> tf.Tensor:
    return _of_each(schedules.CosineDecay(0.0, 8, warmup_target=0.1, warmup_steps=4), step)


def cosine_restarts_floor(step: tf.Tensor) -> Any:
    return schedules.CosineDecayRestarts(0.1, 5, t_mul=1.0, m_mul=0.5, alpha=0.1)(step)


@tf.function(jit_compile=True)
def natural_exp_decay(step: tf.Tensor) -> tf.Tensor:
    return tf.compat.v1.train.natural_exp_decay(0.1, step, 4, 0.5)


def rate_after_step(weights: tf.Tensor, gradients: tf.Tensor) -> tf.Tensor:
    return steps(optimizers.SGD, weights, gradients, rates=True, learning_rate=HALVING)
