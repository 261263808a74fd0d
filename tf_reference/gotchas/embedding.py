"""Embeddings of Keras with their tables as arguments."""

from typing import Any

import keras
import tensorflow as tf

EMBEDDING = keras.layers.Embedding(6, 4, mask_zero=True)
EMBEDDING.build((None,))
MULTI_HOT = keras.layers.CategoryEncoding(6, output_mode="multi_hot")
COUNT = keras.layers.CategoryEncoding(6, output_mode="count")


def _looked_up(table: tf.Tensor, ids: tf.Tensor) -> Any:
    return EMBEDDING.stateless_call([table], [], ids)[0]


def embedding_mask_zero(table: tf.Tensor, ids: tf.Tensor) -> Any:
    ids = tf.pad(ids, [[0, 0], [0, 1]], constant_values=1)
    mask = EMBEDDING.compute_mask(ids)
    return keras.layers.GlobalAveragePooling1D()(_looked_up(table, ids), mask=mask)


@tf.function(jit_compile=True)
def embedding_beyond(table: tf.Tensor, ids: tf.Tensor) -> Any:
    return tf.stop_gradient(_looked_up(table, ids))


@tf.function(jit_compile=True)
def embedding_lookup_negative(table: tf.Tensor, ids: tf.Tensor) -> Any:
    return tf.stop_gradient(tf.nn.embedding_lookup(table, ids))


def embedding_negative(table: tf.Tensor, ids: tf.Tensor) -> Any:
    return _looked_up(table, ids)


def multi_hot(ids: tf.Tensor) -> Any:
    return tf.cast(MULTI_HOT(ids), tf.int32)


def embedding_float_ids(table: tf.Tensor, ids: tf.Tensor) -> Any:
    return _looked_up(table, ids)


def embedding_lookup(table: tf.Tensor, ids: tf.Tensor) -> Any:
    return _looked_up(table, ids)


def embedding_tied(table: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
    return tf.matmul(x, table, transpose_b=True)


def embedding_by_one_hot(table: tf.Tensor, ids: tf.Tensor) -> Any:
    return _looked_up(table, ids)


def count_encoding(ids: tf.Tensor) -> Any:
    return tf.cast(COUNT(ids), tf.int32)
