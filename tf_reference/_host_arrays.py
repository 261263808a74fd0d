"""Results of TensorFlow as arrays of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf


def on_host(value: Any) -> np.ndarray:
    """A copy of a tensor. NumPy makes none of a scalar in bfloat16, which the tensor's own method does."""
    return np.array(value.numpy() if tf.is_tensor(value) else value)
