"""Operations of detectors on boxes, for a batch: overlaps, suppression, proposals, RoIAlign, matching.

A box is y1, x1, y2, x2 in pixels. Every shape is static, so that XLA compiles it: what is missing is padded and
marked invalid. tf.image has these operations, but non_max_suppression_padded and crop_and_resize compute in float32
whatever they are given, and XLA has no crop_and_resize. Choices are made on whole numbers (see
workloads/_detection.py).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from workloads import _detection as rules


def areas(boxes: tf.Tensor) -> tf.Tensor:
    """How many square pixels boxes [..., 4] cover: [...]."""
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


def overlaps(first: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
    """Intersection over union of all pairs: [..., m, 4], [..., n, 4] -> [..., m, n].

    Args:
      first: [..., m, 4] in pixels.
      second: [..., n, 4] in pixels.
    """
    start = tf.maximum(first[..., :, None, :2], second[..., None, :, :2])
    end = tf.minimum(first[..., :, None, 2:], second[..., None, :, 2:])
    sides = tf.maximum(end - start, 0)
    intersection = sides[..., 0] * sides[..., 1]
    return intersection / (areas(first)[..., :, None] + areas(second)[..., None, :] - intersection + rules.AREA_FLOOR)


def in_steps(values: tf.Tensor) -> tf.Tensor:
    """Whole numbers to choose by: i32 of the same shape.

    Args:
      values: floats of any shape.
    """
    return tf.cast(tf.round(values * rules.STEPS), tf.int32)


def best(keys: tf.Tensor, count: int) -> tf.Tensor:
    """Indices of the largest keys, the lower index first where they tie: i32[..., n] -> i32[..., count].

    Args:
      keys: i32[..., n].
      count: how many indices, at most n.
    """
    return tf.math.top_k(keys, count).indices


def decode(references: tf.Tensor, deltas: tf.Tensor, scales: Sequence[float], image: int) -> tf.Tensor:
    """Boxes that deltas make of references, both [..., 4], clipped to the image.

    Args:
      references: [..., 4] in pixels.
      deltas: [..., 4]: moves of the centre and logarithms of the growth, times `scales`.
      image: side of the image in pixels.
    """
    dy, dx, dh, dw = (deltas[..., axis] / scale for axis, scale in enumerate(scales))
    heights, widths = references[..., 2] - references[..., 0], references[..., 3] - references[..., 1]
    centre_y = references[..., 0] + heights / 2 + dy * heights
    centre_x = references[..., 1] + widths / 2 + dx * widths
    growth = tf.constant(np.log(rules.LARGEST_GROWTH), deltas.dtype)
    half_height = tf.exp(tf.minimum(dh, growth)) * heights / 2
    half_width = tf.exp(tf.minimum(dw, growth)) * widths / 2
    corners = [centre_y - half_height, centre_x - half_width, centre_y + half_height, centre_x + half_width]
    return tf.clip_by_value(tf.stack(corners, -1), 0, image)


def encode(references: tf.Tensor, boxes: tf.Tensor, is_wanted: tf.Tensor, scales: Sequence[float]) -> tf.Tensor:
    """The deltas that make boxes of references, both [..., 4]; 0 where not wanted, which may have empty boxes.

    Args:
      references: [..., n, 4] in pixels.
      boxes: [..., n, 4] in pixels.
      is_wanted: bool[..., n].
    """
    unit = tf.constant([0, 0, 1, 1], boxes.dtype)
    references, boxes = (tf.where(is_wanted[..., None], corners, unit) for corners in (references, boxes))
    sizes, targets = references[..., 2:] - references[..., :2], boxes[..., 2:] - boxes[..., :2]
    moves = (boxes[..., :2] + targets / 2 - references[..., :2] - sizes / 2) / sizes
    return tf.concat([moves, tf.math.log(targets / sizes)], -1) * tf.constant(scales, boxes.dtype)


def surviving(boxes: tf.Tensor, usable: tf.Tensor, threshold: float) -> tf.Tensor:
    """Greedy non-maximum suppression of boxes [batch, n, 4], the best first: which are kept, bool[batch, n].

    Rounds as in tf.image.non_max_suppression_padded: a box is kept if no kept box before it overlaps it, until
    nothing changes.

    Args:
      boxes: [batch, n, 4] in pixels, the best first.
      usable: bool[batch, n]: which may be kept at all.
      threshold: intersection over union from which a box is dropped.
    """
    order = tf.range(boxes.shape[1])
    dropping = (overlaps(boxes, boxes) >= threshold) & (order[:, None] < order[None, :])

    def settle(survivors: tf.Tensor, _: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        again = usable & ~tf.reduce_any(dropping & survivors[..., None], 1)
        return again, tf.reduce_any(again != survivors)

    return tf.while_loop(lambda _, has_changed: has_changed, settle, (usable, tf.constant(True)))[0]


def first_kept(is_kept: tf.Tensor, count: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Indices of the first so many that are kept: i32[batch, count], and whether there were that many: bool.

    Args:
      is_kept: bool[batch, n].
    """
    places = best(tf.cast(is_kept, tf.int32), count)
    return places, tf.gather(is_kept, places, batch_dims=1)


