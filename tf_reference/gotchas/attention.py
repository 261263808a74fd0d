"""Attention layers of Keras with their weights as arguments."""

from typing import Any

import keras
import tensorflow as tf

QUERY, VALUE = (2, 4, 6), (2, 5, 6)


def _build(layer: Any, query: Any = QUERY, value: Any = VALUE) -> Any:
    layer.build(query, value)
    return layer


MHA = _build(keras.layers.MultiHeadAttention(num_heads=2, key_dim=4, use_bias=False))
GROUPED = _build(keras.layers.GroupQueryAttention(4, num_query_heads=4, num_key_value_heads=2, use_bias=False))
ATTENTION = keras.layers.Attention()
ADDITIVE = keras.layers.AdditiveAttention()
ADDITIVE.build([QUERY, VALUE, VALUE])


def _call(layer: Any, weights: Any, *inputs: Any, **options: Any) -> Any:
    states = [variable.value for variable in layer.non_trainable_variables]
    return layer.stateless_call(list(weights), states, *inputs, **options)[0]


def mha_argument_order(query: tf.Tensor, value: tf.Tensor, key: tf.Tensor, *weights: tf.Tensor) -> Any:
    return _call(MHA, weights, query, value, key)


def mha_key_dim(query: tf.Tensor, value: tf.Tensor, *weights: tf.Tensor) -> Any:
    return _call(MHA, weights, query, value)


def mha_mask_polarity(query: tf.Tensor, value: tf.Tensor, mask: tf.Tensor, *weights: tf.Tensor) -> Any:
    return _call(MHA, weights, query, value, attention_mask=mask)


def mha_query_mask(
    query: tf.Tensor, value: tf.Tensor, query_mask: tf.Tensor, value_mask: tf.Tensor, *weights: tf.Tensor
) -> Any:
    return _call(MHA, weights, query, value, query_mask=query_mask, value_mask=value_mask)


def mha_causal_and_mask(query: tf.Tensor, value: tf.Tensor, mask: tf.Tensor, *weights: tf.Tensor) -> Any:
    return _call(MHA, weights, query, value, attention_mask=mask, use_causal_mask=True)


def mha_causal_lengths(query: tf.Tensor, value: tf.Tensor, *weights: tf.Tensor) -> Any:
    return _call(MHA, weights, query, value, use_causal_mask=True)


def mha_scores(query: tf.Tensor, value: tf.Tensor, *weights: tf.Tensor) -> Any:
    return _call(MHA, weights, query, value, return_attention_scores=True)[1]


def grouped_query_heads(query: tf.Tensor, value: tf.Tensor, *weights: tf.Tensor) -> Any:
    return _call(GROUPED, weights, query, value)


def mha(query: tf.Tensor, value: tf.Tensor, key: tf.Tensor, *weights: tf.Tensor) -> Any:
    return _call(MHA, weights, query, value, key)


def mha_causal(query: tf.Tensor, *weights: tf.Tensor) -> Any:
    return _call(MHA, weights, query, query, use_causal_mask=True)


def mha_masked_row(query: tf.Tensor, value: tf.Tensor, mask: tf.Tensor, *weights: tf.Tensor) -> Any:
    return _call(MHA, weights, query, value, attention_mask=mask & (tf.range(4)[:, None] > 0))
