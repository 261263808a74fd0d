"""Schedules of Keras at the steps of an array."""

from typing import Any

import tensorflow as tf
from keras import optimizers
from keras.optimizers import schedules

from tf_reference.gotchas._steps import steps

HALVING = schedules.ExponentialDecay(0.1, 1, 0.5)


def _of_each(schedule: schedules.LearningRateSchedule, at: tf.Tensor) -> tf.Tensor:
    return tf.stack([schedule(step) for step in tf.unstack(at)])


def cosine_warmup_steps(at: tf.Tensor) -> tf.Tensor:
    return _of_each(schedules.CosineDecay(0.0, 8, warmup_target=0.1, warmup_steps=4), at)


def cosine_warmup_alpha(at: tf.Tensor) -> tf.Tensor:
    return _of_each(schedules.CosineDecay(0.0, 8, alpha=0.1, warmup_target=0.5, warmup_steps=4), at)


def cosine_warmup_first_step(at: tf.Tensor) -> tf.Tensor:
    return _of_each(schedules.CosineDecay(0.0, 8, warmup_target=0.1, warmup_steps=4), at)


def cosine_warmup_without_target(at: tf.Tensor) -> Any:
    return schedules.CosineDecay(0.1, 8, warmup_steps=4)(at)


def cosine_restarts_length(at: tf.Tensor) -> Any:
    return schedules.CosineDecayRestarts(0.1, 5)(at)


def cosine_restarts_floor(at: tf.Tensor) -> Any:
    return schedules.CosineDecayRestarts(0.1, 5, t_mul=1.0, m_mul=0.5, alpha=0.1)(at)


def piecewise_boundary(at: tf.Tensor) -> Any:
    return schedules.PiecewiseConstantDecay([4, 8], [1.0, 0.5, 0.25])(at)


def piecewise_values(at: tf.Tensor) -> Any:
    return schedules.PiecewiseConstantDecay([4, 8], [0.1, 0.05, 0.01])(at)


def inverse_time_decay(at: tf.Tensor) -> Any:
    return schedules.InverseTimeDecay(0.1, decay_steps=4, decay_rate=0.5)(at)


def inverse_time_staircase(at: tf.Tensor) -> Any:
    return schedules.InverseTimeDecay(0.1, decay_steps=4, decay_rate=0.5, staircase=True)(at)


def polynomial_cycle(at: tf.Tensor) -> Any:
    return schedules.PolynomialDecay(0.1, 4, end_learning_rate=0.01, power=2.0, cycle=True)(at)


def polynomial_end(at: tf.Tensor) -> Any:
    return schedules.PolynomialDecay(0.1, 8)(at)


@tf.function(jit_compile=True)
def natural_exp_decay(at: tf.Tensor) -> tf.Tensor:
    return tf.compat.v1.train.natural_exp_decay(0.1, at, 4, 0.5)


def rate_after_step(weights: tf.Tensor, gradients: tf.Tensor) -> tf.Tensor:
    return steps(optimizers.SGD, weights, gradients, rates=True, learning_rate=HALVING)


def cosine_decay(at: tf.Tensor) -> Any:
    return schedules.CosineDecay(0.1, 8)(at)


def cosine_decay_alpha(at: tf.Tensor) -> Any:
    return schedules.CosineDecay(0.1, 8, alpha=0.1)(at)


def exponential_decay(at: tf.Tensor) -> Any:
    return schedules.ExponentialDecay(0.1, decay_steps=4, decay_rate=0.5)(at)


def exponential_staircase(at: tf.Tensor) -> Any:
    return schedules.ExponentialDecay(0.1, decay_steps=4, decay_rate=0.5, staircase=True)(at)


def polynomial_decay(at: tf.Tensor) -> Any:
    return schedules.PolynomialDecay(0.1, 8, end_learning_rate=0.01, power=2.0)(at)