def propose(
    logits: tf.Tensor, deltas: tf.Tensor, anchors: tf.Tensor, image: int, candidates: int, count: int
) -> tuple[tf.Tensor, tf.Tensor]:
    """Logits [batch, anchors] and deltas [batch, anchors, 4] -> proposals [batch, count, 4], which are valid.

    Args:
      logits: [batch, anchors].
      deltas: [batch, anchors, 4].
      anchors: [anchors, 4] in pixels.
      image: side of the image in pixels.
      candidates: how many of the best anchors take part.
      count: how many proposals are returned.
    """
    candidates_chosen = best(in_steps(logits), candidates)
    moves = tf.gather(deltas, candidates_chosen, batch_dims=1)
    boxes = decode(tf.gather(anchors, candidates_chosen), moves, rules.ANCHOR_SCALES, image)
    survivors = surviving(boxes, areas(boxes) > 0, rules.PROPOSAL_OVERLAP)
    places, valid = first_kept(survivors, count)
    proposals = tf.gather(boxes, places, batch_dims=1)
    return tf.where(valid[..., None], proposals, tf.zeros_like(proposals)), valid


def detect(
    logits: tf.Tensor, deltas: tf.Tensor, proposals: tuple[tf.Tensor, tf.Tensor], image: int, count: int
) -> dict[str, tf.Tensor]:
    """The best detections, no two of one class that overlap much; what is missing is 0.

    Args:
      logits: [batch, proposals, classes + 1], class 0 is the background.
      deltas: [batch, proposals, classes, 4].
      proposals: boxes [batch, proposals, 4] and which are valid.
      image: side of the image in pixels.
      count: how many detections of each image are returned.

    Returns:
      boxes [batch, count, 4], scores [batch, count], classes i32[batch, count].
    """
    references, valid = proposals
    batch, regions, classes = deltas.shape[:3]
    scores = tf.nn.softmax(logits)[..., 1:]
    boxes = decode(references[:, :, None], deltas, rules.REGION_SCALES, image)
    usable = valid[..., None] & (in_steps(scores) >= rules.steps(rules.SCORE_FLOOR)) & (areas(boxes) > 0)
    places_chosen = best(tf.reshape(tf.where(usable, in_steps(scores), -1), [batch, -1]), regions)
    classes_of = places_chosen % classes
    boxes = tf.gather(tf.reshape(boxes, [batch, -1, 4]), places_chosen, batch_dims=1)
    scores, usable = (
        tf.gather(tf.reshape(values, [batch, -1]), places_chosen, batch_dims=1) for values in (scores, usable)
    )
    # Boxes of other classes lie in other places: one suppression serves all classes.
    apart = boxes + tf.cast(classes_of * 2 * image, boxes.dtype)[..., None]
    places, present = first_kept(surviving(apart, usable, rules.DETECTION_OVERLAP), count)
    boxes, scores, classes_of = (tf.gather(values, places, batch_dims=1) for values in (boxes, scores, classes_of))
    return {
        "boxes": tf.where(present[..., None], boxes, tf.zeros_like(boxes)),
        "scores": tf.where(present, scores, tf.zeros_like(scores)),
        "classes": tf.where(present, classes_of + 1, 0),
    }


