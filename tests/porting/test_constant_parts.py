"""Parts of a function that its inputs do not change are numbers, where no rule writes them: computed by TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from written_rows import drawn, errors, run, written

from tf_reference import _folded_constants

pytestmark = pytest.mark.heavy

ROWS = ["x=f32[B,65]"]


def mel(x: Any) -> Any:
    return tf.tensordot(x, tf.signal.linear_to_mel_weight_matrix(10, 65, 16000), 1)


def few(x: Any) -> Any:
    return x * tf.math.special.bessel_j0(tf.constant(1.5))


def of_a_text(x: Any) -> Any:
    return x + tf.strings.to_number("2.5")


def looped(x: Any) -> Any:
    value = tf.constant(1.0)
    for k in tf.range(5):
        value = value * tf.math.special.bessel_k0(tf.cast(k + 1, tf.float32))
    return x * value


def branched(x: Any) -> Any:
    return x * tf.cond(tf.constant(2.0) > 1.0, lambda: tf.math.special.bessel_j1(0.5), lambda: tf.constant(0.0))


def called(x: Any) -> Any:
    return x + tf.function(lambda y: tf.math.special.dawsn(y))(tf.linspace(0.0, 1.0, 65))


def sorted_eigenvalues(x: Any) -> Any:
    return x[:, :2] * tf.abs(tf.linalg.eigvals(tf.constant([[2.0, 1.0], [1.0, 3.0]])))


def in_a_loop(x: Any) -> Any:
    return tf.map_fn(lambda row: row + tf.math.special.spence(tf.constant([0.5])), x)


def of_another_part(x: Any) -> Any:
    return x[:, :3] + tf.cumsum(tf.math.special.expint(tf.constant([0.5, 1.0, 2.0])))


def sized(x: Any) -> Any:
    """The rule needs numbers, which other rules would write as arrays."""
    size = tf.cast(tf.round(tf.constant([2.6, 4.0]) * 2.0), tf.int32)
    return tf.image.resize(tf.reshape(x, [-1, 5, 13, 1]), size)


FOLDED: tuple[Callable[[Any], Any], ...] = (
    mel, few, of_a_text, looped, branched, called, sorted_eigenvalues, in_a_loop, of_another_part, sized,
)  # fmt: skip


@pytest.mark.parametrize("function", FOLDED, ids=lambda each: each.__name__)
def test_a_part_that_no_input_changes_is_computed_once(function: Callable[[Any], Any]) -> None:
    made = written(function, ROWS)
    assert not made.unwritten
    assert max(errors(function, run(made), drawn(ROWS)).values()) < 1e-5


def test_few_numbers_stand_in_the_text_and_many_in_the_file_under_the_users_name() -> None:
    made = written(mel, ROWS)
    ((name, array),) = made.constants.items()
    assert (name, array.shape) == ("linear_to_mel_weight_matrix", (65, 10)) or array.shape == (65, 10)
    assert not written(few, ROWS).constants


def test_what_has_rules_stays_an_expression() -> None:
    made = written(lambda x: x * tf.signal.hann_window(65), ROWS)
    assert "jnp.cos(" in made.text and not made.constants


@pytest.mark.parametrize(
    ("function", "place"),
    [
        (lambda x: x + tf.random.stateless_uniform([65], [1, 2]), "StatelessRandomUniformV2"),
        (lambda x: x + tf.random.uniform([65]), "RandomUniform"),
        (lambda x: x + tf.random.shuffle(tf.range(65.0)), "RandomShuffle"),
        (lambda x: x + tf.py_function(lambda v: v, [tf.constant(1.0)], tf.float32), "EagerPyFunc"),
        (lambda x: x + tf.numpy_function(lambda v: v, [tf.constant(1.0)], tf.float32), "PyFunc"),
    ],
)
def test_what_is_random_or_has_state_is_never_computed_once(function: Callable[[Any], Any], place: str) -> None:
    assert place in [each.type for each in written(function, ROWS).unwritten]


def test_what_is_large_is_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    function = lambda x: x + tf.reduce_sum(tf.math.special.bessel_j0(tf.zeros([30, 30])))  # noqa: E731
    assert not written(function, ROWS).unwritten
    monkeypatch.setattr(_folded_constants, "MOST_ELEMENTS", 500)
    assert [each.type for each in written(function, ROWS).unwritten] == ["BesselJ0"]


def test_what_follows_the_float_type_is_computed_in_the_wider_one() -> None:
    made = written(lambda x: x * tf.math.special.bessel_j0(tf.constant(1.5, x.dtype)), ROWS)
    x = np.ones((2, 65))
    from scipy.special import j0

    with __import__("jax").enable_x64(True):
        np.testing.assert_allclose(run(made)(__import__("jax").numpy.asarray(x)), j0(1.5) * x, rtol=1e-14)
