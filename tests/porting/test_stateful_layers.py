"""Stateful recurrent layers: the written module goes on where its last call ended, and the judges see that it does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest
import tensorflow as tf
from filled_modules import called, distance, module_of, scope_of, written_of
from flax import nnx

from compare.errors import RequestError
from compare.porting.port_source import Sizes, judged_batch
from compare.porting.training_source import training_source
from compare.weights import receipt as receipts
from compare.weights.planning import plan
from jaxport import _module_reading, ports, stateful
from tf_reference import _keras_compiled, _keras_port, _keras_weights, _recurrent_states
from tf_reference._keras_variables import recurrent_states
from tf_reference._session import _contract as contracted
from workloads.core.arrays import draw
from workloads.core.spec import ArraySpec
from workloads.core.target import WeightsError
from workloads.core.tree import leaves
from workloads.core.written_port import drawn_weights

L = keras.layers
BOUND = 3e-6
"""Of the normwise difference in float32; a state that is lost makes one of 0.01 and more."""

SHAPES: dict[str, tuple[int, ...]] = {"frames": (2, 3, 6, 6, 2)}


def sequential(*layers: Any, shape: tuple[int, ...] = (4, 5, 3)) -> Any:
    return keras.Sequential([keras.Input(batch_shape=shape), *layers])


def functional(function: Callable[[Any], Any]) -> Any:
    x = keras.Input(batch_shape=(4, 5, 3))
    return keras.Model(x, function(x))


def nested() -> Any:
    return sequential(sequential(L.GRU(3, stateful=True, name="deep")), L.Dense(2))


def twice(layer: Any) -> Callable[[Any], Any]:
    return lambda x: layer(x) + 2 * layer(2 * x)


class Own(keras.Model):
    """A call of the user's own."""

    def __init__(self) -> None:
        super().__init__()
        self.reader, self.head = L.LSTM(3, stateful=True), L.Dense(2)

    def call(self, x: Any) -> Any:
        return self.head(self.reader(x))


KINDS: dict[str, Callable[[], Any]] = {
    "lstm": lambda: sequential(L.LSTM(3, stateful=True)),
    "gru, reset before, all steps": lambda: sequential(
        L.GRU(3, stateful=True, reset_after=False, return_sequences=True)
    ),
    "simple, unrolled": lambda: sequential(L.SimpleRNN(3, stateful=True, unroll=True)),
    "masked": lambda: sequential(L.Masking(0.0), L.LSTM(3, stateful=True, return_sequences=True)),
    "masked, backwards": lambda: sequential(L.Masking(0.0), L.GRU(3, stateful=True, go_backwards=True)),
    "states": lambda: functional(lambda x: L.Concatenate()(L.LSTM(3, stateful=True, return_state=True)(x))),
    "both ways": lambda: sequential(L.Bidirectional(L.LSTM(3, stateful=True, return_sequences=True))),
    "both ways, masked": lambda: sequential(L.Masking(0.0), L.Bidirectional(L.GRU(3, stateful=True), "sum")),
    "stacked cells": lambda: sequential(L.Masking(0.0), L.RNN([L.LSTMCell(3), L.GRUCell(2)], stateful=True)),
    "frames": lambda: sequential(L.ConvLSTM2D(2, 3, stateful=True), shape=SHAPES["frames"]),
    "nested": nested,
    "called twice": lambda: functional(twice(L.GRU(3, stateful=True, return_sequences=True))),
    "initial state": lambda: functional(lambda x: L.GRU(3, stateful=True)(x, initial_state=x[:, 0])),
    "own": Own,
}


def chunk(seed: int, shape: tuple[int, ...] = (4, 5, 3)) -> Any:
    values = np.random.default_rng(seed).normal(size=shape).astype("float32")
    values[0, 2:] = values[1, :2] = values[3:] = 0
    return values


def reset(model: Any) -> None:
    for layer in model._flatten_layers():
        # reset_state() of Keras raises an error for the nested states of stacked cells.
        for state in recurrent_states(layer):
            state.assign(np.zeros(state.shape))


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize("kind", KINDS)
def test_each_call_goes_on_where_the_one_before_ended(kind: str) -> None:
    keras.utils.clear_session()
    shape = SHAPES.get(kind, (4, 5, 3))
    model = called(KINDS[kind](), chunk(0, shape))
    _, module = module_of(model)
    # The states are carried as the first call left them.
    first, second = chunk(1, shape), chunk(2, shape)
    for given in (first, second, first):
        assert distance(module(given), model(given)) <= BOUND
    reset(model)
    stateful.reset_states(module)
    again = np.asarray(model(first))
    assert distance(module(first), again) <= BOUND
    # All but what starts from a state that it is given depend on the call before.
    assert (distance(module(first), again) > 1e-2) == (kind != "initial state")


