"""Values are matched by what they are: whatever formula they come from, and never by chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from hlo_cases import random_cases
from hlo_programs import exported, written

from compare.hlo import bindings
from compare.hlo.align import Alignment, align, intermediates
from compare.hlo.align._alignment import NUMBER, VALUE
from compare.hlo.align.candidates import TellingValues, candidates, places_of
from compare.hlo.arrays.fingerprints import TOLERANCE, could_be_equal, fingerprint
from compare.hlo.arrays.layouts import laid_out
from compare.hlo.arrays.memo import Memo
from compare.hlo.graph import Graph
from compare.hlo.levels import RAW, STRUCTURE, Subject, at_level
from compare.hlo.pair import Pair
from compare.hlo.values import PreparedGraph

Function = Callable[..., Any]
GENERATOR = np.random.default_rng(3)
MATRIX, OTHER = (GENERATOR.standard_normal((8, 8)).astype(np.float32) for _ in range(2))
RECTANGLE = GENERATOR.standard_normal((4, 8)).astype(np.float32)


def subject(label: str, function: Function, *arguments: np.ndarray, names: Sequence[str] = ()) -> Subject:
    hlo = bindings.hlo_of(bindings.parse(exported(function, *arguments)))
    return Subject(label, hlo, tuple(names))


def aligned(left: Function, right: Function, *arguments: np.ndarray, level: str = STRUCTURE) -> Alignment:
    """Two functions of the same arguments, run on random ones."""
    pair = subject("tf", left, *arguments), subject("jax", right, *arguments)
    return align(*pair, level, random_cases(*pair))


def pairs(found: Alignment, matcher: str = VALUE) -> list[tuple[str, str]]:
    left, right = found.left.graph.nodes, found.right.graph.nodes
    return [(left[m.left].opcode, right[m.right].opcode) for m in found.matches if m.matcher == matcher]


def sigmoid(x: Any) -> Any:
    return 1 / (1 + jnp.exp(-x))


def sigmoid_of_tanh(x: Any) -> Any:
    return 0.5 * (jnp.tanh(x / 2) + 1)


def test_another_formula_of_a_value_is_matched_with_its_distance() -> None:
    found = aligned(lambda x: sigmoid(x) @ x, lambda x: sigmoid_of_tanh(x) @ x, MATRIX)
    assert pairs(found) == [("divide", "multiply")]
    (match,) = [match for match in found.matches if match.matcher == VALUE]
    assert match.ulp is not None
    assert 0 < match.ulp < 8
    assert [result.equal for result in found.results] == [True]
    assert found.frontier, "the two formulas are told apart nevertheless"


def test_without_cases_nothing_is_run() -> None:
    found = align(subject("tf", sigmoid, MATRIX), subject("jax", sigmoid_of_tanh, MATRIX))
    assert VALUE not in found.matchers
    assert [result.equal for result in found.results] == [False]


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(lambda x: 0.5 * (jnp.tanh(x / 2) + 1.001), id="one in a thousand"),
        pytest.param(lambda x: sigmoid_of_tanh(x).at[3, 3].add(1e-3), id="one element"),
        pytest.param(lambda x: sigmoid_of_tanh(x[::-1]), id="another order of rows"),
        pytest.param(lambda x: sigmoid_of_tanh(x).at[0, 0].set(jnp.nan), id="one NaN"),
    ],
)
def test_a_wrong_value_is_not_matched(wrong: Function) -> None:
    found = aligned(sigmoid, wrong, MATRIX)
    assert [result.equal for result in found.results] == [False]


def test_a_transposed_value_is_matched_and_said_to_be() -> None:
    found = aligned(lambda x, w: jnp.tanh(x @ w).sum(0), lambda x, w: jnp.tanh(w.T @ x.T).sum(1), RECTANGLE, MATRIX)
    assert [match.note for match in found.matches if match.matcher == VALUE] == ["transposed by (1, 0)"] * 2 + [""]
    assert found.is_equal


def test_a_regrouped_value_is_matched_and_said_to_be() -> None:
    x = GENERATOR.standard_normal((2, 6, 8)).astype(np.float32)

    def heads(x: Any) -> Any:
        return jnp.tanh(x.reshape(2, 6, 2, 4).transpose(0, 2, 1, 3)).sum()

    def flat(x: Any) -> Any:
        return jnp.tanh(x).sum()

    found = aligned(heads, flat, x)
    assert "transposed by (0, 2, 1, 3), reshaped" in [match.note for match in found.matches if match.matcher == VALUE]


def test_of_a_square_the_transposed_is_not_the_value() -> None:
    """Sums over the first dimension of a value and of its transpose are one operation of a matched operand: and two."""
    found = aligned(lambda x, w: jnp.tanh(x @ w).sum(0), lambda x, w: jnp.tanh(w.T @ x.T).sum(0), MATRIX, OTHER)
    assert ("tanh", "tanh") in pairs(found)
    assert [result.equal for result in found.results] == [False]


def test_a_transposed_result_is_not_equal() -> None:
    found = aligned(lambda x, w: x @ w, lambda x, w: w.T @ x.T, MATRIX, OTHER)
    assert pairs(found) == [("dot", "dot")]
    assert [result.equal for result in found.results] == [False]
    assert not found.is_equal


def test_what_is_equal_once_is_refused_by_the_second_case() -> None:
    pair = subject("tf", lambda x: jnp.sin(jnp.abs(x)), MATRIX), subject("jax", jnp.sin, MATRIX)
    lucky = ([np.abs(MATRIX)], [np.abs(MATRIX)])
    assert [result.equal for result in align(*pair, cases=[lucky]).results] == [True]
    assert [result.equal for result in align(*pair, cases=[lucky, ([OTHER], [OTHER])]).results] == [False]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param(lambda x: x > -100, lambda x: x < 100, id="masks that are all true"),
        pytest.param(lambda x: x > 0, lambda x: x >= 0, id="comparisons that differ in ties"),
        pytest.param(lambda x: x.astype(jnp.int32) // 100, lambda x: (x > 50).astype(jnp.int32), id="zeros"),
        pytest.param(
            lambda x: jnp.argsort(jnp.cumsum(jnp.abs(x).ravel())), lambda x: jnp.cumsum(jnp.exp(x * 0).ravel()) - 1,
            id="places that happen to be in order",
        ),
        pytest.param(
            lambda x: jnp.where(x > -100, OTHER, 0), lambda x: jnp.where(x < 100, OTHER, 1), id="a table, whatever x is"
        ),
        pytest.param(lambda x: jnp.sqrt(x**2 + 1e-5), lambda x: jnp.sqrt(x**2 + 1e-6), id="epsilons below tolerance"),
        pytest.param(lambda x: jnp.exp(x), lambda x: jnp.exp(x) + 1e-7, id="an epsilon on one side"),
    ],
)  # fmt: skip
def test_what_is_equal_by_chance_is_not_matched(left: Function, right: Function) -> None:
    found = aligned(left, right, 1 + np.abs(MATRIX))
    assert [result.equal for result in found.results] == [False]


def test_a_few_booleans_are_too_little_to_go_by() -> None:
    few = [np.linspace(-1, 1, 8, dtype=np.float32) + shift for shift in (0.1, -0.3)]
    pair = subject("tf", lambda v: v > 0, few[0]), subject("jax", lambda v: jnp.abs(v + 1) > 1, few[0])
    assert [result.equal for result in align(*pair, cases=[([each], [each]) for each in few]).results] == [False]


def test_what_tells_little_is_matched_by_number_after_its_operands() -> None:
    found = aligned(lambda x: sigmoid(x) > -1, lambda x: sigmoid_of_tanh(x) > -1, MATRIX)
    assert ("compare", "compare") in pairs(found, NUMBER)
    assert [result.equal for result in found.results] == [True]


def test_constants_match_to_the_bit_however_they_are_written() -> None:
    table = np.arange(0, 16, 2, dtype=np.float32)
    other = table.copy()
    other[5] = np.nextafter(table[5], 0)

    def computed(x: Any) -> Any:
        return x * (2 * jnp.arange(8, dtype=jnp.float32))

    assert ("multiply", "reshape") in pairs(aligned(computed, lambda x: x * table, MATRIX, level=RAW))
    assert ("multiply", "reshape") not in pairs(aligned(computed, lambda x: x * other, MATRIX, level=RAW))


def test_parameters_of_equal_arrays_are_not_one() -> None:
    left = subject("tf", lambda a, b: a + jnp.sin(b), MATRIX, MATRIX, names=("input a", "input b"))
    right = subject("jax", lambda c, d: c + jnp.sin(d), MATRIX, MATRIX, names=("input c", "input d"))
    cases = [([each, each], [each, each]) for each in (MATRIX, OTHER)]
    found = align(left, right, cases=cases)
    matched = {(found.left.graph.nodes[m.left].opcode, found.right.graph.nodes[m.right].opcode) for m in found.matches}
    assert ("parameter", "parameter") not in matched
    assert ("sine", "sine") in matched


def test_infinities_and_nan_at_the_same_places_may_match() -> None:
    x = np.linspace(-2, 2, 64, dtype=np.float32).reshape(8, 8)
    pair = subject("tf", lambda x: jnp.log(x), x), subject("jax", lambda x: jnp.log2(x) * np.log(2.0), x)
    with np.errstate(all="ignore"):
        found = align(*pair, RAW, [([x], [x]), ([x.T], [x.T])])
    assert ("log", "multiply") in pairs(found)


def test_one_large_filling_value_does_not_drown_the_rest() -> None:
    """Masked logits: -1e9 must not make everything beside it small."""
    mask = np.tril(np.ones((8, 8), np.bool_))

    def masked(x: Any) -> Any:
        return jnp.where(mask, jnp.exp(x), -1e9)

    def other(x: Any) -> Any:
        return jnp.where(mask, jnp.exp(x) + 0.01 * jnp.tanh(x), -1e9)

    def same(x: Any) -> Any:
        return jnp.where(mask, 1 / jnp.exp(-x), -1e9)

    assert [each.equal for each in aligned(masked, other, MATRIX).results] == [False]
    assert [each.equal for each in aligned(masked, same, MATRIX).results] == [True]


def test_integers_are_exact() -> None:
    x = GENERATOR.standard_normal((64, 32)).astype(np.float32)
    one_off = aligned(lambda x: jnp.argmax(x, 1) * 3, lambda x: (jnp.argsort(x, 1)[:, -1] * 3).at[7].add(1), x)
    assert [result.equal for result in one_off.results] == [False]
    same = aligned(lambda x: jnp.argmax(x, 1) * 3, lambda x: jnp.argsort(x, 1)[:, -1] * 3, x)
    assert [result.equal for result in same.results] == [True]
    assert [result.ulp for result in same.results] == [0.0]


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_narrow_floats_are_judged_by_their_own_precision(dtype: Any) -> None:
    x = MATRIX.astype(dtype)
    found = aligned(sigmoid, sigmoid_of_tanh, x)
    assert [result.equal for result in found.results] == [True]
    wrong = aligned(sigmoid, lambda x: sigmoid_of_tanh(x) * dtype(1.1), x)
    assert [result.equal for result in wrong.results] == [False]


def test_a_value_that_one_side_writes_twice_has_two_partners() -> None:
    found = aligned(lambda x: sigmoid(x) * 3, lambda x: sigmoid(x) * 3 + 0 * sigmoid_of_tanh(x), MATRIX)
    assert ("divide", "multiply") in pairs(found)
    divided = [match.left for match in found.matches if found.left.graph.nodes[match.left].opcode == "divide"]
    assert len(divided) == 2
    assert len(set(divided)) == 1


def test_an_operation_that_changes_nothing_has_a_partner() -> None:
    found = aligned(sigmoid, lambda x: jnp.maximum(sigmoid_of_tanh(x), -1), MATRIX)
    assert ("divide", "maximum") in pairs(found)
    assert [result.equal for result in found.results] == [True]


def test_few_bytes_at_a_time_find_the_same_and_compile_each_group_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[tuple[int, ...]] = []

    def prepared(graph: Graph, wanted: Sequence[int]) -> PreparedGraph:
        compiled.append((id(graph), *wanted))
        return honest(graph, wanted)

    honest = intermediates._prepare
    monkeypatch.setattr(intermediates, "_prepare", prepared)
    pair = subject("tf", lambda x: sigmoid(x) @ x, MATRIX), subject("jax", lambda x: sigmoid_of_tanh(x) @ x, MATRIX)
    cases = random_cases(*pair)
    at_once = align(*pair, STRUCTURE, cases).matches
    assert VALUE in {match.matcher for match in at_once}
    compiled.clear()
    monkeypatch.setattr("compare.hlo.align._align.budget", lambda _: 1)
    monkeypatch.setattr("compare.hlo.align.equal_values._MEMO", Memo(1))
    assert align(*pair, STRUCTURE, cases).matches == at_once
    assert len(compiled) == len(set(compiled)) > 2
    monkeypatch.setattr("compare.hlo.align.equal_values._MOST_ELEMENTS", 1)
    assert align(*pair, STRUCTURE, cases).matches == at_once, "one pair a request"
    monkeypatch.setattr("compare.hlo.align._align.TOLERANCE", 1e-9)
    strict = align(*pair, STRUCTURE, cases).matches
    assert VALUE not in {match.matcher for match in strict}, "another formula is not equal to the bit"


def test_fingerprints_of_what_does_not_fit_are_taken_in_one_run_and_values_kept_only_to_be_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs: list[tuple[str, int]] = []

    def spied(how: str) -> None:
        honest = getattr(PreparedGraph, how)

        def run(program: PreparedGraph, *arguments: Any) -> Any:
            runs.append((how, len(program._wanted)))
            return honest(program, *arguments)

        monkeypatch.setattr(PreparedGraph, how, run)

    spied("fingerprints")
    spied("hold")
    monkeypatch.setattr("compare.hlo.align._align.budget", lambda _: 1)
    monkeypatch.setattr("compare.hlo.align.equal_values._MEMO", Memo(1))
    pair = subject("tf", lambda x: sigmoid(x) @ x, MATRIX), subject("jax", lambda x: sigmoid_of_tanh(x) @ x, MATRIX)
    assert align(*pair, STRUCTURE, random_cases(*pair)).match_count
    alone, kept = ([values for how, values in runs if how == name] for name in ("fingerprints", "hold"))
    assert len(alone) == 2 and min(alone) > 2
    assert set(kept) == {1} and len(kept) < sum(alone)


def test_what_cannot_be_run_is_said_and_the_rest_matched() -> None:
    def program(formula: str) -> Subject:
        text = f"""func.func @main(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {{
          %0 = stablehlo.custom_call @nobody_knows(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
          {formula}
          return %0, %1 : tensor<8x8xf32>, tensor<8x8xf32> }}"""
        return Subject("", bindings.hlo_of(bindings.parse(written(text))))

    left = program("%1 = stablehlo.logistic %x : tensor<8x8xf32>")
    right = program("""%a = stablehlo.negate %x : tensor<8x8xf32>
          %b = stablehlo.exponential %a : tensor<8x8xf32>
          %c = stablehlo.constant dense<1.0> : tensor<8x8xf32>
          %d = stablehlo.add %b, %c : tensor<8x8xf32>
          %1 = stablehlo.divide %c, %d : tensor<8x8xf32>""")
    found = align(left, right, RAW, random_cases(left, right))
    assert pairs(found) == [("logistic", "divide")]
    assert [result.equal for result in found.results] == [True, True]
    assert not found.notes, "the call is matched by number: nobody asks for its value"
    other = program("""%e = stablehlo.custom_call @somebody_knows(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
          %1 = stablehlo.tanh %e : tensor<8x8xf32>""")
    (note,) = align(left, other, RAW, random_cases(left, other)).notes
    assert "values were not compared by running them" in note


def test_candidates_stay_few_where_all_values_look_alike() -> None:
    form = at_level(subject("tf", lambda x: sum(jnp.sin(x + k) for k in range(40)), MATRIX), STRUCTURE)
    prints = {key: [fingerprint(MATRIX, TOLERANCE)] for key in form.graph.nodes}
    values = TellingValues(form.graph, prints, places_of(form.graph))
    found = candidates(Pair(values, values), Pair(list(prints), list(prints)), TOLERANCE)
    assert 0 < len(found) <= 16 * len(prints)


def test_a_fingerprint_holds_under_transposition_and_rounding_and_nothing_else() -> None:
    one = fingerprint(MATRIX, TOLERANCE)
    rounded = (MATRIX.T * (1 + 1e-7)).astype(np.float32)
    assert could_be_equal(one, fingerprint(rounded, TOLERANCE), TOLERANCE)
    for wrong in (MATRIX * 1.001, MATRIX + 0.01, np.abs(MATRIX), -MATRIX, MATRIX[:4]):
        assert not could_be_equal(one, fingerprint(wrong.astype(np.float32), TOLERANCE), TOLERANCE)


def test_the_distance_is_in_units_of_the_values_scale() -> None:
    other = MATRIX.copy()
    scale = float(np.abs(MATRIX).max())
    other[0, 0] += 2 * np.spacing(np.float32(scale))
    layout, ulp = laid_out([(MATRIX, other)], [scale], TOLERANCE) or (None, None)
    assert (str(layout), ulp) == ("", pytest.approx(2, abs=0.5))


@pytest.mark.parametrize("wrong", [MATRIX + 0.01, np.where(OTHER > 1, np.nan, MATRIX), MATRIX[::-1]])
def test_values_are_equal_in_every_case_or_not_at_all(wrong: np.ndarray) -> None:
    right = (MATRIX, MATRIX)
    assert laid_out([right, right], [3.0, 3.0], TOLERANCE)
    assert laid_out([right, (MATRIX, wrong.astype(np.float32))], [3.0, 3.0], TOLERANCE) is None
