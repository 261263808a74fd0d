"""ResNet v1.5 in Keras, trained with a gradient tape, and by Keras itself."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from tf_reference import Model, share
from tf_reference._precision import policy_of, scaled_for
from workloads import resnet50
from workloads.core.spec import Dimensions
from workloads.resnet50 import Block


class Unit(keras.layers.Layer):
    """Convolution without bias, then batch norm: [batch, height, width, in] -> [batch, height/s, width/s, out]."""

    def __init__(self, outputs: int, size: int, stride: int, policy: str) -> None:
        super().__init__(dtype=policy)
        self.convolution = keras.layers.Conv2D(
            outputs,
            size,
            strides=stride,
            padding="same",
            use_bias=False,
            kernel_regularizer=keras.regularizers.L2(resnet50.WEIGHT_DECAY / 2),
            dtype=policy,
        )
        self.norm = keras.layers.BatchNormalization(
            momentum=resnet50.NORM_MOMENTUM, epsilon=resnet50.NORM_EPSILON, dtype=policy
        )

    def call(self, x: Any, training: bool = False) -> Any:
        """[batch, height, width, in] -> [batch, height / stride, width / stride, out].

        Args:
          x: [batch, height, width, in].
          training: whether to normalise by the statistics of the batch.
        """
        return self.norm(self.convolution(x), training=training)

    def canonical(self, path: str) -> dict[str, keras.Variable]:
        """Its weights under their canonical paths."""
        return {
            f"{path}/kernel": self.convolution.kernel,
            f"{path}/gamma": self.norm.gamma,
            f"{path}/beta": self.norm.beta,
            f"{path}/mean": self.norm.moving_mean,
            f"{path}/variance": self.norm.moving_variance,
        }


class Bottleneck(keras.layers.Layer):
    """1x1, 3x3 with the stride, 1x1; the shortcut is projected in the first block of a stage."""

    def __init__(self, block: Block, policy: str) -> None:
        super().__init__(dtype=policy)
        self.path_in_model = block.path
        self.reduce = Unit(block.width, 1, 1, policy)
        self.spatial = Unit(block.width, 3, block.stride, policy)
        self.expand = Unit(block.outputs, 1, 1, policy)
        self.shortcut = Unit(block.outputs, 1, block.stride, policy) if block.projected else None

    def call(self, x: Any, training: bool = False) -> Any:
        """[batch, height, width, in] -> [batch, height / stride, width / stride, out].

        Args:
          x: [batch, height, width, in].
          training: whether to normalise by the statistics of the batch.
        """
        shortcut = x if self.shortcut is None else self.shortcut(x, training=training)
        x = tf.nn.relu(self.reduce(x, training=training))
        x = tf.nn.relu(self.spatial(x, training=training))
        return tf.nn.relu(self.expand(x, training=training) + shortcut)

    def canonical(self) -> dict[str, keras.Variable]:
        """Its weights under their canonical paths."""
        units = {"reduce": self.reduce, "spatial": self.spatial, "expand": self.expand, "shortcut": self.shortcut}
        weights: dict[str, keras.Variable] = {}
        for name, unit in units.items():
            if unit is not None:
                weights |= unit.canonical(f"{self.path_in_model}/{name}")
        return weights


class ResNet(keras.Model):
    """images [batch, side, side, 3] -> logits [batch, classes], from the average on in the variables' type."""

    def __init__(self, dimensions: Dimensions, policy: str) -> None:
        super().__init__(dtype=policy)
        self.stem = Unit(dimensions["width"], resnet50.STEM_SIZE, 2, policy)
        self.pool = keras.layers.MaxPooling2D(3, strides=2, padding="same", dtype=policy)
        self.blocks = [Bottleneck(block, policy) for block in resnet50.blocks(dimensions)]
        wide, regularizer = self.variable_dtype, keras.regularizers.L2(resnet50.WEIGHT_DECAY / 2)
        self.average = keras.layers.GlobalAveragePooling2D(dtype=wide)
        self.head = keras.layers.Dense(dimensions["classes"], kernel_regularizer=regularizer, dtype=wide)

    def call(self, images: Any, training: bool = False) -> Any:
        """Logits [batch, classes].

        Args:
          images: [batch, side, side, 3].
          training: whether to normalise by the statistics of the batch.
        """
        x = self.pool(tf.nn.relu(self.stem(images, training=training)))
        for block in self.blocks:
            x = block(x, training=training)
        return self.head(self.average(x))

    def canonical(self) -> dict[str, keras.Variable]:
        """Every weight under its canonical path."""
        weights = self.stem.canonical("stem")
        for block in self.blocks:
            weights |= block.canonical()
        return weights | {"head/kernel": self.head.kernel, "head/bias": self.head.bias}


class SmoothedCrossEntropy(keras.losses.Loss):
    """labels [batch], logits [batch, classes] -> the mean over the batch, with smoothed labels."""

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Labels [batch], logits [batch, classes] -> losses [batch]."""
        targets = tf.one_hot(tf.cast(y_true, tf.int32), y_pred.shape[-1], dtype=y_pred.dtype)
        return keras.losses.categorical_crossentropy(
            targets, y_pred, from_logits=True, label_smoothing=resnet50.LABEL_SMOOTHING
        )


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/resnet50.py: forward with the moving statistics, loss with those of the batch."""
    policy = policy_of(dimensions, dtype)
    model = ResNet(dimensions, policy)
    model(keras.Input((dimensions["side"], dimensions["side"], 3), dimensions["batch"], dtype=dtype))
    cross_entropy: Any = SmoothedCrossEntropy(dtype=dtype)
    optimizer = scaled_for(policy, keras.optimizers.SGD(resnet50.LEARNING_RATE, momentum=resnet50.MOMENTUM))
    optimizer.build(model.trainable_variables)
    model.compile(optimizer=optimizer, loss=cross_entropy, jit_compile=True)

    def loss(images: tf.Tensor, labels: tf.Tensor) -> Any:
        return cross_entropy(labels, model(images, training=True)) + tf.add_n(model.losses)

    def replica_loss(images: tf.Tensor, labels: tf.Tensor) -> Any:
        # Keras' loss is a share already, the sum over weights is not.
        return cross_entropy(labels, model(images, training=True)) + share(tf.add_n(model.losses))

    def step(images: tf.Tensor, labels: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            value = loss(images, labels)
            scaled_loss = optimizer.scale_loss(value)
        gradients = tape.gradient(scaled_loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return value

    return Model(
        forward=lambda images, labels: model(images, training=False),
        loss=loss,
        step=step,
        weights=model.canonical(),
        state={variable.path: variable for variable in optimizer.variables},
        optimizer=optimizer,
        keras=model,
        replica_loss=replica_loss,
    )
