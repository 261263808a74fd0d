"""Dropout by draws that are an input of the workload."""

from __future__ import annotations

import tensorflow as tf

from workloads import _dropout


def dropout(values: tf.Tensor, draws: tf.Tensor, rate: float) -> tf.Tensor:
    """Drop values whose draw (u8, of their shape or broadcast to it) is below the rate; scale up the others.

    Args:
      values: floats of any shape.
      draws: u8 of the values' shape, or broadcast to it.
      rate: the share that is dropped, in [0, 1).
    """
    is_kept = draws >= tf.constant(_dropout.threshold(rate), tf.uint8)
    # tf.cast would round the scale to float32 on its way to float64.
    return tf.where(is_kept, values * tf.constant(_dropout.scale(rate), values.dtype), tf.zeros((), values.dtype))
