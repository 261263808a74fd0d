"""The convolutional digit classifier in Keras, trained with a gradient tape, and by Keras itself."""

from typing import Any

import keras
import tensorflow as tf

from tf_reference import Model
from tf_reference._dropout import dropout
from workloads import conv_mnist
from workloads.core.spec import Dimensions


class Classifier(keras.Model):
    """images [batch, height, width, 1], draws u8[batch, features] -> logits [batch, 10]."""

    def __init__(self, dimensions: Dimensions, dtype: str) -> None:
        super().__init__(dtype=dtype)
        first, second = conv_mnist.channels(dimensions)
        height, width = dimensions["height"], dimensions["width"]
        convolution: dict[str, Any] = {"padding": "same", "activation": "relu", "dtype": dtype}
        self.conv1 = keras.layers.Conv2D(first, conv_mnist.KERNEL, name="conv1", **convolution)
        self.conv2 = keras.layers.Conv2D(second, conv_mnist.KERNEL, name="conv2", **convolution)
        self.pool = keras.layers.MaxPooling2D(conv_mnist.POOL, dtype=dtype)
        self.flatten = keras.layers.Flatten(dtype=dtype)
        self.logits = keras.layers.Dense(10, dtype=dtype, name="logits")
        self.conv1.build((None, height, width, 1))
        self.conv2.build((None, height // conv_mnist.POOL, width // conv_mnist.POOL, first))
        self.logits.build((None, conv_mnist.features(dimensions)))

    def call(self, images: tf.Tensor, draws: tf.Tensor, training: bool = False) -> Any:
        """Logits [batch, 10].

        Args:
          images: [batch, height, width, 1].
          draws: u8[batch, features].
          training: whether features are dropped.
        """
        features = self.flatten(self.pool(self.conv2(self.pool(self.conv1(images)))))
        return self.logits(dropout(features, draws, conv_mnist.DROPOUT_RATE) if training else features)


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/conv_mnist.py."""
    model = Classifier(dimensions, dtype)
    cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True, dtype=dtype)
    optimizer = keras.optimizers.Adam(learning_rate=conv_mnist.LEARNING_RATE)
    optimizer.build(model.trainable_variables)
    height, width, features = dimensions["height"], dimensions["width"], conv_mnist.features(dimensions)
    arguments = [keras.Input((height, width, 1), dtype=dtype), keras.Input((features,), dtype="uint8")]
    keras_model: Any = keras.Model(arguments, model(*arguments))
    keras_model.compile(optimizer=optimizer, loss=cross_entropy, jit_compile=True)

    def loss(images: tf.Tensor, draws: tf.Tensor, labels: tf.Tensor) -> Any:
        return cross_entropy(labels, model(images, draws, training=True))

    def step(images: tf.Tensor, draws: tf.Tensor, labels: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            value = loss(images, draws, labels)
        gradients = tape.gradient(value, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return value

    return Model(
        forward=lambda images, draws, labels: model(images, draws),
        loss=loss,
        step=step,
        weights={
            "conv1/kernel": model.conv1.kernel,
            "conv1/bias": model.conv1.bias,
            "conv2/kernel": model.conv2.kernel,
            "conv2/bias": model.conv2.bias,
            "logits/kernel": model.logits.kernel,
            "logits/bias": model.logits.bias,
        },
        state={variable.path: variable for variable in optimizer.variables},
        optimizer=optimizer,
        keras=keras_model,
    )
