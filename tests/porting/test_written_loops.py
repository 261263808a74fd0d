"""Lists, loops and cases of TensorFlow as jax.lax has them: what is written, and that it computes the same."""

import numpy as np
import pytest
import tensorflow as tf
from written_rows import drawn, errors, run, written

pytestmark = pytest.mark.heavy

X, UNSIZED = "x=f32[4,3]", "x=f32[B,3]"


def mapped(x):
    return tf.map_fn(lambda row: tf.sin(row) * 2.0, x)


def mapped_to_two(x):
    return tf.map_fn(lambda row: (row * 2.0, tf.reduce_sum(row)), x, fn_output_signature=(tf.float32, tf.float32))


def scanned(x):
    return tf.scan(lambda a, b: a * 0.5 + b, x)


def scanned_from(x):
    return tf.scan(lambda a, b: (a[0] + b, a[1] * 0.9 + b), x, initializer=(tf.zeros([3]), tf.ones([3])))


def scanned_back(x):
    return tf.scan(lambda a, b: a * 0.5 + b, x, initializer=tf.zeros([3]), reverse=True)


def folded_left(x):
    return tf.foldl(lambda a, b: a * 0.5 + b, x)


def folded_right(x):
    return tf.foldr(lambda a, b: a * 0.5 + b, x, initializer=tf.ones([3]))


def nested(x):
    return tf.map_fn(lambda row: tf.foldl(lambda a, b: a + b * b, row, initializer=tf.constant(0.0)), x)


def filled(x):
    items, y = tf.TensorArray(tf.float32, size=4), x[0]
    for i in tf.range(4):
        y = y * 0.5 + x[i]
        items = items.write(i, y)
    return items.stack()


def growing(x):
    items = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    for i in tf.range(tf.shape(x)[0]):
        items = items.write(i, x[i] * tf.cast(i, tf.float32))
    return items.stack()


def every_other(x):
    items = tf.TensorArray(tf.float32, size=8, element_shape=[3])
    for i in tf.range(4):
        items = items.write(2 * i + 1, x[i])
    return items.stack()


def read_again(x):
    items = tf.TensorArray(tf.float32, size=5, element_shape=[3], clear_after_read=False).write(0, x[0])
    for i in tf.range(1, 4):
        items = items.write(i, items.read(i - 1) * 0.5 + x[i])
    return items.stack()


def unrolled(x):
    items = tf.TensorArray(tf.float32, size=4).write(2, x[0]).write(0, x[1] * 2.0)
    return items.stack()


def gathered(x):
    items = tf.TensorArray(tf.float32, size=4).unstack(x)
    return items.gather([2, 0]), items.size()


def joined(x):
    return tf.TensorArray(tf.float32, size=4).unstack(x).concat()


def down_to_zero(x):
    return tf.while_loop(lambda i, y: i >= 0, lambda i, y: (i - 1, y * 0.5 + x[i]), (tf.constant(3), x[0]))


def down_to_one(x):
    return tf.while_loop(
        lambda i, y: i > 0, lambda i, y: (i - 1, y * 0.5 + x[i] * tf.cast(i, x.dtype)), (tf.constant(3), x[0])
    )


def at_most(x):
    return tf.while_loop(lambda i, y: i < 7, lambda i, y: (i + 1, y * 1.5), (tf.constant(0), x), maximum_iterations=4)


def of_cases(x):
    return tf.case([(tf.reduce_sum(x) > 1.0, lambda: x * 2.0)], default=lambda: x - 1.0)


def branched_steps(x):
    return tf.map_fn(lambda row: tf.cond(tf.reduce_sum(row) > 0, lambda: row * 2.0, lambda: row - 1.0), x)


EVERY_SIZE = [mapped, mapped_to_two, scanned, scanned_from, scanned_back, folded_left, folded_right, nested, growing,
              gathered, joined, branched_steps]  # fmt: skip
