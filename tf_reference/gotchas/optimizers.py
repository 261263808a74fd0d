"""Optimizers of Keras, a few steps each."""

import keras
import tensorflow as tf
from keras import optimizers

from tf_reference.gotchas._steps import steps

HALVING = optimizers.schedules.ExponentialDecay(0.1, 1, 0.5)
FTRL = {"learning_rate": 0.1, "l1_regularization_strength": 0.1, "l2_regularization_strength": 0.1}
EMA = {"learning_rate": 0.1, "use_ema": True, "ema_momentum": 0.9}
NAMES = "kernel", "bias"
MAX_NORM = keras.constraints.MaxNorm(1.0)


def adamw_exclude(kernel: tf.Tensor, bias: tf.Tensor, by_kernel: tf.Tensor, by_bias: tf.Tensor) -> tf.Tensor:
    return steps(optimizers.AdamW, kernel, bias, by_kernel, by_bias, names=NAMES, exclude=("bias",), learning_rate=1e-2)


def schedule_free_adamw(weights: tf.Tensor, gradients: tf.Tensor) -> tf.Tensor:
    return steps(optimizers.ScheduleFreeAdamW, weights, gradients, copies="momentum", learning_rate=0.1, warmup_steps=3)
