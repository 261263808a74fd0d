"""Masks that Keras hands on beside the tensors, and states: written exactly, or a place; never left out in silence."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest
import tensorflow as tf
from filled_modules import called, distance, filled, module_of, written_of

from compare.porting.training_source import training_source
from tf_reference import _keras_compiled, _keras_port

L = keras.layers
ops: Any = keras.ops

pytestmark = [
    pytest.mark.filterwarnings("ignore:Layer .* was passed an input with a mask:UserWarning"),
    pytest.mark.usefixtures("remembered"),
]

BOUND = 3e-6
"""Of the normwise difference in float32; leaving a mask out makes one of 0.01 and more."""

TOKENS = np.array([[3, 1, 4, 0, 0, 0], [0, 2, 0, 5, 6, 0], [1, 2, 3, 4, 5, 6]], "int32")
STEPS = np.random.default_rng(3).normal(size=(3, 6, 4)).astype("float32")
STEPS[0, 4:] = STEPS[1, 0] = 0
MASK = np.array([[1, 1, 0, 1, 0, 0], [0, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1]], bool)
PAIRS = np.random.default_rng(4).integers(0, 2, (3, 6, 6)).astype(bool)
"""The first row of the first example has no pair: attention then gives the mean of all values."""
PAIRS[0, 0] = False
FRAMES = np.random.default_rng(5).normal(size=(2, 4, 6, 6, 2)).astype("float32")


class OwnMask(L.Layer):
    """A mask that a class of the user's makes."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.supports_masking = L.Embedding(7, 4), True

    def call(self, tokens: Any) -> Any:
        return self.table(tokens)

    def compute_mask(self, tokens: Any, mask: Any = None) -> Any:
        return ops.not_equal(tokens, 0)


class Handing(L.Layer):
    """It returns what carries a mask, and does not say that it supports any: Keras hands the mask on all the same."""

    def __init__(self) -> None:
        super().__init__()
        self.table = L.Embedding(7, 4, mask_zero=True)

    def call(self, tokens: Any) -> Any:
        return self.table(tokens)


class Through(L.Layer):
    """Likewise of a mask that comes from outside."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = L.Dense(4)

    def call(self, x: Any) -> Any:
        return self.inner(x)


class OfTensorFlow(L.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.attention = OwnMask(), L.MultiHeadAttention(2, 2)

    def call(self, tokens: Any) -> Any:
        x = self.table(tokens)
        return self.attention(x, x) + tf.reduce_sum(x)


def embedded(tokens: Any, zero: bool = True) -> Any:
    return L.Embedding(7, 4, mask_zero=zero)(tokens)


def of_tokens(function: Callable[[Any], Any]) -> tuple[Any, list[Any]]:
    tokens = keras.Input((6,), dtype="int32")
    return keras.Model(tokens, function(tokens)), [TOKENS]


def of_steps(function: Callable[[Any], Any]) -> tuple[Any, list[Any]]:
    x = keras.Input((6, 4))
    return keras.Model(x, function(x)), [STEPS]


def of_two(function: Callable[[Any, Any], Any], other: Any) -> tuple[Any, list[Any]]:
    x, y = keras.Input((6, 4)), keras.Input(other.shape[1:], dtype=str(other.dtype))
    return keras.Model([x, y], function(x, y)), [STEPS, other]


def of_frames(function: Callable[[Any], Any]) -> tuple[Any, list[Any]]:
    x = keras.Input((4, 6, 6, 2))
    return keras.Model(x, function(x)), [FRAMES]


def attended(x: Any, y: Any, **named: Any) -> Any:
    return L.MultiHeadAttention(2, 2)(x, y, **named)


def attended_twice(tokens: Any) -> Any:
    """A call of attention takes the mask from what it is given: the second sees none of the first tensor's."""
    x, y = embedded(tokens), embedded(tokens)
    return attended(x, y) + attended(x, y)


