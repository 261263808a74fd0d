"""Operations of detectors on boxes, for one image: overlaps, suppression, proposals, RoIAlign, matching.

A box is y1, x1, y2, x2 in pixels. Every shape is static: what is missing is padded and marked invalid. Choices are
made on whole numbers (see workloads/_detection.py).
"""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from workloads import _detection as rules


def areas(boxes: jax.Array) -> jax.Array:
    """How many square pixels boxes [..., 4] cover: [...]."""
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


def overlaps(first: jax.Array, second: jax.Array) -> jax.Array:
    """Intersection over union of all pairs: [m, 4], [n, 4] -> [m, n].

    Args:
      first: [m, 4] in pixels.
      second: [n, 4] in pixels.
    """
    start = jnp.maximum(first[:, None, :2], second[None, :, :2])
    end = jnp.minimum(first[:, None, 2:], second[None, :, 2:])
    sides = jnp.maximum(end - start, 0)
    intersection = sides[..., 0] * sides[..., 1]
    return intersection / (areas(first)[:, None] + areas(second)[None, :] - intersection + rules.AREA_FLOOR)


def in_steps(values: jax.Array) -> jax.Array:
    """Whole numbers to choose by: i32 of the same shape.

    Args:
      values: floats of any shape.
    """
    return jnp.round(values * rules.STEPS).astype(jnp.int32)


def best(keys: jax.Array, count: int) -> jax.Array:
    """Indices of the largest keys, the lower index first where they tie: i32[n] -> i32[count].

    Args:
      keys: i32[n].
      count: how many indices, at most n.
    """
    return jnp.argsort(-keys, stable=True)[:count]


def decode(references: jax.Array, deltas: jax.Array, scales: Sequence[float], image: int) -> jax.Array:
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
    growth = float(np.log(rules.LARGEST_GROWTH))
    half_height = jnp.exp(jnp.minimum(dh, growth)) * heights / 2
    half_width = jnp.exp(jnp.minimum(dw, growth)) * widths / 2
    corners = (centre_y - half_height, centre_x - half_width, centre_y + half_height, centre_x + half_width)
    return jnp.clip(jnp.stack(corners, -1), 0, image)


def encode(references: jax.Array, boxes: jax.Array, is_wanted: jax.Array, scales: Sequence[float]) -> jax.Array:
    """The deltas that make boxes of references, both [n, 4]; 0 where not wanted, which may have empty boxes.

    Args:
      references: [n, 4] in pixels.
      boxes: [n, 4] in pixels.
      is_wanted: bool[n].
    """
    unit = jnp.array([0, 0, 1, 1], boxes.dtype)
    references, boxes = (jnp.where(is_wanted[:, None], corners, unit) for corners in (references, boxes))
    sizes, targets = references[:, 2:] - references[:, :2], boxes[:, 2:] - boxes[:, :2]
    moves = (boxes[:, :2] + targets / 2 - references[:, :2] - sizes / 2) / sizes
    return jnp.concatenate([moves, jnp.log(targets / sizes)], -1) * jnp.array(scales, boxes.dtype)


