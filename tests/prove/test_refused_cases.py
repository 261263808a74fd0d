"""Inputs that TensorFlow refuses: indices are drawn within what they index, singular cases of kinks are left out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

from compare.inputs import at_size
from compare.inputs.at_size import Prepared
from compare.progress import Silent
from compare.prove import both_sides
from compare.prove.collect import FLOAT32, Collected
from compare.prove.refused_cases import AT_ONCE, PassEvidence, collect_accepted
from compare.prove.subjects import twin_of
from compare.record.workload_part import Failure
from compare.sides._side import SIDES
from compare.sides.replies import Changed
from workloads.core.spec import ArraySpec, Workload
from workloads.protocol.framework import FORWARD, GRADIENTS, KINKS, Parameter, Program, Result

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


Stages = Sequence[Sequence[str]]


class Refusing:
    """Both sides of a function; the original refuses indices beyond a table, and by pass the cases of `singular`.

    Attributes:
      calls: the arrays that each side loaded, in order.
    """

    def __init__(
        self, function: Callable[..., Any], table: int, singular: Mapping[str, Collection[str]] = MappingProxyType({})
    ) -> None:
        self.calls: list[Prepared] = []
        self.changes = Changed()
        self._program, self._table, self._singular = program(function), table, singular

    def begin(self, side: Any, at: Prepared, modes: object = ()) -> Collected:
        self.calls.append(at)
        return Collected(side.name, modes={FORWARD: ["eager"], GRADIENTS: ["eager"]})

    def collect(self, side: Any, pass_: str, at: Prepared, delivery: Collected, reporter: object) -> None:
        delivery.programs[pass_, FLOAT32] = self._program
        for case, arrays in twin_of(at).cases.items():
            beyond = pass_ == FORWARD and arrays["e"].max() >= self._table
            if side.name == "tf" and (beyond or case in self._singular.get(pass_, ())):
                reason = "indices[0] = 9 is not in [0, 6)" if beyond else "Input matrix is not invertible"
                delivery.failures.append(Failure("tf", "outputs", reason, mode="eager", of_pass=pass_))
            else:
                delivery.outputs[f"{side.name}/eager", pass_, case] = {"output": np.zeros(1)}


@pytest.fixture
def collect(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[PassEvidence]]:
    """Collects from `Refusing` sides, stage by stage."""

    def collect(drawn: Prepared, sides: Refusing, stages: Stages = ((FORWARD,), (GRADIENTS,))) -> list[PassEvidence]:
        monkeypatch.setattr(both_sides, "begin_evidence", sides.begin)
        monkeypatch.setattr(both_sides, "collect_pass", sides.collect)
        monkeypatch.setattr(both_sides, "changed_by", lambda side: sides.changes)
        pool: Any = SimpleNamespace(renew=lambda name: None, get=lambda name: SimpleNamespace(name=name))
        return list(collect_accepted(pool, drawn, Silent(), stages=stages))

    return collect


@pytest.mark.parametrize(("function", "table"), [(summed, 5), (picked, 6)])
def test_what_the_original_refuses_is_drawn_within_the_table(
    function: Callable[..., Any], table: int, tmp_path: Path, collect: Callable[..., list[PassEvidence]]
) -> None:
    sides = Refusing(function, table)
    forward, both = collect(prepared(tmp_path), sides)
    assert len(sides.calls) == 4 and not both.sides.failures
    assert (forward.passes, both.passes) == ((FORWARD,), (FORWARD, GRADIENTS))
    drawn = np.concatenate([arrays["e"].ravel() for arrays in twin_of(both.sides.instance).cases.values()])
    assert set(drawn.tolist()) == set(range(table)) and both.tables == {"e": table}
    assert f"'e=i32[...]:0..{table}'" in both.sides.deliveries["tf"].remarks[0]


def test_a_case_of_kinks_that_has_no_gradient_is_left_out_of_every_pass(
    tmp_path: Path, collect: Callable[..., list[PassEvidence]]
) -> None:
    drawn = prepared(tmp_path, low=0, high=5)
    kinks = next(case for case in drawn.loading.cases if case.startswith(KINKS))
    sides = Refusing(picked, 6, singular={GRADIENTS: {kinks}})
    forward, both = collect(drawn, sides)
    outputs = both.sides.deliveries["tf"].outputs
    assert {case for _, _, case in forward.sides.deliveries["tf"].outputs} == set(drawn.loading.cases)
    assert {(pass_, case) for _, pass_, case in outputs} == {
        (pass_, case) for pass_ in (FORWARD, GRADIENTS) for case in drawn.loading.cases if case != kinks
    }
    assert kinks in both.sides.deliveries["tf"].remarks[0] and not both.sides.failures


@pytest.mark.parametrize("stages", [((FORWARD,), (GRADIENTS,)), AT_ONCE], ids=["two stages", "at once"])
def test_a_gradient_that_does_not_exist_keeps_no_refused_case_of_the_forward_pass(
    stages: Stages, tmp_path: Path, collect: Callable[..., list[PassEvidence]]
) -> None:
    """Sizes are judged at once: else those of a function without a gradient would not be judged, and a port pass."""
    drawn = prepared(tmp_path, low=0, high=5)
    kinks = next(case for case in drawn.loading.cases if case.startswith(KINKS))
    (*_, last) = collect(drawn, Refusing(picked, 6, {FORWARD: {kinks}, GRADIENTS: drawn.loading.cases}), stages)
    assert set(last.sides.instance.loading.cases) == set(drawn.loading.cases) - {kinks}


def test_a_refusal_of_an_ordinary_case_stays_a_failure(
    tmp_path: Path, collect: Callable[..., list[PassEvidence]]
) -> None:
    drawn = prepared(tmp_path, low=0, high=5)
    (_, both) = collect(drawn, Refusing(picked, 6, singular={GRADIENTS: drawn.loading.cases}))
    assert both.sides.instance is drawn
    assert {failure.reason for failure in both.sides.failures} == {"Input matrix is not invertible"}


@pytest.mark.parametrize(
    ("function", "table", "given"),
    [
        (picked, 100, {}),  # nothing is refused
        (added, 6, {}),  # what is refused is no index
        (picked, 6, {"low": 0, "high": 9}),  # the range is the user's
    ],
)
def test_everything_else_is_asked_once(
    function: Callable[..., Any], table: int, given: dict[str, int], tmp_path: Path,
    collect: Callable[..., list[PassEvidence]],
) -> None:  # fmt: skip
    drawn, sides = prepared(tmp_path, **given), Refusing(function, table)
    (_, both) = collect(drawn, sides)
    assert both.sides.instance is drawn and len(sides.calls) == 2
    assert bool(both.sides.failures) is (table < 100)


@pytest.mark.parametrize("stages", [((FORWARD,),), ((FORWARD,), (GRADIENTS,)), AT_ONCE], ids=["one", "two", "at once"])
def test_code_that_replaces_a_function_of_numpy_fails_whatever_the_passes_are(
    stages: Stages, tmp_path: Path, collect: Callable[..., list[PassEvidence]]
) -> None:
    sides = Refusing(picked, 100)
    sides.changes = Changed(replaced=("numpy.array",))
    (*_, last) = collect(prepared(tmp_path), sides, stages)
    assert len(last.sides.failures) == len(SIDES)
    assert all("found numpy.array replaced" in failure.reason for failure in last.sides.failures)
