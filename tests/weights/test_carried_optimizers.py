"""Optimizers: each with its slots goes on in optax as in Keras, and whatever is planted in between is seen."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np
import optax
import pytest
from flax import nnx

from compare.weights import continuing
from compare.weights.optimizer_rules import BY_CLASS, told_apart
from compare.weights.planning import Plan, plan
from compare.weights.slot_planning import SlotPlan, plan_slots
from jaxport import _module_reading, _optimizer_reading, optimizers, schedules
from tf_reference import _keras_optimizer, _keras_weights
from workloads.protocol.transfer import Source

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

K = keras.optimizers
Maker = Callable[[], Any]

ALIKE: Mapping[str, tuple[Maker, Maker]] = {
    "sgd": (lambda: K.SGD(0.05), lambda: optimizers.sgd(0.05)),
    "momentum": (lambda: K.SGD(0.05, 0.9), lambda: optimizers.sgd(0.05, 0.9)),
    "nesterov": (lambda: K.SGD(0.05, 0.9, nesterov=True), lambda: optimizers.sgd(0.05, 0.9, nesterov=True)),
    "adam": (lambda: K.Adam(0.01), lambda: optimizers.adam(0.01)),
    "amsgrad": (lambda: K.Adam(0.01, amsgrad=True), lambda: optimizers.amsgrad(0.01)),
    "adamw": (lambda: K.AdamW(0.01, weight_decay=0.02), lambda: optimizers.adamw(0.01, 0.02)),
    "lamb": (lambda: K.Lamb(0.01), lambda: optimizers.lamb(0.01, 0.0)),
    "nadam": (lambda: K.Nadam(0.01), lambda: optimizers.nadam(0.01)),
    "adamax": (lambda: K.Adamax(0.01), lambda: optimizers.adamax(0.01)),
    "rmsprop": (lambda: K.RMSprop(0.01), lambda: optimizers.rmsprop(0.01)),
    "rmsprop_centered": (
        lambda: K.RMSprop(0.01, momentum=0.9, centered=True),
        lambda: optimizers.rmsprop(0.01, momentum=0.9, centered=True),
    ),
    "adagrad": (lambda: K.Adagrad(0.01), lambda: optimizers.adagrad(0.01)),
    "adadelta": (lambda: K.Adadelta(0.5), lambda: optimizers.adadelta(0.5)),
    "lion": (lambda: K.Lion(0.001), lambda: optax.lion(0.001, weight_decay=0.0)),
    "ftrl": (lambda: K.Ftrl(0.01), lambda: optimizers.ftrl(0.01)),
    "schedule_free": (lambda: K.ScheduleFreeAdamW(0.01), lambda: optimizers.schedule_free_adamw(0.01)),
    "average": (
        lambda: K.Adam(0.01, use_ema=True),
        lambda: optax.chain(optimizers.adam(0.01), optimizers.average_weights(0.99)),
    ),
    "schedule": (
        lambda: K.Adam(K.schedules.ExponentialDecay(0.01, 10, 0.5)),
        lambda: optimizers.adam(schedules.exponential_decay(0.01, 10, 0.5)),
    ),
    "decay": (
        lambda: K.SGD(0.05, 0.9, weight_decay=0.01),
        lambda: optimizers.with_weight_decay(optimizers.sgd(0.05, 0.9), 0.05, 0.01),
    ),
    "rate_as_state": (
        lambda: K.Adam(0.01),
        lambda: optax.inject_hyperparams(lambda learning_rate: optimizers.adam(lambda step, dtype: learning_rate))(
            learning_rate=0.5
        ),
    ),
    "optax_rmsprop": (
        lambda: K.RMSprop(0.01, momentum=0.9),
        lambda: optax.rmsprop(0.01, decay=0.9, eps=1e-7, momentum=0.9),
    ),
    "optax_adadelta": (lambda: K.Adadelta(0.5), lambda: optax.adadelta(0.5, rho=0.95, eps=1e-7)),
}
"""What goes on alike from a state; that of `rate_as_state` has the rate in it, and starts with another."""

ALIKE_WHEN_FRESH = sorted(ALIKE.keys() - {"rate_as_state"})

OTHERWISE: Mapping[str, tuple[Maker, Maker]] = {
    "rate": (lambda: K.Adam(0.01), lambda: optimizers.adam(0.0101)),
    "no_decay": (lambda: K.AdamW(0.01), lambda: optimizers.adam(0.01)),
    "trace_before_rate": (lambda: K.SGD(0.05, 0.9), lambda: optax.sgd(0.05, 0.9)),
    "nesterov": (lambda: K.SGD(0.05, 0.9), lambda: optimizers.sgd(0.05, 0.9, nesterov=True)),
    "beta": (lambda: K.Adam(0.01), lambda: optimizers.adam(0.01, beta_2=0.99)),
    "clip_of_values": (lambda: K.SGD(0.05, 0.9, clipvalue=1.0), lambda: optimizers.sgd(0.05, 0.9)),
    "clip_of_a_norm": (lambda: K.SGD(0.05, 0.9, clipnorm=1e3), lambda: optimizers.sgd(0.05, 0.9)),
    "clip_of_the_port_alone": (
        lambda: K.SGD(0.05, 0.9),
        lambda: optax.chain(optax.clip_by_global_norm(1e3), optimizers.sgd(0.05, 0.9)),
    ),
    "schedule": (
        lambda: K.Adam(K.schedules.ExponentialDecay(0.01, 10, 0.5)),
        lambda: optimizers.adam(schedules.exponential_decay(0.01, 11, 0.5)),
    ),
}


class Net(nnx.Module):
    """A dense layer and what normalizes it."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        self.first = nnx.Linear(6, 5, rngs=rngs)
        self.norm = nnx.LayerNorm(5, epsilon=1e-3, use_fast_variance=False, rngs=rngs)


