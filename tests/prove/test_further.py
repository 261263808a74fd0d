"""Cases that only the programs can suggest: integers by their use, and the numbers that a program decides by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax import export
from suggesting import differing, suggested

from compare.hlo import levels
from compare.hlo.artifacts import hlo_of_artifact
from compare.hlo.graph import Graph
from compare.hlo.levels import Subject
from compare.hlo.thresholds import thresholds, thresholds_of
from compare.prove.further import Further
from workloads.core import marks
from workloads.core.integers import CASES, Domain, draw, whole
from workloads.core.spec import ArraySpec

pytestmark = pytest.mark.usefixtures("programs_here")

WHOLE = whole("int32")
NUMBERS = ArraySpec((16,), "int32")


# Integers.


@pytest.mark.parametrize("case", [0, 1])
def test_extremes_come_first(case: int) -> None:
    drawn = set(draw(WHOLE, NUMBERS, "n", case).tolist())
    assert {-(2**31), 2**31 - 1, -1, 0, 1} <= drawn


def test_extremes_of_two_inputs_meet_in_other_pairs() -> None:
    pairs = [set(zip(*(draw(WHOLE, NUMBERS, name, case).tolist() for name in "nd"), strict=True)) for case in (0, 1)]
    assert len(pairs[0] | pairs[1]) > len(pairs[0]) + 8


@given(st.integers(-50, 50), st.integers(0, 100), st.integers(0, CASES - 1), st.booleans())
def test_what_is_drawn_is_within(low: int, width: int, case: int, nonzero: bool) -> None:
    domain = Domain(low, low + width, nonzero)
    drawn = draw(domain, NUMBERS, "n", case)
    assert nonzero or drawn.min() >= low
    assert nonzero or drawn.max() <= low + width
    assert not (nonzero and (drawn == 0).any())


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int64", "uint64"])
def test_whole_types_are_reached(dtype: str) -> None:
    info, spec = np.iinfo(dtype), ArraySpec((16,), dtype)
    drawn = draw(whole(dtype), spec, "n", 0)
    assert (drawn.min(), drawn.max(), drawn.dtype) == (info.min, info.max, np.dtype(dtype))


# Numbers that programs decide by.


def graph_of(function: Callable[..., Any], *arguments: Any) -> Graph:
    exported = export.export(jax.jit(function))(*arguments)
    return levels.read(Subject("jax", hlo_of_artifact(exported.mlir_module_serialized)))


def numbers_of(function: Callable[..., Any], *arguments: Any) -> tuple[float | int, ...]:
    return thresholds(graph_of(function, *arguments))


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x, w: jnp.sum(x[:, None] >= jnp.asarray([18.0, 30.0]), -1) + w, {18.0, 30.0}),
        (lambda x, w: jnp.where(x.reshape(4, 4) > 50.0, 1.0, 0.0) + w[0], {50.0}),
        (lambda x, w: jax.nn.relu(x * w - 7.0), set()),
        (lambda x, w: jnp.where(x * 2.0 > 5.0, w, 0.0), set()),
        (lambda x, w: jnp.where(w > 5.0, x, 0.0), set()),
    ],
)
def test_of_a_model_the_numbers_that_an_input_itself_is_held_against(
    function: Callable[..., Any], expected: set[float]
) -> None:
    graph = graph_of(function, jnp.ones(16), jnp.ones(16))
    assert set(thresholds_of(graph, 0)) == expected


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x > 50.0, {50.0}),
        (lambda x: jnp.clip(x, -2.0, 3.0), {-2.0, 3.0}),
        (lambda x: jax.nn.relu(x - 7.0), {0.0}),
        (lambda x: jnp.where(jnp.abs(x) <= 1.5, x, 9.0), {1.5}),
        (lambda x: x * 3.0 + 4.0, set()),
        (lambda x: jnp.where(x > jnp.inf, x, 0.0), set()),
        (lambda x: jax.lax.cond(x[0] > 2.0, lambda y: y > 5.0, lambda y: y > 6.0, x), {2.0, 5.0, 6.0}),
    ],
)
def test_what_a_program_decides_by_is_found(function: Callable[..., Any], expected: set[float]) -> None:
    assert set(numbers_of(function, jnp.zeros(4))) == expected


def test_a_number_is_placed_and_so_are_its_two_sides() -> None:
    found = marks.around_floats([50.0], ArraySpec((4,)))
    assert 50.0 in found and min(found) < 50 < max(found)
    assert any(0 < each - 50 < 1 for each in found) and any(0 < 50 - each < 1 for each in found)


def test_what_float_types_hold_unlike_is_no_tie() -> None:
    assert 0.1 not in marks.around_floats([0.1], ArraySpec((4,)))


def test_numbers_stay_in_the_declared_range() -> None:
    assert set(marks.around_floats([1.0], ArraySpec((4,), low=0, high=1))) <= {1.0, 1 - 2**-8, 0.0}
    assert marks.around_integers([100, 0.5], Domain(0, 100)) == [100, 99]


def test_every_number_is_placed_however_small_the_input() -> None:
    numbers = [float(each) for each in range(7)]
    for size, cases in ((1, 7), (3, 3), (16, 1)):
        drawn = [marks.place_marks(numbers, ArraySpec((size,)), 0, case) for case in range(cases)]
        assert set(np.concatenate(drawn).tolist()) == set(numbers)


# Both programs.


@pytest.mark.parametrize(
    ("tf", "port"),
    [
        (lambda n: n // 3, lambda n: jax.lax.div(n, jnp.int32(3))),
        (lambda n: n % 3, lambda n: jax.lax.rem(n, jnp.int32(3))),
        (lambda n: jnp.abs(n), lambda n: n),
        (lambda n: n > 100, lambda n: n > 1000),
        (lambda n: n >> 1, lambda n: jax.lax.shift_right_logical(n, jnp.int32(1))),
    ],
)
def test_integers_tell_ports_apart_that_agree_on_small_ones(tf: Callable[..., Any], port: Callable[..., Any]) -> None:
    assert differing(suggested(tf, port, {"n": ArraySpec((8,), "int32")}))
    assert not differing(suggested(tf, tf, {"n": ArraySpec((8,), "int32")}))


def test_a_declared_range_is_kept() -> None:
    given_ = {"n": ArraySpec((8,), "int32", low=0, high=10)}
    assert suggested(lambda n: jnp.abs(n), lambda n: n, given_) == Further()


def test_an_integer_that_a_loop_counts_by_stays_small() -> None:
    def looped(n: jax.Array) -> jax.Array:
        return jax.lax.fori_loop(0, n[0], lambda _, total: total + 1, 0)

    assert suggested(looped, looped, {"n": ArraySpec((1,), "int32")}).cases == {}


def test_an_index_is_drawn_over_its_table_and_what_lies_beyond_is_remarked() -> None:
    table = jnp.arange(50.0)
    specs = {"n": ArraySpec((8,), "int32")}
    clamped = suggested(lambda n: jnp.take(table, n, mode="clip"), lambda n: jnp.take(table, n, mode="wrap"), specs)
    assert not differing(clamped)
    assert {0, 49} <= {int(each) for case in clamped.cases.values() for each in case["n"]} <= set(range(50))
    assert ["0..49" in remark for remark in clamped.remarks] == [True]
    assert differing(suggested(lambda n: table[n], lambda n: table[n % 10], specs))


def test_numbers_that_either_program_decides_by_tell_them_apart() -> None:
    specs = {"x": ArraySpec((1,))}
    assert differing(suggested(lambda x: x > 50.0, lambda x: x > 5.0, specs))
    assert differing(suggested(lambda x: jnp.clip(x, -30.0, 30.0), lambda x: x, specs))
    assert not differing(suggested(lambda x: x > 50.0, lambda x: ~(x <= 50.0), specs))


def test_ties_take_no_place_of_the_numbers_that_a_program_compares_with() -> None:
    numbers, spec = [float(number) for number in range(10, 200, 10)], ArraySpec((4,))
    alone = marks.around_floats(numbers, spec)
    with_ties = marks.around_floats(numbers, spec, [0.5, -1.5, 1 / 3])
    assert len(alone) == marks.MOST and with_ties == [*alone, 0.5, -1.5]
