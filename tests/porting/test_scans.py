"""Loops over lists as scans over arrays: what becomes one, what must not, and that errors planted in it are seen."""

import jax
import numpy as np
import pytest
import tensorflow as tf
from written_rows import drawn, errors, run, written

pytestmark = pytest.mark.heavy

X, UNSIZED = "x=f32[4,3]", "x=f32[B,3]"


def rows_of(x):
    return tf.TensorArray(tf.float32, size=tf.shape(x)[0], clear_after_read=False).unstack(x)


def decayed(x):
    """A recurrent layer that returns each of its states."""
    rows, states = rows_of(x), tf.TensorArray(tf.float32, size=tf.shape(x)[0])
    # The end is computed in the condition.
    _, _, states = tf.while_loop(
        lambda i, *_: i < tf.shape(x)[0],
        lambda i, h, states: (i + 1, 0.5 * h + rows.read(i), states.write(i, 0.5 * h + rows.read(i))),
        (0, tf.zeros([3]), states),
    )
    return states.stack()


def of_two_lists(x):
    rows, others, h = rows_of(x), rows_of(tf.sin(x)), tf.ones([3])
    for i in tf.range(4):
        h = 0.5 * h * others.read(i) + rows.read(i)
    return h


def with_counter(x):
    rows, h = rows_of(x), tf.zeros([3])
    for i in tf.range(4):
        h = 0.5 * h + rows.read(i) * tf.cast(i, tf.float32)
    return h


def last_state(x):
    """A recurrent layer that returns its last state alone, as Keras exports it."""
    rows, last = rows_of(x), tf.TensorArray(tf.float32, size=1, element_shape=[3])

    def step(i, h, last):
        h = 0.5 * h + rows.read(i)
        return i + 1, h, last.write(0, h)

    _, _, last = tf.while_loop(lambda i, *_: i < 4, step, (0, tf.zeros([3]), last), maximum_iterations=4)
    return last.stack()[-1]


def backwards(x):
    rows, h = rows_of(x), tf.zeros([3])
    for i in tf.range(3, -1, -1):
        h = 0.5 * h + rows.read(i)
    return h


def up_to_the_end(x):
    """The counter takes the end too."""
    rows = rows_of(x)
    return tf.while_loop(lambda i, _: i <= 3, lambda i, h: (i + 1, 0.5 * h + rows.read(i)), (0, tf.zeros([3])))[1]


def every_other(x):
    """The counter is read behind the loop too."""
    rows, h = rows_of(x), tf.zeros([3])
    i = tf.constant(0)
    while i < 3:
        h = 0.5 * h + rows.read(i)
        i += 2
    return h + tf.cast(i, tf.float32)


def written_at_every_other(x):
    states, h = tf.TensorArray(tf.float32, size=4, element_shape=[3]), tf.zeros([3])
    for i in tf.range(0, 4, 2):
        h = 0.5 * h + x[i]
        states = states.write(i, h)
    return states.stack()


def not_all(x):
    rows, h = rows_of(x), tf.zeros([3])
    for i in tf.range(3):
        h = 0.5 * h + rows.read(i)
    return h


def the_one_before(x):
    rows, h = rows_of(x), tf.zeros([3])
    for i in tf.range(1, 4):
        h = 0.5 * h + rows.read(i - 1)
    return h


def the_one_behind(x):
    rows, h = rows_of(x), tf.zeros([3])
    for i in tf.range(3):
        h = 0.5 * h + rows.read(i + 1)
    return h


def from_both_ends(x):
    rows, h = rows_of(x), tf.zeros([3])
    for i in tf.range(4):
        h = 0.5 * h + rows.read(i) * rows.read(3 - i)
    return h


def by_another_counter(x):
    """What reads counts as the loop does, but from elsewhere."""
    rows, h, k = rows_of(x), tf.zeros([3]), tf.constant(3)
    for _ in tf.range(4):
        h = 0.5 * h + rows.read(k)
        k -= 1
    return h


