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


def ragged_bag_sqrtn(table: tf.Tensor, ids: tf.Tensor) -> Any:
    rows = _to_ragged(ids).value_rowids()
    return tf.math.unsorted_segment_sqrt_n(tf.gather(table, ids), rows, 3)
