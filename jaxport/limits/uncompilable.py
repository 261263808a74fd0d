"""The functions in JAX: what is not arithmetic stays on the host, and a size that depends on values gets a bound."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from workloads.limits._pictures import decode, encode, picture_file
from workloads.protocol.attempting import Stage

_KEYS = np.arange(0, 100, 3, dtype=np.int32)


def read_file(scale: jax.Array, picture: jax.Array) -> jax.Array:
    return jnp.tanh(picture.astype(jnp.float32) / 256.0 * scale) * 2.0 + scale


def around_read_file(stage: Stage, scale: np.ndarray, pixels: np.ndarray) -> Any:
    with picture_file(pixels) as path:
        return stage()(scale, decode(path.read_bytes()))


def naive_file_that_changes(x: jax.Array, path: str) -> jax.Array:
    return jnp.tanh(x) * len(Path(path).read_bytes()) + x


def around_naive_file_that_changes(stage: Stage, x: np.ndarray) -> Any:
    with picture_file(np.zeros((2, 2, 3), np.uint8)) as path:
        function = stage(static_argnames="path")
        function(x, path=str(path))
        path.write_bytes(b"another file")
        return function(x, path=str(path))


def file_that_changes(x: jax.Array, length: int) -> jax.Array:
    return jnp.tanh(x) * length + x


def around_file_that_changes(stage: Stage, x: np.ndarray) -> Any:
    with picture_file(np.zeros((2, 2, 3), np.uint8)) as path:
        function = stage()
        function(x, len(path.read_bytes()))
        path.write_bytes(b"another file")
        return function(x, len(path.read_bytes()))


def naive_decode_jpeg(scale: jax.Array, contents: jax.Array) -> jax.Array:
    before = jnp.tanh(scale) * scale + 1.0
    picture = decode(np.asarray(contents).tobytes())
    return jnp.tanh(picture.astype(np.float32) / 256.0 * before) * 2.0 + before


def decode_jpeg(scale: jax.Array, contents: jax.Array) -> jax.Array:
    before = jnp.tanh(scale) * scale + 1.0
    shape = jax.ShapeDtypeStruct(scale.shape, jnp.uint8)
    picture = jax.pure_callback(lambda file: decode(np.asarray(file).tobytes()), shape, contents)
    return jnp.tanh(picture.astype(jnp.float32) / 256.0 * before) * 2.0 + before


def around_decode_jpeg(stage: Stage, scale: np.ndarray, pixels: np.ndarray) -> Any:
    return stage()(scale, np.frombuffer(encode(pixels), np.uint8))


around_naive_decode_jpeg = around_decode_jpeg


def naive_python_function(x: jax.Array) -> jax.Array:
    y = jnp.tanh(x) * 2.0 + x
    return jnp.abs(np.partition(y, 32) * 2.0 + y)


def python_function(x: jax.Array) -> jax.Array:
    y = jnp.tanh(x) * 2.0 + x
    shape = jax.ShapeDtypeStruct(y.shape, y.dtype)
    partition = jax.pure_callback(lambda array: np.partition(array, 32), shape, y)
    return jnp.abs(partition * 2.0 + y)


def printing(x: jax.Array) -> jax.Array:
    y = jnp.tanh(x) * 2.0 + x
    jax.debug.print("largest {}", y.max())
    return jnp.abs(y * 2.0 + x)


def lookup_table(keys: jax.Array) -> jax.Array:
    values = jnp.asarray(_KEYS.astype(np.float32) / 100.0)
    place = jnp.searchsorted(_KEYS, keys).clip(max=len(_KEYS) - 1)
    looked_up = jnp.where(jnp.asarray(_KEYS)[place] == keys, values[place], -1.0)
    return jnp.tanh(looked_up) * 2.0 + looked_up


def outside_compilation(x: jax.Array) -> jax.Array:
    y = jnp.tanh(x) * 2.0 + x
    shape = jax.ShapeDtypeStruct(y.shape, jnp.int32)
    lengths = jax.pure_callback(_lengths, shape, y)
    return jnp.abs(y * 2.0 + lengths)


def _lengths(y: Any) -> np.ndarray:
    return np.array([len(f"{value:.2f}") for value in np.asarray(y)], np.int32)


def naive_unique(x: jax.Array) -> jax.Array:
    y = jnp.floor(jnp.tanh(x) * 4.0) + 2.0
    different = jnp.unique(y)
    return jnp.abs(different * 2.0 + 1.0)


def unique(x: jax.Array) -> jax.Array:
    y = jnp.floor(jnp.tanh(x) * 4.0) + 2.0
    different, first = jnp.unique(y, return_index=True, size=y.size, fill_value=jnp.inf)
    order = jnp.argsort(jnp.where(jnp.isinf(different), y.size, first))
    return jnp.abs(different[order] * 2.0 + 1.0)


def naive_boolean_mask(x: jax.Array) -> jax.Array:
    y = jnp.tanh(x) * 2.0 + x
    positives = y[y > 0.0]
    return jnp.abs(positives * 2.0 + 1.0)


def boolean_mask(x: jax.Array) -> jax.Array:
    y = jnp.tanh(x) * 2.0 + x
    (places,) = jnp.nonzero(y > 0.0, size=y.size, fill_value=0)
    return jnp.abs(y[places] * 2.0 + 1.0)


def naive_where_of_one_argument(x: jax.Array) -> jax.Array:
    y = jnp.tanh(x) * 2.0 + x
    places = jnp.argwhere(y * y > x + 1.0)
    return places.astype(jnp.int32) * 2 + 1


def where_of_one_argument(x: jax.Array) -> jax.Array:
    y = jnp.tanh(x) * 2.0 + x
    places = jnp.argwhere(y * y > x + 1.0, size=y.size, fill_value=-1)
    return places.astype(jnp.int32) * 2 + 1
