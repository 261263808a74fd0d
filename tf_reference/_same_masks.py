"""Dropout and noise of Keras that draw the same numbers as those of the port."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import keras
import tensorflow as tf

from workloads.protocol.same_masks import MULTIPLIERS, NORMAL_BITS, NORMAL_SPREAD, SHIFTS, TRUNCATED_SPREAD, threshold

DROPOUTS = (
    keras.layers.Dropout,
    keras.layers.SpatialDropout1D,
    keras.layers.SpatialDropout2D,
    keras.layers.SpatialDropout3D,
)
"""Keras' own; a class that is made of one may do anything."""


RECURRENT = (keras.layers.LSTM, keras.layers.GRU, keras.layers.SimpleRNN)
"""Likewise, with a cell that drops the same at every step of a call."""

NOISES = (keras.layers.GaussianNoise, keras.layers.GaussianDropout, keras.layers.AlphaDropout)
"""Likewise of what changes elements at random otherwise."""


def drop_by_place(layer: Any, rate: float, noise: Sequence[int | None] | None = None) -> None:
    """Let a layer drop, in training, what a hash of its place says.

    Args:
      rate: the share that is dropped.
      noise: the shape of its draws, with None for a size of what is dropped; None for all of them.
    """
    layer.call = _Drawing(layer.call, lambda inputs: drop(inputs, rate, noise))


def add_noise_by_place(layer: Any) -> None:
    """Let a noise layer draw, in training, what a hash of each place says."""
    layer.call = _Drawing(layer.call, lambda inputs: noisy(inputs, layer))


def drop_states_by_place(cell: Any) -> None:
    """Let the cell of a recurrent layer drop by a hash of each place, in training; each gate has other places."""
    gates = getattr(cell, "dropout_mask_count", None)

    def masks(step: tf.Tensor, rate: float) -> Any:
        draws = tf.unstack(drop(tf.stack([tf.ones_like(step)] * (gates or 1)), rate))
        return draws if gates else draws[0]

    cell._create_dropout_mask = masks


class _Drawing:
    """The call of a layer with another one for training."""

    def __init__(self, call: Callable[..., Any], draw: Callable[[Any], Any]) -> None:
        self._call, self._drawn = call, draw

    def __call__(self, inputs: Any, *positional: Any, training: Any = False, **keywords: Any) -> Any:
        if not training:
            return self._call(inputs, *positional, training=False, **keywords)
        return self._drawn(inputs)


def noise_of(layer: Any) -> Sequence[int | None] | None:
    """The shape of the draws of a Dropout of Keras, as `drop_by_place` takes it."""
    if type(layer) is keras.layers.Dropout:
        return layer.noise_shape
    places = [1] * (layer.input_spec.ndim - 2)
    return [None, None, *places] if getattr(layer, "data_format", "") == "channels_first" else [None, *places, None]


def drop(x: tf.Tensor, rate: float, noise: Sequence[int | None] | None = None) -> tf.Tensor:
    """The array with dropped elements set to zero and the others scaled up.

    Args:
      x: of floats.
      rate: the share that is dropped.
      noise: the shape of the draws, as in `drop_by_place`.
    """
    if rate == 0:
        return x
    return tf.where(_keep_mask(x, rate, noise), x * (1 / (1 - rate) if rate < 1 else 0), tf.zeros_like(x))


def noisy(x: tf.Tensor, layer: Any) -> tf.Tensor:
    """The output of a Keras noise layer in training, with draws by place.

    Args:
      x: of floats.
    """
    if isinstance(layer, keras.layers.GaussianNoise):
        return x + layer.stddev * _normal(x) if layer.stddev else x
    rate = layer.rate
    if rate == 0:
        return x
    if isinstance(layer, keras.layers.GaussianDropout):
        return x * (1 + math.sqrt(rate / (1 - rate)) * _normal(x))
    least = -1.6732632423543772848170429916717 * 1.0507009873554804934193349852946
    scale = ((1 - rate) * (1 + rate * least**2)) ** -0.5
    is_kept = tf.cast(_keep_mask(x, rate, layer.noise_shape), x.dtype)
    return scale * (x * is_kept + least * (1 - is_kept)) - scale * least * rate


def numbers(distribution: str, shape: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    """Numbers by place.

    Args:
      distribution: "normal" or "truncated_normal", of whose mean and variance they are, or "uniform" in [0, 1).
      dtype: of floats.
    """
    uniform = tf.cast(tf.bitwise.right_shift(_hashes(shape), _uint32(32 - NORMAL_BITS)), dtype) / 2**NORMAL_BITS
    if distribution == "uniform":
        return uniform
    return (uniform - 0.5) * (NORMAL_SPREAD if distribution == "normal" else TRUNCATED_SPREAD)


def _normal(x: tf.Tensor) -> tf.Tensor:
    """Numbers of mean 0 and variance 1 of the shape of an array."""
    return numbers("normal", tf.shape(x), x.dtype)


def _keep_mask(x: tf.Tensor, rate: float, noise: Sequence[int | None] | None) -> tf.Tensor:
    sizes = tf.shape(x) if noise is None else [size or tf.shape(x)[axis] for axis, size in enumerate(noise)]
    return _hashes(sizes) >= _uint32(threshold(rate))


def _hashes(sizes: Any) -> tf.Tensor:
    hashes = tf.cast(tf.range(tf.reduce_prod(sizes)), tf.uint32) + _uint32(1)
    for multiplier, shift in zip(MULTIPLIERS, SHIFTS, strict=True):
        hashes = hashes * _uint32(multiplier)
        hashes = tf.bitwise.bitwise_xor(hashes, tf.bitwise.right_shift(hashes, _uint32(shift)))
    return tf.reshape(hashes, sizes)


def _uint32(number: int) -> tf.Tensor:
    return tf.constant(number, tf.uint32)
