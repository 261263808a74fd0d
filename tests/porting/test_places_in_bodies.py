"""An operation without a rule is a place wherever it stands: all else is written, and its call says what is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
import tensorflow as tf
from written_rows import drawn, errors, run, written

pytestmark = pytest.mark.heavy

X = ["x=f32[3,2]"]
bessel = tf.math.special


@tf.function
def in_a_counted_loop(x: Any) -> Any:
    for _ in tf.range(5):
        x = bessel.bessel_j0(x) + 1.0
    return x


@tf.function
def in_a_while_loop(x: Any) -> Any:
    while tf.reduce_sum(x) < 10.0:
        x = bessel.bessel_j0(x) + 1.0
    return x


def in_a_condition(x: Any) -> Any:
    return tf.while_loop(lambda v: tf.reduce_sum(bessel.bessel_j0(v)) > 1.0, lambda v: (v + 1.0,), (x,))[0]


def in_a_branch(x: Any) -> Any:
    return tf.cond(tf.reduce_sum(x) > 0.0, lambda: bessel.bessel_y1(x), lambda: x) * 2.0


def in_a_case(x: Any) -> Any:
    return tf.switch_case(tf.cast(x[0, 0], tf.int32), [lambda: bessel.bessel_j0(x), lambda: x + 1.0])


def in_a_call(x: Any) -> Any:
    return tf.function(lambda y: bessel.bessel_k0(y) + 1.0)(x) * 2.0


def in_map_fn(x: Any) -> Any:
    return tf.map_fn(lambda row: bessel.bessel_j1(row) + 1.0, x)


def in_scan(x: Any) -> Any:
    return tf.scan(lambda a, row: bessel.bessel_j1(a) + row, x)


def in_a_gradient_of_its_own(x: Any) -> Any:
    @tf.custom_gradient
    def f(y: Any) -> Any:
        return tf.sin(y), lambda d: bessel.bessel_j1(y) * d

    return f(x) * 2.0


def in_python(x: Any) -> Any:
    return tf.py_function(lambda v: v * 2, [x], tf.float32) + 1.0


def in_numpy(x: Any) -> Any:
    return tf.numpy_function(lambda v: v * 2, [x], tf.float32) + 1.0


def of_texts(x: Any) -> Any:
    return tf.strings.length(tf.strings.as_string(x)), x * 2.0


def of_a_table(x: Any) -> Any:
    pairs = tf.lookup.KeyValueTensorInitializer(tf.constant([1, 2]), tf.constant([10, 20]))
    return tf.lookup.StaticHashTable(pairs, -1).lookup(tf.cast(x, tf.int32)) + 1


def of_a_ragged_tensor(x: Any) -> Any:
    return tf.RaggedTensor.from_row_splits(tf.reshape(x, [-1]), [0, 2, 6]).to_tensor() + 1.0


LEFT: tuple[Callable[[Any], Any], ...] = (
    in_a_counted_loop, in_a_while_loop, in_a_condition, in_a_branch, in_a_case, in_a_call, in_map_fn, in_scan,
    in_a_gradient_of_its_own, in_python, in_numpy, of_texts, of_a_table, of_a_ragged_tensor,
)  # fmt: skip


@pytest.mark.parametrize("function", LEFT, ids=lambda each: each.__name__)
def test_only_the_operation_is_a_place_and_its_call_says_so(function: Callable[[Any], Any]) -> None:
    made = written(function, X)
    assert made.unwritten and made.operations.total() > 0
    assert "(None)" not in made.text
    port = run(made)
    types = "|".join(place.type for place in made.unwritten)
    with pytest.raises(NotImplementedError, match=rf"^({types})[^\n]*: write it here"):
        jax.grad(lambda x: sum(leaf.sum() for leaf in jax.tree.leaves(port(x)) if leaf.dtype == x.dtype))(*drawn(X))


rng = np.random.default_rng(0)
table = tf.Variable(rng.normal(size=(12, 8)).astype("float32"), name="table")


@tf.function
def decoding(x: Any) -> Any:
    """Greedy decoding: a loop over a list that ends early, and reads a variable by its rows."""
    batch = tf.shape(x)[0]
    token, done = tf.cast(tf.argmax(x, -1), tf.int32), tf.zeros([batch], tf.bool)
    out = tf.TensorArray(tf.int32, size=8, element_shape=[None])
    for i in tf.range(8):
        logits = tf.matmul(tf.gather(table, token), table, transpose_b=True)
        token = tf.where(done, 0, tf.argmax(tf.roll(logits, 1, 1), -1, output_type=tf.int32))
        done = done | (token == 0)
        out = out.write(i, token)
        if tf.reduce_all(done):
            break
    return tf.transpose(out.stack())


@tf.function
def early(x: Any) -> Any:
    out = tf.TensorArray(tf.float32, size=5, element_shape=[None, 2])
    for i in tf.range(5):
        x = tf.tanh(x) * 1.5
        out = out.write(i, x)
        if tf.reduce_sum(x) > 3.0:
            break
    return out.stack()


def test_a_loop_over_a_list_that_ends_early_is_written() -> None:
    made = written(early, ["x=f32[B,2]"])
    assert not made.unwritten
    for seed in range(3):
        x = drawn(["x=f32[B,2]"], seed)
        np.testing.assert_allclose(run(made)(*x), early(*x), rtol=1e-5)


def test_a_loop_that_reads_weights_is_written() -> None:
    made = written(decoding, ["x=f32[B,12]"])
    assert not made.unwritten and made.operations["ResourceGather"] == 1
    for size in (1, 3):
        x = drawn(["x=f32[B,12]"], size, size)
        np.testing.assert_array_equal(run(made)({"table": table.numpy()}, *x), decoding(*x))


def test_rows_of_a_variable_have_their_gradients() -> None:
    function = lambda i: tf.gather(table, i) * 2.0  # noqa: E731
    made = written(function, ["i=i32[4]:0..12"])
    port = run(made)
    held = table.numpy()
    assert not made.unwritten
    assert max(errors(function, lambda i: port({"table": held}, i), drawn(["i=i32[4]:0..12"])).values()) < 1e-6
