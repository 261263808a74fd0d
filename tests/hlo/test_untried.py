"""Equal results say nothing of a branch that no case took, and of a loop that none entered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from hlo_cases import random_cases
from hlo_programs import exported
from jax import lax

from compare.hlo.align import Alignment, align
from compare.hlo.align._alignment import VALUE
from compare.hlo.artifacts import hlo_of_artifact
from compare.hlo.levels import STRUCTURE, Subject

pytestmark = pytest.mark.usefixtures("programs_here")

Function = Callable[[Any], Any]
MATRIX = np.ones((8, 8), np.float32)
ALWAYS = -1e6
"""What no sum of a case comes near."""


def subject(function: Function) -> Subject:
    return Subject("test", hlo_of_artifact(exported(function, MATRIX)), ("input x",))


def aligned(left: Function, right: Function) -> Alignment:
    pair = subject(left), subject(right)
    return align(*pair, STRUCTURE, random_cases(*pair))


def equal(found: Alignment) -> list[bool]:
    return [result.equal for result in found.results]


def between() -> float:
    """A limit that one case's sum is above and the other's below."""
    pair = subject(jnp.sin), subject(jnp.cos)
    first, second = (float(left[0].sum()) for left, _ in random_cases(*pair))
    return (first + second) / 2


def choice(otherwise: Function, limit: float = ALWAYS, after: Function = lambda value: value) -> Function:
    return lambda x: after(lax.cond(x.sum() > limit, lambda v: jnp.sin(v) * 2, otherwise, x))


def loop(body: Function, most: float) -> Function:
    """At most three turns, and none where the sum of what comes in is above a limit."""
    return lambda x: lax.while_loop(
        lambda state: (state[0] < 3) & (x.sum() < most), lambda state: (state[0] + 1, body(state[1])), (0, x)
    )[1]


def logistic(x: Any) -> Any:
    return 1 / (1 + jnp.exp(-x))


def logistic_of_tanh(x: Any) -> Any:
    return 0.5 * (jnp.tanh(x / 2) + 1)


@pytest.mark.parametrize("after", [lambda value: value, lambda value: jnp.tanh(value) + 1], ids=["itself", "after it"])
def test_a_wrong_branch_that_no_case_takes_makes_results_differ(after: Function) -> None:
    found = aligned(choice(jnp.cos, after=after), choice(lambda v: jnp.cos(v) * 1.5, after=after))
    assert equal(found) == [False]
    assert not found.is_equal
    assert VALUE not in found.matchers
    assert "no case took one of its branches" in found.frontier[0].reason
    assert "bodies that differ" in [group.reason.name for group in found.reasons if group.reason]


def test_a_branch_that_no_case_takes_may_have_another_formula() -> None:
    """Bodies are run by themselves, whichever is taken."""
    assert equal(aligned(choice(logistic), choice(logistic_of_tanh))) == [True]


def test_a_choice_may_be_another_formula_where_each_branch_was_taken() -> None:
    limit = between()

    def selected(x: Any) -> Any:
        return jnp.where(x.sum() > limit, jnp.sin(x) * 2, jnp.cos(x))

    assert equal(aligned(choice(jnp.cos, limit), selected)) == [True]
    assert equal(aligned(choice(lambda v: jnp.cos(v) * 1.5, limit), selected)) == [False]
    assert equal(aligned(choice(lambda v: jnp.cos(v) * 1.5), lambda x: jnp.sin(x) * 2)) == [False]


def test_a_loop_that_no_case_enters_makes_results_differ() -> None:
    assert equal(aligned(loop(jnp.sin, ALWAYS), loop(jnp.cos, ALWAYS))) == [False]
    assert equal(aligned(loop(jnp.sin, ALWAYS), lambda x: x)) == [False]


def test_a_loop_that_is_entered_may_be_another_formula() -> None:
    assert equal(aligned(loop(jnp.sin, -ALWAYS), lambda x: jnp.sin(jnp.sin(jnp.sin(x))))) == [True]
    assert equal(aligned(loop(jnp.sin, ALWAYS), loop(jnp.sin, ALWAYS))) == [True]


def test_programs_whose_bodies_differ_are_not_equal_though_their_results_are() -> None:
    found = aligned(choice(logistic, between()), choice(logistic_of_tanh, between()))
    assert equal(found) == [True]
    assert not found.is_equal