class Pair:
    """A model that was trained by an optimizer, and the module with another."""

    def __init__(self, made: Any, optimizer: Any) -> None:
        keras.utils.clear_session(free_memory=False)
        keras.utils.set_random_seed(1)
        layers = [keras.layers.Dense(5, name="first"), keras.layers.LayerNormalization(name="norm")]
        self.model = keras.Sequential([keras.Input((6,)), *layers])
        self.model.compile(made)
        numbers = np.random.default_rng(2)
        trained = self.model.trainable_variables
        for _ in range(7):
            gradients = [numbers.normal(scale=0.1, size=each.shape).astype("float32") for each in trained]
            made.apply([keras.ops.convert_to_tensor(each) for each in gradients], trained)
        self.optimizer, self.module = optimizer, Net(nnx.Rngs(0))
        self.source: Source
        self.source, self.arrays = _keras_weights.of_model(self.model, optimizer=True)
        self.target = _module_reading.of_module(self.module)
        self.held = _optimizer_reading.parameters(self.module, ())
        self.weights: Plan = plan(self.source, self.arrays, self.target, {}, {})
        assert self.source.optimizer is not None
        self.slots: SlotPlan = plan_slots(
            self.source.optimizer, self.arrays, _optimizer_reading.of(optimizer, self.held), self.weights.moves, {}
        )

    def apart(self, fresh: bool = False, **planted: np.ndarray) -> list[str]:
        """What the steps of both show, with other arrays in the state."""
        assert self.source.optimizer is not None
        trained = continuing.trained_weights(self.source.optimizer, self.weights.moves)
        gradients = continuing.gradients(trained, self.arrays)
        state = {**self.slots.arrays, **planted}
        sent = {f"weights/{path}": each for path, each in self.weights.arrays.items()}
        sent |= {f"state/{path}": each for path, each in state.items()} | continuing.carry(trained, gradients)
        here = _optimizer_reading.take_steps(self.optimizer, self.held, sent, continuing.STEPS, fresh)
        keys = _keras_weights.keys(self.model)
        there = _keras_optimizer.take_steps(self.model, keys, gradients, continuing.STEPS, fresh)
        found = continuing.apart(self.weights.arrays, continuing.carry(trained, there), here, "here")
        return [each.line for each in found]


def pair_of(named: tuple[Maker, Maker]) -> Pair:
    return Pair(named[0](), named[1]())


@pytest.mark.parametrize("name", sorted(ALIKE))
def test_training_goes_on_alike_and_every_slot_comes_back(name: str) -> None:
    pair = pair_of(ALIKE[name])
    assert [each.line for each in (*pair.weights.findings, *pair.slots.findings)] == []
    assert pair.source.optimizer is not None
    moved = {each.slot.key for each in pair.slots.moves}
    assert moved | pair.slots.left.keys() == {each.key for each in pair.source.optimizer.slots}
    for move in pair.slots.moves:
        back = np.ascontiguousarray(move.transform.back([pair.slots.arrays[path] for path in move.paths]))
        assert (back.dtype, back.tobytes()) == (pair.arrays[move.slot.key].dtype, pair.arrays[move.slot.key].tobytes())
    assert pair.apart() == []


@pytest.mark.parametrize("name", ALIKE_WHEN_FRESH)
def test_training_that_starts_is_alike(name: str) -> None:
    assert pair_of(ALIKE[name]).apart(fresh=True) == []


@pytest.mark.parametrize("name", sorted(OTHERWISE))
def test_another_optimizer_is_seen(name: str) -> None:
    pair = pair_of(OTHERWISE[name])
    assert pair.slots.findings == () and pair.apart()


def test_another_epsilon_is_seen_where_training_starts() -> None:
    pair = pair_of((lambda: K.Adam(0.01), lambda: optax.adam(0.01, eps=1e-7)))
    (line, *_) = pair.apart(fresh=True)
    assert "after step 1 here: expected" in line and "as Keras' optimizer makes it, found" in line


