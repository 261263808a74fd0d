"""A saved loop that counts gets its largest number of steps; any other loop gets none."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from tf_reference import _saved_function
from tf_reference._bounded_loops import bound
from workloads.protocol.saved_graph import SavedGraph

pytestmark = pytest.mark.heavy


def numbers_of(function: Callable[..., Any], *values: Any, takes: str = "") -> Sequence[int]:
    """What each loop of a function that is traced, as it is saved, says of its largest number of steps."""
    specs = [tf.TensorSpec(tf.constant(value).shape, tf.constant(value).dtype) for value in values]
    concrete = tf.function(function).get_concrete_function(*specs)
    graph = concrete.graph.as_graph_def()
    loops = [node for node in graph.node if node.op in ("While", "StatelessWhile")]
    bound(graph, [f"{loops[0].name}:{takes}"] if takes else [])
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


def test_the_first_of_two_counters_to_end_decides() -> None:
    def function(x: tf.Tensor) -> tf.Tensor:
        return tf.while_loop(
            lambda i, k, _: tf.logical_and(i < 9, k > 1), lambda i, k, x: (i + 1, k + -2, x * 2.0), (0, 8, x)
        )[2]

    assert numbers_of(function, 1.0) == [4]


LARGEST, LARGEST_OF_64_BITS = 2**31 - 1, 2**63 - 1


@pytest.mark.parametrize(
    ("start", "end", "number"),
    [
        (0, 10**6 - 1, 10**6), (0, 10**6, -1), (0, LARGEST, -1), (-5, LARGEST, -1), (LARGEST, -5, 0),
        (-5, LARGEST_OF_64_BITS, -1), (LARGEST_OF_64_BITS, -5, 0), (2**40, 2**40 + 2, 3),
    ],
)  # fmt: skip
def test_an_end_that_is_far_is_left_away(start: int, end: int, number: int) -> None:
    dtype = tf.int32 if max(start, end) <= LARGEST else tf.int64

    def from_constants(x: tf.Tensor) -> tf.Tensor:
        # Each step might end it.
        return tf.while_loop(
            lambda i, x: tf.logical_and(i <= end, x < 50.0),
            lambda i, x: (i + 1, x * 2.0),
            (tf.constant(start, dtype), x),
        )[1]

    def from_inputs(x: tf.Tensor, start: tf.Tensor, end: tf.Tensor) -> tf.Tensor:
        return tf.while_loop(
            lambda i, x: tf.logical_and(i <= end, x < 50.0), lambda i, x: (i + 1, x * 2.0), (start, x)
        )[1]  # fmt: skip

    assert numbers_of(from_constants, 1.0) == [number]
    whole = dtype.as_numpy_dtype
    assert numbers_of(from_inputs, 1.0, whole(start), whole(end)) == [number]


@pytest.mark.parametrize("compiles", [None, True])
def test_a_loop_with_a_far_end_has_its_gradient(tmp_path: Path, compiles: bool | None) -> None:
    def function(x: tf.Tensor) -> tf.Tensor:
        return tf.while_loop(lambda i, x: (i <= LARGEST) & (x < 50.0), lambda i, x: (i + 1, x * x), (0, x))[1]

    module = tf.Module()
    module.call = tf.function(function, [FLOAT])
    tf.saved_model.save(module, str(tmp_path), signatures=module.call)
    call = _saved_function.read(SavedGraph(str(tmp_path))).make_callable()

    def gradient(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            (value,) = call(x).values()
        return tape.gradient(value, x)

    if compiles:
        with pytest.raises(tf.errors.InvalidArgumentError, match="fixed tensor list size"):
            tf.function(gradient, jit_compile=True, autograph=False)(tf.constant(2.0))
    else:
        assert float(tf.function(gradient, autograph=False)(tf.constant(2.0))) == 8 * 2.0**7


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


INT, FLOAT, INT32 = tf.TensorSpec([], tf.int32), tf.TensorSpec([]), tf.int32.as_datatype_enum


def raw_loop(step: Callable[..., Any], start: int = 0, goes_on: Callable[..., Any] = lambda i, *_: i < 3) -> Any:
    """A loop of the user's own, which has -1 where those of tf.while_loop have their largest number of steps."""

    def function(x: tf.Tensor) -> tf.Tensor:
        condition, body = (tf.function(part, autograph=False).get_concrete_function(INT, INT, FLOAT)
                           for part in (goes_on, step))  # fmt: skip
        return tf.raw_ops.StatelessWhile(input=[start, -1, x], cond=condition, body=body)[2]

    return function


def within_another(i: tf.Tensor, k: tf.Tensor, x: tf.Tensor) -> tuple[tf.Tensor, ...]:
    """The number is read by the step of another loop, which captures it."""
    inner = tf.while_loop(lambda j, _: j < 2, lambda j, x: (j + 1, x * tf.cast(k, tf.float32)), (0, x))[1]
    return i + 1, k, inner


@pytest.mark.parametrize(
    "function",
    [
        raw_loop(lambda i, k, x: (i + 1, k, x * tf.cast(k, tf.float32))),
        raw_loop(lambda i, k, x: (i + 1, tf.identity(k), x * tf.cast(tf.identity(k), tf.float32))),
        raw_loop(lambda i, k, x: (i + 1, k - 1, x * 2.0)),
        raw_loop(lambda i, k, x: (i + 1, k, x * 2.0), goes_on=lambda i, k, x: (i < 3) & (k < 0)),
        raw_loop(lambda i, k, x: (i + 1, k, x * 2.0), start=1),
        raw_loop(lambda i, k, x: (i + 2, k, x * 2.0)),
        raw_loop(within_another),
    ],
    ids=["computes", "behind an identity", "changes", "condition", "another start", "another step", "captured"],
)
def test_a_number_that_is_the_users_stays(function: Callable[..., Any]) -> None:
    assert numbers_of(function, 1.0) == [-1]


def test_a_number_that_is_taken_from_the_graph_stays() -> None:
    function = raw_loop(lambda i, k, x: (i + 1, k, x * 2.0))
    assert numbers_of(function, 1.0) == [3]
    assert numbers_of(function, 1.0, takes="1") == [-1]


def test_a_number_that_a_step_takes_from_an_inner_loop_stays() -> None:
    inner = raw_loop(lambda i, k, x: (i + 1, k, x * 2.0))

    def function(x: tf.Tensor) -> tf.Tensor:
        return tf.while_loop(lambda i, _: i < 2, lambda i, x: (i + 1, inner(x)), (0, x))[1]

    def is_bounded(reads: bool) -> bool:
        graph = tf.function(function).get_concrete_function(FLOAT).graph.as_graph_def()
        (body,) = (one for one in graph.library.function for node in one.node_def if node.op == "StatelessWhile")
        (loop,) = (node for node in body.node_def if node.op == "StatelessWhile")
        if reads:
            body.node_def.add(op="Neg", name="reads", input=[f"{loop.name}:output:1"]).attr["T"].type = INT32
        bound(graph)
        return loop.input[1].startswith(f"{loop.name}/steps/")

    assert is_bounded(reads=False)
    assert not is_bounded(reads=True)


def test_a_file_computes_what_it_computed(tmp_path: Path) -> None:
    function = raw_loop(lambda i, k, x: (i + 1, k, x * tf.cast(k, tf.float32)))
    module = tf.Module()
    module.call = tf.function(function, [FLOAT])
    tf.saved_model.save(module, str(tmp_path), signatures=module.call)
    call = _saved_function.read(SavedGraph(str(tmp_path))).make_callable()
    assert [float(value) for value in call(tf.constant(2.0)).values()] == [-2.0]
