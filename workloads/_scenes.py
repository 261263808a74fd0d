"""Scenes of coloured shapes, drawn by code, with their exact boxes, classes and masks."""

from __future__ import annotations

import numpy as np

from workloads.core.spec import Dimensions

SHAPES = 3
"""Circles, rectangles and triangles; a class is a shape in a colour."""

_SEED = 7
_MOST = 4
"""A model learns so many within the fifty steps that it is watched for."""
_LARGEST_SET = 2**24
"""Pixels of a whole set of scenes: large images come in small sets."""


def load(dimensions: Dimensions) -> dict[str, np.ndarray]:
    """Scenes of `objects` shapes each, the last of which may be missing: padded with empty boxes of class 0.

    Returns:
      images: f32[scenes, image, image, 3] in [0, 1].
      boxes: f32[scenes, objects, 4], corners y1, x1, y2, x2 as fractions of the side.
      classes: i32[scenes, objects] in [0, classes], 0 where there is no object.
      masks: u8[scenes, objects, image, image], 1 inside the shape.
    """
    image, objects = dimensions["image"], dimensions["objects"]
    generator = np.random.default_rng(_SEED)
    count = max(dimensions["batch"], min(_MOST, _LARGEST_SET // (image * image * (objects + 3))))
    scenes = [_scene(generator, image, objects, dimensions["classes"]) for _ in range(count)]
    names = ("images", "boxes", "classes", "masks")
    return {name: np.stack(arrays) for name, arrays in zip(names, zip(*scenes, strict=True), strict=True)}


def _scene(generator: np.random.Generator, image: int, objects: int, classes: int) -> tuple[np.ndarray, ...]:
    picture = generator.uniform(0, 0.2, (image, image, 3))
    boxes, labels = np.zeros((objects, 4)), np.zeros(objects, np.int32)
    masks = np.zeros((objects, image, image), np.uint8)
    for index in range(generator.integers(1, objects + 1)):
        labels[index] = generator.integers(1, classes + 1)
        # Sides and centres are real numbers: no object lies halfway between two anchors.
        sides = generator.uniform(0.3, 0.6, 2)
        centre = generator.uniform(sides / 2, 1 - sides / 2)
        boxes[index] = [*(centre - sides / 2), *(centre + sides / 2)]
        inside = _inside(image, centre, sides, (labels[index] - 1) % SHAPES)
        masks[index] = inside
        # A later shape covers an earlier one in the picture only: masks stay whole.
        picture[inside] = _colour(labels[index], classes) + generator.uniform(-0.1, 0.1, (int(inside.sum()), 3))
    return picture.clip(0, 1).astype(np.float32), boxes.astype(np.float32), labels, masks


def _inside(image: int, centre: np.ndarray, sides: np.ndarray, shape: int) -> np.ndarray:
    """The pixels whose centre is inside a shape that fills its box: bool[image, image]."""
    pixels = (np.arange(image) + 0.5) / image
    down = ((pixels - centre[0]) / sides[0])[:, None]
    right = ((pixels - centre[1]) / sides[1])[None, :]
    within = (abs(down) <= 0.5) & (abs(right) <= 0.5)
    if shape == 0:
        return down**2 + right**2 <= 0.25
    return within if shape == 1 else within & (abs(right) * 2 <= down + 0.5)


def _colour(label: int, classes: int) -> np.ndarray:
    """Red, green and blue in [0.3, 0.9], evenly spaced over the classes."""
    phase = 2 * np.pi * ((label - 1) / classes + np.arange(3) / 3)
    return 0.6 + 0.3 * np.cos(phase)
