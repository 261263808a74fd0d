"""Recurrent layers of Keras with their weights as arguments."""

from typing import Any

import keras
import tensorflow as tf

UNITS, SHAPE = 4, (2, 5, 3)


def _build(layer: Any, shape: tuple[int | None, ...] = SHAPE) -> Any:
    layer.build(shape)
    return layer


def _call(layer: Any, weights: Any, x: tf.Tensor, **options: Any) -> Any:
    states = [variable.value for variable in layer.non_trainable_variables]
    return layer.stateless_call(list(weights), states, x, **options)[0]


LSTM = _build(keras.layers.LSTM(UNITS, return_sequences=True))
LSTM_LAST = _build(keras.layers.LSTM(UNITS))
LSTM_STATE = _build(keras.layers.LSTM(UNITS, return_state=True))
LSTM_BACKWARDS = _build(keras.layers.LSTM(UNITS, return_sequences=True, go_backwards=True))
LSTM_HARD = _build(keras.layers.LSTM(UNITS, return_sequences=True, recurrent_activation="hard_sigmoid"))
GRU = _build(keras.layers.GRU(UNITS, return_sequences=True))
GRU_BEFORE = _build(keras.layers.GRU(UNITS, return_sequences=True, reset_after=False))
SIMPLE = _build(keras.layers.SimpleRNN(UNITS, return_sequences=True))
BIDIRECTIONAL = _build(keras.layers.Bidirectional(keras.layers.LSTM(UNITS, return_sequences=True)))
BIDIRECTIONAL_LAST = _build(keras.layers.Bidirectional(keras.layers.LSTM(UNITS)))
IMAGES = (2, 3, 6, 6, 2)
CONV_SAME = _build(keras.layers.ConvLSTM2D(3, 3, padding="same", return_sequences=True), IMAGES)
CONV_VALID = _build(keras.layers.ConvLSTM2D(3, 3, return_sequences=True), IMAGES)


def lstm_tf1_gate_order(x: tf.Tensor, kernel: tf.Tensor, recurrent: tf.Tensor, bias: tf.Tensor) -> tf.Tensor:
    hidden, cell, outputs = tf.zeros((2, UNITS)), tf.zeros((2, UNITS)), []
    for step in tf.unstack(x, axis=1):
        i, g, f, o = tf.split(step @ kernel + hidden @ recurrent + bias, 4, axis=1)
        cell = cell * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(g)
        hidden = tf.tanh(cell) * tf.sigmoid(o)
        outputs.append(hidden)
    return tf.stack(outputs, axis=1)


def lstm_states_order(x: tf.Tensor, kernel: tf.Tensor, recurrent: tf.Tensor, bias: tf.Tensor) -> Any:
    _, hidden, cell = _call(LSTM_STATE, (kernel, recurrent, bias), x)
    return {"hidden": hidden, "cell": cell}


def bidirectional_order(x: tf.Tensor, *weights: tf.Tensor) -> Any:
    return _call(BIDIRECTIONAL, weights, x)


def bidirectional_last(x: tf.Tensor, *weights: tf.Tensor) -> Any:
    return _call(BIDIRECTIONAL_LAST, weights, x)


def bidirectional_mask(x: tf.Tensor, lengths: tf.Tensor, *weights: tf.Tensor) -> Any:
    return _call(BIDIRECTIONAL_LAST, weights, x, mask=tf.sequence_mask(lengths, 5))


def bidirectional(x: tf.Tensor, *weights: tf.Tensor) -> Any:
    return _call(BIDIRECTIONAL, weights, x)


def rnn_return_state(x: tf.Tensor, lengths: tf.Tensor, kernel: tf.Tensor, recurrent: tf.Tensor, bias: tf.Tensor) -> Any:
    _, hidden, cell = _call(LSTM_STATE, (kernel, recurrent, bias), x, mask=tf.sequence_mask(lengths, 5))
    return {"hidden": hidden, "cell": cell}
