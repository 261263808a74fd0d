"""Classification of sequences by a Keras LSTM with a mask, trained with a gradient tape, and by Keras itself.

The same step stands once more with the recurrence as one operation, whose kernel was written by hand.
"""

from typing import Any

import keras
import tensorflow as tf

from tf_reference import Model
from tf_reference._block_lstm import block_lstm
from workloads import lstm
from workloads.core.spec import Dimensions


class Classifier(keras.Model):
    """sequences [batch, time, features], lengths i32[batch] -> logits [batch, classes]."""

    def __init__(self, dimensions: Dimensions, dtype: str) -> None:
        super().__init__(dtype=dtype)
        # cuDNN's kernel is one that XLA neither sees nor compiles.
        self.lstm = keras.layers.LSTM(dimensions["units"], use_cudnn=False, dtype=dtype, name="lstm")
        self.logits = keras.layers.Dense(dimensions["classes"], dtype=dtype, name="logits")
        self.lstm.build((dimensions["batch"], dimensions["time"], dimensions["features"]))
        self.logits.build((None, dimensions["units"]))

    def call(self, sequences: tf.Tensor, lengths: tf.Tensor) -> Any:
        """Logits of the state after the last step that a sequence has."""
        mask = tf.sequence_mask(lengths, maxlen=sequences.shape[1])
        return self.logits(self.lstm(sequences, mask=mask))

    def by_hand(self, sequences: tf.Tensor, lengths: tf.Tensor) -> Any:
        """The same logits by one operation over all steps, of which the last that a sequence has is picked."""
        start = tf.zeros([sequences.shape[0], self.lstm.units], sequences.dtype)
        hidden, _ = block_lstm(self.lstm.cell, tf.transpose(sequences, [1, 0, 2]), start, start)
        return self.logits(tf.gather_nd(hidden, tf.stack([lengths - 1, tf.range(len(start))], axis=1)))


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/lstm.py: forward gives the probabilities [batch, classes]."""
    model = Classifier(dimensions, dtype)
    cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True, dtype=dtype)
    optimizer = keras.optimizers.Adam(learning_rate=lstm.LEARNING_RATE)
    optimizer.build(model.trainable_variables)
    sequence = dimensions["time"], dimensions["features"]
    arguments = [keras.Input(sequence, dtype=dtype), keras.Input((), dtype="int32")]
    keras_model: Any = keras.Model(arguments, model(*arguments))
    keras_model.compile(optimizer=optimizer, loss=cross_entropy, jit_compile=True)

    def loss(sequences: tf.Tensor, lengths: tf.Tensor, labels: tf.Tensor) -> Any:
        return cross_entropy(labels, model(sequences, lengths))

    def step_of(logits: Any) -> Any:
        def step(sequences: tf.Tensor, lengths: tf.Tensor, labels: tf.Tensor) -> Any:
            with tf.GradientTape() as tape:
                value = cross_entropy(labels, logits(sequences, lengths))
            gradients = tape.gradient(value, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            return value

        return step

    return Model(
        forward=lambda sequences, lengths, labels: tf.nn.softmax(model(sequences, lengths)),
        loss=loss,
        step=step_of(model),
        weights={
            "lstm/kernel": model.lstm.cell.kernel,
            "lstm/recurrent_kernel": model.lstm.cell.recurrent_kernel,
            "lstm/bias": model.lstm.cell.bias,
            "logits/kernel": model.logits.kernel,
            "logits/bias": model.logits.bias,
        },
        state={variable.path: variable for variable in optimizer.variables},
        optimizer=optimizer,
        keras=keras_model,
        handwritten=step_of(model.by_hand),
    )
