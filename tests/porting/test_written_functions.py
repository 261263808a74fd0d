"""Functions of TensorFlow as source in jax.numpy: what is written, that it computes the same, and what is left."""

import sys
import types

import jax
import numpy as np
import pytest
import tensorflow as tf
from written_rows import drawn, errors, run, written

import jaxport
from compare.inputs.functions import model_inputs
from compare.porting.functions.function_ports import texts
from compare.porting.functions.function_source import function_source
from compare.porting.port_builders import Builder
from tf_reference._function_graph import of_function, variable_names
from workloads import ArraySpec

pytestmark = pytest.mark.heavy


def attention(q, k):
    scores = tf.matmul(q, k, transpose_b=True) / tf.sqrt(tf.cast(tf.shape(k)[-1], q.dtype))
    shares = tf.nn.softmax(scores)
    out = tf.matmul(shares, k)
    return tf.reshape(out, [tf.shape(out)[0], -1])


def looped(x):
    y = tf.zeros_like(x[0])
    for i in tf.range(4):
        y = y * 0.5 + x[i]
    return y


def branched(x):
    if tf.reduce_sum(x) > 0:  # noqa: SIM108  AutoGraph's branches
        y = x * 2.0
    else:
        y = x - 1.0
    return y


@tf.custom_gradient
def tripled(x):
    y = tf.sin(x)
    return y, lambda gradient: gradient * 3.0 * y


def own_gradient(x):
    return tripled(x) * 2.0


def ties(x):
    return tf.abs(x) + tf.maximum(x, 0.0) + tf.clip_by_value(x, -1.0, 0.0)


def stacked(x):
    return x * tf.stack([tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])], axis=1)


def product_of_rows(x):
    return x * tf.cast(tf.reduce_prod(tf.constant([[2, 3], [4, 5]]), axis=1), x.dtype)


def chosen_by_size(x):
    return x * tf.cast(tf.where(tf.shape(x)[0] > 2, 3, 2), x.dtype) + tf.cast(tf.fill([2], tf.shape(x)[0]), x.dtype)


def branched_by_rank(x):
    return tf.cond(tf.rank(x) > 1, lambda: x * 2.0, lambda: x)


def parts_of_sizes(x):
    rows, columns = tf.unstack(tf.shape(x))
    first, second = tf.split(tf.shape(x), [1, 1])
    return tf.reshape(x, [columns, rows]) * tf.cast(first + 2 * second, x.dtype)


def stacked_sizes(x):
    numbers = tf.stack([tf.shape(x), tf.constant([5, 6])], axis=1)
    return x * tf.cast(tf.reshape(numbers, [1, 4]), x.dtype)[:, 1:3]


def aligned(x, y):
    """Loops of an older kind, whose bodies are definitions without graphs, behind a gradient of its own."""
    rows = tf.shape(y)[0]
    return tf.nn.ctc_loss(y, x, tf.fill([rows], 3), tf.fill([rows], 8), logits_time_major=False)


FUNCTIONS = {
    aligned: ["x=f32[B,8,6]", "y=i32[B,3]:1..6"],
    attention: ["q=f32[B,4,5]", "k=f32[B,6,5]"],
    looped: ["x=f32[4,3]"],
    branched: ["x=f32[3]"],
    own_gradient: ["x=f32[3]"],
    ties: ["x=f32[3]"],
    stacked: ["x=f32[2,2]"],
    stacked_sizes: ["x=f32[B,2]"],
    product_of_rows: ["x=f32[B,2]"],
    chosen_by_size: ["x=f32[B,2]"],
    branched_by_rank: ["x=f32[B,2]"],
    parts_of_sizes: ["x=f32[B,2]"],
}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
def test_a_written_function_computes_the_same_and_has_the_same_gradients(function):
    made = written(function, FUNCTIONS[function])
    assert not made.unwritten
    found = errors(function, run(made), drawn(FUNCTIONS[function]))
    assert max(found.values()) < 1e-6 and "gradients" in found