MASKED: dict[str, Callable[[], tuple[Any, list[Any]]]] = {
    "lstm": lambda: of_tokens(lambda t: L.LSTM(3)(embedded(t))),
    "lstm, all steps": lambda: of_tokens(lambda t: L.LSTM(3, return_sequences=True)(embedded(t))),
    "lstm, zeros": lambda: of_tokens(
        lambda t: L.LSTM(3, return_sequences=True, zero_output_for_mask=True)(embedded(t))
    ),
    "lstm, backwards": lambda: of_tokens(lambda t: L.LSTM(3, go_backwards=True)(embedded(t))),
    "lstm, told of training": lambda: of_tokens(lambda t: L.LSTM(3)(embedded(t), training=False)),
    "gru": lambda: of_tokens(lambda t: L.GRU(3)(embedded(t))),
    "simple": lambda: of_tokens(lambda t: L.SimpleRNN(3)(embedded(t))),
    "cell": lambda: of_tokens(lambda t: L.RNN(L.GRUCell(3))(embedded(t))),
    "stacked cells": lambda: of_tokens(
        lambda t: L.RNN(L.StackedRNNCells([L.LSTMCell(3), L.SimpleRNNCell(2)]), return_sequences=True)(embedded(t))
    ),
    "both ways": lambda: of_tokens(lambda t: L.Bidirectional(L.GRU(3))(embedded(t))),
    "both ways, all steps": lambda: of_tokens(lambda t: L.Bidirectional(L.LSTM(3, return_sequences=True))(embedded(t))),
    "stacked": lambda: of_tokens(lambda t: L.LSTM(2)(L.Dropout(0.5)(L.LSTM(3, return_sequences=True)(embedded(t))))),
    "average": lambda: of_tokens(lambda t: L.GlobalAveragePooling1D()(embedded(t))),
    "attention": lambda: of_tokens(lambda t: (lambda x: attended(x, x))(embedded(t))),
    "attention, then pooling": lambda: of_tokens(
        lambda t: (lambda x: L.GlobalAveragePooling1D()(attended(x, x)))(embedded(t))
    ),
    "attention, twice": lambda: of_tokens(attended_twice),
    "attention, causal": lambda: of_tokens(lambda t: (lambda x: attended(x, x, use_causal_mask=True))(embedded(t))),
    "attention of one head": lambda: of_tokens(lambda t: (lambda x: L.Attention()([x, x]))(embedded(t))),
    "attention of one head, named": lambda: of_two(lambda x, m: L.Attention()([x, 2.0 * x], mask=[None, m]), MASK),
    "attention of one head, causal": lambda: of_tokens(
        lambda t: (lambda x: L.Attention(score_mode="concat")([x, x], use_causal_mask=True))(embedded(t))
    ),
    "additive attention": lambda: of_tokens(lambda t: (lambda x: L.AdditiveAttention()([x, x]))(embedded(t))),
    "masking": lambda: of_steps(lambda x: L.LSTM(3)(L.Masking()(x))),
    "own": lambda: of_tokens(lambda t: L.LSTM(3)(OwnMask()(t))),
    "own, attention": lambda: of_tokens(lambda t: (lambda x: attended(x, x))(OwnMask()(t))),
    "own, through": lambda: of_tokens(lambda t: L.LSTM(3)(L.LayerNormalization()(OwnMask()(t)))),
    "each step": lambda: of_tokens(lambda t: L.LSTM(3)(L.TimeDistributed(L.Dense(4, activation="relu"))(embedded(t)))),
    "sum": lambda: of_tokens(lambda t: L.LSTM(3)(L.Add()([embedded(t), embedded(t)]))),
    "joined": lambda: of_tokens(lambda t: L.LSTM(3)(L.Concatenate()([embedded(t), embedded(t, zero=False)]))),
    "named": lambda: of_two(lambda x, m: L.LSTM(3)(x, mask=m), MASK),
    "named, then pooling": lambda: of_two(
        lambda x, m: L.GlobalAveragePooling1D()(L.GRU(3, return_sequences=True)(x, mask=m)), MASK
    ),
    "named, of values": lambda: of_two(lambda x, m: attended(x, x, value_mask=m), MASK),
    "named, of pairs, for all": lambda: of_steps(lambda x: attended(x, x, attention_mask=np.tri(6, dtype=bool))),
    "named, of pairs and values": lambda: of_tokens(
        lambda t: (lambda x: attended(x, x, attention_mask=np.tri(6, dtype=bool)))(embedded(t))
    ),
    "with a dropout, of pairs": lambda: of_two(
        lambda x, m: L.MultiHeadAttention(2, 3, dropout=0.5)(x, x, attention_mask=m), PAIRS
    ),
    "groups with a dropout": lambda: of_two(
        lambda x, m: L.GroupQueryAttention(3, 4, 2, dropout=0.5)(x, x, attention_mask=m), PAIRS
    ),
    "named, of pairs": lambda: of_two(lambda x, m: attended(x, x, attention_mask=m), PAIRS),
}
STATES: dict[str, Callable[[], tuple[Any, list[Any]]]] = {
    "lstm": lambda: of_steps(lambda x: L.LSTM(3, return_state=True)(x)),
    "lstm, backwards": lambda: of_steps(
        lambda x: L.LSTM(3, return_state=True, return_sequences=True, go_backwards=True)(x)
    ),
    "gru": lambda: of_steps(lambda x: L.GRU(3, return_state=True, return_sequences=True)(x)),
    "initial lstm": lambda: of_steps(lambda x: L.LSTM(3)(x, initial_state=[x[:, 0, :3], x[:, 1, :3]])),
    "initial gru": lambda: of_steps(lambda x: L.GRU(3)(x, initial_state=x[:, 0, :3])),
    "stacked cells": lambda: of_steps(lambda x: L.RNN(L.StackedRNNCells([L.GRUCell(3), L.LSTMCell(5)]))(x)),
    "stacked cells, returned": lambda: of_steps(
        lambda x: keras.tree.flatten(L.RNN([L.GRUCell(3), L.LSTMCell(5)], return_state=True)(x))
    ),
    "stacked cells, handed on": lambda: of_steps(
        lambda x: L.RNN([L.LSTMCell(3), L.SimpleRNNCell(2)], return_state=True)(
            x, initial_state=L.RNN([L.LSTMCell(3), L.SimpleRNNCell(2)], return_state=True)(x)[1:]
        )[0]
    ),
    "handed on": lambda: of_steps(
        lambda x: L.LSTM(3, return_sequences=True)(x, initial_state=L.LSTM(3, return_state=True)(x)[1:])
    ),
    "both ways": lambda: of_steps(lambda x: L.Bidirectional(L.LSTM(3, return_state=True))(x)),
    "both ways, initial": lambda: of_steps(
        lambda x: L.Bidirectional(L.GRU(3, return_sequences=True))(x, initial_state=[x[:, 0, :3], x[:, 1, :3]])
    ),
    "convolution": lambda: of_frames(lambda x: L.ConvLSTM2D(3, 3, return_state=True)(x)),
    "convolution, relu": lambda: of_frames(
        lambda x: L.ConvLSTM2D(3, 3, activation="relu", recurrent_activation="hard_sigmoid", use_bias=False)(x)
    ),
    "gru, relu": lambda: of_steps(lambda x: L.GRU(3, activation="relu")(x)),
    "lstm, relu": lambda: of_steps(lambda x: L.LSTM(3, activation="relu")(x)),
    "mean": lambda: of_steps(lambda x: L.Bidirectional(L.LSTM(3, return_sequences=True), merge_mode="ave")(x)),
    "apart": lambda: of_steps(lambda x: L.Bidirectional(L.LSTM(3), merge_mode=None)(x)),
    "apart, all steps": lambda: of_steps(
        lambda x: L.Bidirectional(L.GRU(3, return_sequences=True), merge_mode=None)(x)
    ),
    "pooled at each step": lambda: of_frames(lambda x: L.TimeDistributed(L.MaxPooling2D(2))(x)),
    "flat at each step": lambda: of_frames(lambda x: L.LSTM(3)(L.TimeDistributed(L.Flatten())(x))),
    "causal": lambda: of_steps(lambda x: L.Attention(use_scale=True)([x, 2.0 * x, 3.0 * x], use_causal_mask=True)),
    "products": lambda: of_steps(lambda x: L.Dot((2, 1))([x, L.Permute((2, 1))(x)])),
    "cosine": lambda: of_steps(lambda x: L.Dot(1, normalize=True)([x[:, 0], x[:, 1]])),
    "additive": lambda: of_steps(lambda x: L.AdditiveAttention()([x, 2.0 * x])),
}


