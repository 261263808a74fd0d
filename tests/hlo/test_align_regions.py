"""Loops, branches and reducers are entered: their bodies are aligned, and equal bodies make equal values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hlo_programs import exported

from compare.hlo import bindings
from compare.hlo.align import Alignment, align
from compare.hlo.align._alignment import REGION, SLOT
from compare.hlo.align.state import pair_by_keys
from compare.hlo.levels import RAW, STRUCTURE, Subject

Function = Callable[..., Any]
GENERATOR = np.random.default_rng(5)
MATRIX, OTHER = (GENERATOR.standard_normal((4, 4)).astype(np.float32) for _ in range(2))


def aligned(left: Function, right: Function, level: str = RAW, cases: Sequence[Any] = ()) -> Alignment:
    """Two functions of a matrix; at the raw level, so that no rule has put anything in order before."""
    programs = (bindings.hlo_of(bindings.parse(exported(each, MATRIX))) for each in (left, right))
    pair = [Subject(label, hlo) for label, hlo in zip(("tf", "jax"), programs, strict=True)]
    return align(pair[0], pair[1], level, cases)


def equal(found: Alignment) -> list[bool]:
    return [result.equal for result in found.results]


def parted(found: Alignment, index: int = 0) -> list[str]:
    """Opcodes on the frontier of the first entered pair's bodies at one index."""
    body = next(region for region in found.regions if region.index == index)
    return sorted({entry.op for entry in body.alignment.frontier})


def loop(body: Function, start: Function, last: int = 3) -> Function:
    """A loop over a counter and two matrices, in this order."""

    def run(x: Any) -> Any:
        counted = jax.lax.while_loop(lambda c: c[0] < last, lambda c: (c[0] + 1, *body(*c[1:])), (0, *start(x)))
        return counted[1:]

    return run


def turned(body: Function, start: Function) -> Function:
    """The same loop with its state in another order."""

    def run(x: Any) -> Any:
        first, second = start(x)

        def step(c: Any) -> Any:
            one, other = body(c[2], c[0])
            return other, c[1] + 1, one

        counted = jax.lax.while_loop(lambda c: c[1] < 3, step, (second, 0, first))
        return counted[2], counted[0]

    return run


def body(a: Any, b: Any) -> Any:
    return jnp.tanh(a @ b), b + a


def begun(x: Any) -> Any:
    return x, x + 1


def zeros(x: Any) -> Any:
    return x * 0, x * 0


def test_equal_loops_match_with_everything_in_them() -> None:
    found = aligned(loop(body, begun), loop(body, begun))
    assert found.is_equal
    assert [(region.index, region.alignment.is_equal) for region in found.regions] == [(0, True), (1, True)]
    inner = found.regions[0].alignment
    assert set(inner.matchers) == {REGION}
    assert {match.note for match in inner.matches} == {SLOT, "value number"}


def test_state_may_stand_in_another_order() -> None:
    found = aligned(loop(body, begun), turned(body, begun))
    assert found.is_equal
    assert equal(found) == [True, True]
    assert found.matchers[REGION] == 4, "the loop, what it starts from, and two parts"
    (whole,) = [m for m in found.matches if found.left.graph.nodes[m.left].opcode == "while"]
    assert "part" in whole.note


def test_parts_that_start_alike_are_told_by_what_becomes_of_them() -> None:
    def step(a: Any, b: Any) -> Any:
        return a + 1, b * 2 + a

    assert equal(aligned(loop(step, zeros), turned(step, zeros))) == [True, True]


def test_a_part_that_ends_otherwise_is_the_only_one_that_differs() -> None:
    found = aligned(loop(lambda a, b: (a + 1, b + a), begun), turned(lambda a, b: (a + 1, b - a), begun))
    assert equal(found) == [True, False]
    assert parted(found) == ["add", "subtract"]


def test_what_depends_on_a_part_that_starts_otherwise_differs() -> None:
    """Bodies that are the same do not make loops the same."""

    def later(x: Any) -> Any:
        return x, x + 2

    first_alone = aligned(loop(lambda a, b: (a + 1, b + a), begun), loop(lambda a, b: (a + 1, b + a), later))
    assert equal(first_alone) == [True, False]
    both = aligned(loop(lambda a, b: (a + b, b + 1), begun), loop(lambda a, b: (a + b, b + 1), later))
    assert equal(both) == [False, False]
    assert all(region.alignment.is_equal for region in both.regions)


def test_another_number_of_rounds_makes_every_part_differ() -> None:
    found = aligned(loop(body, begun), loop(body, begun, last=4))
    assert equal(found) == [False, False]
    assert parted(found, 1) == ["constant"]


def test_a_changed_body_is_entered_and_the_place_named() -> None:
    found = aligned(loop(body, begun), loop(lambda a, b: (jnp.sin(a @ b), b + a), begun))
    assert equal(found) == [False, False]
    assert parted(found) == ["sine", "tanh"]
    (entry, _) = found.frontier
    assert entry.op == "while"
    assert "bodies part in 2 places" in entry.reason


