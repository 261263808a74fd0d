"""Training steps of a small model as programs of either side, with the arrays that they are trained on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import export

from compare.parity.measure import distance, scale_of
from compare.prove.late_steps import LateSteps, late_steps
from compare.prove.oracle import promote_program
from workloads.protocol.framework import STEP, WEIGHTS, Parameter, Program, Result, Twin

STEPS, BATCH = 50, 8

Step = Callable[[Any, Any, jax.Array, jax.Array], tuple[Any, Any, jax.Array]]


def loss_of(weights: Any, x: jax.Array, t: jax.Array) -> jax.Array:
    """The mean of squares of a model of two layers."""
    return jnp.mean((jnp.tanh(x @ weights["k1"]) @ weights["k2"] - t) ** 2)


def by(optimizer: optax.GradientTransformation) -> tuple[Callable[[Any], Any], Step]:
    """What makes the state of a run, and its step, of an optimizer."""

    def step(weights: Any, state: Any, x: jax.Array, t: jax.Array) -> tuple[Any, Any, jax.Array]:
        value, gradients = jax.value_and_grad(loss_of)(weights, x, t)
        updates, state = optimizer.update(gradients, state, weights)
        return optax.apply_updates(weights, updates), state, value

    return optimizer.init, step


def twin() -> Twin:
    """The model's arrays."""
    generator = np.random.default_rng(0)
    x = generator.standard_normal((STEPS, BATCH, 4)).astype(np.float32)
    batches = {"x": x, "t": (0.25 * x[:, :, :1]).astype(np.float32)}
    weights = {name: (0.25 * generator.standard_normal(shape)).astype(np.float32) for name, shape in SHAPES.items()}
    return Twin("", True, {}, {"seed0": {name: array[0] for name, array in batches.items()}}, weights, batches)


SHAPES = {"k1": (4, 6), "k2": (6, 1)}


def program(init: Callable[[Any], Any], step: Step) -> Program:
    """The step in float64, as a side that is written in float32 hands it over."""
    arrays = twin()
    weights = {name: jnp.asarray(array) for name, array in arrays.weights.items()}
    state = init(weights)
    inputs = [jnp.asarray(array) for array in arrays.cases["seed0"].values()]
    exported = export.export(jax.jit(step, keep_unused=True))(weights, state, *inputs)
    states = {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in jax.tree_util.tree_leaves_with_path(state)}
    named = [
        *(("weight", name, array) for name, array in weights.items()),
        *(("state", name, array) for name, array in states.items()),
        *(("input", name, array) for name, array in arrays.cases["seed0"].items()),
    ]
    parameters = tuple(Parameter(kind, name, tuple(array.shape), str(array.dtype)) for kind, name, array in named)
    names = [*(WEIGHTS + name for name in weights), *(f"state/{name}" for name in states), "loss"]
    results = tuple(
        Result(name, tuple(aval.shape), str(aval.dtype)) for name, aval in zip(names, exported.out_avals, strict=True)
    )
    return promote_program(Program(exported.mlir_module_serialized, parameters, results, states))


def judged(original: tuple[Any, Step], port: tuple[Any, Step]) -> tuple[LateSteps, dict[str, float]]:
    """What placed runs find of two steps, and the largest error of each."""
    found = late_steps(twin(), {"tf": program(*original), "jax": program(*port)}, STEPS)
    errors = {
        case: max(
            distance(found.arrays["jax", STEP, case][leaf], array, scale_of(array, 1.0)).error
            for leaf, array in found.arrays["tf", STEP, case].items()
        )
        for case in found.placements
    }
    return found, errors