ONE_SIZE = [filled, every_other, read_again, unrolled, down_to_zero, down_to_one, at_most, of_cases]


@pytest.mark.parametrize(
    ("function", "inputs"),
    [*((each, UNSIZED) for each in EVERY_SIZE), *((each, X) for each in (*EVERY_SIZE, *ONE_SIZE))],
    ids=lambda each: each if isinstance(each, str) else each.__name__,
)
def test_it_computes_the_same_and_has_the_same_gradients(function, inputs):
    made = written(function, [inputs])
    assert not made.unwritten
    found = errors(function, run(made), drawn([inputs], size=4))
    assert max(found.values()) < 1e-6 and "gradients" in found


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (mapped, "jax.lax.map(step, x)"),
        (scanned_from, "jax.lax.scan(step, "),
        (scanned_back, ", reverse=True)"),
        (folded_left, "jax.lax.fori_loop(1, 4, step, "),
        (at_most, "jax.lax.fori_loop(0, 4, step, "),
    ],
)
def test_loops_are_those_of_jax(function, text):
    assert text in written(function, [X]).text


@pytest.mark.parametrize("number", [-2, 0, 1, 2, 3])
def test_a_case_that_there_is_not_is_the_last(number):
    def cases(x, n):
        return tf.switch_case(n[0], [lambda: x * 2.0, lambda: x - 1.0, lambda: tf.sin(x)])

    made = written(cases, [X, "n=i32[1]"])
    assert "jax.lax.switch(" in made.text
    arrays = [*drawn([X]), np.array([number], "int32")]
    assert max(errors(cases, run(made), arrays).values()) < 1e-6


def test_a_counter_of_floats_counts_no_steps():
    def halves(x):
        return tf.while_loop(lambda i, y: i < 2.5, lambda i, y: (i + 1.0, y * 1.5), (tf.constant(0.0), x))[1]

    array = drawn([X])[0]
    assert np.abs(np.asarray(run(written(halves, [X]))(array)) - halves(tf.constant(array))).max() < 1e-6


def test_a_step_that_changes_is_no_counter():
    def growing_steps(x):
        i, step = tf.constant(0), tf.constant(1)
        while i < 20:
            x = x + 1.0
            i += step
            step = step * 2
        return x

    made = written(growing_steps, [X])
    assert "jax.lax.while_loop(" in made.text
    array = drawn([X])[0]
    assert np.abs(np.asarray(run(made)(array)) - growing_steps(tf.constant(array))).max() < 1e-6


@pytest.mark.parametrize(
    ("function", "old", "new"),
    [
        (mapped, "map(step, x)", "map(step, x[::-1])"),
        (scanned_from, "* 0.9", "* 0.91"),
        (scanned_back, ", reverse=True", ""),
        (every_other, "2 * i + 1", "2 * i"),
    ],
)
def test_a_planted_error_is_seen(function, old, new):
    made = written(function, [X])
    assert old in made.text
    assert max(errors(function, run(made, made.text.replace(old, new)), drawn([X])).values()) > 1e-3


def test_a_list_whose_elements_have_no_known_shape_is_a_place():
    def ragged(x):
        items = tf.TensorArray(tf.float32, size=8, infer_shape=False)
        for i in tf.range(tf.shape(x)[0]):
            items = items.write(i, x[:i])
        return items.stack()

    made = written(ragged, ["x=f32[B]"])
    assert any("the shape of" in each.reason for each in made.unwritten)


def test_random_numbers_of_a_state_say_why_they_are_left():
    made = written(lambda x: x + tf.random.normal([3]), ["x=f32[3]"])
    assert ["from a state" in each.reason for each in made.unwritten] == [True]


def test_a_list_of_a_fixed_type_is_traced_in_that_alone(capfd):
    made = written(filled, [X])
    assert "undefined behavior" not in "".join(capfd.readouterr())
    assert "jnp.float32" not in made.text and "x.dtype" not in made.text
