"""What a program does with an integer is read off it, and off nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import export

from compare.hlo import levels
from compare.hlo.artifacts import hlo_of_artifact
from compare.hlo.levels import Subject
from compare.hlo.uses import Use, use

TABLE = jnp.zeros((50, 3))
NUMBERS = jnp.zeros(4, jnp.int32)


def told(function: Callable[..., Any], *arguments: Any) -> Use:
    """The use of the last argument."""
    exported = export.export(jax.jit(function))(*arguments)
    graph = levels.read(Subject("jax", hlo_of_artifact(exported.mlir_module_serialized)))
    return use(graph, len(graph.parameters) - 1)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x, n: x[n], Use(indexes=True, table=50)),
        (lambda x, n: x[n + 1], Use(indexes=True)),
        (lambda x, n: x[n * 2], Use(indexes=True)),
        (lambda x, n: x[jnp.clip(n, 0, 9)], Use(indexes=True, table=50)),
        (lambda x, n: jnp.take(x, n, axis=1), Use(indexes=True, table=3)),
        (lambda x, n: jnp.take(x, n, axis=0, mode="clip"), Use(indexes=True, table=50)),
        (lambda x, n: jnp.take_along_axis(x[:4], n[:, None], 1), Use(indexes=True, table=3)),
        (lambda x, n: jax.ops.segment_sum(x[:4], n, 3), Use(indexes=True, table=3)),
        (lambda x, n: jax.lax.dynamic_slice(x, (n[0], n[1]), (2, 2)), Use(indexes=True)),
        (lambda x, n: x[:4, 0] * n, Use()),
        (lambda x, n: jax.nn.one_hot(n, 10), Use()),
        (lambda x, n: 7 // n, Use(divides=True)),
        (lambda x, n: 7 % n, Use(divides=True)),
        (lambda x, n: n // 7, Use()),
        (lambda x, n: 1 << n, Use(shifts=True)),
        (lambda x, n: jax.lax.fori_loop(0, n[0], lambda _, total: total + 1, 0), Use(counts=True)),
        (lambda x, n: jnp.where(n > 3, x[:4, 0], 0), Use()),
    ],
)
def test_each_use_is_told(function: Callable[..., Any], expected: Use) -> None:
    assert told(function, TABLE, NUMBERS) == expected


def test_uses_of_two_programs_add_up() -> None:
    assert Use(indexes=True, table=50) | Use(indexes=True, table=7) | Use(divides=True) == Use(
        indexes=True, table=7, divides=True
    )
