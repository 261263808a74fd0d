"""Mask R-CNN in Keras: detections forward, a training step with a gradient tape."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import keras
import tensorflow as tf

from tf_reference import Model, _detection
from tf_reference import _mask_rcnn_losses as losses
from tf_reference._precision import policy_of
from workloads import _anchors
from workloads import _detection as rules
from workloads.core.spec import Dimensions


class Backbone(keras.layers.Layer):
    """images [batch, image, image, 3] -> features of every level, the finest first."""

    def __init__(self, dimensions: Dimensions, policy: str) -> None:
        super().__init__(dtype=policy)
        convolution = partial(_convolution, dtype=policy)
        width = dimensions["width"]
        self.stem = convolution(3, width, 3, 2)
        self.downs, self.blocks = [], []
        for level in range(dimensions["levels"]):
            narrow, wide = width * 2 ** max(level - 1, 0), width * 2**level
            self.downs.append(convolution(narrow, wide, 3, 2))
            self.blocks.append([convolution(wide, wide, 3) for _ in range(dimensions["blocks"])])

    def call(self, images: tf.Tensor) -> list[tf.Tensor]:
        """Images [batch, image, image, 3] -> by level [batch, side, side, channels]."""
        values, features = tf.nn.relu(self.stem(images)), []
        for down, blocks in zip(self.downs, self.blocks, strict=True):
            values = tf.nn.relu(down(values))
            for block in blocks:
                values = tf.nn.relu(values + block(values))
            features.append(values)
        return features


class Pyramid(keras.layers.Layer):
    """Features of every level -> as many channels on each, the coarse added to the fine; in the variables' type."""

    def __init__(self, dimensions: Dimensions, policy: str) -> None:
        super().__init__(dtype=policy)
        convolution = partial(_convolution, dtype=policy)
        width, channels, levels = dimensions["width"], dimensions["pyramid"], range(dimensions["levels"])
        self.laterals = [convolution(width * 2**level, channels, 1) for level in levels]
        self.outputs = [convolution(channels, channels, 3) for _ in levels]
        self.double = keras.layers.UpSampling2D(2, interpolation="nearest", dtype=policy)

    def call(self, features: list[tf.Tensor]) -> list[tf.Tensor]:
        """By level, [batch, side, side, width of the level] -> [batch, side, side, channels]."""
        maps = [lateral(values) for lateral, values in zip(self.laterals, features, strict=True)]
        for level in reversed(range(len(maps) - 1)):
            maps[level] = maps[level] + self.double(maps[level + 1])
        outputs = [output(values) for output, values in zip(self.outputs, maps, strict=True)]
        return [tf.cast(values, self.variable_dtype) for values in outputs]


