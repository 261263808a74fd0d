"""Where a detector looks: the grid of every pyramid level and its anchor boxes, as NumPy arrays."""

from __future__ import annotations

import numpy as np

from workloads.core.spec import Dimensions

FIRST_STRIDE = 4
"""Pixels between neighbours of the finest level, P2 (Lin et al. 2017, arXiv:1612.03144, section 4)."""

RATIOS = (0.5, 1.0, 2.0)
"""Height over width of the anchors at a position (Lin et al. 2017, section 4.1)."""

LEVEL_FACTOR = 1.75
"""A box changes level where the root of its area is this many anchor sizes.

Lin et al. 2017, equation 1, gives a box of side 224 to level P4, whose anchors have side 128: 224 / 128 = 1.75.
"""


def grids(dimensions: Dimensions) -> tuple[int, ...]:
    """Positions along one side of every level, the finest first.

    Raises:
      ValueError: an image whose side the coarsest stride does not divide.
    """
    image, levels = dimensions["image"], dimensions["levels"]
    coarsest = FIRST_STRIDE * 2 ** (levels - 1)
    if image % coarsest:
        raise ValueError(
            f"expected an image side that is a multiple of {coarsest}, found {image}: "
            f"{levels} pyramid levels end at that stride, change image or levels"
        )
    return tuple(image // (FIRST_STRIDE * 2**level) for level in range(levels))


def anchor_side(dimensions: Dimensions, level: int) -> float:
    """The root of an anchor's area in pixels: `anchor` times the level's stride."""
    return float(dimensions["anchor"] * FIRST_STRIDE * 2**level)


def boxes(dimensions: Dimensions) -> np.ndarray:
    """All anchors as f64[anchors, 4], corners y1, x1, y2, x2 in pixels: level, row, column, ratio."""
    return np.concatenate([_of_level(dimensions, level, grid) for level, grid in enumerate(grids(dimensions))])


def level_areas(dimensions: Dimensions) -> tuple[float, ...]:
    """Areas at which a box moves to the next coarser level: one fewer than levels."""
    return tuple((LEVEL_FACTOR * anchor_side(dimensions, level)) ** 2 for level in range(1, dimensions["levels"]))


def _of_level(dimensions: Dimensions, level: int, grid: int) -> np.ndarray:
    stride = FIRST_STRIDE * 2**level
    centres = (np.arange(grid) + 0.5) * stride
    roots = np.sqrt(np.array(RATIOS))
    sizes = anchor_side(dimensions, level) * np.stack([roots, 1 / roots], -1)
    centre = np.stack(np.meshgrid(centres, centres, indexing="ij"), -1)[:, :, None]
    return np.concatenate([centre - sizes / 2, centre + sizes / 2], -1).reshape(-1, 4)
