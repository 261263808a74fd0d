"""Dropout of Keras that drops the same elements as that of the port."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras
import tensorflow as tf

from workloads._same_masks import MULTIPLIERS, SHIFTS, threshold

DROPOUTS = (
    keras.layers.Dropout,
    keras.layers.SpatialDropout1D,
    keras.layers.SpatialDropout2D,
    keras.layers.SpatialDropout3D,
)
"""Keras' own; a class that is made of one may do anything."""


def drop_by_place(layer: Any, rate: float, noise: Sequence[int | None] | None = None) -> None:
    """Let a layer drop, in training, what a hash of its place says.

    Args:
      layer: that drops at random; outside of training it does what it did.
      rate: the share that is dropped.
      noise: the shape of its draws, with None for a size of what is dropped; None for all of them.
    """
    layer.call = _Dropping(layer.call, rate, noise)


class _Dropping:
    def __init__(self, call: Callable[..., Any], rate: float, noise: Sequence[int | None] | None) -> None:
        self._call, self._rate, self._noise = call, rate, noise

    def __call__(self, inputs: Any, *given: Any, training: Any = False, **named: Any) -> Any:
        if not training:
            return self._call(inputs, *given, training=False, **named)
        return dropped(inputs, self._rate, self._noise)


def noise_of(layer: Any) -> Sequence[int | None] | None:
    """The shape of the draws of a Dropout of Keras, as `drop_by_place` takes it."""
    if type(layer) is keras.layers.Dropout:
        return layer.noise_shape
    places = [1] * (layer.input_spec.ndim - 2)
    return [None, None, *places] if getattr(layer, "data_format", "") == "channels_first" else [None, *places, None]


def dropped(x: tf.Tensor, rate: float, noise: Sequence[int | None] | None = None) -> tf.Tensor:
    """What is left of an array, scaled up.

    Args:
      x: of floats.
      rate: the share that is dropped.
      noise: the shape of the draws, as in `drop_by_place`.
    """
    if rate == 0:
        return x
    sizes = tf.shape(x) if noise is None else [size or tf.shape(x)[axis] for axis, size in enumerate(noise)]
    hashes = tf.cast(tf.range(tf.reduce_prod(sizes)), tf.uint32) + _uint32(1)
    for multiplier, shift in zip(MULTIPLIERS, SHIFTS, strict=True):
        hashes = hashes * _uint32(multiplier)
        hashes = tf.bitwise.bitwise_xor(hashes, tf.bitwise.right_shift(hashes, _uint32(shift)))
    kept = tf.reshape(hashes >= _uint32(threshold(rate)), sizes)
    return tf.where(kept, x * (1 / (1 - rate) if rate < 1 else 0), tf.zeros_like(x))


def _uint32(number: int) -> tf.Tensor:
    return tf.constant(number, tf.uint32)
