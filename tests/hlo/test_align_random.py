"""Random programs of loops, branches and scans: each is itself, and none with one number changed is."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from hlo_cases import random_cases
from hlo_programs import exported
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax

from compare.hlo.align import align
from compare.hlo.artifacts import hlo_of_artifact
from compare.hlo.levels import ALGEBRA, STRUCTURE, Subject

MATRIX = np.ones((3, 3), np.float32)
UNARY = {"sin": jnp.sin, "tanh": jnp.tanh, "exp": jnp.exp, "logistic": lax.logistic}
BINARY = {"add": jnp.add, "subtract": jnp.subtract, "multiply": jnp.multiply, "maximum": jnp.maximum}
KINDS = ("loop", "while", "branch", "scan")


@dataclass(frozen=True)
class Step:
    """One step over two matrices: an operation, or what runs others; `number` is a factor, a limit or a threshold."""

    kind: str
    number: float
    bodies: tuple[tuple[Step, ...], ...] = ()


def operations() -> st.SearchStrategy[Step]:
    names = st.tuples(st.sampled_from(sorted(UNARY)), st.sampled_from(sorted(BINARY)))
    return st.builds(Step, names.map(" ".join), st.sampled_from([0.5, 1.5, 2.5]))


def containers(inner: st.SearchStrategy[Step]) -> st.SearchStrategy[Step]:
    body = st.lists(inner, min_size=1, max_size=3).map(tuple)
    return st.builds(
        Step, st.sampled_from(KINDS), st.sampled_from([2.0, 3.0, 4.0]), st.tuples(body, body)
    )  # fmt: skip


PROGRAMS = st.lists(st.recursive(operations(), containers, max_leaves=12), min_size=2, max_size=4).map(tuple)


def run(steps: Sequence[Step], x: Any, y: Any) -> tuple[Any, Any]:
    for step in steps:
        x, y = RUNS.get(step.kind, _operation)(step, x, y)
    return x, y


def _operation(step: Step, x: Any, y: Any) -> tuple[Any, Any]:
    unary, binary = step.kind.split()
    return BINARY[binary](UNARY[unary](x) * step.number, y), x * 0.75


def _loop(step: Step, x: Any, y: Any) -> tuple[Any, Any]:
    return lax.fori_loop(0, int(step.number), lambda _, state: run(step.bodies[0], *state), (x, y))


def _while(step: Step, x: Any, y: Any) -> tuple[Any, Any]:
    def turn(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        return (*run(step.bodies[0], *state[:2]), state[2] + 0.5)

    return lax.while_loop(lambda state: state[2] < step.number, turn, (x, y, jnp.float32(0)))[:2]


def _branch(step: Step, x: Any, y: Any) -> tuple[Any, Any]:
    then, otherwise = (lambda *state, body=body: run(body, *state) for body in step.bodies)
    return lax.cond(x.sum() > step.number, then, otherwise, x, y)


def _scan(step: Step, x: Any, y: Any) -> tuple[Any, Any]:
    def turn(carried: Any, row: Any) -> tuple[Any, Any]:
        one, other = run(step.bodies[0], carried, carried + step.number * row.sum())
        return one, other.sum()

    carried, sums = lax.scan(turn, y, x)
    return x + sums[:, None], carried


RUNS: dict[str, Callable[[Step, Any, Any], tuple[Any, Any]]] = {
    "loop": _loop, "while": _while, "branch": _branch, "scan": _scan,
}  # fmt: skip


def changed(steps: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    """The program with one of its numbers changed, of each number that is used."""
    for at, step in enumerate(steps):
        # A choice between equal branches is none.
        if step.kind != "branch" or step.bodies[0] != step.bodies[1]:
            yield (*steps[:at], dataclasses.replace(step, number=step.number + 1), *steps[at + 1 :])
        used = step.bodies if step.kind == "branch" else step.bodies[:1]
        for place, body in enumerate(used):
            for other in changed(body):
                bodies = (*step.bodies[:place], other, *step.bodies[place + 1 :])
                yield (*steps[:at], dataclasses.replace(step, bodies=bodies), *steps[at + 1 :])


def subject(steps: Sequence[Step]) -> Subject:
    artifact = exported(lambda x, y: run(steps, x, y), MATRIX, MATRIX)
    return Subject("test", hlo_of_artifact(artifact), ("input x", "input y"))


@pytest.mark.usefixtures("programs_here")
@settings(max_examples=12)
@given(PROGRAMS, st.data())
def test_what_it_computes_makes_it_no_other_program(steps: tuple[Step, ...], data: Any) -> None:
    """Much of what such a program computes is hidden: by the larger of two, by a branch that is not taken."""
    pair = subject(steps), subject(data.draw(st.sampled_from(list(changed(steps)))))
    assert not align(*pair, STRUCTURE, random_cases(*pair)).is_equal


@pytest.mark.parametrize("level", [STRUCTURE, ALGEBRA])
@settings(max_examples=12)
@given(PROGRAMS, st.data())
def test_a_program_is_itself_and_none_with_another_number_is(level: str, steps: tuple[Step, ...], data: Any) -> None:
    other = data.draw(st.sampled_from(list(changed(steps))))
    assert align(subject(steps), subject(steps), level).is_equal
    assert not align(subject(steps), subject(other), level).is_equal