def never(x):
    """Without a step, what was to be written stays zeros; the state is what it began with."""
    rows, last, h = rows_of(x), tf.TensorArray(tf.float32, size=1, element_shape=[3]), tf.ones([3])
    for i in tf.range(0):
        h = 0.5 * h + rows.read(i)
        last = last.write(0, h)
    return last.stack()[-1] + h + 0.0 * x[0]


def perhaps_never(x):
    last, h = tf.TensorArray(tf.float32, size=1, element_shape=[3]), tf.ones([3])
    for i in tf.range(tf.shape(x)[0] - 4):
        h = 0.5 * h + x[i]
        last = last.write(0, h)
    return last.stack()[-1] + 0.0 * x[0]


def perhaps_never_from_zeros(x):
    last, h = tf.TensorArray(tf.float32, size=1, element_shape=[3]), tf.zeros([3])
    for i in tf.range(tf.shape(x)[0] - 4):
        h = 0.5 * h + x[i]
        last = last.write(0, h)
    return last.stack()[-1] + 0.0 * x[0]


def another_than_the_state(x):
    rows, last, h = rows_of(x), tf.TensorArray(tf.float32, size=2, element_shape=[3]), tf.ones([3])
    for i in tf.range(4):
        h = 0.5 * h + rows.read(i)
        last = last.write(1, 3.0 * h)
    return last.stack() + h


def twice(x):
    rows, last, h = rows_of(x), tf.TensorArray(tf.float32, size=2, element_shape=[3]), tf.ones([3])
    for i in tf.range(4):
        h = 0.5 * h + rows.read(i)
        last = last.write(1, h)
        last = last.write(0, 3.0 * h)
    return last.stack()


def one_behind_the_counter(x):
    states, h = tf.TensorArray(tf.float32, size=5, element_shape=[3]), tf.ones([3])
    for i in tf.range(4):
        h = 0.5 * h + x[i]
        states = states.write(i + 1, h)
    return states.stack()


def in_reverse(x):
    states, h = tf.TensorArray(tf.float32, size=4, element_shape=[3]), tf.ones([3])
    for i in tf.range(4):
        h = 0.5 * h + x[i]
        states = states.write(3 - i, h)
    return states.stack()


def within_another(x):
    rows, h = rows_of(x), tf.zeros([3])
    for i in tf.range(4):
        for _ in tf.range(2):
            h = 0.5 * h + rows.read(i)
    return h


def what_never_changes(x):
    rows, last, h = rows_of(x), tf.TensorArray(tf.float32, size=1, element_shape=[3]), tf.ones([3])
    fixed = tf.sin(x[0])
    for i in tf.range(4):
        h = 0.5 * h + rows.read(i)
        last = last.write(0, fixed)
    return last.stack()[-1] + h


def its_own_counter(x):
    last, h, i = tf.TensorArray(tf.int32, size=1, element_shape=[]), tf.ones([3]), tf.constant(0)
    while i < 4:
        h = 0.5 * h + x[i]
        i += 1
        last = last.write(0, i)
    return h * tf.cast(last.stack()[-1], tf.float32)


SCANS = [decayed, of_two_lists, with_counter, last_state, backwards, up_to_the_end, every_other,
         written_at_every_other, within_another]  # fmt: skip
OTHERS = [not_all, the_one_before, the_one_behind, from_both_ends, by_another_counter, never,
          perhaps_never, perhaps_never_from_zeros, one_behind_the_counter, in_reverse]  # fmt: skip
ARRAYS = [another_than_the_state, twice, what_never_changes, its_own_counter]


@pytest.mark.parametrize("function", [*SCANS, *OTHERS, *ARRAYS])
def test_it_computes_the_same_and_has_the_same_gradients(function):
    made = written(function, [X])
    assert not made.unwritten
    found = errors(function, run(made), drawn([X]))
    assert max(found.values()) < 1e-6 and "gradients" in found


