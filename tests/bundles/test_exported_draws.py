"""A forward pass that draws is not exported: while it is judged, its numbers are the same in every call."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from hlo_programs import exported

from compare.bundles import exporting
from compare.errors import RequestError
from jaxport._same_masks import drop_by_place
from workloads.protocol.framework import Parameter, Program, Result

X = np.ones((3, 4), np.float32)


class Noisy(nnx.Module):
    def __init__(self, distribution: str, rngs: nnx.Rngs) -> None:
        self.noise, self.dropout = rngs.noise.fork(), nnx.Dropout(0.5, rngs=rngs)
        self.distribution = distribution

    def __call__(self, x: jax.Array) -> jax.Array:
        if self.distribution == "dropout":
            return self.dropout(x)
        return x + getattr(self.noise, self.distribution)(x.shape)


def program_of(function: Callable[[jax.Array], jax.Array]) -> Program:
    parameters = (Parameter("input", "x", X.shape, "float32"),)
    return Program(exported(function, X), parameters, (Result("output", X.shape, "float32"),))


@pytest.mark.parametrize("distribution", ["normal", "uniform", "dropout"])
def test_a_program_with_draws_is_refused_in_one_line(distribution: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = Noisy(distribution, nnx.Rngs(0))
    drop_by_place(module)
    monkeypatch.setattr(exporting.requests, "program", lambda *_: program_of(module))
    with pytest.raises(RequestError, match="draws no random numbers"):
        exporting._program(None)  # pyright: ignore[reportArgumentType]


def test_a_program_without_draws_is_exported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting.requests, "program", lambda *_: program_of(jnp.tanh))
    assert exporting._program(None).artifact  # pyright: ignore[reportArgumentType]
