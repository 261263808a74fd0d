"""The digit convolution and the LSTMs with one planted porting error each: the gate that can see it must fail.

The honest JAX twin stands for TensorFlow: `test_contract.py` holds it to that. What is judged here is the judge.
"""

from __future__ import annotations

import numpy as np
import pytest
from conftest import IN_ZOO
from mutants import Mutant, plant, remake

from compare.parity import Evidence, judge
from compare.records import FAIL, PASS
from jaxport._framework import create
from workloads import _arrays, _registry
from workloads._framework import FORWARD, GRADIENTS, Twin

pytestmark = IN_ZOO

Leaves = dict[tuple[str, str], dict[str, np.ndarray]]
"""(pass, case) -> leaves in float64."""


MUTANTS = (
    Mutant(
        "kernel with height and width swapped",
        "conv_mnist",
        "forward,\n        _WEIGHTS.from_weights",
        "forward,\n        lambda weights: _WEIGHTS.from_weights("
        "{path: array.swapaxes(0, 1) if array.ndim == 4 else array for path, array in weights.items()})",
    ),
    Mutant("circular padding", "conv_mnist", "first, second, kernel,", "first, second, kernel, padding='CIRCULAR',"),
    Mutant(
        "channels before places in the flattening",
        "conv_mnist",
        "pooled.reshape(",
        "pooled.transpose(0, 3, 1, 2).reshape(",
    ),
    Mutant("draws upside down", "conv_mnist", "flat, draws,", "flat, 255 - draws,"),
    Mutant(
        "mean instead of maximum", "conv_mnist", "jnp.where(first >= second, first, second)", "(first + second) / 2"
    ),
    Mutant("leaky activation", "conv_mnist", "nnx.relu(self.conv1", "nnx.leaky_relu(self.conv1"),
    Mutant(
        "half a gradient to each of a tie",
        "conv_mnist",
        "jnp.where(first >= second, first, second)",
        "jnp.maximum(first, second)",
        "gradients",
        only_kinks=True,
    ),
    Mutant(
        "the last of a tie",
        "conv_mnist",
        "first >= second, first",
        "first > second, first",
        "gradients",
        only_kinks=True,
    ),
    Mutant("gates i, f, o, g", "lstm", "i, f, g, o = jnp.split", "i, f, o, g = jnp.split"),
    Mutant("forget gate opened twice", "lstm", "jax.nn.sigmoid(f)", "jax.nn.sigmoid(f + 1)"),
    Mutant("padding runs through the hidden state", "lstm", "jnp.where(at[1], following[0], hidden)", "following[0]"),
    Mutant("mask one step too long", "lstm", "< lengths", "<= lengths"),
    Mutant("softmax over the batch", "lstm", "sequences, lengths))", "sequences, lengths), axis=0)"),
    Mutant("kernel meets the state after", "lstm", "return state, (hidden,", "return state, (state[0],", "gradients"),
    Mutant("slope of tanh forgotten", "lstm", "o * (1 - squashed * squashed)", "o", "gradients"),
    Mutant("padding in the gradient", "lstm", "jnp.where(present, each, 0)", "each", "gradients"),
    Mutant("cell's gradient not carried", "lstm", ", by_cell * f\n", ", by_hidden * f\n", "gradients"),
    Mutant("sum instead of mean", "lstm", "labels).mean()", "labels).sum()", "gradients"),
    Mutant("gates i, g, f, o in the cell", "lstm_cell", "i, f, g, o = jnp.split", "i, g, f, o = jnp.split"),
    Mutant("hidden and cell swapped", "lstm_cell", '"hidden": hidden, "cell": cell', '"hidden": cell, "cell": hidden'),
    Mutant("state as (cell, hidden)", "lstm_cell", "(hidden, cell))", "(cell, hidden))"),
    Mutant("no bias", "lstm_cell", " + weights.bias[...])\n    return _next", ")\n    return _next"),
    Mutant("cell not squashed", "lstm_cell", "squashed = jnp.tanh(following)", "squashed = following"),
)


def leaves_of(workload: str, pass_: str) -> Leaves:
    """What a JAX twin gives in float64 at size smoke, at a random case and at the kinks."""
    spec = _registry.get(workload)
    dimensions = spec.sizes["smoke"]
    cases = _arrays.draw_cases(spec, dimensions, 1, None)
    side = create()
    side.load(Twin(f"jaxport.{workload}:build", True, dimensions, cases, _arrays.draw_weights(spec, dimensions)))
    return {(pass_, case): side.outputs("eager", pass_, case, "float64") for case in cases}


@pytest.fixture(scope="module")
def honest() -> dict[tuple[str, str], Leaves]:
    """(workload, pass) -> the leaves of the twin as it is."""
    wanted = [(workload, pass_) for workload in ("conv_mnist", "lstm") for pass_ in (FORWARD, GRADIENTS)]
    return {(workload, pass_): leaves_of(workload, pass_) for workload, pass_ in [*wanted, ("lstm_cell", FORWARD)]}


def held(workload: str, gate: str, expected: Leaves, found: Leaves) -> dict[str, str]:
    """The judge's verdict at a gate, by case."""
    doubles = {("tf", *at): leaves for at, leaves in expected.items()}
    doubles |= {("jax", *at): leaves for at, leaves in found.items()}
    judged = judge(Evidence(workload, {}, doubles)).gates[gate]
    assert judged.comparisons
    cases = {each.case for each in judged.comparisons}
    failing = {each.case for each in judged.comparisons if each.verdict == FAIL}
    return {case: FAIL if case in failing else PASS for case in cases}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "_"))
def test_a_planted_error_fails_at_its_gate(
    mutant: Mutant, honest: dict[tuple[str, str], Leaves], monkeypatch: pytest.MonkeyPatch
) -> None:
    pass_ = GRADIENTS if mutant.gate == "gradients" else FORWARD
    plant(monkeypatch, mutant)
    found = leaves_of(mutant.workload, pass_)
    verdicts = held(mutant.workload, mutant.gate, honest[mutant.workload, pass_], found)
    assert verdicts["seed0"] == (PASS if mutant.only_kinks else FAIL)
    assert FAIL in verdicts.values()


@pytest.mark.parametrize("workload", ["conv_mnist", "lstm", "lstm_cell"])
def test_the_same_modules_without_an_error_pass(
    workload: str, honest: dict[tuple[str, str], Leaves], monkeypatch: pytest.MonkeyPatch
) -> None:
    remake(monkeypatch, workload)
    for pass_, gate in ((FORWARD, "semantics"), (GRADIENTS, "gradients")):
        if (workload, pass_) in honest:
            verdicts = held(workload, gate, honest[workload, pass_], leaves_of(workload, pass_))
            assert set(verdicts.values()) == {PASS}
