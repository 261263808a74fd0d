"""Calls of the user's own that draw: both sides draw by place while they are judged, and a wrong port differs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest
import tensorflow as tf
from filled_modules import called, distance, drawn, filled, module_of, written_of

from jaxport._same_masks import drop_by_place
from tf_reference._drawn_numbers import drawn_as_operations, drawn_by_place

pytestmark = [
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
    pytest.mark.usefixtures("remembered"),
]
L = keras.layers


class Sampling(L.Layer):
    """That of Keras' example of a variational autoencoder."""

    def __init__(self) -> None:
        super().__init__()
        self.seed_generator = keras.random.SeedGenerator(1337)

    def call(self, inputs: Any) -> Any:
        mean, log_variance = inputs
        sizes: Any = keras.ops.shape(mean)
        epsilon = keras.random.normal(shape=(sizes[0], sizes[1]), seed=self.seed_generator)
        return mean + keras.ops.exp(0.5 * log_variance) * epsilon


class OfTensorFlow(L.Layer):
    """Draws of every kind that is written, scaled, of other shapes than the input."""

    def call(self, inputs: Any) -> Any:
        mean, other = inputs
        rows = tf.random.uniform(tf.stack([tf.shape(mean)[0], 1]), -1.0, 3.0)
        cut = tf.random.truncated_normal(tf.shape(other), stddev=0.5)
        return mean * rows + other * cut + tf.random.normal([4], 2.0, tf.constant(0.1))


def of_lambda(inputs: Any) -> Any:
    mean, log_variance = inputs
    return mean + tf.exp(0.5 * log_variance) * tf.random.normal(tf.shape(mean))


MODELS: dict[str, Callable[[], Any]] = {
    "Keras": Sampling,
    "TensorFlow": OfTensorFlow,
    "Lambda": lambda: L.Lambda(of_lambda, output_shape=lambda shapes: shapes[0]),
}


def around(layer: Any) -> Any:
    keras.utils.clear_session()
    x = keras.Input((3,))
    return called(keras.Model(x, L.Dense(2)(layer([L.Dense(4)(x), L.Dense(4)(x)]))), drawn((5, 3)))


def both(layer: Any, change: Callable[[str], str] = lambda text: text) -> tuple[Any, Any]:
    """What a written and changed port gives, and what the model does, with draws by place."""
    model, x = around(layer), drawn((5, 3))
    written = written_of(model)
    assert written.places == ()
    text = change(written.text)
    assert text != written.text or change("rngs") == "rngs"
    module = filled(written, text, model)
    drop_by_place(module)
    with drawn_by_place("float32"):
        return module(jnp.asarray(x)), model(x)


@pytest.mark.parametrize("name", MODELS)
def test_a_call_that_draws_is_written(name: str) -> None:
    assert distance(*both(MODELS[name]())) < 3e-6


