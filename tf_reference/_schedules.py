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