def test_a_model_that_is_read_keeps_its_states() -> None:
    model = called(sequential(L.LSTM(3, stateful=True)), chunk(0))
    before = [state.numpy() for state in model.layers[0].states]
    written_of(model)
    after = [state.numpy() for state in model.layers[0].states]
    assert all(np.any(state) for state in before)
    assert all(map(np.array_equal, before, after))


def test_the_batch_that_states_are_made_for_is_the_one_that_is_judged() -> None:
    architecture = _keras_compiled.of_model(sequential(L.GRU(3, stateful=True), shape=(7, 5, 3)))
    assert judged_batch(architecture, Sizes()) == judged_batch(architecture, Sizes(batch=7)) == 7
    with pytest.raises(RequestError, match=r"expected --batch 7, which the state of .* is made for, found 4"):
        judged_batch(architecture, Sizes(batch=4))
    assert judged_batch(_keras_compiled.of_model(sequential(L.GRU(3), shape=(7, 5, 3))), Sizes()) == 4


SOURCE = """
import keras
from keras import layers as L


NAMES = {"first": True, "second": False}


def build():
    first, second = (L.GRU(3, stateful=True, return_sequences=all_, name=name) for name, all_ in NAMES.items())
    chunk = keras.Input(batch_shape=(4, 5, 3))
    model = keras.Sequential([chunk, L.Masking(0.0), first, second, L.Dense(1)])
    model.compile(keras.optimizers.SGD(0.5), "mse")
    return model
"""


class Judged:
    """Both sides of a written port in float64, as the judges ask them, and their arrays."""

    def __init__(self, folder: Path) -> None:
        reference, self._receipt = f"{folder / 'my_tf.py'}:build", folder / "weights.receipt.json"
        Path(reference.partition(":")[0]).write_text(SOURCE)
        model = _keras_weights.model(_keras_weights.Given(reference), folder)
        self.written = written_of(model)
        self.training = training_source(_keras_compiled.of_model(model), self.written).text
        self._write_receipt(model)
        self.tf = _keras_port.keras_port(reference, self._receipt, "float64", inputs=1, trained=True)
        self.weights = {
            key: draw(spec, key, 3).astype("float64")
            for key, spec in drawn_weights(self._receipt).items()
            if isinstance(spec, ArraySpec)
        }
        self.inputs = [chunk(seed).astype("float64") for seed in (1, 2)]
        self.targets = [np.ones((4, 1)), np.zeros((4, 1))]

    def _write_receipt(self, model: Any) -> None:
        source, arrays = _keras_weights.of_model(model)
        target = _module_reading.of_module(self.module(self.written.text)(rngs=nnx.Rngs(0)))
        found = plan(source, arrays, target, self.written.names, {})
        assert [finding.line for finding in found.findings] == []
        made = receipts.make_receipt(("", "", ""), found, source, arrays, target, {}, "")
        self._receipt.write_text(json.dumps(receipts.plain(made)))

    def module(self, text: str) -> Any:
        return scope_of(self.written, text)[self.written.class_name]

    def jax(self, text: str) -> Any:
        scope = scope_of(self.written, f"{text}\n\n\n{self.training}")
        return ports.flax_port(
            *(scope[self.written.class_name], self._receipt, "float64"),
            inputs=1,
            loss=scope["loss"],
            optimizer=scope["make_optimizer"](),
            train_step=scope["train_step"],
        )

    def of_tf(self) -> dict[str, Any]:
        """What a call, and two steps of training behind each other, return and leave."""
        for key, variable in self.tf.weights.items():
            variable.assign(self.weights[key])
        found = {f"call/{name}": value for name, value in leaves(self.tf.forward(self.inputs[0])).items()}
        # A call changes nothing.
        assert all(np.array_equal(variable, self.weights[key]) for key, variable in self.tf.weights.items())
        assert self.tf.step is not None
        for at, given in enumerate(zip(self.inputs, self.targets, strict=True)):
            found[f"loss/{at}"] = self.tf.step(*given)
        return found | {f"after/{key}": variable.numpy() for key, variable in self.tf.weights.items()}

    def of_jax(self, text: str) -> dict[str, Any]:
        with jax.enable_x64(True):
            port = self.jax(text)
            parameters = port.from_weights(self.weights)
            found = {f"call/{name}": value for name, value in leaves(port.forward(parameters, self.inputs[0])).items()}
            state = port.init(parameters)
            for at, given in enumerate(zip(self.inputs, self.targets, strict=True)):
                parameters, state, found[f"loss/{at}"] = port.step(parameters, state, *given)
            return found | {f"after/{key}": value for key, value in port.to_weights(parameters).items()}

    def differing(self, text: str) -> set[str]:
        """The names of what differs between both sides."""
        tf, port = self.of_tf(), self.of_jax(text)
        assert tf.keys() == port.keys()
        return {name for name, value in tf.items() if distance(port[name], value) > 1e-12}


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    return Judged(tmp_path_factory.mktemp("stateful"))