MISTAKES: dict[str, tuple[str, Callable[[str], str]]] = {
    "no draw": ("Keras", lambda text: text.replace("self.noise.normal", "jnp.zeros")),
    "another distribution": ("Keras", lambda text: text.replace("self.noise.normal", "self.noise.uniform")),
    "one for all examples": ("Keras", lambda text: text.replace("(input_1.shape[0], 4)", "(1, 4)")),
    "one for all features": ("Keras", lambda text: text.replace("(input_1.shape[0], 4)", "(input_1.shape[0], 1)")),
    "variance for deviation": ("Keras", lambda text: text.replace("0.5 * ", "")),
    "not truncated": ("TensorFlow", lambda text: text.replace("truncated_normal(-2.0, 2.0, ", "normal(")),
    "another range": ("TensorFlow", lambda text: text.replace("4.0 *", "3.0 *").replace("* 4.0", "* 3.0")),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_another_draw_is_another_result(mistake: str) -> None:
    name, change = MISTAKES[mistake]
    assert distance(*both(MODELS[name](), change)) > 1e-3


def test_a_port_draws_other_numbers_at_each_call_from_a_stream_of_its_own() -> None:
    _, module = module_of(around(Sampling()))
    x = jnp.ones((200, 4))
    first, second = module.sampling(x, jnp.zeros_like(x) + 2), module.sampling(x, jnp.zeros_like(x) + 2)
    assert distance(first, second) > 0.1
    assert float(jnp.std(first)) == pytest.approx(np.e, rel=0.2)


def test_gradients_go_through_what_is_scaled() -> None:
    _, module = module_of(around(Sampling()))
    drop_by_place(module)
    x = jnp.ones((2, 4))
    mean, variance = jax.grad(lambda *inputs: jnp.sum(module.sampling(*inputs)), argnums=(0, 1))(x, x)
    assert bool((mean == 1).all()) and bool((variance != 0).all())


def test_what_has_a_seed_of_its_own_stays_as_it_is() -> None:
    def stateless() -> Any:
        return tf.random.stateless_normal((3,), (1, 2))

    def of_keras() -> Any:
        return keras.random.normal((3,), seed=5)

    wanted = stateless(), of_keras()
    with drawn_by_place("float32"):
        assert all(np.array_equal(one, other) for one, other in zip(wanted, (stateless(), of_keras()), strict=True))
        whole = tf.random.uniform((50,), 0, 9, tf.int32)
    assert whole.dtype == tf.int32 and len({*whole.numpy().tolist()}) > 3


class Reading(L.Layer):
    """Reads its generator for more than floats, or draws otherwise than the functions that both sides replace."""

    def __init__(self, draw: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        self.seed_generator, self.draw = keras.random.SeedGenerator(3), draw

    def call(self, inputs: Any) -> Any:
        mean, _ = inputs
        return mean + tf.cast(self.draw(mean, self.seed_generator), mean.dtype)

    def compute_output_shape(self, shapes: Any) -> Any:
        return shapes[0]


OTHER_DRAWS: dict[str, Callable[[Any, Any], Any]] = {
    "integers of Keras": lambda x, seeds: keras.random.randint((4,), 0, 9, seed=seeds),
    "integers of a seed": lambda x, seeds: tf.random.stateless_uniform((4,), seeds.next(), 0, 9, tf.int32),
    "the seed itself": lambda x, seeds: seeds.next()[1],
    "a drop in inference": lambda x, seeds: tf.nn.dropout(x, 0.5),
    "an older name": lambda x, seeds: tf.compat.v1.random_normal((4,)),
    "half precision": lambda x, seeds: tf.random.normal((4,), dtype=tf.float16),
}


@pytest.mark.parametrize("name", OTHER_DRAWS)
def test_other_draws_are_a_place(name: str) -> None:
    """Written with a constant in place of the seed, the port would give the same numbers in every call."""
    assert len(written_of(around(Reading(OTHER_DRAWS[name]))).places) == 1


def test_an_order_that_is_drawn_as_floats_is_written() -> None:
    assert distance(*both(Reading(lambda x, seeds: keras.random.shuffle(x, seed=seeds)))) < 3e-6


def test_what_else_reads_a_seed_stays_random_while_the_model_is_judged() -> None:
    seeds = keras.random.SeedGenerator(3)
    with drawn_by_place("float32"):
        first, second = (keras.random.randint((50,), 0, 99, seed=seeds) for _ in range(2))
        same = [keras.random.normal((50,), seed=seeds) for _ in range(2)]
    assert not np.array_equal(first, second)
    assert np.array_equal(*same)


def test_afterwards_everything_is_as_it_was() -> None:
    before = tf.random.normal, tf.random.stateless_uniform, keras.random.SeedGenerator.next
    with drawn_as_operations({}), drawn_by_place("float64"):
        assert tf.random.normal((2,)).dtype == tf.float64
    assert (tf.random.normal, tf.random.stateless_uniform, keras.random.SeedGenerator.next) == before


class Dropping(L.Layer):
    """A layer of the user's own whose dropout has a seed, as attention has."""

    def __init__(self) -> None:
        super().__init__()
        self.dense, self.drop = L.Dense(4), L.Dropout(0.5)

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        return self.drop(self.dense(inputs[0]), training=training)


class Outer(L.Layer):
    """Calls TensorFlow, and a layer of the user's own, whose shapes Keras finds by a call of it."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        return tf.nn.relu(inputs[0]) + self.inner(inputs, training=training)


def test_a_layer_that_drops_in_a_call_that_is_traced_is_written() -> None:
    written, module = module_of(around(Outer(Dropping())))
    assert written.places == () and "self.drop(" in written.text
    module.train()
    zeros = float(jnp.mean(module.outer.inner(jnp.ones((50, 4)), jnp.ones((50, 4))) == 0))
    assert 0.2 < zeros < 0.8


class Seeded(L.Layer):
    """Gives integers of its seeds."""

    def __init__(self) -> None:
        super().__init__()
        self.seed_generator = keras.random.SeedGenerator(3)

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        numbers: Any = keras.random.randint((4,), 0, 9, seed=self.seed_generator)
        return inputs[0] + keras.ops.cast(numbers, "float32")


def test_a_layer_that_draws_integers_in_a_call_that_is_traced_is_a_place() -> None:
    assert len(written_of(around(Outer(Seeded()))).places) == 1