def surviving(boxes: jax.Array, usable: jax.Array, threshold: float) -> jax.Array:
    """Greedy non-maximum suppression of boxes [n, 4], the best first: which are kept, bool[n].

    A box is kept if no kept box before it overlaps it. That is a fixed point, reached from the front: n rounds
    at most, and as many as the longest chain of boxes that drop one another in practice.

    Args:
      boxes: [n, 4] in pixels, the best first.
      usable: bool[n]: which may be kept at all.
      threshold: intersection over union from which a box is dropped.
    """
    order = jnp.arange(len(boxes))
    dropping = (overlaps(boxes, boxes) >= threshold) & (order[:, None] < order[None, :])

    def settle(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        survivors, _ = state
        again = usable & ~jnp.any(dropping & survivors[:, None], 0)
        return again, jnp.any(again != survivors)

    return jax.lax.while_loop(lambda state: state[1], settle, (usable, jnp.array(True)))[0]


def first_kept(is_kept: jax.Array, count: int) -> tuple[jax.Array, jax.Array]:
    """Indices of the first so many that are kept: i32[count], and whether there were that many: bool[count].

    Args:
      is_kept: bool[n].
    """
    size = len(is_kept)
    places = jnp.sort(jnp.where(is_kept, jnp.arange(size), size))[:count]
    return jnp.minimum(places, size - 1), places < size


def propose(
    logits: jax.Array, deltas: jax.Array, anchors: jax.Array, image: int, candidates: int, count: int
) -> tuple[jax.Array, jax.Array]:
    """Logits [anchors] and deltas [anchors, 4] -> proposals [count, 4] and which are valid, bool[count].

    Args:
      logits: [anchors].
      deltas: [anchors, 4].
      anchors: [anchors, 4] in pixels.
      image: side of the image in pixels.
      candidates: how many of the best anchors take part.
      count: how many proposals are returned.
    """
    candidates_chosen = best(in_steps(logits), candidates)
    boxes = decode(anchors[candidates_chosen], deltas[candidates_chosen], rules.ANCHOR_SCALES, image)
    survivors = surviving(boxes, areas(boxes) > 0, rules.PROPOSAL_OVERLAP)
    places, valid = first_kept(survivors, count)
    return jnp.where(valid[:, None], boxes[places], 0), valid


def match(boxes: jax.Array, objects: jax.Array) -> jax.Array:
    """How much boxes [n, 4] overlap objects [m, 4], in steps: i32[n, m].

    Args:
      boxes: [n, 4] in pixels.
      objects: [m, 4] in pixels.
    """
    return in_steps(overlaps(boxes, objects))


def region_levels(boxes: jax.Array, level_areas: Sequence[float]) -> jax.Array:
    """The pyramid level that a box takes its features from: [n, 4] -> i32[n].

    Args:
      boxes: [n, 4] in pixels.
      level_areas: areas in square pixels from which a box belongs to the next level.
    """
    limits = jnp.array(level_areas, boxes.dtype)
    return jnp.sum(areas(boxes)[:, None] >= limits, -1, dtype=jnp.int32)


def roi_align(
    levels: Sequence[jax.Array], boxes: jax.Array, level_of_box: jax.Array, image: int, size: int
) -> jax.Array:
    """Features [side, side, channels] per level, boxes [n, 4] on level `level_of_box` [n] -> [n, size, size, channels].

    The mean of bilinear samples is a product with one matrix per axis, and its gradient is two more: no gather
    forward, no scatter backward. A box weighs 0 on every level but its own.

    Args:
      levels: by level, features [side, side, channels].
      boxes: [n, 4] in pixels.
      level_of_box: i32[n]: the level of each box.
      image: side of the image in pixels.
      size: bins along each axis of a box.
    """
    by_level = []
    for level, features in enumerate(levels):
        side = len(features)
        here = jnp.where(level_of_box == level, jnp.ones((), boxes.dtype), 0)
        rows = _sampling(boxes[:, 0], boxes[:, 2], image, side, size) * here[:, None, None]
        columns = _sampling(boxes[:, 1], boxes[:, 3], image, side, size)
        of_rows = jnp.einsum("nph,hwc->npwc", rows, features)
        by_level.append(jnp.einsum("nqw,npwc->npqc", columns, of_rows))
    return sum(by_level[1:], start=by_level[0])


def _sampling(start: jax.Array, end: jax.Array, image: int, side: int, size: int) -> jax.Array:
    """How much each of `size` bins from start [n] to end [n] takes from each position of an axis: [n, size, side]."""
    points = (np.arange(size * rules.SAMPLES) + 0.5) / (size * rules.SAMPLES)
    places = start[:, None] + (end - start)[:, None] * jnp.array(points, start.dtype)
    # Features stand in the middle of their stride; beyond the outermost ones they go on as they are.
    places = jnp.clip(places * (side / image) - 0.5, 0, side - 1)
    near = jnp.maximum(1 - jnp.abs(places[:, :, None] - jnp.arange(side, dtype=start.dtype)), 0)
    return near.reshape(-1, size, rules.SAMPLES, side).mean(2)


def detect(
    logits: jax.Array, deltas: jax.Array, proposals: tuple[jax.Array, jax.Array], image: int, count: int
) -> dict[str, jax.Array]:
    """The best detections, no two of one class that overlap much; what is missing is 0.

    Args:
      logits: [proposals, classes + 1], class 0 is the background.
      deltas: [proposals, classes, 4].
      proposals: boxes [proposals, 4] and which are valid.
      image: side of the image in pixels.
      count: how many detections are returned.

    Returns:
      boxes [count, 4], scores [count], classes i32[count].
    """
    references, valid = proposals
    classes = deltas.shape[1]
    scores = jax.nn.softmax(logits, -1)[:, 1:]
    boxes = decode(references[:, None], deltas, rules.REGION_SCALES, image)
    usable = valid[:, None] & (in_steps(scores) >= rules.steps(rules.SCORE_FLOOR)) & (areas(boxes) > 0)
    places_chosen = best(jnp.where(usable, in_steps(scores), -1).ravel(), len(references))
    classes_of = places_chosen % classes
    boxes, scores, usable = (
        boxes.reshape(-1, 4)[places_chosen],
        scores.ravel()[places_chosen],
        usable.ravel()[places_chosen],
    )
    # Boxes of other classes lie in other places: one suppression serves all classes.
    apart = boxes + (classes_of * 2 * image).astype(boxes.dtype)[:, None]
    places, is_detected = first_kept(surviving(apart, usable, rules.DETECTION_OVERLAP), count)
    return {
        "boxes": jnp.where(is_detected[:, None], boxes[places], 0),
        "scores": jnp.where(is_detected, scores[places], 0),
        "classes": jnp.where(is_detected, classes_of[places] + 1, 0),
    }
