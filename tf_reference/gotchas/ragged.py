"""Ragged tensors, whose row splits are constants: XLA compiles their reductions only then."""

from typing import Any

import keras
import tensorflow as tf

SPLITS = (0, 3, 9, 10)
WITH_EMPTY = (0, 3, 9, 9, 10)
VOCABULARY, WORDS = ("the", "cat", "sat"), ("sat", "the", "dog", "cat", "the")
IDS = keras.layers.StringLookup(vocabulary=VOCABULARY)(tf.constant(WORDS))


def _to_ragged(x: tf.Tensor, splits: tuple[int, ...] = SPLITS) -> Any:
    kind: Any = tf.RaggedTensor
    return kind.from_row_splits(x, splits)


def ragged_mean(x: tf.Tensor) -> Any:
    return tf.reduce_mean(_to_ragged(x), axis=1)


def ragged_mean_empty(x: tf.Tensor) -> Any:
    return tf.reduce_mean(_to_ragged(x, WITH_EMPTY), axis=1)


def ragged_mean_of_all(x: tf.Tensor) -> Any:
    return tf.reduce_mean(_to_ragged(x))


def ragged_max(x: tf.Tensor) -> Any:
    return tf.reduce_max(_to_ragged(x), axis=1)


def ragged_variance(x: tf.Tensor) -> Any:
    return tf.math.reduce_variance(_to_ragged(x), axis=1)


def ragged_bag(table: tf.Tensor, ids: tf.Tensor) -> Any:
    return tf.reduce_mean(_to_ragged(tf.gather(table, ids)), axis=1)


def ragged_bag_sqrtn(table: tf.Tensor, ids: tf.Tensor) -> Any:
    rows = _to_ragged(ids).value_rowids()
    return tf.math.unsorted_segment_sqrt_n(tf.gather(table, ids), rows, 3)


def ragged_last(x: tf.Tensor) -> tf.Tensor:
    return tf.gather(x, tf.constant(SPLITS[1:]) - 1)


def string_lookup(table: tf.Tensor) -> tf.Tensor:
    return tf.gather(table, IDS)


def ragged_sum(x: tf.Tensor) -> Any:
    return tf.reduce_sum(_to_ragged(x, WITH_EMPTY), axis=1)


def ragged_product(x: tf.Tensor) -> Any:
    return tf.reduce_prod(_to_ragged(x, WITH_EMPTY), axis=1)


def map_flat_values(x: tf.Tensor) -> Any:
    return tf.ragged.map_flat_values(tf.tanh, _to_ragged(x)).flat_values


def ragged_row(x: tf.Tensor) -> Any:
    return _to_ragged(x)[1]
