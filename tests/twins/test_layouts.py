"""Weights that a port holds transposed, split or scaled are put into TensorFlow's layout inside of every pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxport import Model, _session
from jaxport._layouts import in_canonical_layout, keeps_layouts
from workloads.protocol.framework import Twin

WEIGHTS = {"kernel": np.arange(9.0, dtype=np.float32).reshape(3, 3), "bias": np.ones(3, np.float32)}

Back = Callable[[Any], Mapping[str, Any]]


def model(into: Callable[[Any], Any], back: Back) -> Model:
    def forward(parameters: Any, x: jax.Array) -> jax.Array:
        return x @ parameters["kernel"] + parameters["bias"]

    def step(parameters: Any, state: Any, x: jax.Array) -> tuple[Any, Any, jax.Array]:
        return jax.tree.map(lambda leaf: leaf + 1, parameters), state + 1, jnp.sum(x)

    return Model(forward, into, back, init=lambda parameters: jnp.zeros(()), step=step)


def transposed(weights: Any) -> dict[str, Any]:
    return {**weights, "kernel": jnp.transpose(jnp.asarray(weights["kernel"]))}


def flipped(weights: Any) -> dict[str, Any]:
    return {**weights, "kernel": weights["kernel"][::-1]}


def split(weights: Any) -> dict[str, Any]:
    return {"upper": weights["kernel"][:1], "lower": weights["kernel"][1:], "bias": weights["bias"]}


def joined(parameters: Any) -> dict[str, Any]:
    return {"kernel": jnp.concatenate([parameters["upper"], parameters["lower"]]), "bias": parameters["bias"]}


@pytest.mark.parametrize(
    ("into", "back", "keeps"),
    [
        (dict, dict, True),
        (lambda weights: [weights["bias"], weights["kernel"]], lambda p: {"kernel": p[1], "bias": p[0]}, True),
        (transposed, transposed, False),  # a square kernel: its shape tells nothing
        (flipped, flipped, False),
        (lambda weights: {**weights, "bias": weights["bias"] * 2}, lambda p: {**p, "bias": p["bias"] / 2}, False),
        (split, joined, False),
    ],
)
def test_only_a_map_that_renames_keeps_layouts(into: Callable[[Any], Any], back: Back, keeps: bool) -> None:
    assert keeps_layouts(model(into, back), into(WEIGHTS)) is keeps


def test_every_pass_takes_and_gives_canonical_weights() -> None:
    held, x = in_canonical_layout(model(transposed, transposed)), jnp.arange(3.0)
    assert held.from_weights(WEIGHTS).keys() == WEIGHTS.keys()
    np.testing.assert_array_equal(held.forward(WEIGHTS, x), x @ WEIGHTS["kernel"].T + 1)
    assert held.init is not None and held.step is not None
    weights, state, _ = held.step(WEIGHTS, held.init(WEIGHTS), x)
    np.testing.assert_array_equal(weights["kernel"], WEIGHTS["kernel"] + 1)
    assert float(state) == 1


@pytest.mark.parametrize(("into", "back"), [(dict, dict), (transposed, transposed)])
def test_a_session_makes_the_parameters_once(into: Any, back: Back, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def counted(weights: Any) -> Any:
        made.append(into(weights))
        return made[-1]

    monkeypatch.setattr(_session, "resolve", lambda target, anew: lambda dimensions, dtype: model(counted, back))
    _session.Session(Twin("port.py:build", True, {}, {"seed0": {"x": np.ones(3, np.float32)}}, WEIGHTS), "float32")
    assert len(made) == 1
