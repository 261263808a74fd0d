"""BERT's JAX twin with one porting error at a time: the semantics and the training gate tell it from the honest one."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import IN_ZOO, ROOT

from compare.parity import Evidence, judge
from compare.records import FAIL, PASS
from workloads import _arrays, _registry
from workloads._framework import FORWARD
from workloads._spec import Arrays

pytestmark = IN_ZOO

WORKLOAD = _registry.get("bert")
DIMENSIONS = {**WORKLOAD.sizes["smoke"], "batch": 2, "length": 8, "width": 8, "hidden": 12}
FAST = {"xla_backend_optimization_level": "0"}
"""A program that runs once is not worth optimizing."""

MUTANTS = {
    "query and key swapped": (
        "_transformer",
        "(*path, part), bias)",
        '(*path, {"query": "key", "key": "query"}.get(part, part)), bias)',
    ),
    "scaled by the width": ("_transformer", "block.depth**-0.5", "block.width**-0.5"),
    "padding attended to": ("_transformer", "if mask is not None", "if mask is None"),
    "softmax over the queries": ("_transformer", "softmax(scores)", "softmax(scores, axis=-2)"),
    "gelu by tanh": ("_transformer", '{"gelu": gelu,', '{"gelu": jax.nn.gelu,'),
    "epsilon of Flax": ("_transformer", "epsilon=block.epsilon, ", ""),
    "norm before the sublayer": ("_transformer", "if self.block.norm_first else inputs", "if True else inputs"),
    "dropout without scaling": ("_dropout", "values * jnp.asarray(_dropout.scale(rate), values.dtype)", "values"),
    "transposed square kernel": (
        "bert",
        "self.dense(states)",
        "states @ self.dense.kernel[...].T + self.dense.bias[...]",
    ),
    "pair judged by its last token": ("bert", "states[:, 0]", "states[:, -1]"),
    "positions left out": ("bert", "tokens) + positions +", "tokens) +"),
}

TRAINING_MUTANTS = {
    "biases decay": ("bert", 'exclude=("bias", "scale")', "exclude=()"),
    "decay forgotten": ("bert", "bert.WEIGHT_DECAY, exclude", "0.0, exclude"),
    "warm-up a step early": ("_schedules", "time / steps", "(time + 1) / steps"),
    "second moment by the first beta": ("_optimizers", "(g * g - v) * (1 - beta_2)", "(g * g - v) * (1 - beta_1)"),
    "ratio of LAMB upside down": ("_optimizers", "weight / direction", "direction / weight"),
    "decay not in LAMB's length": ("_optimizers", "_length(weight - decay)", "_length(weight)"),
}


def twin_with(monkeypatch: pytest.MonkeyPatch, broken: str = "", old: str = "", new: str = "") -> ModuleType:
    """A fresh jaxport.bert that was imported beside one module with another text in it."""
    order = ("_dropout", "_transformer", "_schedules", "_optimizers", "bert")
    return [_imported(monkeypatch, name, (old, new) if name == broken else ("", "")) for name in order][-1]


def _imported(monkeypatch: pytest.MonkeyPatch, name: str, change: tuple[str, str]) -> ModuleType:
    path = ROOT / "jaxport" / f"{name}.py"
    text = path.read_text()
    assert change[0] in text
    spec = importlib.util.spec_from_file_location(f"jaxport.{name}", path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(f"jaxport.{name}", module, raising=False)
    exec(compile(text.replace(*change) if change[0] else text, path, "exec"), module.__dict__)
    return module


def forward(twin: ModuleType) -> Arrays:
    """The logits in float64, on sentences with padding."""
    examples = WORKLOAD.training.examples(None, DIMENSIONS) if WORKLOAD.training else None
    case = _arrays.draw_cases(WORKLOAD, DIMENSIONS, 1, examples, kinks=False)["seed0"]
    weights = _arrays.draw_weights(WORKLOAD, DIMENSIONS)
    with jax.enable_x64(True):
        model = twin.build(DIMENSIONS, "float64")
        parameters = model.from_weights({path: jnp.asarray(array, jnp.float64) for path, array in weights.items()})
        inputs = [
            jnp.asarray(array.astype(np.float64) if array.dtype.kind == "f" else array) for array in case.values()
        ]
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


def verdict(gate: str, expected: Arrays, found: Arrays) -> str:
    """What the judge says of float64 arrays alone."""
    if gate == "semantics":
        evidence = Evidence("bert", {}, {("tf", FORWARD, "seed0"): expected, ("jax", FORWARD, "seed0"): found})
    else:
        runs = {("tf/eager", "float64"): expected, ("jax/jit", "float64"): found}
        single = {("tf/eager", "float32"): expected, ("jax/jit", "float32"): expected}
        evidence = Evidence("bert", {}, {}, trajectories={**runs, **single})
    return judge(evidence).gates[gate].verdict


@pytest.fixture(scope="module")
def honest() -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        twin = twin_with(monkeypatch)
        return {"forward": forward(twin), "adamw": trained(twin, 0), "lamb": trained(twin, 1)}


def test_the_honest_twin_passes(honest: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    assert verdict("semantics", honest["forward"], forward(twin_with(monkeypatch))) == PASS
    for kind, lamb in (("adamw", 0), ("lamb", 1)):
        assert verdict("training", honest[kind], trained(twin_with(monkeypatch), lamb)) == PASS


@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_error_fails_semantics(name: str, honest: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    broken = forward(twin_with(monkeypatch, *MUTANTS[name]))
    assert verdict("semantics", honest["forward"], broken) == FAIL


@pytest.mark.parametrize("name", TRAINING_MUTANTS)
def test_a_planted_error_fails_training(name: str, honest: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    kind = "lamb" if "LAMB" in name else "adamw"
    broken = trained(twin_with(monkeypatch, *TRAINING_MUTANTS[name]), int(kind == "lamb"))
    assert verdict("training", honest[kind], broken) == FAIL
