"""What a Dropout drops is judged: both sides drop the same, so that one that is missing or elsewhere is seen."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import keras
import numpy as np
import pytest
import tensorflow as tf
from filled_modules import distance, filled, module_of, written_of
from flax import nnx
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxport import stateful
from jaxport._same_masks import drop_by_place
from jaxport.recurrent_dropout import DroppingCell
from jaxport.sequences import over_steps
from tf_reference import _keras_port, _keras_weights
from tf_reference._same_masks import drop, noise_of
from workloads.protocol.same_masks import threshold

L = keras.layers
ops: Any = keras.ops

BOUND = 3e-6
"""Of the normwise difference in float32."""

NUMBERS = np.random.default_rng(2)


class DropPath(L.Layer):
    """Stochastic depth: an example is dropped whole."""

    def __init__(self, kept: float, **named: Any) -> None:
        super().__init__(**named)
        self.kept, self.seed = kept, keras.random.SeedGenerator(3)

    def call(self, x: Any, training: bool = False) -> Any:
        if not training:
            return x
        shape = (ops.shape(x)[0], *(1 for _ in x.shape[1:]))
        drawn = keras.random.uniform(shape, seed=self.seed) < self.kept
        return x * ops.cast(drawn, x.dtype) / self.kept


class DroppedDepth(DropPath):
    """It drops the whole batch, which no Dropout does."""

    def call(self, x: Any, training: bool = False) -> Any:
        drawn = keras.random.uniform((1,), seed=self.seed) < self.kept
        return x * ops.cast(drawn, x.dtype) / self.kept if training else x


class Unscaled(DropPath):
    def call(self, x: Any, training: bool = False) -> Any:
        return super().call(x, training) * (self.kept if training else 1.0)


class DropBlock(DropPath):
    """It drops neighbours together."""

    def call(self, x: Any, training: bool = False) -> Any:
        if not training:
            return x
        drawn = keras.random.uniform((ops.shape(x)[0], 3, 4), seed=self.seed) < self.kept
        return x * ops.cast(ops.repeat(drawn, 2, axis=1), x.dtype) / self.kept


class Clipped(DropPath):
    """Its numbers are those that it is given, if they are small."""

    def call(self, x: Any, training: bool = False) -> Any:
        return super().call(ops.clip(x, -3, 3), training)


class Asking(L.Layer):
    """It asks its rate, which is that of the layer in it, and computes with a number of that kind of name."""

    def __init__(self, rate: float, **named: Any) -> None:
        super().__init__(**named)
        self.rate, self.stddev = rate, 0.7
        self.dropout = L.Dropout(rate)

    def call(self, x: Any, training: bool = False) -> Any:
        return self.stddev * (self.dropout(x, training=training) if self.rate > 0 else x)


class DroppedScores(L.MultiHeadAttention):
    """Attention with a call of its own."""

    def call(self, query: Any, value: Any, training: bool = False) -> Any:  # type: ignore[override]
        query, key, value = self._query_dense(query), self._key_dense(value), self._value_dense(value)
        scores = self._softmax(ops.einsum("btnh,bsnh->bnts", query, key))
        scores = self._dropout_layer(scores, training=training)
        return self._output_dense(ops.einsum("bnts,bsnh->btnh", scores, value))


LAYERS = {
    "each element": ((21,), lambda: L.Dropout(0.3, name="drop")),
    "each element of a sequence": ((5, 8), lambda: L.Dropout(0.5, name="drop")),
    "steps alike": ((5, 8), lambda: L.Dropout(0.5, noise_shape=(None, 1, None), name="drop")),
    "features of a sequence": ((5, 8), lambda: L.SpatialDropout1D(0.5, name="drop")),
    "channels of an image": ((4, 5, 8), lambda: L.SpatialDropout2D(0.4, name="drop")),
    "channels of a volume": ((2, 3, 2, 8), lambda: L.SpatialDropout3D(0.4, name="drop")),
    "by a layer that asks its rate": ((5, 8), lambda: Asking(0.5, name="drop")),
    "each step for itself": ((5, 8), lambda: L.TimeDistributed(L.Dropout(0.5), name="drop")),
    "a whole example": ((5, 8), lambda: DropPath(0.5, name="drop")),
}


def made(name: str) -> tuple[Any, np.ndarray]:
    """A model with a dropout between two dense layers, and what it is given."""
    keras.utils.clear_session()
    shape, drop = LAYERS[name]
    x = keras.Input(shape)
    y = L.Dense(3, name="after")(drop()(L.Dense(shape[-1], name="before")(x)))
    model = keras.Model(x, y)
    _keras_weights._build_rest(model)
    for number, weight in enumerate(model.weights):
        weight.assign(np.random.default_rng(number).uniform(0.1, 0.9, weight.shape))
    return model, NUMBERS.normal(size=(16, *shape)).astype("float32")


def trained(model: Any, module: Any, x: np.ndarray) -> float:
    """How far a module is from a model where both are trained and drop the same."""
    _keras_port._draw_alike(model)
    drop_by_place(module)
    module.train()
    return distance(module(jnp.asarray(x)), np.asarray(model(x, training=True)))


@pytest.mark.parametrize("name", LAYERS)
def test_a_written_port_drops_what_its_original_drops(name: str) -> None:
    model, x = made(name)
    _, module = module_of(model)
    still = np.asarray(model(x))
    assert trained(model, module, x) < BOUND
    assert distance(np.asarray(model(x, training=True)), still) > 0.1
    assert np.array_equal(np.asarray(model(x)), still)


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize(
    ("old", "new"),
    [("self.drop(x)", "x"), ("self.drop(x)", "self.drop(self.drop(x))"), ("self.drop(x)", "self.drop(-x) + 2 * x")],
    ids=["missing", "twice", "of another array"],
)
def test_another_dropout_is_seen(name: str, old: str, new: str) -> None:
    model, x = made(name)
    written = written_of(model)
    assert old in written.text
    module = filled(written, written.text.replace(old, new), model)
    assert trained(model, module, x) > 0.01


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize(("attribute", "value"), [("rate", 0.2), ("broadcast_dims", (0,))])
def test_a_dropout_that_was_changed_after_its_weights_were_carried_is_seen(
    name: str, attribute: str, value: Any
) -> None:
    model, x = made(name)
    _, module = module_of(model)
    setattr(getattr(module.drop, "dropout", module.drop), attribute, value)
    assert trained(model, module, x) > 0.01


def test_a_dropout_in_another_place_is_seen() -> None:
    model, x = made("each element")
    written = written_of(model)
    text = written.text.replace("x = self.drop(x)", "x = x").replace("self.before(x)", "self.before(self.drop(x))")
    assert text.count("self.drop(x)") == 1
    assert trained(model, filled(written, text, model), x) > 0.01


def test_the_scores_of_an_attention_with_a_call_of_its_own_are_dropped() -> None:
    keras.utils.clear_session()
    x = keras.Input((5, 8))
    layer = DroppedScores(2, 4, dropout=0.5, name="own")
    layer.build(x.shape, x.shape)
    model = keras.Model(x, layer(x, x))
    for number, weight in enumerate(model.weights):
        weight.assign(np.random.default_rng(number).uniform(0.1, 0.9, weight.shape))
    _, module = module_of(model)
    given_ = NUMBERS.normal(size=(2, 5, 8)).astype("float32")
    still = np.asarray(model(given_))
    assert trained(model, module, given_) < BOUND
    assert distance(np.asarray(model(given_, training=True)), still) > 0.1


RECURRENT = {
    "lstm": (lambda: L.LSTM(3, dropout=0.4, recurrent_dropout=0.3), "state_rate=0.3"),
    "lstm, input alone": (lambda: L.LSTM(3, dropout=0.4, return_sequences=True), "input_rate=0.4"),
    "gru": (lambda: L.GRU(3, recurrent_dropout=0.3, return_sequences=True), "state_rate=0.3"),
    "gru, reset before": (lambda: L.GRU(3, reset_after=False, dropout=0.2, recurrent_dropout=0.3), "state_rate=0.3"),
    "simple": (lambda: L.SimpleRNN(3, dropout=0.2, recurrent_dropout=0.3), "input_rate=0.2"),
    "both ways": (lambda: L.Bidirectional(L.LSTM(3, recurrent_dropout=0.3)), "state_rate=0.3"),
    "stateful": (lambda: L.LSTM(3, stateful=True, recurrent_dropout=0.3), "state_rate=0.3"),
}
"""What drops the same at every step of a call, and a rate that is written."""


@pytest.mark.parametrize("name", RECURRENT)
def test_a_recurrent_layer_drops_what_its_original_drops_at_every_step(name: str) -> None:
    keras.utils.clear_session()
    make, rate = RECURRENT[name]
    x = keras.Input(batch_shape=(4, 5, 3))
    model = keras.Model(x, make()(x))
    for number, weight in enumerate(model.weights):
        weight.assign(np.random.default_rng(number).uniform(0.1, 0.9, weight.shape))
    given_ = NUMBERS.normal(size=(4, 5, 3)).astype("float32")
    written = written_of(model)
    right, wrong = (
        filled(written, written.text.replace(rate, instead), model)
        for instead in (rate, rate[: rate.index("=")] + "=0.0")
    )
    assert rate in written.text
    assert distance(right(jnp.asarray(given_)), wrong(jnp.asarray(given_))) < BOUND
    stateful.reset_states(right)
    stateful.reset_states(wrong)
    _keras_port._draw_alike(model)
    wanted = np.asarray(model(given_, training=True))
    found = []
    for module in (right, wrong):
        drop_by_place(module)
        module.train()
        found.append(distance(module(jnp.asarray(given_)), wanted))
    assert found[0] < BOUND
    assert found[1] > 0.01


def test_a_recurrent_layer_draws_anew_at_each_call_and_not_at_each_step() -> None:
    cell = DroppingCell(nnx.SimpleCell(3, 3, residual=False, rngs=nnx.Rngs(0)), input_rate=0.5, rngs=nnx.Rngs(1))
    cell.cell.dense_h.kernel.set_value(jnp.zeros((3, 3)))
    rnn = nnx.RNN(cell)
    ones = jnp.ones((2, 4, 3))
    first, second = (np.asarray(over_steps(rnn, ones)[0]) for _ in range(2))
    assert (first == first[:, :1]).all()
    assert (first != second).any()
    with pytest.raises(ValueError, match=r"call the layer by jaxport\.sequences\.over_steps"):
        rnn(ones)


def test_attention_with_a_dropout_drops_nothing() -> None:
    """Its masks are those of the weights of attention, which a port may lay out otherwise."""
    keras.utils.clear_session()
    x = keras.Input((5, 8))
    model = keras.Model(x, L.MultiHeadAttention(2, 4, dropout=0.5)(x, x))
    given_ = NUMBERS.normal(size=(2, 5, 8)).astype("float32")
    still = np.asarray(model(given_))
    _keras_port._draw_alike(model)
    assert np.allclose(np.asarray(model(given_, training=True)), still, rtol=1e-6, atol=0)


def test_channels_come_first_where_the_layer_says_so() -> None:
    layer = L.SpatialDropout2D(0.5, data_format="channels_first")
    assert noise_of(layer) == [None, None, 1, 1]


def test_at_a_rate_of_zero_integers_stay_what_they_are() -> None:
    module = nnx.Dropout(0.0, rngs=nnx.Rngs(0))
    drop_by_place(module)
    assert drop(tf.constant([3, 4]), 0.0).numpy().tolist() == module(jnp.array([3, 4])).tolist() == [3, 4]


@pytest.mark.parametrize(
    "layer",
    [L.Attention(dropout=0.5), L.AdditiveAttention(dropout=0.5), L.LSTMCell(3, dropout=0.5, recurrent_dropout=0.5)],
    ids=lambda layer: type(layer).__name__,
)
def test_what_drops_by_a_rate_of_its_own_drops_nothing(layer: Any) -> None:
    _keras_port._silence(layer)
    assert (layer.dropout, getattr(layer, "recurrent_dropout", 0.0)) == (0.0, 0.0)


SHAPES = st.lists(st.integers(1, 9), min_size=1, max_size=4)


@settings(max_examples=30)
@given(SHAPES, st.floats(0, 1), st.data())
def test_both_sides_drop_the_same_elements(shape: list[int], rate: float, data: st.DataObject) -> None:
    alike = data.draw(st.sets(st.integers(0, len(shape) - 1)))
    module = nnx.Dropout(rate, broadcast_dims=tuple(alike), rngs=nnx.Rngs(0))
    drop_by_place(module)
    x = np.ones(shape, "float32")
    noise = [1 if axis in alike else None for axis in range(len(shape))]
    assert np.array_equal(np.asarray(module(jnp.asarray(x))), np.asarray(drop(tf.constant(x), rate, noise)))


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("shape", [(64, 144), (89, 55), (4096, 2), (16, 16, 16)])
def test_as_many_are_dropped_as_the_rate_says_and_neighbours_along_no_axis_alike(
    shape: tuple[int, ...], rate: float
) -> None:
    kept = np.asarray(drop(tf.ones(shape), rate)) != 0
    spread = 5 * math.sqrt(rate * (1 - rate) / kept.size)
    assert abs(kept.mean() - (1 - rate)) <= spread
    for axis, size in enumerate(shape):
        alike = kept.take(range(1, size), axis) == kept.take(range(size - 1), axis)
        assert abs(alike.mean() - (rate**2 + (1 - rate) ** 2)) <= 5 * math.sqrt(0.25 / alike.size)


def test_a_rate_of_one_drops_all_hashes_but_the_last() -> None:
    assert [threshold(rate) for rate in (0.0, 0.5, 1.0)] == [0, 1 << 31, (1 << 32) - 1]


def of_steps(layer: Any) -> tuple[Any, np.ndarray]:
    x = keras.Input((6, 4))
    return keras.Model(x, layer(x)), NUMBERS.normal(size=(3, 6, 4)).astype("float32")


@pytest.mark.parametrize("kept", [0.75, 0.999])
def test_a_layer_that_drops_examples_is_a_dropout(kept: float) -> None:
    keras.utils.clear_session()
    model, x = of_steps(DropPath(kept))
    model(x)
    state = model.layers[1].seed.state.numpy()
    written, module = module_of(model)
    assert f"nnx.Dropout(rate={1 - kept!r}, broadcast_dims=(1, 2), rngs=rngs)" in written.text
    assert distance(module(jnp.asarray(x)), np.asarray(model(x))) == 0
    assert (model.layers[1].seed.state.numpy() == state).all()


@pytest.mark.parametrize("kind", [DroppedDepth, Unscaled, DropBlock, Clipped])
def test_a_layer_that_draws_otherwise_is_a_place(kind: type[DropPath]) -> None:
    keras.utils.clear_session()
    model, x = of_steps(kind(0.5))
    model(x)
    assert len(written_of(model).places) == 1
