"""Indices that nobody gave a range are drawn within what they index, where TensorFlow refuses what lies beyond."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

from compare.inputs import at_size
from compare.inputs.at_size import Prepared
from compare.prove.collect import FLOAT32, Collected
from compare.prove.index_ranges import collect_within_tables
from compare.prove.subjects import twin_of
from compare.record.workload_part import Failure
from workloads._framework import FORWARD, Parameter, Program, Result
from workloads._spec import ArraySpec, Workload

NODES, EDGES = (6, 4), (9, 2)


def summed(x: jax.Array, e: jax.Array) -> jax.Array:
    return jax.ops.segment_sum(x[e[:, 0]], e[:, 1], 5)


def picked(x: jax.Array, e: jax.Array) -> jax.Array:
    return x[jnp.concatenate([e[:, 0], e[:, 1]]).reshape(-1, 3)]


def added(x: jax.Array, e: jax.Array) -> jax.Array:
    return x[0, 0] * e


def prepared(folder: Path, **given: Any) -> Prepared:
    inputs = {"x": ArraySpec(NODES), "e": ArraySpec(EDGES, "int32", **given)}
    workload = Workload(name="edges", summary="", source="", tf="a.py:f", jax="b.py:f", inputs=inputs,
                        builds=False, sizes={"default": {}})  # fmt: skip
    return at_size.prepare(workload, "default", None, folder)


def program(function: Callable[..., Any]) -> Program:
    exported = export.export(jax.jit(function))(jnp.zeros(NODES), jnp.zeros(EDGES, jnp.int32))
    parameters = (Parameter("input", "x", NODES, "float32"), Parameter("input", "e", EDGES, "int32"))
    (result,) = exported.out_avals
    return Program(exported.mlir_module_serialized, parameters, (Result("output", result.shape, str(result.dtype)),))


def asked(drawn: Prepared, function: Callable[..., Any], table: int) -> tuple[list[Prepared], Prepared, dict[str, Any]]:
    """What each side was asked for, by an original that refuses indices beyond a table."""
    calls: list[Prepared] = []
    written = program(function)

    def collect(name: str, at: Prepared) -> Collected:
        calls.append(at)
        delivered = Collected(name, modes={FORWARD: ["eager"]}, programs={(FORWARD, FLOAT32): written})
        for case, arrays in twin_of(at).cases.items():
            if name == "jax" or arrays["e"].max() < table:
                delivered.outputs[f"{name}/eager", FORWARD, case] = {"output": np.zeros(1)}
            else:
                delivered.failures.append(Failure(name, "outputs", "indices[0] = 9 is not in [0, 6)"))
        return delivered

    failures: list[Failure] = []
    collected, within, _ = collect_within_tables(drawn, collect, failures)
    return calls, within, {"failures": failures, "remarks": collected["tf"].remarks}


@pytest.mark.parametrize(("function", "table"), [(summed, 5), (picked, 6)])
def test_what_the_original_refuses_is_drawn_within_the_table(
    function: Callable[..., Any], table: int, tmp_path: Path
) -> None:
    calls, within, said = asked(prepared(tmp_path), function, table)
    assert len(calls) == 4 and not said["failures"]
    drawn = np.concatenate([arrays["e"].ravel() for arrays in twin_of(within).cases.values()])
    assert set(drawn.tolist()) == set(range(table))
    assert f"'e=i32[...]:0..{table}'" in said["remarks"][0]


@pytest.mark.parametrize(
    ("function", "table", "given"),
    [
        (picked, 100, {}),  # nothing is refused
        (added, 6, {}),  # what is refused is no index
        (picked, 6, {"low": 0, "high": 9}),  # the range is the user's
    ],
)
def test_everything_else_is_asked_once(
    function: Callable[..., Any], table: int, given: dict[str, int], tmp_path: Path
) -> None:
    drawn = prepared(tmp_path, **given)
    calls, within, said = asked(drawn, function, table)
    assert within is drawn and len(calls) == 2
    assert bool(said["failures"]) is (table < 100)