class Proposing(keras.layers.Layer):
    """Features of every level -> per anchor a logit [batch, anchors] and deltas [batch, anchors, 4]."""

    def __init__(self, dimensions: Dimensions, policy: str) -> None:
        super().__init__(dtype=policy)
        channels, ratios = dimensions["pyramid"], len(_anchors.RATIOS)
        self.hidden = _convolution(channels, channels, 3, dtype=policy)
        self.objectness = _dense(channels, ratios, self.variable_dtype)
        self.deltas = _dense(channels, 4 * ratios, self.variable_dtype)

    def call(self, levels: list[tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
        """By level, [batch, side, side, channels] -> logits [batch, anchors], deltas [batch, anchors, 4]."""
        batch, channels = levels[0].shape[0], levels[0].shape[-1]
        hidden = [tf.reshape(tf.nn.relu(self.hidden(values)), [batch, -1, channels]) for values in levels]
        positions = tf.concat(hidden, 1)
        return tf.reshape(self.objectness(positions), [batch, -1]), tf.reshape(self.deltas(positions), [batch, -1, 4])


class Regions(keras.layers.Layer):
    """Names what is in each region, and moves its box for every class."""

    def __init__(self, dimensions: Dimensions, policy: str) -> None:
        super().__init__(dtype=policy)
        hidden, classes = dimensions["hidden"], dimensions["classes"]
        widths = [dimensions["pool"] ** 2 * dimensions["pyramid"], *[hidden] * dimensions["region_layers"]]
        self.hidden = [_dense(*pair, policy) for pair in pairwise(widths)]
        self.classes = _dense(widths[-1], classes + 1, self.variable_dtype)
        self.deltas = _dense(widths[-1], 4 * classes, self.variable_dtype)

    def call(self, features: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """[batch, regions, pool, pool, channels] -> logits [..., classes + 1], deltas [..., classes, 4]."""
        leading = features.shape[:2]
        values = tf.reshape(features, [*leading, -1])
        for hidden in self.hidden:
            values = tf.nn.relu(hidden(values))
        return self.classes(values), tf.reshape(self.deltas(values), [*leading, -1, 4])


class Masks(keras.layers.Layer):
    """Pooled features [batch, regions, pool, pool, c] -> logits [batch, regions, 2 pool, 2 pool, classes]."""

    def __init__(self, dimensions: Dimensions, policy: str) -> None:
        super().__init__(dtype=policy)
        convolution = partial(_convolution, dtype=policy)
        channels = dimensions["pyramid"]
        self.hidden = [convolution(channels, channels, 3) for _ in range(dimensions["mask_layers"])]
        self.upsampling = keras.layers.Conv2DTranspose(channels, 2, 2, dtype=policy)
        self.upsampling.build((None, None, None, channels))
        self.classes = _convolution(channels, dimensions["classes"], 1, dtype=self.variable_dtype)

    def call(self, features: tf.Tensor) -> tf.Tensor:
        """[batch, regions, pool, pool, channels] -> logits [batch, regions, 2 pool, 2 pool, classes]."""
        leading = features.shape[:2]
        values = tf.reshape(features, [-1, *features.shape[2:]])
        for hidden in self.hidden:
            values = tf.nn.relu(hidden(values))
        logits = self.classes(tf.nn.relu(self.upsampling(values)))
        return tf.reshape(logits, [*leading, *logits.shape[1:]])


class MaskRCNN(keras.Model):
    """The whole detector: `call` detects, `loss_of` is what training minimizes.

    Logits and deltas are in the variables' type: boxes and losses are not narrowed.
    """

    def __init__(self, dimensions: Dimensions, policy: str) -> None:
        super().__init__(dtype=policy)
        self.sizes = dict(dimensions)
        self.anchors = tf.constant(_anchors.boxes(dimensions), self.variable_dtype)
        self.backbone = Backbone(dimensions, policy)
        self.pyramid = Pyramid(dimensions, policy)
        self.proposing = Proposing(dimensions, policy)
        self.regions = Regions(dimensions, policy)
        self.masks = Masks(dimensions, policy)
        self.built = True

    def call(self, images: tf.Tensor) -> dict[str, tf.Tensor]:
        """Boxes [batch, detections, 4], scores, classes i32 (0: none), masks [batch, detections, size, size]."""
        sizes = self.sizes
        levels = self.pyramid(self.backbone(images))
        proposals, valid = self._proposals(*self.proposing(levels))
        logits, deltas = self.regions(self._pool(levels, proposals, sizes["pool"]))
        detections = _detection.detect(logits, deltas, (proposals, valid), sizes["image"], sizes["detections"])
        mask_logits = self.masks(self._pool(levels, detections["boxes"], sizes["mask_pool"]))
        own = tf.gather(
            tf.transpose(mask_logits, [0, 1, 4, 2, 3]), tf.maximum(detections["classes"] - 1, 0), batch_dims=2
        )
        masks = tf.where((detections["classes"] > 0)[..., None, None], tf.sigmoid(own), tf.zeros_like(own))
        return detections | {"masks": masks}

    def loss_of(self, images: tf.Tensor, boxes: tf.Tensor, classes: tf.Tensor, masks: tf.Tensor) -> tf.Tensor:
        """The sum of the five losses. Proposals are taken as given: no gradient goes through a box.

        Args:
          images: [batch, image, image, 3].
          boxes: [batch, objects, 4] in fractions of the side; an empty box is no object.
          classes: i32[batch, objects], 0 of no object.
          masks: u8[batch, objects, image, image], 0 or 1.
        """
        sizes = self.sizes
        levels = self.pyramid(self.backbone(images))
        logits, deltas = self.proposing(levels)
        objects = losses.objects_of(boxes, classes, masks, sizes["image"])
        proposals, valid = self._proposals(tf.stop_gradient(logits), tf.stop_gradient(deltas))
        regions = losses.assign(proposals, valid, objects)
        of_regions = self.regions(self._pool(levels, regions.boxes, sizes["pool"]))
        positives = losses.positive_regions(regions, sizes["mask_regions"])
        mask_logits = self.masks(self._pool(levels, positives.boxes, sizes["mask_pool"]))
        return (
            losses.anchor_losses(logits, deltas, self.anchors, objects)
            + losses.region_losses(*of_regions, regions)
            + losses.mask_loss(mask_logits, positives, masks, sizes["image"])
        )

    def _proposals(self, logits: tf.Tensor, deltas: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        sizes = self.sizes
        return _detection.propose(logits, deltas, self.anchors, sizes["image"], sizes["candidates"], sizes["proposals"])

    def _pool(self, levels: list[tf.Tensor], boxes: tf.Tensor, size: int) -> tf.Tensor:
        level_of_box = _detection.region_levels(boxes, _anchors.level_areas(self.sizes))
        return _detection.roi_align(levels, boxes, level_of_box, self.sizes["image"], size)


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/mask_rcnn.py: images and objects -> detections; the objects take part in the loss only."""
    model = MaskRCNN(dimensions, policy_of(dimensions, dtype))
    optimizer = keras.optimizers.SGD(rules.LEARNING_RATE, momentum=rules.MOMENTUM)
    optimizer.build(model.trainable_variables)

    def step(*inputs: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            value = model.loss_of(*inputs)
        gradients = tape.gradient(value, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return value

    return Model(
        forward=lambda images, *objects: model(images),
        loss=model.loss_of,
        step=step,
        weights=_weights(model),
        state={variable.path: variable for variable in optimizer.variables},
        optimizer=optimizer,
    )


def _weights(model: MaskRCNN) -> dict[str, keras.Variable]:
    """Canonical path -> variable."""
    layers: dict[str, Any] = {"backbone/stem": model.backbone.stem}
    for level, down in enumerate(model.backbone.downs):
        layers[f"backbone/stage{level + 1}/down"] = down
        for index, block in enumerate(model.backbone.blocks[level]):
            layers[f"backbone/stage{level + 1}/block{index + 1}"] = block
        layers[f"pyramid/lateral{level + 1}"] = model.pyramid.laterals[level]
        layers[f"pyramid/output{level + 1}"] = model.pyramid.outputs[level]
    layers |= {f"proposing/{name}": getattr(model.proposing, name) for name in ("hidden", "objectness", "deltas")}
    layers |= {f"regions/hidden{index + 1}": hidden for index, hidden in enumerate(model.regions.hidden)}
    layers |= {f"regions/{name}": getattr(model.regions, name) for name in ("classes", "deltas")}
    layers |= {f"masks/hidden{index + 1}": hidden for index, hidden in enumerate(model.masks.hidden)}
    layers |= {f"masks/{name}": getattr(model.masks, name) for name in ("upsampling", "classes")}
    return {f"{path}/{leaf}": getattr(layer, leaf) for path, layer in layers.items() for leaf in ("kernel", "bias")}


def _convolution(incoming: int, outgoing: int, size: int, stride: int = 1, *, dtype: str) -> Any:
    layer = keras.layers.Conv2D(outgoing, size, stride, padding="same", dtype=dtype)
    layer.build((None, None, None, incoming))
    return layer


def _dense(incoming: int, outgoing: int, dtype: str) -> Any:
    layer = keras.layers.Dense(outgoing, dtype=dtype)
    layer.build((None, incoming))
    return layer
