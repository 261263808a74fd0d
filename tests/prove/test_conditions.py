"""Decisions of both programs are seen to go both ways, or named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from suggesting import differing, doubles, suggested

from compare.hlo import levels
from compare.hlo.artifacts import hlo_of_artifact
from compare.hlo.conditions import conditions
from compare.hlo.levels import Subject
from workloads.core.spec import ArraySpec

pytestmark = pytest.mark.usefixtures("programs_here")

X = {"x": ArraySpec((8,))}
Function = Callable[..., Any]


def said(function: Function) -> list[str]:
    _, found = doubles(function, function, x=np.zeros(4))
    (graph, _) = (levels.read(Subject("", hlo_of_artifact(program.artifact))) for program in found.programs.values())
    return [str(each) for each in conditions(graph)]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: jnp.where(x * 2 > 7, x, 0.0), ["above 7"]),
        (lambda x: jnp.clip(x, -2.0, 3.0), ["below -2", "above 3"]),
        (lambda x: jax.lax.clamp(-2.0, x, 3.0), ["below -2", "above 3"]),
        (lambda x: jax.nn.relu(x), ["below 0"]),
        (lambda x: jnp.where(x > x[::-1], x, 0.0), ["above"]),
        (lambda x: jnp.where(jnp.isinf(x), 0.0, x), []),
        (lambda x: jnp.where(x != x, 0.0, x), []),
        (lambda x: jnp.where(jnp.arange(4.0) > 2, x, 0.0), []),
        (lambda x: jnp.max(x) + jax.nn.softmax(x), []),
    ],
)
def test_decisions_are_read_off_the_program(function: Function, expected: list[str]) -> None:
    assert said(function) == expected


@pytest.mark.parametrize(
    ("tf", "port"),
    [
        (lambda x: jnp.where(x * 2 + 1 > 50, x, 2 * x), lambda x: 2 * x),
        (lambda x: jnp.where(jnp.sum(x) > 300, x, -x), lambda x: -x),
        (lambda x: jnp.where(x * x > 9e4, 0.0, x), lambda x: x),
        (lambda x: x, lambda x: jnp.where(x - x[::-1] > 200, 0.0, x)),
    ],
)
def test_a_branch_that_ordinary_inputs_never_take_is_taken(tf: Function, port: Function) -> None:
    assert differing(suggested(tf, port, X))
    assert not differing(suggested(tf, tf, X))
    assert suggested(tf, port, X).remarks == ()


def test_what_no_case_was_found_for_is_named_with_its_line() -> None:
    def rarely(x: jax.Array) -> jax.Array:
        return jnp.where(x * 1e-38 > 50.0, 0.0, x)

    remarks = suggested(rarely, lambda x: x, X).remarks
    assert len(remarks) == 1
    assert "test_conditions.py:" in remarks[0] and "above 50" in remarks[0] and "no value was" in remarks[0]


def test_a_declared_range_keeps_what_lies_beyond_unseen_and_says_so() -> None:
    found = suggested(lambda x: x > 50.0, lambda x: x > 50.0, {"x": ArraySpec((8,), low=0, high=1)})
    assert all(case["x"].max() <= 1 for case in found.cases.values())
    assert len(found.remarks) == 2


def reset(limit: float) -> Function:
    """A running sum that starts again once a thousandth of it is above a limit."""

    def turn(total: jax.Array, each: jax.Array) -> tuple[jax.Array, None]:
        more = total + each
        return jnp.where(more / 1000 > limit, 0.0, more), None

    return lambda x: jax.lax.scan(turn, 0.0, x)[0]


def lost(limit: float) -> Function:
    """In one branch alone, values whose thousandth is above a limit are lost."""
    return lambda x: jax.lax.cond(x[0] > 0, lambda v: jnp.where(v / 1000 > limit, 0.0, v), lambda v: 2 * v, x)


@pytest.mark.parametrize("function", [reset, lost], ids=["loop", "branch"])
def test_decisions_inside_of_loops_and_branches_are_turned_as_well(function: Callable[[float], Function]) -> None:
    assert differing(suggested(function(50.0), function(np.inf), X))
    assert not differing(suggested(function(50.0), function(50.0), X))
    assert suggested(function(50.0), function(50.0), X).remarks == ()


def test_what_no_turn_of_a_loop_decides_is_named() -> None:
    remarks = suggested(reset(1e38), reset(1e38), X).remarks
    assert len(remarks) == 2 and all("above 1e+38" in each for each in remarks)