def made(make: Callable[[], tuple[Any, list[Any]]]) -> tuple[Any, list[Any]]:
    model, given = make()
    return called(model, given[0] if len(given) == 1 else given), given


def results(model: Any, given: list[Any]) -> list[np.ndarray]:
    return [np.asarray(each) for each in tf.nest.flatten(model(given[0] if len(given) == 1 else given))]


def apart(module: Any, model: Any, given: list[Any]) -> float:
    """How far results are from those of Keras: the largest normwise difference."""
    arrays = [jnp.asarray(each) for each in given]
    found, wanted = jax.tree.leaves(module(*arrays)), results(model, given)
    assert [each.shape for each in found] == [each.shape for each in wanted]
    return max(distance(one, other) for one, other in zip(found, wanted, strict=True))


@pytest.mark.parametrize("name", MASKED)
def test_a_mask_is_written(name: str) -> None:
    model, given = made(MASKED[name])
    _, module = module_of(model)
    assert apart(module, model, given) < BOUND


@pytest.mark.parametrize("name", STATES)
def test_states_and_activations_are_written(name: str) -> None:
    model, given = made(STATES[name])
    _, module = module_of(model)
    assert apart(module, model, given) < BOUND


def test_states_of_stacked_cells_in_another_order_are_seen() -> None:
    model, given = made(STATES["stacked cells, returned"])
    written = written_of(model)
    *_, line = (line for line in written.text.splitlines() if "return " in line)
    names = line.strip().removeprefix("return [").removesuffix("]").split(", ")
    assert len(names) == 4
    planted = written.text.replace(line, line.replace(f"{names[2]}, {names[3]}", f"{names[3]}, {names[2]}"))
    assert apart(filled(written, planted, model), model, given) > 1e-2


