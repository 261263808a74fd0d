"""The largest number of steps that a saved loop is given: right where it counts, none where it does not."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import tensorflow as tf

from tf_reference._bounded_loops import bound

pytestmark = pytest.mark.heavy


def numbers_of(function: Callable[..., Any], *values: Any) -> Sequence[int]:
    """What each loop of a function that is traced, as it is saved, says of its largest number of steps."""
    specs = [tf.TensorSpec(tf.constant(value).shape, tf.constant(value).dtype) for value in values]
    concrete = tf.function(function).get_concrete_function(*specs)
    graph = concrete.graph.as_graph_def()
    bound(graph)
    loops = [node for node in graph.node if node.op in ("While", "StatelessWhile")]
    names = [tensor.name for tensor in concrete.inputs]
    with tf.Graph().as_default() as whole, tf.compat.v1.Session(graph=whole) as session:
        tf.graph_util.import_graph_def(graph, name="")
        return [int(number) for number in session.run([f"{node.input[1]}:0" if ":" not in node.input[1]
                else node.input[1] for node in loops], dict(zip(names, values, strict=True)))]  # fmt: skip


def ranged(*ends: int) -> Callable[..., Any]:
    def function(x: tf.Tensor) -> tf.Tensor:
        for _ in tf.range(*ends):
            x = x * 2.0
        return x

    return function


@pytest.mark.parametrize(
    "ends", [(3,), (2, 7), (0, 6, 2), (0, 7, 2), (1, 9, 3), (5, 0, -1), (7, 0, -2), (0,), (3, 3)], ids=str
)
def test_it_is_that_of_the_range(ends: tuple[int, ...]) -> None:
    assert numbers_of(ranged(*ends), 1.0) == [len(range(*ends))]


def test_an_end_that_is_taken_counts() -> None:
    def function(x: tf.Tensor) -> tf.Tensor:
        return tf.while_loop(lambda i, _: i <= 4, lambda i, x: (i + 1, x * 2.0), (1, x))[1]

    assert numbers_of(function, 1.0) == [4]


def test_the_first_condition_that_ends_it_is_enough() -> None:
    def function(x: tf.Tensor) -> tf.Tensor:
        return tf.while_loop(
            lambda i, x: tf.logical_and(x < 100.0, i < 6), lambda i, x: (i + 1, x * 2.0), (0, x)
        )[1]  # fmt: skip

    assert numbers_of(function, 1.0) == [6]


@pytest.mark.parametrize("number", [0, 1, 5])
def test_an_end_that_an_input_gives_is_computed(number: int) -> None:
    def function(n: tf.Tensor) -> tf.Tensor:
        x = tf.constant(1.0)
        for _ in tf.range(1, n):
            x = x * 2.0
        return x

    assert numbers_of(function, max(number, 1)) == [max(number - 1, 0)]


def by_a_growing_step(x: tf.Tensor) -> tf.Tensor:
    return tf.while_loop(lambda i, *_: i < 9, lambda i, k, x: (i + k, k - 1, x * 2.0), (0, 5, x))[2]


def until_it_is_large(x: tf.Tensor) -> tf.Tensor:
    return tf.while_loop(lambda x: x < 50.0, lambda x: (x * 2.0,), (x,))[0]


def away_from_the_end(x: tf.Tensor) -> tf.Tensor:
    return tf.while_loop(lambda i, x: tf.logical_and(i < 9, x < 50.0), lambda i, x: (i - 1, x * 2.0), (0, x))[1]


def to_an_end_that_moves(x: tf.Tensor) -> tf.Tensor:
    return tf.while_loop(
        lambda i, n, x: tf.logical_and(i < n, x < 50.0), lambda i, n, x: (i + 1, n + 1, x * 2.0), (0, 2, x)
    )[2]


def or_something_else(x: tf.Tensor) -> tf.Tensor:
    return tf.while_loop(lambda i, x: tf.logical_or(i < 2, x < 50.0), lambda i, x: (i + 1, x * 2.0), (0, x))[1]


@pytest.mark.parametrize(
    "function", [by_a_growing_step, until_it_is_large, away_from_the_end, to_an_end_that_moves, or_something_else]
)
def test_what_counts_otherwise_says_nothing(function: Callable[..., Any]) -> None:
    assert numbers_of(function, 1.0) == [-1]


def test_what_is_said_stays() -> None:
    def function(x: tf.Tensor) -> tf.Tensor:
        return tf.while_loop(lambda i, _: i < 9, lambda i, x: (i + 1, x * 2.0), (0, x), maximum_iterations=4)[1]

    assert numbers_of(function, 1.0) == [4]
