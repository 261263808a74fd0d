"""What has no partner is paired with what stands in its place, and the change is named; where programs part is said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from hlo_cases import random_cases
from hlo_programs import exported, written

from compare.hlo import bindings
from compare.hlo.align import Alignment, align
from compare.hlo.align._alignment import NEIGHBOURHOOD
from compare.hlo.levels import RAW, STRUCTURE, Subject

Function = Callable[..., Any]
MATRIX = np.ones((8, 8), np.float32)
VECTOR = np.ones(8, np.float32)


def subject(
    label: str, function: Function, *arguments: np.ndarray, names: Sequence[str] = (), results: Sequence[str] = ()
) -> Subject:
    hlo = bindings.hlo_of(bindings.parse(exported(function, *arguments)))
    return Subject(label, hlo, tuple(names), tuple(results))


def aligned(left: Function, right: Function, *arguments: np.ndarray, level: str = RAW) -> Alignment:
    return align(subject("tf", left, *arguments), subject("jax", right, *arguments), level)


def notes(found: Alignment) -> list[str]:
    return [match.note for match in found.alike]


@pytest.mark.parametrize(
    ("left", "right", "note"),
    [
        pytest.param(
            lambda x, y: jnp.sin(x * 0.001), lambda x, y: jnp.sin(x * 0.00101), "literal 0.001 -> 0.00101", id="literal"
        ),
        pytest.param(
            lambda x, y: x * np.arange(8.0, dtype=np.float32),
            lambda x, y: x * np.arange(8.0, dtype=np.float32).clip(2),
            "literal at 2 of 8 places, first 0.0 -> 2.0",
            id="literal of many",
        ),
        pytest.param(lambda x, y: x.sum(1) * 2, lambda x, y: x.sum(0) * 2, "dimensions (1) -> (0)", id="attribute"),
        pytest.param(
            lambda x, y: jnp.sin(x[:4]), lambda x, y: jnp.sin(x[:2]), "shape f32[4,8] -> f32[2,8]", id="shape"
        ),
        pytest.param(
            lambda x, y: x.astype(jnp.float16) * 2, lambda x, y: x.astype(jnp.bfloat16) * 2, "dtype f16 -> bf16",
            id="dtype",
        ),
        pytest.param(lambda x, y: jnp.sin(x - y), lambda x, y: jnp.sin(y - x), "operands swapped", id="swapped"),
        pytest.param(
            lambda x, y: jnp.sin(x) / jnp.cos(x), lambda x, y: jnp.sin(x) / x + 0 * jnp.cos(x),
            "operand 1 rewired: cosine", id="rewired",
        ),
        pytest.param(lambda x, y: jnp.tanh(x) @ y, lambda x, y: jnp.sin(x) @ y, "opcode tanh -> sine", id="opcode"),
        pytest.param(
            lambda x, y: jnp.maximum(x, 0) @ y, lambda x, y: jnp.abs(x) @ y, "2 operands -> 1", id="fewer operands"
        ),
    ],
)  # fmt: skip
def test_a_change_is_named(left: Function, right: Function, note: str) -> None:
    found = aligned(left, right, MATRIX, MATRIX)
    assert any(note in each for each in notes(found)), notes(found)
    assert {match.matcher for match in found.alike} == {NEIGHBOURHOOD}


def test_what_only_reads_a_change_is_said_to_differ_in_turn() -> None:
    found = aligned(lambda x: jnp.cos(jnp.sin(x * 2)), lambda x: jnp.cos(jnp.sin(x * 3)), MATRIX)
    assert set(notes(found)) == {"literal 2.0 -> 3.0", "operands or bodies differ in turn"}
    assert notes(found).count("literal 2.0 -> 3.0") == 1
    assert found.left_only
    assert len(found.alike) == len(found.left_only) == len(found.right_only)


def test_each_value_has_one_place_at_most() -> None:
    def chain(change: float) -> Function:
        def run(x: Any) -> Any:
            for step in range(12):
                x = jnp.sin(x * (step + change)) + x
            return x

        return run

    found = aligned(chain(1.0), chain(1.5), MATRIX)
    for side in ([match.left for match in found.alike], [match.right for match in found.alike]):
        assert len(side) == len(set(side))
    assert len(found.alike) == len(found.left_only)
    opcodes = {
        (found.left.graph.nodes[m.left].opcode, found.right.graph.nodes[m.right].opcode) for m in found.alike
    }  # fmt: skip
    assert all(one == other for one, other in opcodes)


def test_two_values_do_not_stand_in_the_place_of_one() -> None:
    found = aligned(lambda x: (jnp.sin(x * 2), jnp.cos(x * 5)), lambda x: (jnp.sin(x * 3), x), MATRIX)
    products = [match for match in found.alike if found.right.graph.nodes[match.right].opcode == "multiply"]
    assert len(products) == 1


def test_what_is_far_from_everything_common_stays_alone() -> None:
    found = aligned(lambda x: (x, jnp.sin(x)), lambda x: (x, jnp.full(3, 2.0).sum()), MATRIX)
    assert not [match for match in found.alike if found.left.graph.nodes[match.left].opcode == "sine"]


def test_programs_that_are_equal_have_nothing_alike() -> None:
    found = aligned(lambda x: jnp.sin(x * 2), lambda x: jnp.sin(x * 2), MATRIX)
    assert (found.alike, found.frontier, found.is_equal) == ((), (), True)


def test_the_frontier_says_of_what_and_what_is_closest_and_where() -> None:
    found = aligned(lambda x: jnp.cos(jnp.tanh(x)), lambda x: jnp.cos(jnp.sin(x)), MATRIX)
    assert [(entry.side, entry.op) for entry in found.frontier] == [("tf", "tanh"), ("jax", "sine")]
    for entry, form in zip(found.frontier, (found.left, found.right), strict=True):
        assert form.graph.nodes[entry.node].name == entry.name
        assert Path(entry.source.rpartition(":")[0]) == Path(__file__)
    reason = found.frontier[0].reason
    assert reason.startswith("no tanh of parameter 0 in jax; closest there: sine")
    assert str(Path(__file__)) in reason
    assert reason.endswith("(opcode tanh -> sine)")


def test_what_makes_no_difference_further_on_is_said_to_be_another_formula() -> None:
    pair = (
        subject("tf", lambda x: jnp.sin(1 / (1 + jnp.exp(-x))), MATRIX),
        subject("jax", lambda x: jnp.sin(0.5 * (jnp.tanh(x / 2) + 1)), MATRIX),
    )
    reasons = [entry.reason for entry in align(*pair, RAW, random_cases(*pair)).frontier]
    assert reasons
    assert all("another formula for the same values" in reason for reason in reasons)
    wrong = subject("jax", lambda x: jnp.sin(0.5 * (jnp.tanh(x / 2) + 2)), MATRIX)
    reasons = [entry.reason for entry in align(pair[0], wrong, RAW, random_cases(pair[0], wrong)).frontier]
    assert not any("another formula" in reason for reason in reasons)


def test_a_parameter_that_nothing_reads_is_no_difference() -> None:
    # Written by hand, for JAX leaves such a parameter out; TensorFlow keeps it.
    text = """func.func @main(%x: tensor<8x8xf32>, %unread: tensor<3xf32>, %y: tensor<8x8xf32>) -> tensor<8x8xf32> {
      %0 = stablehlo.dot %x, %y : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
      return %0 : tensor<8x8xf32> }"""
    hlo = bindings.hlo_of(bindings.parse(written(text)))
    left = Subject("tf", hlo, ("input x", "input unread", "input y"))
    right = subject("jax", lambda y, x: x @ y, *[MATRIX] * 2, names=("input y", "input x"))
    found = align(left, right)
    assert found.is_equal
    assert found.frontier == ()


def test_a_parameter_of_another_shape_is_where_programs_part() -> None:
    left = subject("tf", lambda x, y: jnp.sin(x).sum() + y.sum(), MATRIX, VECTOR, names=("input x", "input y"))
    right = subject("jax", lambda x, y: jnp.sin(x).sum() + y.sum(), MATRIX[:4], VECTOR, names=("input x", "input y"))
    found = align(left, right)
    assert [(entry.side, entry.reason) for entry in found.frontier] == [
        ("tf", "input x is f32[8,8] here and f32[4,8] in jax"),
        ("jax", "input x is f32[4,8] here and f32[8,8] in tf"),
    ]
    assert "parameter" in [found.left.graph.nodes[match.left].opcode for match in found.matches], "the rest is aligned"


def test_a_parameter_of_one_side_alone_is_named() -> None:
    left = subject("tf", lambda x, rate: x * rate, MATRIX, VECTOR, names=("input x", "state rate"))
    right = subject("jax", lambda x: x * 2, MATRIX, names=("input x",))
    assert "jax has no state rate" in [entry.reason for entry in align(left, right).frontier]


def test_without_names_parameters_go_by_position_if_there_are_as_many() -> None:
    def alone(x: Any) -> Any:
        return jnp.sin(x)

    def beside(x: Any, y: Any) -> Any:
        return jnp.sin(x) + y

    assert align(subject("tf", alone, MATRIX), subject("jax", alone, MATRIX, names=("x",))).is_equal
    assert align(subject("tf", alone, MATRIX), subject("jax", beside, MATRIX, MATRIX)).match_count == 0


def test_results_are_held_against_each_other_by_name() -> None:
    left = subject("tf", lambda x: (jnp.sin(x), jnp.cos(x)), MATRIX, results=("a", "b"))
    right = subject("jax", lambda x: (jnp.tanh(x), jnp.sin(x), x), MATRIX, results=("b", "a", "c"))
    found = align(left, right, STRUCTURE)
    assert [(result.name, result.equal, result.matcher) for result in found.results] == [
        ("a", True, "value number"),
        ("b", False, ""),
        ("c", False, ""),
    ]
    assert found.results[2].left is None
    assert not found.is_equal


def test_random_arguments_are_one_array_for_one_slot() -> None:
    integers = np.zeros(8, np.int32)
    left = subject("tf", lambda x, i: x[i], MATRIX, integers, names=("input x", "input i"))
    right = subject("jax", lambda i, x: x[i], integers, MATRIX, names=("input i", "input x"))
    first, second = random_cases(left, right)
    assert first[0][0] is first[1][1]
    assert first[0][1] is first[1][0]
    assert (first[0][0].dtype, first[0][1].dtype) == (np.float32, np.int32)
    assert first[0][1].min() >= 0
    assert not np.array_equal(first[0][0], second[0][0])
    assert np.array_equal(random_cases(left, right)[0][0][0], first[0][0])
