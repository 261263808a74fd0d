"""Classification of sequences by a Keras LSTM with a mask, trained with a gradient tape, and by Keras itself."""

from typing import Any

import keras
import tensorflow as tf

from tf_reference import Model
from workloads import lstm
from workloads._spec import Dimensions


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


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/lstm.py: forward gives the probabilities [batch, classes]."""
    model = Classifier(dimensions, dtype)
    cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True, dtype=dtype)
    optimizer = keras.optimizers.Adam(learning_rate=lstm.LEARNING_RATE)
    optimizer.build(model.trainable_variables)
    sequence = dimensions["time"], dimensions["features"]
    arguments = [keras.Input(sequence, dtype=dtype), keras.Input((), dtype="int32")]
    fitted: Any = keras.Model(arguments, model(*arguments))
    fitted.compile(optimizer=optimizer, loss=cross_entropy, jit_compile=True)

    def loss(sequences: tf.Tensor, lengths: tf.Tensor, labels: tf.Tensor) -> Any:
        return cross_entropy(labels, model(sequences, lengths))

    def step(sequences: tf.Tensor, lengths: tf.Tensor, labels: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            value = loss(sequences, lengths, labels)
        gradients = tape.gradient(value, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return value

    return Model(
        forward=lambda sequences, lengths, labels: tf.nn.softmax(model(sequences, lengths)),
        loss=loss,
        step=step,
        weights={
            "lstm/kernel": model.lstm.cell.kernel,
            "lstm/recurrent_kernel": model.lstm.cell.recurrent_kernel,
            "lstm/bias": model.lstm.cell.bias,
            "logits/kernel": model.logits.kernel,
            "logits/bias": model.logits.bias,
        },
        state={variable.path: variable for variable in optimizer.variables},
        optimizer=optimizer,
        keras=fitted,
    )
