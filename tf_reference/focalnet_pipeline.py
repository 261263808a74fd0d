"""The vision pipeline in TensorFlow: patches by tf.gather_nd, a FocalNet of Keras layers, a gradient tape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import keras
import tensorflow as tf

from tf_reference import Model
from tf_reference._transformer import dense, norm
from workloads import focalnet_pipeline as pipeline
from workloads.core.spec import Dimensions
from workloads.focalnet_pipeline import Block, Merge


def cut(frames: tf.Tensor, positions: tf.Tensor, crop: int) -> tf.Tensor:
    """Patches [batch, patches, crop, crop, 3].

    Args:
      frames: [batch, height, width, 3].
      positions: i32[batch, patches, 2], the centres in pixels.
      crop: side of a patch in pixels.
    """
    last = tf.constant([frames.shape[1] - crop, frames.shape[2] - crop])
    corners = tf.clip_by_value(positions - crop // 2, 0, last)
    offsets = tf.stack(tf.meshgrid(tf.range(crop), tf.range(crop), indexing="ij"), axis=-1)
    return tf.gather_nd(frames, corners[:, :, None, None, :] + offsets, batch_dims=1)


def preprocess(patches: tf.Tensor) -> tf.Tensor:
    """Patches [..., crop, crop, 3] in [0, 1] -> halved in size, with the mean and deviation of ImageNet's channels."""
    matrix = tf.constant(pipeline.interpolation(patches.shape[-2]), patches.dtype)
    smaller = tf.einsum("rh,bphwc,sw->bprsc", matrix, patches, matrix)
    mean, deviation = (tf.constant(statistic, patches.dtype) for statistic in (pipeline.MEAN, pipeline.DEVIATION))
    return (smaller - mean) / deviation


class Embedding(keras.layers.Layer):
    """Every size x size places become one, then layer norm: [batch, h, w, in] -> [batch, h / size, w / size, out]."""

    def __init__(self, merge: Merge, dtype: str) -> None:
        super().__init__(dtype=dtype)
        self.place = merge.path
        self.convolution = keras.layers.Conv2D(merge.outputs, merge.size, strides=merge.size, dtype=dtype)
        self.norm = keras.layers.LayerNormalization(epsilon=pipeline.NORM_EPSILON, dtype=dtype)

    def call(self, x: Any) -> Any:
        """[batch, height, width, in] -> [batch, height / size, width / size, out]."""
        return self.norm(self.convolution(x))

    def canonical(self) -> dict[str, keras.Variable]:
        """Its weights under their canonical paths."""
        return dense(self.place, self.convolution) | norm(f"{self.place}/norm", self.norm)


class FocalModulation(keras.layers.Layer):
    """Each place of [batch, h, w, width] is multiplied by what it sees around it, at every level and as a whole."""

    def __init__(self, block: Block, dtype: str) -> None:
        super().__init__(dtype=dtype)
        self.block = block
        self.project = keras.layers.Dense(block.projection_width, dtype=dtype)
        self.focal = [
            keras.layers.DepthwiseConv2D(size, padding="same", use_bias=False, activation=_gelu, dtype=dtype)
            for size in block.kernels
        ]
        self.modulate = keras.layers.Dense(block.width, dtype=dtype)
        self.output_dense = keras.layers.Dense(block.width, dtype=dtype)

    def call(self, x: Any) -> Any:
        """[batch, height, width, channels] -> the same shape."""
        width, levels = self.block.width, self.block.levels
        query, context, gates = tf.split(self.project(x), [width, width, levels + 1], axis=-1)
        context_sum = tf.zeros_like(context)
        for level, look in enumerate(self.focal):
            context = look(context)
            context_sum += context * gates[..., level : level + 1]
        whole = _gelu(tf.reduce_mean(context, axis=(1, 2), keepdims=True))
        context_sum += whole * gates[..., levels:]
        return self.output_dense(query * self.modulate(context_sum))

    def canonical(self) -> dict[str, keras.Variable]:
        """Its weights under their canonical paths."""
        path = self.block.path
        kernels = {f"{path}/focal{level}/kernel": look.kernel for level, look in enumerate(self.focal, start=1)}
        layers = {"project": self.project, "modulate": self.modulate, "output": self.output_dense}
        for name, layer in layers.items():
            kernels |= dense(f"{path}/{name}", layer)
        return kernels


class FocalBlock(keras.layers.Layer):
    """Modulation and a dense block, each behind a layer norm and added to what came in."""

    def __init__(self, block: Block, dtype: str) -> None:
        super().__init__(dtype=dtype)
        self.block = block
        self.norm1 = keras.layers.LayerNormalization(epsilon=pipeline.NORM_EPSILON, dtype=dtype)
        self.modulation = FocalModulation(block, dtype)
        self.norm2 = keras.layers.LayerNormalization(epsilon=pipeline.NORM_EPSILON, dtype=dtype)
        self.expand = keras.layers.Dense(pipeline.EXPANSION * block.width, activation=_gelu, dtype=dtype)
        self.contract = keras.layers.Dense(block.width, dtype=dtype)

    def call(self, x: Any) -> Any:
        """[batch, height, width, channels] -> the same shape."""
        x = x + self.modulation(self.norm1(x))
        return x + self.contract(self.expand(self.norm2(x)))

    def canonical(self) -> dict[str, keras.Variable]:
        """Its weights under their canonical paths."""
        path = self.block.path
        norms = norm(f"{path}/norm1", self.norm1) | norm(f"{path}/norm2", self.norm2)
        products = dense(f"{path}/expand", self.expand) | dense(f"{path}/contract", self.contract)
        return self.modulation.canonical() | norms | products


