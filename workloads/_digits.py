"""Handwritten digits: scikit-learn's bundled 8 x 8 scans, or an mnist.npz where one is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from workloads.core import foreign
from workloads.core.errors import Foreseen
from workloads.core.spec import Arrays, Dimensions

CLASSES = 10
MOST_BYTES = 256 * foreign.MEBIBYTE
"""The most bytes of the images, five times MNIST's: as float32 they take four times that."""
MOST_PIXELS = 1 << 16
"""The most pixels of one image: a model has weights for each."""


class DataError(Foreseen):
    """A data file that cannot be used: one line with what was expected, found, and what to do."""


def load(path: Path | None) -> Arrays:
    """images: f32[examples, height * width] in [0, 1]; labels: i32[examples] in [0, 10).

    Raises:
      DataError: the file is missing, is no .npz, or lacks the arrays of Keras's mnist.npz.
    """
    data = load_images(path)
    return {**data, "images": data["images"].reshape(len(data["images"]), -1)}


def load_images(path: Path | None) -> Arrays:
    """images: f32[examples, height, width, 1] in [0, 1]; labels: i32[examples] in [0, 10).

    Raises:
      DataError: the file is missing, is no .npz, or lacks the arrays of Keras's mnist.npz.
    """
    images, labels = _bundled_digits() if path is None else _from_npz(path)
    values = images[..., np.newaxis].astype(np.float32)
    return {"images": values / np.float32(values.max()), "labels": labels.astype(np.int32)}


def dimensions_of(data: Arrays) -> Dimensions:
    """How many features one image has.

    Args:
      data: images f32[examples, features].
    """
    return {"features": data["images"].shape[1]}


def image_dimensions_of(data: Arrays) -> Dimensions:
    """Height and width of one image.

    Args:
      data: images f32[examples, height, width, 1].
    """
    _, height, width, _ = data["images"].shape
    return {"height": height, "width": width}


def _bundled_digits() -> tuple[np.ndarray, np.ndarray]:
    # Imported here: only the process that draws the arrays needs scikit-learn, never a worker.
    from sklearn.datasets import load_digits

    digits = load_digits()
    return digits.images, digits.target  # pyright: ignore[reportAttributeAccessIssue]


def _from_npz(path: Path) -> tuple[np.ndarray, np.ndarray]:
    expected = f"expected an mnist.npz with x_train u8[n, 28, 28] and y_train [n] at {path}"
    try:
        images, labels = foreign.npz(path, ("x_train", "y_train"), MOST_BYTES).values()
    except foreign.Unusable as error:
        raise DataError(f"{expected}, found {error}: name Keras's mnist.npz") from error
    if images.ndim != 3 or labels.shape != images.shape[:1] or not 0 < images[:1].size <= MOST_PIXELS:
        raise DataError(f"{expected}, found x_train {images.shape} and y_train {labels.shape}: name Keras's mnist.npz")
    if labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= CLASSES:
        raise DataError(f"{expected}, found labels outside 0..9: name Keras's mnist.npz")
    if images.dtype != np.uint8:
        raise DataError(f"{expected}, found x_train of {images.dtype}: name Keras's mnist.npz")
    if not images.any():
        raise DataError(f"{expected}, found blank images: name Keras's mnist.npz")
    return images, labels
