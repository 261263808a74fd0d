"""Two programs pass by pass: where they become equal, where they part, and which pass changed which."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from hlo_programs import exported

from compare.hlo import bindings, passes
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.levels import Subject
from compare.hlo.passes import ModuleState

MATRIX = np.ones((4, 4), np.float32)
START = "pipeline-start"


def subject(label: str, function: Callable[..., Any], results: tuple[str, ...] = ()) -> Subject:
    return Subject(label, bindings.hlo_of(bindings.parse(exported(function, MATRIX))), ("input x",), results)


def state(pass_: str, digest: str, pipeline: str = "simplification", **more: str) -> ModuleState:
    return ModuleState(pipeline, pass_, 3, {"y": digest, **more})


def power(x: Any) -> Any:
    return jnp.power(x, jnp.full((), 2.0)) + 1


def square(x: Any) -> Any:
    return x * x + 1


class TestRealPrograms:
    def test_one_program_is_equal_from_first_to_last(self) -> None:
        found = passes.compare(subject("a", square), subject("b", square))
        assert found.before
        assert found.equal_at_end
        assert all(step.is_equal for step in found.steps)
        assert found.lines == ["equal before any pass", "equal once optimized"]

    def test_names_the_pass_that_makes_them_equal(self) -> None:
        found = passes.compare(subject("a", power), subject("b", square))
        assert not found.before
        assert found.converges == "simplification/algsimp"
        assert found.equal_at_end
        assert f"first equal after {found.converges}" in found.lines

    def test_says_which_pass_changed_which_module(self) -> None:
        found = passes.compare(subject("a", power), subject("b", square))
        changed = [step for step in found.steps if step.pass_ == "simplification/algsimp"]
        assert changed[0].left is not None
        assert changed[0].right is None

    def test_programs_that_differ_never_converge(self) -> None:
        found = passes.compare(subject("a", jnp.sin), subject("b", jnp.cos))
        assert (found.before, found.converges, found.diverges, found.equal_at_end) == (False, "", "", False)

    def test_results_are_held_against_each_other_by_name(self) -> None:
        left = subject("a", lambda x: (x + 1, x * 2), ("sum", "product"))
        right = subject("b", lambda x: (x * 2, x + 1), ("product", "sum"))
        assert passes.compare(left, right).before
        assert not passes.compare(left, Subject("b", right.hlo, right.parameters, ("sum", "product"))).before

    def test_the_last_state_is_the_optimized_module(self) -> None:
        *_, before, last = passes.states(subject("a", square))
        assert last.name == "optimized"
        assert last.digests == before.digests
        assert last.instructions > 0

    def test_refuses_what_is_no_program(self) -> None:
        with pytest.raises(UnreadableProgram):
            passes.states(Subject("a", b"junk"))


class TestCompared:
    def test_a_pass_of_one_side_stands_alone(self) -> None:
        left = [state("before", "1"), state("algsimp", "2"), state("cse", "3")]
        right = [state("before", "1"), state("cse", "3")]
        found = passes.compare_states(left, right)
        assert [(step.pass_, step.left, step.right, step.is_equal) for step in found.steps] == [
            ("simplification/algsimp", 3, None, False),
            ("simplification/cse", 3, 3, True),
        ]
        assert found.diverges == "simplification/algsimp"
        assert found.converges == "simplification/cse"

    def test_the_first_turn_each_way_is_named(self) -> None:
        left = [state("before", "1"), state("a", "2"), state("b", "3"), state("c", "4"), state("d", "5")]
        right = [state("before", "0"), state("a", "2"), state("b", "0"), state("c", "4"), state("d", "5")]
        found = passes.compare_states(left, right)
        assert (found.converges, found.diverges) == ("simplification/a", "simplification/b")
        assert found.equal_at_end

    def test_the_start_of_a_pipeline_is_no_pass(self) -> None:
        states = [state("before", "1"), state(START, "1"), state("cse", "2"), state(START, "2", "fusion")]
        assert [step.pass_ for step in passes.compare_states(states, states).steps] == ["simplification/cse"]

    def test_only_shared_results_are_compared_and_counted(self) -> None:
        left = [state("before", "1", w="7"), state("cse", "1", w="8")]
        right = [state("before", "1", w="7", extra="0"), state("cse", "1", w="9", extra="0")]
        found = passes.compare_states(left, right)
        assert (found.steps[0].equal_results, found.steps[0].results) == (1, 2)
        assert found.before
        assert not found.equal_at_end

    def test_programs_without_a_shared_result_are_not_equal(self) -> None:
        left, right = ([ModuleState("", pass_, 1, {name: "1"}) for pass_ in ("before", "cse")] for name in "ab")
        found = passes.compare_states(left, right)
        assert not found.before
        assert not found.steps[0].is_equal
        assert not found.equal_at_end