class Pipeline(keras.Model):
    """frames, positions -> logits [batch, patches, classes]."""

    def __init__(self, dimensions: Dimensions, dtype: str) -> None:
        super().__init__(dtype=dtype)
        self.crop = dimensions["crop"]
        self.embeddings = [Embedding(merge, dtype) for merge in pipeline.merges(dimensions)]
        self.stages = [
            [FocalBlock(block, dtype) for block in pipeline.blocks(dimensions) if block.stage == stage]
            for stage in range(1, pipeline.STAGES + 1)
        ]
        self.norm = keras.layers.LayerNormalization(epsilon=pipeline.NORM_EPSILON, dtype=dtype)
        self.average = keras.layers.GlobalAveragePooling2D(dtype=dtype)
        self.head = keras.layers.Dense(dimensions["classes"], dtype=dtype)

    def call(self, frames: Any, positions: Any) -> Any:
        """Frames [batch, height, width, 3], positions i32[batch, patches, 2] -> logits [batch, patches, classes]."""
        return self.logits(frames, positions, self.parts())

    def parts(self) -> list[Callable[..., Any]]:
        """The parts of the pipeline in order: cut and preprocess, the stages, classify."""
        return [self.prepare, *(partial(self.stage, index) for index in range(pipeline.STAGES)), self.classify]

    def logits(self, frames: Any, positions: Any, parts: Sequence[Callable[..., Any]]) -> Any:
        """Logits [batch, patches, classes] by these parts, one after the other.

        Args:
          frames: [batch, height, width, 3].
          positions: i32[batch, patches, 2].
          parts: as `parts` gives them, compiled or not.
        """
        first, *others = parts
        x = first(frames, positions)
        for part in others:
            x = part(x)
        return tf.reshape(x, (*positions.shape[:2], -1))

    def prepare(self, frames: Any, positions: Any) -> Any:
        """Patches of all frames, [batch * patches, crop / 2, crop / 2, 3]."""
        patches = preprocess(cut(frames, positions, self.crop))
        return tf.reshape(patches, (-1, *patches.shape[2:]))

    def stage(self, index: int, x: Any) -> Any:
        """Embedded or merged, and through the blocks of a stage, counted from 0."""
        x = self.embeddings[index](x)
        for block in self.stages[index]:
            x = block(x)
        return x

    def classify(self, x: Any) -> Any:
        """[batch * patches, height, width, channels] -> [batch * patches, classes]."""
        return self.head(self.average(self.norm(x)))

    def canonical(self) -> dict[str, keras.Variable]:
        """Every weight under its canonical path."""
        weights = norm("norm", self.norm) | dense("head", self.head)
        for part in (*self.embeddings, *(block for blocks in self.stages for block in blocks)):
            weights |= part.canonical()
        return weights


def _gelu(x: Any) -> Any:
    return tf.nn.gelu(x, approximate=False)


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/focalnet_pipeline.py."""
    model = Pipeline(dimensions, dtype)
    batch, frame, patches = dimensions["batch"], dimensions["frame"], dimensions["patches"]
    # Keras makes a layer's variables when it is first called.
    model(tf.zeros((batch, frame, frame, 3), dtype), tf.zeros((batch, patches, 2), tf.int32))
    cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True, dtype=dtype)
    optimizer = keras.optimizers.Adam(learning_rate=pipeline.LEARNING_RATE)
    optimizer.build(model.trainable_variables)

    def loss(frames: tf.Tensor, positions: tf.Tensor, labels: tf.Tensor) -> Any:
        return cross_entropy(labels, model(frames, positions))

    def update(*gradients: tf.Tensor) -> None:
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))

    def step(frames: tf.Tensor, positions: tf.Tensor, labels: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            value = loss(frames, positions, labels)
        update(*tape.gradient(value, model.trainable_variables))
        return value

    compiled = [tf.function(part, jit_compile=True) for part in (*model.parts(), cross_entropy, update)]

    def apart(frames: tf.Tensor, positions: tf.Tensor, labels: tf.Tensor) -> Any:
        *parts, measure, change = compiled
        with tf.GradientTape() as tape:
            value = measure(labels, model.logits(frames, positions, parts))
        change(*tape.gradient(value, model.trainable_variables))
        return value

    return Model(
        forward=lambda frames, positions, labels: model(frames, positions),
        loss=loss,
        step=step,
        weights=model.canonical(),
        state={variable.path: variable for variable in optimizer.variables},
        optimizer=optimizer,
        apart=apart,
    )
