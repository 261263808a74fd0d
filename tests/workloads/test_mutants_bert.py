"""BERT's JAX twin with one porting error at a time: semantics, gradients and training tell it from the honest one."""

from __future__ import annotations

import importlib
from types import ModuleType

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from mutants import TRAJECTORY, Cases, Mutant, plant, remake, verdicts
from mutants_bert import MUTANTS
from runs import IN_ZOO

from compare.record.vocabulary import FAIL, PASS
from workloads.core import arrays, registry
from workloads.core.spec import Arrays

pytestmark = [IN_ZOO, pytest.mark.process]

WORKLOAD = registry.get("bert")
DIMENSIONS = {**WORKLOAD.sizes["smoke"], "batch": 2, "length": 8, "layers": 1, "width": 8, "hidden": 12}
FAST = {"xla_backend_optimization_level": "0"}
"""A program that runs once is not worth optimizing."""


def computed(twin: ModuleType, gate: str) -> Arrays:
    """The logits in float64, on sentences with padding, or the gradients of the loss by weight."""
    examples = WORKLOAD.training.examples(None, DIMENSIONS) if WORKLOAD.training else None
    case = arrays.draw_cases(WORKLOAD, DIMENSIONS, 1, examples, kinks=False)["seed0"]
    weights = arrays.draw_weights(WORKLOAD, DIMENSIONS)
    with jax.enable_x64(True):
        model = twin.build(DIMENSIONS, "float64")
        parameters = model.from_weights({path: jnp.asarray(array, jnp.float64) for path, array in weights.items()})
        inputs = [
            jnp.asarray(array.astype(np.float64) if array.dtype.kind == "f" else array) for array in case.values()
        ]
        if gate == "gradients":
            slopes = jax.jit(jax.grad(model.loss), compiler_options=FAST)(parameters, *inputs)
            return {leaf: np.asarray(array) for leaf, array in model.to_weights(slopes).items()}
        found = jax.jit(model.forward, compiler_options=FAST)(parameters, *inputs)
        return {leaf: np.asarray(array) for leaf, array in found.items()}


def trained(twin: ModuleType, lamb: int) -> Arrays:
    """Weights after ten steps of the twin's own optimizer along gradients that are made up."""
    generator = np.random.default_rng(0)
    dimensions = {**DIMENSIONS, "lamb": lamb}
    with jax.enable_x64(True):
        optimizer = twin._optimizer(dimensions, "float64")
        weights = {name: jnp.asarray(generator.standard_normal((3, 4))) for name in ("kernel", "bias")}
        state, update = optimizer.init(weights), jax.jit(optimizer.update, compiler_options=FAST)
        for _ in range(10):
            gradients = {name: jnp.asarray(generator.standard_normal((3, 4))) for name in weights}
            updates, state = update(gradients, state, weights)
            weights = {name: weight + updates[name] for name, weight in weights.items()}
        return {"loss": np.ones(10), **{f"weights@10/{name}": np.asarray(leaf) for name, leaf in weights.items()}}


def shown(twin: ModuleType, kind: str) -> Cases:
    """What a gate looks at: logits, gradients, or the weights after steps of AdamW or LAMB."""
    if kind in ("semantics", "gradients"):
        return {"seed0": computed(twin, kind)}
    return {TRAJECTORY: trained(twin, lamb=int(kind == "lamb"))}


def kind_of(mutant: Mutant) -> str:
    return mutant.gate if mutant.gate != "training" else mutant.part or "adamw"


@pytest.fixture(scope="module")
def honest() -> dict[str, Cases]:
    twin = importlib.import_module("jaxport.bert")
    return {kind: shown(twin, kind) for kind in ("semantics", "gradients", "adamw", "lamb")}


@pytest.mark.parametrize(
    ("kind", "gate"),
    [("semantics", "semantics"), ("gradients", "gradients"), ("adamw", "training"), ("lamb", "training")],
)
def test_the_same_modules_without_an_error_pass(
    kind: str, gate: str, honest: dict[str, Cases], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = shown(remake(monkeypatch, "bert"), kind)
    assert set(verdicts("bert", gate, honest[kind], found).values()) == {PASS}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "_"))
def test_a_planted_error_fails_at_its_gate(
    mutant: Mutant, honest: dict[str, Cases], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = shown(plant(monkeypatch, mutant), kind_of(mutant))
    assert set(verdicts("bert", mutant.gate, honest[kind_of(mutant)], broken).values()) == {FAIL}