@pytest.mark.parametrize("function", [perhaps_never, perhaps_never_from_zeros])
def test_a_state_of_no_step_is_not_what_was_written(function):
    made = written(function, [UNSIZED])
    assert (".at[0].set(" in made.text) == (function is perhaps_never)
    for size in (4, 5, 6):
        assert max(errors(function, run(made), drawn([UNSIZED], size=size)).values()) < 1e-6


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (decayed, "jax.lax.scan(step, jnp.zeros((3,), jnp.float32), x)[1]"),
        (of_two_lists, "(sin, x))[0]"),
        (with_counter, "(jnp.arange(4, dtype=jnp.int32), x))[0]"),
        (last_state, "jax.lax.scan(step, jnp.zeros((3,), jnp.float32), x)[0]"),
        (backwards, "x, reverse=True)[0]"),
        (up_to_the_end, "jnp.float32), x)[0]"),
        (every_other, "jnp.arange(0, 3, 2, dtype=jnp.int32))[0]"),
    ],
)
def test_a_scan_goes_over_the_arrays(function, text):
    assert text in written(function, [X]).text


@pytest.mark.parametrize("function", OTHERS)
def test_what_reads_or_writes_elsewhere_goes_over_numbers(function):
    assert "jax.lax.scan(" not in written(function, [X]).text


@pytest.mark.parametrize(
    ("function", "old", "new"),
    [
        (decayed, "), x)[1]", "), x[::-1])[1]"),
        (decayed, "), x)[1]", "), jnp.roll(x, 1, 0))[1]"),
        (of_two_lists, "(sin, x)", "(x, sin)"),
        (with_counter, "jnp.arange(4", "jnp.arange(1, 5"),
        (last_state, "0.5 * h", "0.5 * 0.0"),
        (backwards, ", reverse=True", ""),
        (every_other, "arange(0, 3, 2", "arange(0, 3, 1"),
        (what_never_changes, "last.at[0].set(", "last.at[1].set("),
        (its_own_counter, "last.at[0].set(", "last.at[1].set("),
    ],
)
def test_a_planted_error_is_seen(function, old, new):
    made = written(function, [X])
    assert old in made.text
    assert max(errors(function, run(made, made.text.replace(old, new)), drawn([X])).values()) > 1e-3


def test_a_number_of_steps_that_an_input_decides_is_no_scan():
    def while_positive(x):
        rows, h = rows_of(x), tf.zeros([3])
        for i in tf.range(tf.reduce_sum(tf.cast(x[:, 0] > 0, tf.int32))):
            h = 0.5 * h + rows.read(i)
        return h

    made = written(while_positive, [X])
    assert "scan(" not in made.text
    for seed in range(4):
        (array,) = drawn([X], seed)
        assert np.abs(np.asarray(jax.jit(run(made))(array)) - while_positive(tf.constant(array))).max() < 1e-6


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("index", [0, -1])
def test_what_is_written_behind_the_first_place_leaves_zeros_there(place, index):
    def function(x):
        items = tf.TensorArray(tf.float32, size=1, dynamic_size=True, element_shape=[3]).write(place, tf.sin(x[0]))
        return items.stack()[index] * tf.cast(items.size(), tf.float32)

    made = written(function, [X])
    assert max(errors(function, run(made), drawn([X])).values()) < 1e-6


@pytest.mark.parametrize("index", [0, -1])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_the_one_element_of_a_stack_is_along_its_own_axis(index, axis):
    def function(x):
        return tf.stack([tf.sin(x)], axis)[index]

    made = written(function, [X])
    assert max(errors(function, run(made), drawn([X])).values()) < 1e-6
    assert ("stack" in made.text) == (axis != 0)


@pytest.mark.parametrize(
    ("function", "loop", "place"),
    [
        (another_than_the_state, "scan", 1), (twice, "scan", 1), (what_never_changes, "scan", 0),
        (its_own_counter, "fori_loop", 0),
    ],
)  # fmt: skip
def test_a_list_that_is_no_state_is_carried(function, loop, place):
    text = written(function, [X]).text
    assert f"jax.lax.{loop}(" in text and f"last.at[{place}].set(" in text


def test_what_nothing_reads_is_not_written():
    assert "strided_slice" not in written(in_reverse, [X]).text
