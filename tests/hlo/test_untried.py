"""Equal results say nothing of a branch that no case took, and of a loop that none entered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hlo_cases import random_cases
from hlo_programs import exported
from jax import lax

from compare.hlo.align import Alignment, align
from compare.hlo.align._alignment import VALUE
from compare.hlo.artifacts import hlo_of_artifact
from compare.hlo.bindings import hlo_from_text
from compare.hlo.levels import RAW, STRUCTURE, Subject

pytestmark = pytest.mark.usefixtures("programs_here")

Function = Callable[[Any], Any]
MATRIX = np.ones((8, 8), np.float32)
ALWAYS = -1e6
"""What no sum of a case comes near."""


def subject(function: Function) -> Subject:
    return Subject("test", hlo_of_artifact(exported(function, MATRIX)), ("input x",))


def aligned(left: Function, right: Function, level: str = STRUCTURE) -> Alignment:
    pair = subject(left), subject(right)
    return align(*pair, level, random_cases(*pair))


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


def test_of_branches_within_other_bodies_nobody_knows_whether_a_case_took_them() -> None:
    """They may be within a call, a loop that turns, or a branch that is taken."""
    within = jax.jit(choice(jnp.cos))
    assert equal(aligned(lambda x: within(x), lambda x: jnp.sin(x) * 2, RAW)) == [False]
    assert equal(aligned(loop(lambda v: choice(jnp.cos)(v) / 2, -ALWAYS), lambda x: jnp.sin(jnp.sin(jnp.sin(x))))) == [
        False
    ]
    assert equal(aligned(loop(choice(jnp.cos), -ALWAYS), loop(choice(jnp.cos), -ALWAYS))) == [True]


def test_an_index_that_is_none_is_the_last_branchs() -> None:
    def program(result: str) -> Subject:
        bodies = "".join(
            f"{name} {{ p = f32[8,8] parameter(0)\n ROOT r = f32[8,8] {name}(p) }}\n" for name in ("cosine", "sine")
        )
        text = f"i = s32[] parameter(0)\nx = f32[8,8] parameter(1)\nROOT r = f32[8,8] {result}"
        return Subject("test", hlo_from_text(f"HloModule m\n{bodies}ENTRY e {{\n{text}\n}}"), ("input i", "input x"))

    pair = program("conditional(i, x, x), branch_computations={cosine, sine}"), program("sine(x)")
    x = np.random.default_rng(0).standard_normal((2, 8, 8)).astype(np.float32)
    cases = [((np.int32(at), x[at - 2]), (np.int32(at), x[at - 2])) for at in (2, 3)]
    assert equal(align(*pair, STRUCTURE, cases)) == [False]
    tried = [((np.int32(at), x[at]), (np.int32(at), x[at])) for at in (0, 1)]
    assert equal(align(pair[0], pair[0], STRUCTURE, tried)) == [True]


def test_what_depends_on_no_input_takes_one_branch_whatever_comes_in() -> None:
    def fixed(x: Any) -> Any:
        count = jnp.arange(8, dtype=jnp.float32)
        return x * lax.cond(jnp.tanh(jnp.float32(0.5)) > 0.1, lambda: count * 1.5, lambda: jnp.sin(count))

    assert equal(aligned(fixed, lambda x: x * (jnp.arange(8, dtype=jnp.float32) * 1.5))) == [True]


def test_a_loop_that_is_entered_may_be_another_formula() -> None:
    assert equal(aligned(loop(jnp.sin, -ALWAYS), lambda x: jnp.sin(jnp.sin(jnp.sin(x))))) == [True]
    assert equal(aligned(loop(jnp.sin, ALWAYS), loop(jnp.sin, ALWAYS))) == [True]


def test_programs_whose_bodies_differ_are_not_equal_though_their_results_are() -> None:
    found = aligned(choice(logistic, between()), choice(logistic_of_tanh, between()))
    assert equal(found) == [True]
    assert not found.is_equal
