"""Synthetic labelled images: coloured gratings whose orientation and colour say the class."""

from __future__ import annotations

import numpy as np

from workloads.core.spec import Arrays

GOLDEN_ANGLE = np.pi * (3 - 5**0.5)
"""Multiples of it spread over the circle for any number of classes."""
NOISE = 0.1


def images(examples: int, side: int, classes: int, seed: int = 0) -> Arrays:
    """images: f32[examples, side, side, 3] in [0, 1]; labels: i32[examples] in [0, classes).

    The class decides orientation and hue; phase, period and noise are the image's own.

    Args:
      side: pixels along either axis.
    """
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, classes, examples)
    angles = np.pi * labels / classes
    waves = generator.uniform(2, 4, examples)
    phases = generator.uniform(0, 2 * np.pi, examples)
    rows, columns = np.meshgrid(np.linspace(0, 1, side), np.linspace(0, 1, side), indexing="ij")
    along = np.cos(angles)[:, None, None] * columns + np.sin(angles)[:, None, None] * rows
    stripes = np.sin(2 * np.pi * waves[:, None, None] * along + phases[:, None, None])
    hues = GOLDEN_ANGLE * labels[:, None] + 2 * np.pi * np.arange(3) / 3
    colours = 0.5 + 0.5 * np.cos(hues)
    clean = 0.5 + 0.4 * stripes[..., None] * colours[:, None, None, :]
    noisy = clean + NOISE * generator.standard_normal((examples, side, side, 3))
    return {"images": np.clip(noisy, 0, 1).astype(np.float32), "labels": labels.astype(np.int32)}