def test_another_formula_in_a_body_is_matched_by_value() -> None:
    def other(a: Any, b: Any) -> Any:
        doubled = jnp.exp(2 * (a @ b))
        return (doubled - 1) / (doubled + 1), b + a

    cases = [([each], [each]) for each in (MATRIX, OTHER)]
    assert equal(aligned(loop(body, begun), loop(other, begun))) == [False, False]
    found = aligned(loop(body, begun), loop(other, begun), cases=cases)
    assert equal(found) == [True, True]
    notes = [match.note for match in found.regions[0].alignment.matches]
    assert any(note.startswith("value") and note != "value number" for note in notes)


def test_a_loop_in_a_body_is_never_run_on_random_state() -> None:
    """It would not end: it doubles what is not above 0 until it is."""

    def doubled(x: Any) -> Any:
        return jax.lax.while_loop(lambda c: jnp.min(c) <= 0, lambda c: c * 2, x)

    def step(formula: Function) -> Function:
        return loop(lambda a, b: (doubled(a) + 1, formula(b)), lambda x: (jnp.abs(x) + 1, x))

    def tanh(x: Any) -> Any:
        return (jnp.exp(2 * x) - 1) / (jnp.exp(2 * x) + 1)

    found = aligned(step(jnp.tanh), step(tanh), cases=[([each], [each]) for each in (MATRIX, OTHER)])
    assert equal(found) == [True, True]


def test_loops_in_loops_are_entered_in_turn() -> None:
    def outer(change: float) -> Function:
        def inner(a: Any, b: Any) -> Any:
            return jax.lax.fori_loop(0, 2, lambda _, c: jnp.tanh(c) * change, a), b

        return loop(inner, begun)

    assert aligned(outer(1.5), outer(1.5)).is_equal
    found = aligned(outer(1.5), outer(1.25), STRUCTURE)
    assert equal(found) == [False, True]
    ops = {entry.op for region in found.walk_regions() for entry in region.alignment.frontier}
    assert ops == {"while", "constant"}


@pytest.mark.parametrize(
    ("change", "ops"),
    [
        pytest.param(lambda v: v * 3, ["constant"], id="a branch"),
        pytest.param(lambda v: jnp.cos(v), ["broadcast", "constant", "cosine", "multiply"], id="its operation"),
    ],
)
def test_branches_are_entered(change: Function, ops: list[str]) -> None:
    def branching(first: Function) -> Function:
        return lambda x: jax.lax.cond(x[0, 0] > 0, first, lambda v: v + 1, x)

    assert aligned(branching(lambda v: v * 2), branching(lambda v: v * 2)).is_equal
    found = aligned(branching(lambda v: v * 2), branching(change))
    assert equal(found) == [False]
    places = {entry.op for region in found.regions for entry in region.alignment.frontier}
    assert places <= set(ops)
    assert places


def test_another_condition_is_no_difference_of_branches() -> None:
    def branching(limit: float) -> Function:
        return lambda x: jax.lax.cond(x[0, 0] > limit, lambda v: v * 2, lambda v: v + 1, x)

    found = aligned(branching(0), branching(1))
    assert equal(found) == [False]
    assert all(region.alignment.is_equal for region in found.regions)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param(lambda x: x.max(0), lambda x: x.min(0), id="reduce"),
        pytest.param(
            lambda x: jax.lax.sort((x, x * 2), num_keys=1), lambda x: jax.lax.sort((x, x * 2), num_keys=2), id="sort"
        ),
        pytest.param(lambda x: x.at[1].add(x[0]), lambda x: x.at[1].max(x[0]), id="scatter"),
        pytest.param(jnp.cumsum, jnp.cumprod, id="reduce-window"),
        pytest.param(lambda x: jnp.argmax(x, 1), lambda x: jnp.argmin(x, 1), id="variadic reduce"),
    ],
)
def test_reducers_and_comparators_are_entered(left: Function, right: Function) -> None:
    assert aligned(left, left, STRUCTURE).is_equal
    found = aligned(left, right, STRUCTURE)
    assert not any(equal(found))
    assert not all(region.alignment.is_equal for region in found.regions)


def test_inputs_of_a_variadic_reducer_may_stand_in_another_order() -> None:
    def sums(swapped: bool) -> Function:
        def run(x: Any) -> Any:
            def add(one: Any, other: Any) -> Any:
                return one[0] + other[0], one[1] * other[1]

            def turned_add(one: Any, other: Any) -> Any:
                return one[0] * other[0], one[1] + other[1]

            one = np.float32(1)
            if swapped:
                second, first = jax.lax.reduce((jnp.sin(x), x), (one, np.float32(0)), turned_add, (0,))
                return first, second
            return jax.lax.reduce((x, jnp.sin(x)), (np.float32(0), one), add, (0,))

        return run

    assert aligned(sums(False), sums(True)).is_equal


def test_keys_pair_the_most_telling_first() -> None:
    left = [("a", "x"), ("b", "x"), (None, "y")]
    right = [("b", "x"), ("c", "x"), (None, "z")]
    assert pair_by_keys(left, right) == [(0, 1), (1, 0)]
