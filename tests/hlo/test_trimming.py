"""Loops carry what somebody reads, in one order; what they compute stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from hlo_programs import exported

from compare.hlo import levels, values
from compare.hlo.artifacts import hlo_of_artifact
from compare.hlo.graph import Graph
from compare.hlo.rules.trimming import trim

MATRIX = np.arange(4, dtype=np.float32).reshape(2, 2)


def subject(function: Callable[..., Any]) -> levels.Subject:
    return levels.Subject("test", hlo_of_artifact(exported(function, MATRIX)), ("input x",))


def loops(graph: Graph) -> list[int]:
    return [len(node.shape.parts) for node in graph.walk() if node.opcode == "while"]


def results(graph: Graph) -> list[np.ndarray]:
    found = values.prepare(graph, graph.results)([MATRIX])
    return [found[key] for key in graph.results]


def carried(*more: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """A loop with a counter, a matrix, and further state; the matrix is returned."""

    def function(x: Any) -> Any:
        def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
            counter, value, *rest = state
            return counter + 1, jnp.tanh(value), *(each(old, value) for each, old in zip(more, rest, strict=True))

        return jax.lax.while_loop(lambda state: state[0] < 3, step, (0, x, *(x * 2 for _ in more)))[1]

    return function


def test_state_that_nobody_reads_is_gone() -> None:
    graph = levels.read(subject(carried(lambda old, _: old + 1, lambda _, value: value * 2)))
    assert (loops(graph), loops(trim(graph))) == ([4], [2])
    np.testing.assert_array_equal(results(graph), results(trim(graph)))


def test_a_loop_in_a_loop_is_cut_down_too() -> None:
    inner = carried(lambda old, _: old + 1)
    graph = levels.read(subject(lambda x: jax.lax.fori_loop(0, 2, lambda _, value: inner(value), x)))
    assert (sorted(loops(graph)), sorted(loops(trim(graph)))) == ([2, 3], [2, 2])
    np.testing.assert_array_equal(results(graph), results(trim(graph)))


def test_state_that_is_read_stays() -> None:
    graph = levels.read(subject(lambda x: jax.lax.fori_loop(0, 3, lambda step, value: value * step, x)))
    assert loops(trim(graph)) == loops(graph)


def test_what_stays_keeps_its_id() -> None:
    graph = levels.read(subject(carried(lambda old, _: old + 1)))
    assert set(trim(graph).results) == set(graph.results)
    assert set(graph.parameters) <= set(trim(graph).nodes)


def test_state_in_another_order_is_the_same_loop() -> None:
    def other(x: Any) -> Any:
        step = lambda state: (jnp.tanh(state[0]), state[1] + 1)  # noqa: E731
        return jax.lax.while_loop(lambda state: state[1] < 3, step, (x, 0))[0]

    left, right = (levels.at_level(subject(each), levels.STRUCTURE) for each in (carried(), other))
    assert set(left.digests.values()) == set(right.digests.values())
    np.testing.assert_array_equal(results(left.graph), results(right.graph))


def test_state_that_is_always_equal_is_carried_once() -> None:
    def twice(x: Any) -> Any:
        step = lambda state: (state[0] + 1, jnp.tanh(state[1]), jnp.tanh(state[2]))  # noqa: E731
        _, left, right = jax.lax.while_loop(lambda state: state[0] < 3, step, (0, x, x))
        return left * right

    def once(x: Any) -> Any:
        value = carried()(x)
        return value * value

    left, right = (levels.at_level(subject(each), levels.STRUCTURE) for each in (twice, once))
    assert set(left.digests.values()) == set(right.digests.values())


def test_state_that_starts_alike_and_steps_otherwise_is_kept_apart() -> None:
    def function(x: Any) -> Any:
        step = lambda state: (state[0] + 1, jnp.tanh(state[1]), jnp.sin(state[2]))  # noqa: E731
        _, left, right = jax.lax.while_loop(lambda state: state[0] < 3, step, (0, x, x))
        return left * right

    form = levels.at_level(subject(function), levels.STRUCTURE)
    assert loops(form.graph) == [3]
    np.testing.assert_allclose(results(form.graph)[0], jax.jit(function)(MATRIX), rtol=1e-6)
