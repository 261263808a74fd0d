"""Random numbers of TensorFlow and Keras, as XLA draws them."""

from typing import Any

import keras
import tensorflow as tf

SHAPE = (4, 6)
compiled = tf.function(jit_compile=True)


@compiled
def stateless_uniform(x: tf.Tensor) -> tf.Tensor:
    return x + tf.random.stateless_uniform(SHAPE, (42, 7), -1.0, 1.0)


@compiled
def stateless_uniform_mantissa(seed: tf.Tensor) -> tf.Tensor:
    return tf.random.stateless_uniform(SHAPE, seed)


@compiled
def stateless_integers(seed: tf.Tensor) -> tf.Tensor:
    return tf.random.stateless_uniform(SHAPE, seed, -3, 20, dtype=tf.int32)


@compiled
def stateless_bits(seed: tf.Tensor) -> tf.Tensor:
    return tf.random.stateless_uniform(SHAPE, seed, None, None, dtype=tf.uint32)


@compiled
def stateless_normal(x: tf.Tensor) -> tf.Tensor:
    return x + tf.random.stateless_normal(SHAPE, (42, 7))


@compiled
def stateless_truncated_normal(x: tf.Tensor) -> tf.Tensor:
    return x + tf.random.stateless_truncated_normal(SHAPE, (42, 7))


@compiled
def random_split(seed: tf.Tensor) -> tf.Tensor:
    return tf.random.split(seed, 3)


@compiled
def random_fold_in(seed: tf.Tensor) -> tf.Tensor:
    new_seed: tf.Tensor = tf.random.fold_in(seed, 3)  # pyright: ignore[reportAssignmentType] its stub says int
    return new_seed


@compiled
def random_shuffle(x: tf.Tensor) -> Any:
    return keras.random.shuffle(x, seed=42)


DROPOUT = keras.layers.Dropout(0.3, seed=42)


@compiled
def glorot_uniform_seed(x: tf.Tensor) -> Any:
    return x + keras.initializers.GlorotUniform(seed=42)(SHAPE)


@compiled
def he_normal_seed(x: tf.Tensor) -> Any:
    return x + keras.initializers.HeNormal(seed=42)(SHAPE)


@compiled
def embedding_initializer_seed(x: tf.Tensor) -> Any:
    return x + keras.initializers.RandomUniform(seed=42)(SHAPE)


@compiled
def random_normal_seed(x: tf.Tensor) -> Any:
    return x + keras.initializers.RandomNormal(seed=42)(SHAPE)


@compiled
def truncated_normal_seed(x: tf.Tensor) -> Any:
    return x + keras.initializers.TruncatedNormal(seed=42)(SHAPE)
