"""The targets of Mask R-CNN, which anchors and regions are objects, and its five losses."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

from jaxport import _detection
from workloads import _detection as rules


class Objects(NamedTuple):
    """The objects of a batch: boxes [batch, objects, 4] in pixels, classes, which are present, masks 0 and 1."""

    boxes: jax.Array
    classes: jax.Array
    present: jax.Array
    masks: jax.Array


class Regions(NamedTuple):
    """Regions of a batch, [batch, regions] each, and their targets.

    `labels` are classes, 0 for background; `deltas` [batch, regions, 4] lead to the object of a positive region;
    `objects` is its index.
    """

    boxes: jax.Array
    valid: jax.Array
    labels: jax.Array
    deltas: jax.Array
    objects: jax.Array


def objects_of(boxes: jax.Array, classes: jax.Array, masks: jax.Array, image: int) -> Objects:
    """The objects that a batch's inputs describe; an empty box or class 0 is none.

    Args:
      boxes: [batch, objects, 4], in shares of the image.
      classes: i32[batch, objects], 0 for none.
      masks: u8[batch, objects, image, image], 0 and 1.
      image: side of the image in pixels.
    """
    present = (classes > 0) & jnp.all(boxes[..., 2:] > boxes[..., :2], -1)
    return Objects(jnp.where(present[..., None], boxes * image, 0), classes, present, masks)


@jax.jit
def anchor_losses(logits: jax.Array, deltas: jax.Array, anchors: jax.Array, objects: Objects) -> jax.Array:
    """Objectness and box loss of all anchors, logits [batch, anchors], deltas [batch, anchors, 4] -> scalar.

    Objects and background have equal weights, whatever their numbers of anchors. The paper draws a
    sample of anchors instead.

    Args:
      logits: [batch, anchors].
      deltas: [batch, anchors, 4].
      anchors: [anchors, 4] in pixels.
    """

    def of_image(logits: jax.Array, deltas: jax.Array, boxes: jax.Array) -> jax.Array:
        overlap = _detection.match(anchors, boxes)
        closest = (overlap == jnp.max(overlap, 0)) & (overlap > 0)
        most = jnp.max(overlap, 1)
        positive = (most >= rules.steps(rules.ANCHOR_POSITIVE)) | jnp.any(closest, 1)
        negative = ~positive & (most < rules.steps(rules.ANCHOR_NEGATIVE))
        errors = optax.sigmoid_binary_cross_entropy(logits, positive.astype(logits.dtype))
        targets = _detection.encode(anchors, boxes[jnp.argmax(overlap, 1)], positive, rules.ANCHOR_SCALES)
        misses = jnp.sum(_smooth_l1(deltas - targets, rules.ANCHOR_EDGE), -1)
        return (_mean(errors, positive) + _mean(errors, negative)) / 2 + _mean(misses, positive)

    return jnp.mean(jax.vmap(of_image)(logits, deltas, objects.boxes))


@jax.jit
def assign(proposals: jax.Array, valid: jax.Array, objects: Objects) -> Regions:
    """Proposals [batch, proposals, 4] and the objects themselves as regions to learn from.

    Args:
      proposals: [batch, proposals, 4] in pixels.
      valid: bool[batch, proposals].
    """

    def of_image(proposals: jax.Array, valid: jax.Array, objects: Objects) -> Regions:
        boxes, valid = jnp.concatenate([proposals, objects.boxes]), jnp.concatenate([valid, objects.present])
        overlap = _detection.match(boxes, objects.boxes)
        nearest = jnp.argmax(overlap, 1)
        positive = valid & (jnp.max(overlap, 1) >= rules.steps(rules.REGION_POSITIVE))
        deltas = _detection.encode(boxes, objects.boxes[nearest], positive, rules.REGION_SCALES)
        return Regions(boxes, valid, jnp.where(positive, objects.classes[nearest], 0), deltas, nearest)

    return jax.vmap(of_image)(proposals, valid, objects)


@jax.jit
def region_losses(logits: jax.Array, deltas: jax.Array, regions: Regions) -> jax.Array:
    """Class and box loss: logits [batch, regions, classes + 1], deltas [batch, regions, classes, 4] -> scalar.

    Args:
      logits: [batch, regions, classes + 1], class 0 is the background.
      deltas: [batch, regions, classes, 4].
    """
    errors = optax.softmax_cross_entropy_with_integer_labels(logits, regions.labels)
    misses = jnp.sum(_smooth_l1(_of_class(deltas, regions.labels) - regions.deltas, rules.REGION_EDGE), -1)
    # Background has neither deltas nor targets: both are 0.
    return jnp.mean(_mean(errors + misses, regions.valid))


@partial(jax.jit, static_argnames="count")
def positive_regions(regions: Regions, count: int) -> Regions:
    """`count` regions, positive ones first, for the mask head."""

    def of_image(regions: Regions) -> Regions:
        indices = _detection.best((regions.labels > 0).astype(jnp.int32), count)
        return jax.tree.map(lambda leaf: leaf[indices], regions)

    return jax.vmap(of_image)(regions)


@partial(jax.jit, static_argnames="image")
def mask_loss(logits: jax.Array, regions: Regions, masks: jax.Array, image: int) -> jax.Array:
    """Masks of positive regions: logits [batch, regions, size, size, classes], masks [batch, objects, ...] -> scalar.

    The target is the mask's share of each pixel, sampled as features are. The paper rounds it to 0 or 1, a choice
    that hangs on the last digit wherever an edge halves a pixel.

    Args:
      logits: [batch, regions, size, size, classes].
      regions: positive ones first, as `positive_regions` picks them.
      masks: u8[batch, objects, image, image], 0 and 1.
      image: side of the image in pixels.
    """
    size = logits.shape[2]

    def target(box: jax.Array, of: jax.Array, masks: jax.Array) -> jax.Array:
        whole = masks[of].astype(box.dtype)[..., None]
        level = jnp.zeros(1, jnp.int32)
        return _detection.roi_align([whole], box[None], level, image, size)[0, ..., 0]

    targets = jax.vmap(jax.vmap(target, (0, 0, None)))(regions.boxes, regions.objects, masks)
    own_logits = _of_class(jnp.moveaxis(logits, -1, 2)[..., None], regions.labels)[..., 0]
    errors = jnp.mean(optax.sigmoid_binary_cross_entropy(own_logits, targets), (2, 3))
    return jnp.mean(_mean(errors, regions.labels > 0))


def _of_class(values: jax.Array, labels: jax.Array) -> jax.Array:
    """The values of each region's class: [batch, regions, classes, ...] -> [batch, regions, ...]; 0 without one."""
    is_class = jax.nn.one_hot(labels - 1, values.shape[2], dtype=values.dtype)
    return jnp.einsum("brk...,brk->br...", values, is_class)


def _smooth_l1(differences: jax.Array, edge: float) -> jax.Array:
    far = jnp.abs(differences)
    return jnp.where(far < edge, differences * differences * (0.5 / edge), far - 0.5 * edge)


def _mean(values: jax.Array, mask: jax.Array) -> jax.Array:
    """The mean of the chosen values along the last axis, 0 where none is."""
    count = jnp.maximum(jnp.sum(mask, -1), 1).astype(values.dtype)
    return jnp.sum(jnp.where(mask, values, 0), -1) / count
