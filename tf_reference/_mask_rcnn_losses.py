"""The targets of Mask R-CNN's training, which anchors and regions are objects, and its five losses."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from tf_reference import _detection
from workloads import _detection as rules


class Objects(NamedTuple):
    """The objects of a batch: boxes [batch, objects, 4] in pixels, classes, which are present, masks 0 and 1."""

    boxes: tf.Tensor
    classes: tf.Tensor
    present: tf.Tensor
    masks: tf.Tensor


class Regions(NamedTuple):
    """Regions of a batch, [batch, regions] each, and what they should be found to be.

    `labels` are classes, 0 for background; `deltas` [batch, regions, 4] lead to the object of a positive region;
    `objects` is its index.
    """

    boxes: tf.Tensor
    valid: tf.Tensor
    labels: tf.Tensor
    deltas: tf.Tensor
    objects: tf.Tensor


def objects_of(boxes: tf.Tensor, classes: tf.Tensor, masks: tf.Tensor, image: int) -> Objects:
    """The objects that a batch's inputs describe; an empty box or class 0 is none.

    Args:
      boxes: [batch, objects, 4], in shares of the image.
      classes: i32[batch, objects], 0 for none.
      masks: u8[batch, objects, image, image], 0 and 1.
      image: side of the image in pixels.
    """
    present = (classes > 0) & tf.reduce_all(boxes[..., 2:] > boxes[..., :2], -1)
    return Objects(tf.where(present[..., None], boxes * image, tf.zeros_like(boxes)), classes, present, masks)


def anchor_losses(logits: tf.Tensor, deltas: tf.Tensor, anchors: tf.Tensor, objects: Objects) -> tf.Tensor:
    """Objectness and box loss of all anchors, logits [batch, anchors], deltas [batch, anchors, 4] -> scalar.

    Objects and background weigh the same, however many anchors each has: that takes the place of drawing some.

    Args:
      logits: [batch, anchors].
      deltas: [batch, anchors, 4].
      anchors: [anchors, 4] in pixels.
    """
    overlap = _detection.match(anchors, objects.boxes)
    closest = (overlap == tf.reduce_max(overlap, 1, keepdims=True)) & (overlap > 0)
    most = tf.reduce_max(overlap, 2)
    positive = (most >= rules.steps(rules.ANCHOR_POSITIVE)) | tf.reduce_any(closest, 2)
    negative = ~positive & (most < rules.steps(rules.ANCHOR_NEGATIVE))
    errors = tf.nn.sigmoid_cross_entropy_with_logits(tf.cast(positive, logits.dtype), logits)
    nearest = tf.gather(objects.boxes, tf.argmax(overlap, 2, tf.int32), batch_dims=1)
    targets = _detection.encode(tf.broadcast_to(anchors, nearest.shape), nearest, positive, rules.ANCHOR_SCALES)
    misses = tf.reduce_sum(_smooth_l1(deltas - targets, rules.ANCHOR_EDGE), -1)
    return tf.reduce_mean((_mean(errors, positive) + _mean(errors, negative)) / 2 + _mean(misses, positive))


def assign(proposals: tf.Tensor, valid: tf.Tensor, objects: Objects) -> Regions:
    """Proposals [batch, proposals, 4] and the objects themselves as regions to learn from.

    Args:
      proposals: [batch, proposals, 4] in pixels.
      valid: bool[batch, proposals].
    """
    boxes, valid = tf.concat([proposals, objects.boxes], 1), tf.concat([valid, objects.present], 1)
    overlap = _detection.match(boxes, objects.boxes)
    nearest = tf.argmax(overlap, 2, tf.int32)
    positive = valid & (tf.reduce_max(overlap, 2) >= rules.steps(rules.REGION_POSITIVE))
    targets = tf.gather(objects.boxes, nearest, batch_dims=1)
    deltas = _detection.encode(boxes, targets, positive, rules.REGION_SCALES)
    labels = tf.where(positive, tf.gather(objects.classes, nearest, batch_dims=1), 0)
    return Regions(boxes, valid, labels, deltas, nearest)


def region_losses(logits: tf.Tensor, deltas: tf.Tensor, regions: Regions) -> tf.Tensor:
    """Class and box loss: logits [batch, regions, classes + 1], deltas [batch, regions, classes, 4] -> scalar.

    Args:
      logits: [batch, regions, classes + 1], class 0 is the background.
      deltas: [batch, regions, classes, 4].
    """
    errors = tf.nn.sparse_softmax_cross_entropy_with_logits(regions.labels, logits)
    own_deltas = tf.gather(deltas, tf.maximum(regions.labels - 1, 0), batch_dims=2)
    differences = tf.where((regions.labels > 0)[..., None], own_deltas - regions.deltas, tf.zeros_like(own_deltas))
    misses = tf.reduce_sum(_smooth_l1(differences, rules.REGION_EDGE), -1)
    return tf.reduce_mean(_mean(errors + misses, regions.valid))


def positive_regions(regions: Regions, count: int) -> Regions:
    """The first `count` regions for the mask head, positive ones first."""
    indices = _detection.best(tf.cast(regions.labels > 0, tf.int32), count)
    return Regions(*(tf.gather(tensor, indices, batch_dims=1) for tensor in regions))


def mask_loss(logits: tf.Tensor, regions: Regions, masks: tf.Tensor, image: int) -> tf.Tensor:
    """Masks of positive regions: logits [batch, regions, size, size, classes], masks [batch, objects, ...] -> scalar.

    The target is the mask's share of each pixel, sampled as features are. The paper rounds it to 0 or 1, a choice
    that hangs on the last digit wherever an edge halves a pixel.

    Args:
      logits: [batch, regions, size, size, classes].
      regions: positive ones first, as `positive_regions` picks them.
      masks: u8[batch, objects, image, image], 0 and 1.
      image: side of the image in pixels.
    """
    batch, count, size = logits.shape[:3]
    own = tf.reshape(tf.gather(masks, regions.objects, batch_dims=1), [batch * count, image, image, 1])
    boxes = tf.reshape(regions.boxes, [batch * count, 1, 4])
    level = tf.zeros([batch * count, 1], tf.int32)
    targets = _detection.roi_align([tf.cast(own, logits.dtype)], boxes, level, image, size)
    labels = tf.maximum(regions.labels - 1, 0)
    own_logits = tf.gather(tf.transpose(logits, [0, 1, 4, 2, 3]), labels, batch_dims=2)
    errors = tf.nn.sigmoid_cross_entropy_with_logits(tf.reshape(targets, own_logits.shape), own_logits)
    return tf.reduce_mean(_mean(tf.reduce_mean(errors, [2, 3]), regions.labels > 0))


def _smooth_l1(differences: tf.Tensor, edge: float) -> tf.Tensor:
    far = tf.abs(differences)
    return tf.where(far < edge, differences * differences * (0.5 / edge), far - 0.5 * edge)


def _mean(values: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """The mean of the chosen values along the last axis, 0 where none is."""
    count = tf.cast(tf.maximum(tf.reduce_sum(tf.cast(mask, tf.int32), -1), 1), values.dtype)
    return tf.reduce_sum(tf.where(mask, values, tf.zeros_like(values)), -1) / count
