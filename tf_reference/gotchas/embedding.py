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
