"""A graph run operation by operation gives what it gives compiled whole."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hlo_programs import exported

from compare.hlo import bindings, executing, steps, values
from compare.hlo.artifacts import hlo_of_artifact
from compare.hlo.bindings import LoadedProgram, UnreadableProgram
from compare.hlo.graph import Graph, Node, Shape
from compare.hlo.read_module import read
from compare.hlo.stepping import StepPrograms
from compare.hlo.steps import Step, StepProgram, Steps
from workloads.protocol.compiling import IN_ORDER, QUICKLY

ROWS = np.linspace(-2, 3, 24, dtype=np.float32).reshape(4, 6)
OTHER = np.cos(ROWS)
SCALAR = Shape("f32")

DYNAMIC = """HloModule dynamic
ENTRY main {
  p = f32[8] parameter(0)
  n = s32[] parameter(1)
  few = f32[<=8] set-dimension-size(p, n), dimensions={0}
  ROOT out = f32[<=8] negate(few)
}
"""
"""Each operation alone has a static shape, and the buffer of `few` does not."""


def graph_of(function: Callable[..., Any], *arguments: np.ndarray) -> Graph:
    return read(hlo_of_artifact(exported(function, *arguments)))


def layers(x: jax.Array) -> jax.Array:
    for _ in range(5):
        x = jnp.tanh(x @ x.T @ x) / jnp.sum(jnp.exp(x), axis=1, keepdims=True)
    return x


def looped(x: jax.Array) -> tuple[Any, Any]:
    count, found = jax.lax.while_loop(lambda state: state[0] < 3, lambda state: (state[0] + 1, state[1] * 2), (0, x))
    return count, jax.lax.cond(count > 2, lambda value: value + 1, lambda value: value - 1, found)


def looped_narrow(x: jax.Array) -> jax.Array:
    narrow = x.astype(jnp.bfloat16)
    return jax.lax.fori_loop(0, 4, lambda _, value: jnp.sin(value * 1.3 + narrow) * value - value / 3, narrow)


def sorted_pairs(x: jax.Array) -> list[jax.Array]:
    return list(jax.lax.sort((x, -x), dimension=0, num_keys=1))


@pytest.mark.parametrize(
    "function", [layers, looped, looped_narrow, sorted_pairs, lambda x: x.astype(jnp.bfloat16).T[::2]]
)
def test_every_value_is_that_of_the_whole_program(function: Callable[..., Any]) -> None:
    graph = graph_of(function, ROWS)
    wanted = [node.id for node in graph if node.shape.is_array]
    cases = [[ROWS], [OTHER]]
    whole, stepped = values.prepare(graph, wanted).each(cases), values.prepare_in_steps(graph, wanted).each(cases)
    for one, other in zip(whole, stepped, strict=True):
        assert one.keys() == other.keys() == set(wanted)
        for key in wanted:
            assert (one[key].dtype, one[key].shape) == (other[key].dtype, other[key].shape)
            np.testing.assert_allclose(one[key].astype(float), other[key].astype(float), rtol=1e-6, atol=1e-6)


def test_operations_of_one_kind_are_one_program() -> None:
    graph = graph_of(layers, ROWS)
    planned = steps.plan(graph, graph.results)
    assert planned is not None
    assert len(planned.steps) == sum(node.opcode not in ("parameter", "constant", "tuple") for node in graph)
    assert len(planned.programs) < len(planned.steps) / 3


@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("shape", [(7, 33, 65), (64, 3, 100)])
def test_a_sum_that_is_compiled_alone_adds_up_in_one_order_by_either_emitters(
    shape: tuple[int, ...], axes: tuple[int, ...]
) -> None:
    """What `QUICKLY` rests on in steps: of whole programs it does not hold."""
    terms = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    artifact = exported(lambda x: jnp.sum(x, axes), terms)
    quick, in_order = (executing.compile_bytecode(artifact, options)([terms]) for options in (QUICKLY, IN_ORDER))
    np.testing.assert_array_equal(quick[0], in_order[0])


def test_loops_and_branches_alone_are_compiled_as_programs_of_several_operations() -> None:
    def levels(function: Callable[..., Any]) -> set[bool]:
        graph = graph_of(function, ROWS)
        planned = steps.plan(graph, [node.id for node in graph if node.shape.is_array])
        assert planned is not None
        return {program.options["xla_cpu_use_fusion_emitters"] for program in planned.programs}

    assert levels(layers) == {False}
    assert levels(looped) == {False, True}


def test_what_is_wanted_of_a_tuple_is_its_part() -> None:
    graph = graph_of(looped, ROWS)
    count, found = values.prepare_in_steps(graph, graph.results)([ROWS]).values()
    assert count == 3
    np.testing.assert_array_equal(found, 8 * ROWS + 1)


def test_operations_that_differ_in_a_literal_or_an_attribute_are_two_programs() -> None:
    def compared(key: int, direction: str) -> Node:
        attributes = (("comparison_direction", direction),)
        return Node(key, direction, "compare", Shape("pred"), (0, 1), attributes)

    nodes = {at: Node(at, f"p.{at}", "parameter", SCALAR, attributes=(("parameter_number", at),)) for at in (0, 1)}
    nodes |= {2: compared(2, "LT"), 3: compared(3, "GT")}
    prepared = values.prepare_in_steps(Graph("two", nodes, (0, 1), (2, 3)), (2, 3))
    found = prepared([np.array(at, np.float32) for at in (1, 2)])
    assert [bool(found[key]) for key in (2, 3)] == [True, False]


def test_what_both_calls_share_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of(lambda weights, x: jnp.tanh(weights) * x, ROWS, ROWS)
    prepared = values.prepare_in_steps(graph, graph.results)
    called: list[int] = []
    executed = LoadedProgram.execute

    def counted(program: LoadedProgram, arguments: list[Any]) -> list[Any]:
        called.append(len(arguments))
        return executed(program, arguments)

    monkeypatch.setattr(LoadedProgram, "execute", counted)
    first, second = prepared.each([[ROWS, ROWS], [ROWS, OTHER]])
    assert sorted(called) == [1, 2, 2]
    (key,) = graph.results
    np.testing.assert_allclose(first[key], np.tanh(ROWS) * ROWS, rtol=1e-5)
    np.testing.assert_allclose(second[key], np.tanh(ROWS) * OTHER, rtol=1e-5)


def test_what_was_reduced_is_let_go() -> None:
    graph = graph_of(layers, ROWS)
    wanted = [node.id for node in graph if node.shape.is_array]
    planned = steps.plan(graph, wanted)
    assert planned is not None
    program = StepPrograms(bindings.load_bytecode).load(planned)
    seen: list[weakref.ref[np.ndarray]] = []
    alive: list[int] = []

    def to_bytes(array: np.ndarray) -> bytes:
        seen.append(weakref.ref(array))
        alive.append(sum(reference() is not None for reference in seen))
        return array.tobytes()

    reduced = program.reduce([[ROWS], [OTHER]], to_bytes)
    assert len(seen) == 2 * len(wanted)
    assert max(alive) < len(wanted) / 2
    calls = program.each([[ROWS], [OTHER]])
    assert reduced == [[array.tobytes() for array in result] for result in zip(*calls, strict=True)]


def test_a_token_is_no_array_and_the_graph_is_compiled_whole() -> None:
    nodes = {
        0: Node(0, "p", "parameter", SCALAR, attributes=(("parameter_number", 0),)),
        1: Node(1, "token", "after-all", Shape("token")),
        2: Node(2, "kept", "add-dependency", SCALAR, (0, 1)),
        3: Node(3, "sum", "add", SCALAR, (0, 0)),
    }
    graph = Graph("tokens", nodes, (0,), (2, 3))
    assert steps.plan(graph, (2, 3)) is None
    assert steps.plan(graph, (3,)) is not None


def test_an_operation_that_xla_refuses_is_one_line() -> None:
    with pytest.raises(UnreadableProgram):
        executing.compile_steps(Steps((StepProgram(b"no program", {}),), 1, {}, (Step(0, (0,), (1,)),), (1,)))


def test_a_dynamic_shape_that_the_next_operation_cannot_be_given_is_one_line() -> None:
    graph = read(executing.hlo_from_text(DYNAMIC))
    prepared = values.prepare_in_steps(graph, graph.results)
    with pytest.raises(UnreadableProgram, match=r"^expected a program that XLA runs, found .*Mismatch"):
        prepared([np.arange(8, dtype=np.float32), np.int32(3)])
