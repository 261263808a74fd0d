"""One step of a small LSTM cell in Keras, and by a kernel that was written by hand."""

from typing import Any

import keras
import tensorflow as tf

from tf_reference import Model
from tf_reference._block_lstm import block_lstm
from workloads.core.spec import Dimensions


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/lstm_cell.py: values [batch, features], hidden and cell [batch, units] -> the next two."""
    layer = keras.layers.LSTMCell(dimensions["units"], dtype=dtype)
    layer.build((None, dimensions["features"]))

    def forward(values: tf.Tensor, hidden: tf.Tensor, cell: tf.Tensor) -> dict[str, Any]:
        _, (next_hidden, next_cell) = layer(values, [hidden, cell])
        return {"hidden": next_hidden, "cell": next_cell}

    def handwritten(values: tf.Tensor, hidden: tf.Tensor, cell: tf.Tensor) -> dict[str, Any]:
        next_hidden, next_cell = block_lstm(layer, values[tf.newaxis], hidden, cell)
        return {"hidden": next_hidden[0], "cell": next_cell[0]}

    return Model(
        forward,
        {
            "lstm/kernel": layer.kernel,
            "lstm/recurrent_kernel": layer.recurrent_kernel,
            "lstm/bias": layer.bias,
        },
        handwritten=handwritten,
    )
