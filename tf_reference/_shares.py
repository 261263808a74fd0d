"""A replica's share of a loss: the optimizer of Keras adds up the gradients of all replicas."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def share(value: Any) -> Any:
    """The share of one replica in the mean over replicas: the value over their number; without a strategy, the value.

    A loss of Keras divides so by itself; tf.reduce_mean and what layers add to `model.losses` do not.
    """
    return value / tf.cast(tf.distribute.get_strategy().num_replicas_in_sync, value.dtype)