def test_states_go_in_and_come_out_of_every_judged_call(judged: Judged) -> None:
    tf = judged.of_tf()
    assert {"call/states/first/states/0", "call/states/second/states/0", "call/result"} <= tf.keys()
    assert np.any(judged.weights["first/states/0"])
    assert judged.differing(judged.written.text) == set()


SECOND = "y = jaxport.sequences.over_steps(self.second,"
BEHIND = "return self."
PLANTED: dict[str, tuple[str, str, str]] = {
    "a state is not read": (SECOND, "jaxport.stateful.reset_states(self.second)", "call/result"),
    "a state is not left": (BEHIND, "self.second.keep([x * 0 for x in self.second.states])", "call/states"),
    "the state of another layer": (SECOND, "self.second.keep(self.first.states)", "call/result"),
    "another order of the batch": (SECOND, "self.second.keep([x[::-1] for x in self.second.states])", "call/result"),
    "two of the batch are mixed up behind a call": (
        BEHIND,
        "self.second.keep([x[jnp.array([0, 2, 1, 3])] for x in self.second.states])",
        "call/states",
    ),
}


@pytest.mark.parametrize("error", PLANTED)
def test_a_planted_error_is_seen(judged: Judged, error: str) -> None:
    line, planted, where = PLANTED[error]
    text = judged.written.text
    assert text.count(line) == 1
    differing = judged.differing(text.replace(line, f"{planted}\n        {line}"))
    assert any(name.startswith(where) for name in differing)
    assert "loss/1" in differing


def test_a_module_that_does_not_start_from_zeros_is_refused(judged: Judged) -> None:
    text, line = judged.written.text, "self.second = "
    planted = f"self.first.keep([state + 1 for state in self.first.states])\n        {line}"
    with pytest.raises(WeightsError, match=r"expected the state first.state_0 of a new module to be zeros"):
        judged.jax(text.replace(line, planted, 1))


def test_no_gradient_goes_to_the_call_before(monkeypatch: pytest.MonkeyPatch) -> None:
    model = called(functional(twice(L.GRU(3, stateful=True, return_sequences=True))), chunk(0))
    _, module = module_of(model)
    graph, weights = nnx.split(module)

    def gradient() -> Any:
        # Of a module anew: the calls change its states.
        return nnx.grad(lambda module, x: module(x).sum(), argnums=1)(nnx.merge(graph, weights), jnp.asarray(chunk(1)))

    def gradient_of(call: Callable[[Any], Any]) -> Any:
        x = tf.constant(chunk(1))
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = tf.reduce_sum(call(x))
        return tape.gradient(value, x)

    states = dict(enumerate(recurrent_states(model.layers[1])))
    judged = gradient_of(_recurrent_states.without_states_left(model, states))
    left = gradient_of(lambda x: _recurrent_states.with_states_left(model, states)(x)["result"])
    # The states are changed here alone.
    wanted = gradient_of(model)
    assert max(distance(found, wanted) for found in (gradient(), judged, left)) <= BOUND
    monkeypatch.setattr(jax.lax, "stop_gradient", lambda value: value)
    assert distance(gradient(), wanted) > 1e-2


def test_in_mixed_precision_a_state_is_computed_with_in_the_narrow_type() -> None:
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        model = called(sequential(L.LSTM(3, stateful=True)), chunk(0))
    finally:
        keras.config.set_dtype_policy("float32")
    _, module = module_of(model)
    found = module(chunk(1))
    assert str(found.dtype) == "bfloat16"
    assert module.lstm.state_0.get_value().dtype == jnp.float32
    assert distance(np.asarray(found, "float32"), tf.cast(model(chunk(1)), tf.float32)) < 2**-6


def test_outputs_of_two_float_types_have_one_scalar_that_gradients_are_taken_of() -> None:
    value = contracted({"narrow": tf.ones(2, tf.bfloat16), "wide": tf.ones(3)})
    assert value.dtype == tf.float32
    assert np.isfinite(value.numpy())
