"""Learning rates that change from step to step and that Keras does not bring."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf


class WarmUp(keras.optimizers.schedules.LearningRateSchedule):
    """From 0 to the peak in `warm_up` steps, then down to 0 at step `total`, both in straight lines, as BERT's."""

    def __init__(self, peak: float, warm_up: int, total: int, dtype: str) -> None:
        super().__init__()
        self.peak, self.warm_up, self.total, self.dtype = peak, warm_up, total, dtype

    def __call__(self, step: Any) -> tf.Tensor:
        """The rate of a step, counted from 0."""
        time = tf.cast(step, self.dtype)
        return self.peak * tf.minimum(time / self.warm_up, 1 - time / self.total)


class InverseSquareRoot(keras.optimizers.schedules.LearningRateSchedule):
    """Up in a straight line for `warm_up` steps, then down with the root of the step (Vaswani et al. 2017, 5.3)."""

    def __init__(self, width: int, warm_up: int, dtype: str) -> None:
        super().__init__()
        self.width, self.warm_up, self.dtype = width, warm_up, dtype

    def __call__(self, step: Any) -> tf.Tensor:
        """The rate of a step, counted from 0."""
        time = tf.cast(step + 1, self.dtype)
        return self.width**-0.5 * tf.minimum(tf.math.rsqrt(time), time * self.warm_up**-1.5)
