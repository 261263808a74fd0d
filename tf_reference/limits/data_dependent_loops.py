"""Loops whose number of turns is decided by values, and one whose tensor grows."""

from __future__ import annotations

import tensorflow as tf


def while_loop(x: tf.Tensor) -> tf.Tensor:
    return tf.while_loop(lambda y: tf.reduce_sum(y) < 500.0, lambda y: (y * 1.5 + 0.25,), (x,))[0]


def autograph_while(x: tf.Tensor) -> tf.Tensor:
    while tf.reduce_sum(x) < 500.0:
        x = x * 1.5 + 0.25
    return x


def shape_that_grows_in_a_loop(x: tf.Tensor) -> tf.Tensor:
    def twice(turn: tf.Tensor, y: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return turn + 1, tf.concat([y, y + 1.0], 0)

    shapes = (tf.TensorShape([]), tf.TensorShape([None]))
    _, y = tf.while_loop(lambda turn, _: turn < 3, twice, (0, x), shape_invariants=shapes)
    return y