def normalized_steps(change: Callable[[str], str] = lambda text: text) -> float:
    """How far a batch norm of masked steps is from Keras' in training and then out of it, by the worst of both."""
    model, given = made(
        lambda: of_tokens(lambda t: L.BatchNormalization(momentum=0.3, scale=False)(L.Dense(3)(embedded(t))))
    )
    written = written_of(model)
    module = filled(written, change(written.text), model)
    module.train()
    in_training = distance(module(*map(jnp.asarray, given)), model(given[0], training=True))
    module.eval()
    return max(in_training, distance(module(*map(jnp.asarray, given)), model(given[0], training=False)))


def test_a_batch_norm_takes_its_statistics_of_what_a_mask_keeps() -> None:
    assert normalized_steps() < BOUND
    assert normalized_steps(lambda text: text.replace(", x)", ", x | True)")) > 1e-3
    assert normalized_steps(lambda text: text.replace(", x)", ", ~x)")) > 1e-3


def test_attention_that_is_judged_without_dropout_computes_as_it_does_with_one() -> None:
    """Keras takes another way where there is none, and gives a query that is left nothing another value."""
    model, given = made(MASKED["with a dropout, of pairs"])
    before = np.asarray(model(given, training=False))
    for each in model._flatten_layers():
        _keras_port._silence(each)
    assert np.array_equal(np.asarray(model(given, training=True)), before)


def test_gradients_go_through_a_mask_as_in_keras() -> None:
    model, given = made(lambda: of_steps(lambda x: L.Bidirectional(L.LSTM(3))(L.Masking()(x))))
    _, module = module_of(model)
    with tf.GradientTape() as tape:
        x = tf.constant(given[0])
        tape.watch(x)
        summed = tf.reduce_sum(model(x) ** 2)
    found = jax.grad(lambda x: jnp.sum(module(x) ** 2))(jnp.asarray(given[0]))
    assert distance(found, tape.gradient(summed, x)) < 10 * BOUND


@pytest.mark.parametrize(
    ("name", "planted", "instead"),
    [
        ("lstm", ", mask=", ", mask=~"),
        ("own, attention", "attention_mask(query=", "attention_mask(query=~"),
        ("average", "masked_average(y, ", "masked_average(y, ~"),
        (
            "with a dropout, of pairs",
            "attention_fn=jaxport.sequences.attention_of_kept",
            "attention_fn=nnx.dot_product_attention",
        ),
    ],
)
def test_a_mask_that_is_turned_round_is_seen(name: str, planted: str, instead: str) -> None:
    model, given = made(MASKED[name])
    written = written_of(model)
    assert planted in written.text
    module = filled(written, written.text.replace(planted, instead, 1), model)
    assert not apart(module, model, given) < 1e-2


@pytest.mark.parametrize(
    ("make", "layer", "reason"),
    [
        (lambda: of_tokens(lambda t: L.LSTM(3)(Handing()(t))), "handing", "carries a mask that is made in it"),
        (lambda: of_tokens(lambda t: L.LSTM(3)(Through()(embedded(t)))), "through", "masks beside its tensors"),
        (lambda: of_tokens(lambda t: L.Maximum()([embedded(t), embedded(t)])), "maximum", "masks beside its tensors"),
        (lambda: of_tokens(lambda t: OfTensorFlow()(t)), "of_tensor_flow", "makes a mask beside"),
        (
            lambda: of_tokens(lambda t: keras.Sequential([L.LSTM(3)], name="inner")(embedded(t))),
            "inner",
            "its call has mask=",
        ),
        (lambda: of_two(lambda x, m: L.LSTM(3, unroll=True)(x, mask=m), MASK), "lstm", "a mask and has unroll=True"),
        (
            lambda: of_steps(lambda x: L.MultiHeadAttention(2, 2, value_dim=3)(x, x)),
            "multi_head_attention",
            "value_dim=3",
        ),
    ],
)
def test_what_masks_or_states_are_not_written_is_a_place(make: Any, layer: str, reason: str) -> None:
    keras.utils.clear_session()
    model, _ = made(make)
    (place,) = [each for each in written_of(model).places if each.layer.startswith(layer)]
    assert reason in place.reason


def test_a_loss_of_what_carries_no_mask_is_written() -> None:
    model, _ = made(lambda: of_tokens(lambda t: L.LSTM(3)(embedded(t))))
    model.compile("sgd", "mse")
    assert training_source(_keras_compiled.of_model(model), written_of(model)).unwritten == ()