def test_a_gradient_of_its_own_has_a_gradient():
    def squared(x):
        return jaxport.ports.own_gradient(lambda x, gradient: (2 * x * gradient,), (x * x,), (x,), (x,))[0]

    assert jax.grad(jax.grad(squared))(3.0) == 2.0


def test_gradients_at_ties_are_those_of_tensorflow():
    assert max(errors(ties, run(written(ties, ["x=f32[3]"])), [np.array([0.0, -1.0, 2.0], "float32")]).values()) < 1e-6


def test_names_are_the_users_and_a_size_that_varies_is_read():
    text = written(attention, FUNCTIONS[attention]).text
    assert "scores = q @ k.mT / " in text and "out.reshape((out.shape[0], -1))" in text
    assert text == written(attention, FUNCTIONS[attention]).text


def test_loops_and_branches_are_those_of_jax():
    assert "jax.lax.fori_loop(0, 4, step, " in written(looped, FUNCTIONS[looped]).text
    assert "jax.lax.cond(" in written(branched, FUNCTIONS[branched]).text


@pytest.mark.parametrize(
    ("function", "old", "new"),
    [
        (attention, "k.mT", "k"),
        (looped, "* 0.5", "* 0.51"),
        (own_gradient, "* 3.0", "* 3.1"),
        (ties, "-1.0", "-1.1"),
        (aligned, "sub = exp - exp_2", "sub = exp - 1.001 * exp_2"),
    ],
)
def test_a_planted_error_is_seen(function, old, new):
    inputs = ["q=f32[3,5,5]", "k=f32[3,5,5]"] if function is attention else FUNCTIONS[function]
    made = written(function, inputs)
    assert old in made.text
    arrays = [
        np.linspace(-1.05, 2.0, each.size, dtype="float32").reshape(each.shape) if each.dtype.kind == "f" else each
        for each in drawn(inputs)
    ]
    assert max(errors(function, run(made, made.text.replace(old, new)), arrays).values()) > 1e-4


def test_what_is_not_written_raises_with_its_line():
    def uniques(x):
        values, _ = tf.unique(x)
        return tf.reduce_sum(values)

    made = written(uniques, ["x=f32[4]"])
    assert [each.type for each in made.unwritten] == ["Unique"] and made.left.total() == 1
    with pytest.raises(NotImplementedError, match=r"Unique, test_written_functions.py:\d+: no rule writes it"):
        run(made)(np.ones(4, "float32"))


def test_an_assignment_to_a_variable_is_never_dropped():
    state = tf.Variable(1.0)

    def counted(x):
        state.assign_add(1.0)
        return x * 2.0

    made = written(counted, ["x=f32[4]"])
    assert [each.type for each in made.unwritten] == ["AssignAddVariableOp"]
    with pytest.raises(NotImplementedError):
        run(made)(np.ones(4, "float32")) if not made.weights else run(made)({}, np.ones(4, "float32"))


def test_a_check_in_a_branch_is_left_out_with_a_comment():
    def checked(x, n):
        tf.debugging.assert_less(n, 5)
        return x * tf.cast(n, x.dtype)

    made = written(checked, ["x=f32[B]", "n=i32[B]:0..4"])
    assert not made.unwritten and "# Assert is left out: " in made.text


def test_an_assignment_in_a_function_that_is_called_is_never_dropped():
    state = tf.Variable(1.0)

    @tf.function
    def inner(x):
        state.assign_add(1.0)
        return x * 3.0

    made = written(lambda x: inner(x) + 1.0, ["x=f32[4]"])
    assert [each.type for each in made.unwritten] == ["StatefulPartitionedCall"]
    assert "AssignAddVariableOp" in made.unwritten[0].reason


