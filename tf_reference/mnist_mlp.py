"""The dense digit classifier in Keras, trained with a gradient tape, and by Keras itself.

At size keras the step is Keras' own train_step instead of the tape: a program like any other.
"""

from typing import Any

import keras
import tensorflow as tf

from tf_reference import Model, keras_train_step
from workloads.core.spec import Dimensions


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/mnist_mlp.py: images [batch, features], labels [batch] -> logits [batch, 10]."""
    hidden = keras.layers.Dense(dimensions["hidden"], activation="relu", dtype=dtype, name="hidden")
    logits = keras.layers.Dense(10, dtype=dtype, name="logits")
    model: Any = keras.Sequential([keras.Input((dimensions["features"],), dtype=dtype), hidden, logits])
    cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True, dtype=dtype)
    optimizer = keras.optimizers.Adam(learning_rate=1e-3)
    optimizer.build(model.trainable_variables)
    model.compile(optimizer=optimizer, loss=cross_entropy, jit_compile=True)

    def loss(images: tf.Tensor, labels: tf.Tensor) -> Any:
        return cross_entropy(labels, model(images, training=True))

    def step(images: tf.Tensor, labels: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            value = loss(images, labels)
        gradients = tape.gradient(value, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return value

    metrics = model.metrics_variables if dimensions.get("keras") else ()
    return Model(
        forward=lambda images, labels: model(images, training=True),
        loss=loss,
        step=keras_train_step(model) if dimensions.get("keras") else step,
        weights={
            "hidden/kernel": hidden.kernel,
            "hidden/bias": hidden.bias,
            "logits/kernel": logits.kernel,
            "logits/bias": logits.bias,
        },
        state={variable.path: variable for variable in (*optimizer.variables, *metrics)},
        optimizer=optimizer,
        keras=model,
    )
