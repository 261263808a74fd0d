"""One step of a small LSTM cell in Keras."""

from typing import Any

import keras
import tensorflow as tf

from tf_reference import Model
from workloads._spec import Dimensions


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/lstm_cell.py: values [batch, features], hidden and cell [batch, units] -> the next two."""
    layer = keras.layers.LSTMCell(dimensions["units"], dtype=dtype)
    layer.build((None, dimensions["features"]))

    def forward(values: tf.Tensor, hidden: tf.Tensor, cell: tf.Tensor) -> dict[str, Any]:
        _, (next_hidden, next_cell) = layer(values, [hidden, cell])
        return {"hidden": next_hidden, "cell": next_cell}

    return Model(
        forward,
        {
            "lstm/kernel": layer.kernel,
            "lstm/recurrent_kernel": layer.recurrent_kernel,
            "lstm/bias": layer.bias,
        },
    )