def test_a_function_that_is_called_is_written():
    inner = tf.function(lambda x: x * 3.0)
    made = written(lambda x: inner(x) + 1.0, ["x=f32[4]"])
    assert not made.unwritten
    assert max(errors(lambda x: inner(x) + 1.0, run(made), drawn(["x=f32[4]"])).values()) < 1e-6


def test_variables_of_one_name_are_numbered_as_they_are_read() -> None:
    """Two processes name them alike: one writes the port, another judges it."""
    held = [tf.Variable(np.full(2, at, np.float32), name="w") for at in range(12)]

    @tf.function(autograph=False)
    def product(x):
        for variable in held[::-1]:
            x = x * variable
        return x

    named = variable_names(product.get_concrete_function(tf.TensorSpec([2])).graph)
    assert list(named) == ["w", *(f"w_{number}" for number in range(2, 13))]
    assert [variable.numpy()[0] for variable in named.values()] == list(range(12))[::-1]


def test_what_tensorflow_does_not_train_has_no_gradient_in_the_port() -> None:
    scale, moved = tf.Variable([2.0, 3.0], name="scale"), tf.Variable([4.0, 5.0], name="moved", trainable=False)
    made = written(lambda x: x * scale + x * moved, ["x=f32[2]"])
    x, weights = np.float32([1, -1]), {"scale": np.float32([2, 3]), "moved": np.float32([4, 5])}
    gradients = jax.grad(lambda weights: run(made)(weights, x).sum())(weights)
    np.testing.assert_array_equal(run(made)(weights, x), [6, -8])
    np.testing.assert_array_equal(gradients["scale"], x)
    np.testing.assert_array_equal(gradients["moved"], [0, 0])
    assert "NOT_TRAINED" not in written(lambda x: x * scale, ["x=f32[2]"]).text


def test_weights_are_drawn_as_large_as_those_that_the_function_holds() -> None:
    """A variance below 0 is NaN, and fifty layers of standard normal weights are infinite."""
    held = {
        "variance": [1.0, 1.0],
        "gain": [0.5, 2.0],
        "kernel": [-0.1, 0.1],
        "bias": [0.0, 0.0],
        "lost": [np.nan, 1.0],
    }
    variables = [tf.Variable(value, name=name) for name, value in held.items()]
    made = written(lambda x: x * tf.add_n(variables), ["x=f32[2]"])
    (line,) = [
        row for row in texts(made, {}, "f.py:f", Builder((), "build"))["port.py"].splitlines() if "weights=" in row
    ]
    assert line.strip() == (
        "weights={ 'variance': ArraySpec((2,), 'float32', low=0.5, high=1.5), "
        "'gain': ArraySpec((2,), 'float32', low=0.5, high=2.0), 'kernel': ArraySpec((2,), 'float32', scale=0.1), "
        "'bias': ArraySpec((2,), 'float32'), 'lost': ArraySpec((2,), 'float32'), },"
    )


@pytest.mark.parametrize("name", ["flatten", "group", "partial", "jaxport", "Path", "scaled"])
def test_a_function_may_be_called_as_what_its_port_file_has_for_something_else(name, monkeypatch):
    weight = tf.Variable(2.0, name="scale/by")
    graph, arrays = of_function(lambda x: x * weight, model_inputs(["x=f32[3]"]), name)
    made = function_source(graph, arrays)
    port = texts(made, {"x": ArraySpec((3,))}, "my_tf.py:scaled", Builder((), "None"))["port.py"]
    module, of_port = types.ModuleType("function_jax"), {"__file__": "port.py"}
    exec(made.text, vars(module) | {"__file__": "f.py"}, vars(module))
    monkeypatch.setitem(sys.modules, "function_jax", module)
    exec(port, of_port)
    model = of_port["build_jax"]({}, "float32")
    weights = model.from_weights({"scale/by": np.float32(2.0)})
    np.testing.assert_array_equal(model.forward(weights, np.ones(3, "float32")), np.full(3, 2.0))
    assert model.to_weights(weights) == {"scale/by": 2.0}
