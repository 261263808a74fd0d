"""Pieces that repeat in a function are helper functions: the program is the one that is written without them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest
import tensorflow as tf
from flax import traverse_util
from hypothesis import event, given, settings
from hypothesis import strategies as st
from same_programs import program
from written_rows import drawn, run

from compare.inputs.functions import model_inputs
from compare.porting.functions import helpers, holes
from compare.porting.functions.function_source import WrittenFunction, function_source, source_without_helpers
from compare.porting.functions.statements import Line, Variable
from tf_reference import _function_graph
from workloads.core.spec import Arrays
from workloads.protocol.function_graph import Body, Captured, FunctionGraph, Node, Place, Result

pytestmark = pytest.mark.heavy

X = ["x=f32[B,8]"]
_RNG = np.random.default_rng(0)


def variable(name: str, *shape: int) -> tf.Variable:
    """A variable of small numbers."""
    return tf.Variable(tf.constant(_RNG.standard_normal(shape) * 0.1, tf.float32), name=name)


KERNELS = [variable(f"dense_{k}/kernel", 8, 8) for k in range(5)]
BIASES = [variable(f"dense_{k}/bias", 8) for k in range(5)]
MASKS = [_RNG.standard_normal((10, 8)).astype("float32") for _ in range(4)]


def unrolled(x):
    for kernel, bias in zip(KERNELS, BIASES, strict=True):
        x = tf.nn.relu(x @ kernel + bias)
    return x


def scaled_by_layer(x):
    for scale, kernel in zip((0.5, 0.25, 2.0, 1.5), KERNELS, strict=False):
        shares = tf.nn.softmax(tf.matmul(x, x, transpose_b=True) * scale)
        x = tf.nn.tanh(shares @ x @ kernel)
    return x


def normalized(x, epsilon, axis):
    mean = tf.reduce_mean(x, axis, keepdims=True)
    return (x - mean) * tf.math.rsqrt(tf.reduce_mean(tf.square(x - mean), axis, keepdims=True) + epsilon)


def other_axes(x):
    for axis in (0, 1, 1, 0):
        x = normalized(x, 1e-3, axis) * 2.0
    return x


def other_epsilons(x):
    for epsilon in (1e-3, 1e-5, 1e-3, 1e-3):
        x = normalized(x, epsilon, -1) * 2.0
    return x


def other_transposes(x):
    for transposes, kernel in zip((True, False, False, True), KERNELS, strict=False):
        x = tf.nn.relu(tf.matmul(tf.tanh(x), kernel, transpose_b=transposes) + 1.0)
    return x


def other_sums(x):
    for keeps in (True, False, True):
        x = x * tf.exp(-tf.reshape(tf.reduce_max(tf.abs(x), -1, keepdims=keeps), [-1, 1])) + 1.0
    return x


def shared(x):
    for bias in BIASES:
        x = tf.nn.relu(tf.tanh(x @ KERNELS[0]) + bias) * BIASES[1]
    return x


def read_outside(x):
    inner = []
    for kernel, bias in zip(KERNELS, BIASES, strict=True):
        hidden = tf.nn.relu(x @ kernel + bias)
        inner.append(hidden)
        x = tf.tanh(hidden) * 2.0 + x
    return x, inner[2]


def drawn_in_pieces(x):
    for seed in range(4):
        numbers = tf.random.stateless_uniform([8], (seed, 7), 0, 10, tf.int32)
        x = tf.tanh(x) + tf.cast(numbers, x.dtype) * 0.1
    return x


def loops_in_pieces(x):
    for kernel in KERNELS[:4]:
        y = tf.zeros_like(x)
        for _ in tf.range(3):
            y = tf.tanh(y + x @ kernel)
        x = y * 2.0 + x
    return x


def branches_in_pieces(x):
    for kernel in KERNELS[:3]:
        x = tf.cond(tf.reduce_sum(x) > 0, lambda x=x, kernel=kernel: tf.tanh(x @ kernel) * 2.0, lambda x=x: x - 1.0)
    return x


@tf.function
def captures(x):
    y = tf.nn.relu(x @ KERNELS[0] + BIASES[0])
    return y - tf.reduce_mean(y, -1, keepdims=True)


def inner_with_captured(x):
    a = captures(x)
    b = captures(tf.tanh(a))
    return a + captures(b)


@tf.function
def wider(x, y):
    z = captures(x) * tf.tanh(y)
    return z, captures(z)


def inner_of_inner(x):
    a, b = wider(x, tf.tanh(x))
    c, d = wider(a * 2.0, b)
    return c + d


@tf.function
def sizes_of_its_own(x, kernel):
    y = tf.reshape(x, [tf.shape(x)[0], 2, -1])
    return tf.nn.relu(tf.reshape(tf.transpose(y, [0, 2, 1]), tf.shape(x)) @ kernel)


def inner_of_other_sizes(x):
    a = sizes_of_its_own(x, KERNELS[0])
    b = sizes_of_its_own(x[:, :4], KERNELS[1][:4])
    return sizes_of_its_own(a, KERNELS[2]) + b


def sine(x):
    y = tf.sin(x)
    return y, lambda gradient: gradient * 3.0 * y


tripled: Any = tf.custom_gradient(sine)


def own_gradients(x):
    for kernel in KERNELS:
        x = tf.tanh(tripled(x @ kernel) + 1.0) * x
    return x


def large_constants(x):
    for mask, kernel in zip(MASKS, KERNELS, strict=False):
        x = tf.nn.relu(tf.tanh(x @ kernel) + tf.reduce_sum(tf.constant(mask) ** 2.0, 0))
    return x


def sizes_from_outside(x):
    rows, half = tf.shape(x)[0], tf.cast(tf.shape(x)[1], x.dtype)
    for kernel in KERNELS:
        x = tf.tanh(tf.reshape(tf.transpose(tf.reshape(x @ kernel, [rows, 2, 4]), [0, 2, 1]), [rows, 8])) / half
    return x


FUNCTIONS = [
    unrolled, scaled_by_layer, other_axes, other_epsilons, other_transposes, other_sums, shared, read_outside,
    drawn_in_pieces, loops_in_pieces, branches_in_pieces, inner_with_captured, inner_of_inner, inner_of_other_sizes,
    own_gradients, large_constants, sizes_from_outside,
]  # fmt: skip


def both(function: Callable[..., Any]) -> tuple[WrittenFunction, WrittenFunction]:
    """A function, written with helper functions and without."""
    graph, arrays = _function_graph.of_function(function, model_inputs(X), "f")
    return function_source(graph, arrays), source_without_helpers(graph, arrays)


def arguments_of(made: WrittenFunction) -> list[Any]:
    """Weights, where there are some, and an input."""
    rng = np.random.default_rng(1)
    shapes = {name: [size or 1 for size in one.result.shape or ()] for name, one in made.weights.items()}
    weights = {name: rng.standard_normal(shape).astype("float32") for name, shape in shapes.items()}
    return [*([traverse_util.unflatten_dict(weights, sep="/")] if weights else []), *drawn(X)]


def loss(port: Callable[..., Any]) -> Callable[..., Any]:
    """A number of all that a port returns."""
    return lambda *arguments: sum((one * one).sum() for one in jax.tree.leaves(port(*arguments)))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
def test_the_program_is_that_without_helper_functions(function):
    made, plain = both(function)
    arguments = arguments_of(made)
    assert not made.unwritten and made.operations == plain.operations
    assert program(run(made), *arguments) == program(run(plain), *arguments)
    for one, other in zip(*(jax.tree.leaves(run(each)(*arguments)) for each in (made, plain)), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("function", [shared, inner_of_inner, own_gradients, sizes_from_outside])
def test_gradients_are_those_without_helper_functions(function):
    """JAX sums the gradients of what is read several times in the order of the lines."""
    made, plain = both(function)
    arguments = arguments_of(made)
    numbers = tuple(range(len(arguments)))
    of_both = [jax.tree.leaves(jax.grad(loss(run(each)), numbers)(*arguments)) for each in (made, plain)]
    for one, other in zip(*of_both, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def text_of(function: Callable[..., Any]) -> str:
    """What is written of a function."""
    return both(function)[0].text


def test_a_chain_of_copies_is_a_loop_over_what_differs() -> None:
    text = text_of(unrolled)
    assert "def dense(x: jax.Array, weights: Any) -> jax.Array:" in text
    assert "for i in range(5):\n        x = dense(x, weights[f'dense_{i}'])" in text
    assert "for dense, number in (('dense_0', 0.5), ('dense_1', 0.25)," in text_of(scaled_by_layer)
    assert "weights['dense_0']['kernel'], weights[f'dense_{i}']['bias'], weights['dense_1']['bias'])" in text_of(shared)


def test_an_attribute_that_differs_is_an_argument_or_no_copy() -> None:
    assert "for number in (0, 1, 1, 0):\n        x = normalized(x, number)" in text_of(other_axes)
    assert "for number in (0.001, 1e-05, 0.001, 0.001):" in text_of(other_epsilons)
    assert "weights['dense_0']['kernel'].mT" in text_of(other_transposes)


def test_a_copy_whose_inner_value_is_read_elsewhere_is_none() -> None:
    text = text_of(read_outside)
    assert text.count("= dense(") + text.count("(dense(") == 4 and "hidden = jax.nn.relu(x @ weights['dense_2']" in text


def test_an_inner_function_that_is_called_several_times_has_its_name() -> None:
    text = text_of(inner_with_captured)
    assert "def captures(x: jax.Array, weights: Any) -> jax.Array:" in text
    assert "b = captures(jnp.tanh(a), weights['dense_0'])" in text
    text = text_of(inner_of_inner)
    assert text.count("captures(") == 3 and "z, b = wider(x, jnp.tanh(x), weights['dense_0'])" in text


def test_what_is_called_once_or_short_is_no_helper_function() -> None:
    short = tf.function(lambda x: tf.tanh(x) + 1.0)
    assert text_of(lambda x: captures(x) * 2.0).count("def ") == 1
    assert text_of(lambda x: short(x) + short(x * 2.0)).count("def ") == 1


def test_inputs_and_functions_may_be_called_as_what_lines_call() -> None:
    def looped(range, int, max):
        for kernel in KERNELS:
            range = tf.nn.relu(tf.tanh(range @ kernel) + max)
        return range * int[: tf.maximum(tf.shape(int)[0], tf.shape(max)[0])] + tf.cast(tf.argmax(int), max.dtype)

    inputs = [f"{name}=f32[B,8]" for name in ("range", "int", "max")]
    made = function_source(*_function_graph.of_function(looped, model_inputs(inputs), "f"))
    assert "for i in range(5)" in made.text and ".astype(int)" in made.text and "[:max(" in made.text
    weights = traverse_util.unflatten_dict({f"dense_{k}/kernel": one.numpy() for k, one in enumerate(KERNELS)}, sep="/")
    arrays = drawn(inputs)
    np.testing.assert_allclose(run(made)(weights, *arrays), looped(*map(tf.constant, arrays)), rtol=1e-5, atol=1e-5)
    named = function_source(*_function_graph.of_function(unrolled, model_inputs(X), "range"))
    assert "def range_(weights" in named.text and "for i in range(5)" in named.text


def test_the_same_function_is_the_same_text() -> None:
    assert text_of(inner_of_inner) == text_of(inner_of_inner)


@pytest.mark.parametrize(
    ("function", "old", "new"),
    [
        (other_epsilons, "(0.001, 1e-05, 0.001, 0.001)", "(0.001, 0.001, 0.001, 0.001)"),
        (other_axes, "(0, 1, 1, 0)", "(0, 1, 0, 0)"),
        (unrolled, "range(5)", "range(4)"),
        (shared, "weights['dense_1']['bias']", "weights['dense_2']['bias']"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_a_planted_error_is_another_program(function, old, new):
    made, plain = both(function)
    arguments = arguments_of(made)
    assert made.text.count(old) == 1
    assert program(run(made, made.text.replace(old, new)), *arguments) != program(run(plain), *arguments)


@pytest.mark.parametrize(
    ("text", "other", "equal"),
    [
        ("v__1 @ weights['a']['kernel'] + 0.5", "v__7 @ weights['b']['kernel'] + 2", True),
        ("jnp.sum(v__1, (0, 1))", "jnp.sum(v__1, -1)", True),
        ("v__1.reshape((v__1.shape[0], 2))", "v__1.reshape((v__1.shape[1], 2))", False),
        ("v__1.astype(v__1.dtype)", "v__1.astype(jnp.float32)", False),
        ("v__1 @ v__2.mT", "v__1 @ v__2", False),
        ("jnp.sum(v__1, 1, keepdims=True)", "jnp.sum(v__1, 1, keepdims=False)", False),
        ("jnp.einsum('ab,bc->ac', v__1, v__2)", "jnp.einsum('ab,cb->ac', v__1, v__2)", False),
        ("jnp.clip(v__1, -jnp.inf, 1)", "jnp.clip(v__1, -1, jnp.inf)", False),
    ],
)
def test_two_lines_are_equal_but_for_variables_weights_and_numbers(text, other, equal) -> None:
    shapes = [
        holes.element(Line(one, (Variable("v__9", "x"),)), with_numbers=False).step.shape for one in (text, other)
    ]
    assert (shapes[0] == shapes[1]) is equal


def test_pieces_of_other_code_that_were_merged_would_be_another_program(monkeypatch) -> None:
    """What keeps copies apart is the code around their holes: without it, the comparison of programs fails."""
    real = holes.element

    def blind(statement, *, with_numbers):
        found = real(statement, with_numbers=False)
        return replace(found, step=replace(found.step, shape=found.step.shape.replace(".mT", "")))

    monkeypatch.setattr(helpers, "element", blind)
    made, plain = both(other_transposes)
    arguments = arguments_of(made)
    assert "def layer(" in made.text
    assert program(run(made), *arguments) != program(run(plain), *arguments)


SIZE = Result("float32", (8, 8))
OPERATIONS = {
    "Relu": {}, "Tanh": {}, "Softmax": {}, "Neg": {}, "AddV2": {}, "Mul": {}, "MatMul": {"transpose_b": (False, True)},
    "ClipByValue": {}, "Cumsum": {"exclusive": (False, True), "reverse": (False, True)},
}  # fmt: skip
"""Operations of arrays of one size, with their attributes."""

Recipe = tuple[str, int, float, tuple[bool, ...]]
"""An operation, how far back its other input is, a constant of it, and its attributes."""

RECIPES = st.tuples(
    st.sampled_from(sorted(OPERATIONS)), st.integers(0, 3), st.sampled_from([0.5, 2.0]), st.tuples(*[st.booleans()] * 2)
)


def graph_of(recipes: Sequence[Recipe], weights: int, returned: Sequence[int]) -> tuple[FunctionGraph, Arrays]:
    """A function of these operations, each of which takes what the one before it gives."""
    nodes = [Node("Placeholder", f"input_{k}", (), (SIZE,)) for k in range(weights + 1)]
    arrays, results = dict[str, np.ndarray](), [0]

    def constant(value: float) -> Place:
        key = f"constant{len(nodes)}"
        arrays[key] = np.array(value, "int32" if isinstance(value, int) else "float32")
        nodes.append(Node("Const", key, (), (Result(str(arrays[key].dtype), ()),), constant=key))
        return len(nodes) - 1, 0

    for number, (kind, back, value, flags) in enumerate(recipes):
        inputs: list[Place] = [(results[-1], 0)]
        if kind == "MatMul":
            inputs.append((1 + (number + back) % weights, 0))
        elif kind in ("AddV2", "Mul"):
            inputs.append((results[-1 - back % len(results)], 0) if back else constant(value))
        elif kind == "ClipByValue":
            inputs += [constant(-value), constant(value)]
        elif kind == "Cumsum":
            inputs.append(constant(back % 2))
        attributes = dict(zip(OPERATIONS[kind], flags, strict=False))
        nodes.append(Node(kind, f"node_{number}", tuple(inputs), (SIZE,), attributes))
        results.append(len(nodes) - 1)
    outputs = tuple((results[number % len(results)], 0) for number in (-1, *returned))
    captured = tuple(Captured(f"w_{k}", True, SIZE, True) for k in range(weights))
    body = Body("f", tuple(nodes), tuple(range(weights + 1)), outputs)
    nest = {"tuple": [{"tensor": k} for k in range(len(outputs))]}
    return FunctionGraph("f", ("x",), captured, nest, (body,)), arrays


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    piece=st.lists(RECIPES, min_size=3, max_size=6),
    changes=st.lists(st.tuples(st.integers(0, 40), RECIPES), max_size=3),
    count=st.integers(2, 6),
    returned=st.lists(st.integers(0, 40), max_size=1),
)
def test_pieces_that_differ_anywhere_are_never_merged(piece, changes, count, returned) -> None:
    """Copies of a piece, some operations of which are others: the program stays what it is."""
    recipes = piece * count
    for place, recipe in changes:
        recipes[place % len(recipes)] = recipe
    graph, arrays = graph_of(recipes, 3, returned)
    made, plain = function_source(graph, arrays), source_without_helpers(graph, arrays)
    rng = np.random.default_rng(0)
    values = {f"w_{k}": rng.standard_normal((8, 8)).astype("float32") for k in range(3)}
    x = rng.standard_normal((8, 8)).astype("float32")
    event(f"{made.text.count('def ') - 1} helper functions")
    assert not made.unwritten
    assert program(run(made), values, x) == program(run(plain), values, x)