def match(boxes: tf.Tensor, objects: tf.Tensor) -> tf.Tensor:
    """How much boxes [..., n, 4] overlap objects [..., m, 4], in steps: i32[..., n, m].

    Args:
      boxes: [..., n, 4] in pixels.
      objects: [..., m, 4] in pixels.
    """
    return in_steps(overlaps(boxes, objects))


def region_levels(boxes: tf.Tensor, level_areas: Sequence[float]) -> tf.Tensor:
    """The pyramid level that a box takes its features from: [..., 4] -> i32[...].

    Args:
      boxes: [..., 4] in pixels.
      level_areas: areas in square pixels from which a box belongs to the next level.
    """
    limits = tf.constant(level_areas, boxes.dtype)
    return tf.reduce_sum(tf.cast(areas(boxes)[..., None] >= limits, tf.int32), -1)


def roi_align(
    levels: Sequence[tf.Tensor], boxes: tf.Tensor, level_of_box: tf.Tensor, image: int, size: int
) -> tf.Tensor:
    """Features [batch, side, side, channels] per level, boxes [batch, n, 4] on level `level_of_box` [batch, n].

    All levels lie behind one another in one table, from which the four neighbours of every sample are gathered.

    Args:
      levels: by level, features [batch, side, side, channels].
      boxes: [batch, n, 4] in pixels.
      level_of_box: i32[batch, n]: the level of each box.
      image: side of the image in pixels.
      size: bins along each axis of a box.

    Returns:
      [batch, n, size, size, channels]
    """
    batch, channels = levels[0].shape[0], levels[0].shape[-1]
    sides = [features.shape[1] for features in levels]
    table = tf.concat([tf.reshape(features, [batch, -1, channels]) for features in levels], 1)
    first = tf.gather(tf.constant(np.cumsum([0] + [side * side for side in sides[:-1]]), tf.int32), level_of_box)
    side = tf.gather(tf.constant(sides, tf.int32), level_of_box)
    rows, row_weights = _sampling(boxes[..., 0], boxes[..., 2], side, image, size)
    columns, column_weights = _sampling(boxes[..., 1], boxes[..., 3], side, image, size)
    starts = first[..., None, None] + rows * side[..., None, None]
    places = starts[..., None, None] + columns[:, :, None, None]
    neighbours = tf.gather(table, places, batch_dims=1)
    by_column = tf.reduce_sum(neighbours * column_weights[:, :, None, None, :, :, None], 4)
    samples = tf.reduce_sum(by_column * row_weights[..., None, None], 2)
    bins = tf.reshape(samples, [batch, -1, size, rules.SAMPLES, size, rules.SAMPLES, channels])
    return tf.reduce_mean(bins, [3, 5])


def _sampling(start: tf.Tensor, end: tf.Tensor, side: tf.Tensor, image: int, size: int) -> tuple[tf.Tensor, tf.Tensor]:
    """The two neighbours along an axis, and their weights, of samples from start [batch, n] to end [batch, n].

    Both are [batch, n, 2, size * SAMPLES]; side [batch, n] is how many positions the axis has.
    """
    points = (np.arange(size * rules.SAMPLES) + 0.5) / (size * rules.SAMPLES)
    places = start[..., None] + (end - start)[..., None] * tf.constant(points, start.dtype)
    last = side[..., None] - 1
    # Features stand in the middle of their stride; beyond the outermost ones they go on as they are.
    positions = places * tf.cast(side[..., None], start.dtype) / image - 0.5
    places = tf.clip_by_value(positions, 0, tf.cast(last, start.dtype))
    low = tf.cast(tf.floor(places), tf.int32)
    far = places - tf.cast(low, start.dtype)
    return tf.stack([low, tf.minimum(low + 1, last)], 2), tf.stack([1 - far, far], 2)
