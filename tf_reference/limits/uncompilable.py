"""Functions with an operation that XLA lacks, or whose result has a size that values decide."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from workloads.limits._pictures import encode, picture_file
from workloads.protocol.attempting import Stage

_KEYS = np.arange(0, 100, 3, dtype=np.int32)


def read_file(scale: tf.Tensor, path: str) -> tf.Tensor:
    contents = tf.io.read_file(path)
    picture = tf.io.decode_jpeg(contents, channels=3)
    return tf.tanh(tf.cast(picture, tf.float32) / 256.0 * scale) * 2.0 + scale


def around_read_file(stage: Stage, scale: np.ndarray, pixels: np.ndarray) -> Any:
    with picture_file(pixels) as path:
        return stage()(scale, str(path))


def file_that_changes(x: tf.Tensor, path: str) -> tf.Tensor:
    length = tf.strings.length(tf.io.read_file(path))
    return tf.tanh(x) * tf.cast(length, x.dtype) + x


def around_file_that_changes(stage: Stage, x: np.ndarray) -> Any:
    with picture_file(np.zeros((2, 2, 3), np.uint8)) as path:
        function = stage()
        function(x, str(path))
        path.write_bytes(b"another file")
        return function(x, str(path))


def decode_jpeg(scale: tf.Tensor, contents: bytes) -> tf.Tensor:
    before = tf.tanh(scale) * scale + 1.0
    picture = tf.io.decode_jpeg(contents, channels=3)
    return tf.tanh(tf.cast(picture, tf.float32) / 256.0 * before) * 2.0 + before


def around_decode_jpeg(stage: Stage, scale: np.ndarray, pixels: np.ndarray) -> Any:
    return stage()(scale, encode(pixels))


def python_function(x: tf.Tensor) -> tf.Tensor:
    y = tf.tanh(x) * 2.0 + x
    partition = tf.numpy_function(lambda array: np.partition(array, 32), [y], tf.float32)
    return tf.abs(tf.ensure_shape(partition, x.shape) * 2.0 + y)


def printing(x: tf.Tensor) -> tf.Tensor:
    y = tf.tanh(x) * 2.0 + x
    tf.print("largest", tf.reduce_max(y))
    return tf.abs(y * 2.0 + x)


def lookup_table(keys: tf.Tensor, table: tf.lookup.StaticHashTable) -> tf.Tensor:
    values = table.lookup(keys)
    return tf.tanh(values) * 2.0 + values


def around_lookup_table(stage: Stage, keys: np.ndarray) -> Any:
    values = tf.lookup.KeyValueTensorInitializer(_KEYS, _KEYS.astype(np.float32) / 100.0)
    return stage()(keys, tf.lookup.StaticHashTable(values, default_value=-1.0))


def outside_compilation(x: tf.Tensor) -> tf.Tensor:
    y = tf.tanh(x) * 2.0 + x
    lengths = tf.compat.v1.tpu.outside_compilation(_lengths, y)
    return tf.abs(y * 2.0 + tf.cast(lengths, x.dtype))


def _lengths(y: tf.Tensor) -> tf.Tensor:
    return tf.strings.length(tf.strings.as_string(y, precision=2))


def unique(x: tf.Tensor) -> tf.Tensor:
    y = tf.floor(tf.tanh(x) * 4.0) + 2.0
    different, _ = tf.unique(y)
    return tf.abs(different * 2.0 + 1.0)


def boolean_mask(x: tf.Tensor) -> tf.Tensor:
    y = tf.tanh(x) * 2.0 + x
    positives = tf.boolean_mask(y, y > 0.0)
    return tf.abs(positives * 2.0 + 1.0)


def where_of_one_argument(x: tf.Tensor) -> tf.Tensor:
    y = tf.tanh(x) * 2.0 + x
    places = tf.where(y * y > x + 1.0)
    return tf.cast(places, tf.int32) * 2 + 1