def planted(name: str, state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    kernel, bias = "first.kernel", "norm.bias"
    match name:
        case "a count that is off by one":
            return {"step": state["step"] + 1}
        case "no steps":
            return {"step": state["step"] * 0}
        case "moments swapped":
            return {
                f"{a}.{kernel}": state[f"{b}.{kernel}"] for a, b in (("momentum", "velocity"), ("velocity", "momentum"))
            }
        case "a slot of another weight":
            return {f"momentum.{bias}": state["momentum.norm.scale"]}
        case "a slot at rest":
            return {f"velocity.{kernel}": state[f"velocity.{kernel}"] * 0}
        case "rows in another order":
            return {f"momentum.{kernel}": state[f"momentum.{kernel}"][::-1]}
        case _:
            return {f"momentum.{kernel}": -state[f"momentum.{kernel}"]}


@pytest.mark.parametrize(
    "name",
    ["a count that is off by one", "no steps", "moments swapped", "a slot of another weight", "a slot at rest",
     "rows in another order", "another sign"],
)  # fmt: skip
def test_what_is_planted_into_a_state_is_seen(name: str) -> None:
    pair = pair_of(ALIKE["adam"])
    assert pair.apart(**planted(name, pair.slots.arrays))


def lines(source: Any, optimizer: Any) -> list[str]:
    return [each.line for each in Pair(source, optimizer).slots.findings]


def test_what_has_no_place_or_no_source_is_a_line() -> None:
    found = lines(K.Adam(0.01), optimizers.sgd(0.01, 0.9))
    assert found[0] == (
        "the optimizer (Adam): momentums/first/kernel: expected an array for it, found none among "
        "optax.TraceState.trace (rule adam)"
    )
    assert any("1.trace.first.bias (optax.TraceState.trace, float32[5]): expected a variable" in each for each in found)
    assert any("no rule of sgd knows this field" in each for each in lines(K.SGD(0.01, 0.9), optimizers.adam(0.01)))
    (line,) = lines(K.Adafactor(0.01), optimizers.adam(0.01))
    assert line == "the optimizer (Adafactor): expected a rule, found that no rule knows Adafactor"
    (line,) = lines(K.Adam(0.01, gradient_accumulation_steps=2), optimizers.adam(0.01))
    assert line.endswith("no rule knows Adam with gradient_accumulation_steps=2")


@pytest.mark.parametrize(
    ("given", "told", "line"),
    [
        ({}, {"momentum": 0.5}, "ema_momentum=0.99, found average_weights.momentum=0.5"),
        (
            {"ema_overwrite_frequency": 100},
            {},
            "ema_overwrite_frequency=100, found average_weights.overwrite_frequency=None",
        ),
        (
            {},
            {"overwrite_frequency": 100},
            "ema_overwrite_frequency=None, found average_weights.overwrite_frequency=100",
        ),
    ],
)
def test_averages_that_are_kept_otherwise_are_refused_though_no_step_shows_it(
    given: dict[str, Any], told: dict[str, Any], line: str
) -> None:
    port = optax.chain(optimizers.adam(0.01), optimizers.average_weights(**{"momentum": 0.99, **told}))
    pair = Pair(K.Adam(0.01, use_ema=True, **given), port)
    assert [each.line for each in pair.slots.findings] == [f"the optimizer (Adam): expected {line}"]
    assert pair.apart() == []


def test_two_states_for_one_slot_are_a_line() -> None:
    twice = optax.chain(optax.trace(0.9), optax.trace(0.9), optax.scale(-0.05))
    first = next(iter(lines(K.SGD(0.05, 0.9), twice)))
    assert first == (
        "the optimizer (SGD): momentums/first/kernel: expected one array for each of first.kernel, found "
        "0.trace.first.kernel, 1.trace.first.kernel"
    )


def test_attributes_that_were_told_otherwise_are_named() -> None:
    pair = Pair(K.Adam(0.01), optimizers.adam(0.01, beta_1=0.8))
    assert pair.slots.apart == ("beta_1=0.9, found adam.beta_1=0.8",)
    assert told_apart(BY_CLASS["Adam"], {"epsilon": 1e-7}, {"scale_by_adam.eps": 1e-8}) == [
        "epsilon=1e-07, found scale_by_adam.eps=1e-08"
    ]


def test_a_weight_that_keras_does_not_train_has_to_rest() -> None:
    pair = pair_of(ALIKE["adam"])
    assert pair.source.optimizer is not None
    untrained = dataclasses.replace(pair.source.optimizer, trained=pair.source.optimizer.trained[:-1])
    trained = continuing.trained_weights(untrained, pair.weights.moves)
    gradients = continuing.gradients(trained, pair.arrays)
    assert not any("norm/beta" in name for name in gradients)
    start = {"norm.bias": pair.weights.arrays["norm.bias"]}
    moved = {f"{step}/norm.bias": start["norm.bias"] + 0.01 for step in range(continuing.STEPS)}
    assert [each.kind for each in continuing.apart(start, {}, moved, "here")] == ["steps"]
