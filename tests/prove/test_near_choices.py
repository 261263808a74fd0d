"""A choice that rounding turned is explained by making it likewise; nothing else that is wrong is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare.hlo import bindings
from compare.parity import Evidence, held_leaves, judge, undecided
from compare.parity.evidence import Choices
from compare.parity.measure import UNIT_ROUNDOFF
from compare.parity.stability import BREAKS, Rounding, Values, by_leaf, worst
from compare.prove.near_choices import FUSED, allowed, explain_by_choices
from compare.prove.oracle import promoted
from compare.prove.reaching import ANYWHERE, Edges, within
from compare.prove.running import running
from compare.prove.swept_choices import holds_but_for_choices
from workloads._framework import GRADIENTS, STEP, Parameter, Program, Result, Twin
from workloads._spec import Arrays

pytestmark = pytest.mark.usefixtures("programs_here")

UNIT = UNIT_ROUNDOFF["float32"]
ROUNDING = Rounding(UNIT, 2.0**-126, 2.0**128, 10)
ROWS, TERMS = 64, 32
X, W, SUMS = f"tensor<{ROWS}x{TERMS}xf32>", f"tensor<{TERMS}xf32>", f"tensor<{ROWS}xf32>"
FLAGS = f"tensor<{ROWS}xi1>"
EDGE = f"%open = stablehlo.compare GT, %sum, %zeros : ({SUMS}, {SUMS}) -> {FLAGS}"
SIGN = f"""%sign = stablehlo.sign %sum : {SUMS}
  %open = stablehlo.compare GT, %sign, %zeros : ({SUMS}, {SUMS}) -> {FLAGS}"""


UNSTABLE = f"""%million = stablehlo.constant dense<1.0e+06> : {SUMS}
  %size = stablehlo.tanh %products : {SUMS}
  %square = stablehlo.multiply %size, %size : {SUMS}
  %far = stablehlo.add %square, %million : {SUMS}
  %up = stablehlo.add %sum, %far : {SUMS}
  %down = stablehlo.subtract %up, %far : {SUMS}
  %open = stablehlo.compare GT, %down, %zeros : ({SUMS}, {SUMS}) -> {FLAGS}"""
"""Of a sum, no more than 0.06 is left: what lies nearer to 0 is told by rounding. A constant XLA would take away."""


def program(choice: str = EDGE, shift: float = 0.0) -> Program:
    """The gradient of the sum of relu(x @ w) by w, with the product in a function of its own.

    Args:
      choice: how it tells which sums are positive.
      shift: that is added to the sums.
    """
    text = f"""
func.func @main(%x: {X}, %w: {W}) -> {W} {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %shift = stablehlo.constant dense<{shift:e}> : {SUMS}
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> {SUMS}
  %products = func.call @product(%x, %w) : ({X}, {W}) -> {SUMS}
  %sum = stablehlo.add %products, %shift : {SUMS}
  {choice}
  %ones = stablehlo.constant dense<1.0> : {SUMS}
  %passed = stablehlo.select %open, %ones, %zeros : {FLAGS}, {SUMS}
  %y = stablehlo.dot_general %passed, %x, contracting_dims = [0] x [0] : ({SUMS}, {X}) -> {W}
  return %y : {W}
}}
func.func private @product(%x: {X}, %w: {W}) -> {SUMS} {{
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : ({X}, {W}) -> {SUMS}
  return %y : {SUMS}
}}"""
    inputs = Parameter("input", "x", (ROWS, TERMS), "float32"), Parameter("input", "w", (TERMS,), "float32")
    return Program(bindings.artifact(text), inputs, (Result("w", (TERMS,), "float32"),))


def beside_an_edge(sums: float = 0.0) -> Arrays:
    """Half of the rows' products with w add up to next to nothing, in float32 of a sign that chance decides.

    Args:
      sums: what they add up to, of either sign.
    """
    generator = np.random.default_rng(7)
    x, w = generator.standard_normal((ROWS, TERMS)), generator.standard_normal(TERMS)
    of = slice(ROWS // 2, None)
    wanted = sums * np.where(np.arange(ROWS // 2) % 2, 1, -1)
    x[of, -1] = (wanted - x[of, :-1] @ w[:-1]) / w[-1]
    return {"x": x.astype(np.float32), "w": w.astype(np.float32)}


def evidence_of(original: Program, port: Program, case: Arrays) -> tuple[Evidence, Twin]:
    """What both sides give: TensorFlow in float32 as it is in float64, so that it has no noise to hide behind."""
    twin = Twin("", False, {}, {"seed0": case}, {})
    (exact,), (narrow,), (wide,) = (running(each, twin)([case]) for each in (promoted(original), port, promoted(port)))
    rounded = {leaf: array.astype(np.float32) for leaf, array in exact.items()}
    return (
        Evidence(
            workload="port",
            outputs={
                ("tf/eager", GRADIENTS, "seed0"): rounded,
                ("tf/jit", GRADIENTS, "seed0"): rounded,
                ("jax/jit", GRADIENTS, "seed0"): narrow,
            },
            doubles={("tf", GRADIENTS, "seed0"): exact, ("jax", GRADIENTS, "seed0"): wide},
        ),
        twin,
    )


def explained(evidence: Evidence, twin: Twin, port: Program) -> Evidence:
    found = explain_by_choices(twin, port, GRADIENTS, ["seed0"], UNIT)
    return replace(evidence, choices={(GRADIENTS, case): (choices,) for case, choices in found.items()})


def gradients(evidence: Evidence) -> str | None:
    return judge(evidence).gates["gradients"].verdict


@pytest.mark.parametrize("choice", [EDGE, SIGN])
def test_a_side_that_rounding_chose_is_no_failure_and_is_told(choice: str) -> None:
    port = program(choice)
    evidence, twin = evidence_of(port, port, beside_an_edge())
    assert undecided(held_leaves(evidence)) == {(GRADIENTS, "seed0")} and gradients(evidence) == "fail"
    evidence = explained(evidence, twin, port)
    parity = judge(evidence)
    (choices,) = evidence.choices[GRADIENTS, "seed0"]
    assert 0 < choices.turned < ROWS
    assert parity.gates["gradients"].verdict == "pass"
    (told,) = [each for each in parity.deviations if each.gate == "gradients"]
    assert f"with {choices.turned} of {choices.all:,} choices made as in float32" in (told.reason or "")


@pytest.mark.parametrize("shift", [1e-4, -1e-4])
def test_an_edge_elsewhere_is_a_failure(shift: float) -> None:
    original, port = program(), program(shift=shift)
    evidence, twin = evidence_of(original, port, beside_an_edge())
    # In float64 it fails too, and nothing is asked.
    assert not undecided(held_leaves(evidence))
    assert gradients(explained(evidence, twin, port)) == "fail"


def test_what_is_wrong_in_float32_alone_is_a_failure() -> None:
    original, port = program(), program(shift=1e-4)
    evidence, twin = evidence_of(original, port, beside_an_edge())
    # As a port that adds it where it is given float32, and only there.
    doubles = {**evidence.doubles, ("jax", GRADIENTS, "seed0"): evidence.doubles["tf", GRADIENTS, "seed0"]}
    evidence = replace(evidence, doubles=doubles)
    assert undecided(held_leaves(evidence)) == {(GRADIENTS, "seed0")}
    assert gradients(explained(evidence, twin, port)) == "fail"


def test_a_value_that_is_further_from_its_edge_than_rounding_takes_it_is_no_choice_of_rounding() -> None:
    port = program()
    evidence, twin = evidence_of(port, port, beside_an_edge())
    found = explain_by_choices(twin, port, GRADIENTS, ["seed0"], UNIT * 2.0**-20)
    assert found["seed0"].turned == 0
    evidence = replace(evidence, choices={(GRADIENTS, "seed0"): (found["seed0"],)})
    assert gradients(evidence) == "fail"


def test_what_an_unstable_formula_decides_is_no_choice_of_rounding() -> None:
    """By its own formula the port is excused; by how far rounding takes the original's values it is not."""
    original, port, case = program(), program(UNSTABLE), beside_an_edge(0.02)
    evidence, twin = evidence_of(original, port, case)
    assert undecided(held_leaves(evidence)) == {(GRADIENTS, "seed0")}
    verdicts = {}
    for name, edges in (("its own", ANYWHERE), ("the original's", allowed(original, twin, GRADIENTS, ["seed0"], UNIT))):
        found = explain_by_choices(twin, port, GRADIENTS, ["seed0"], UNIT, edges=edges)
        verdicts[name] = gradients(replace(evidence, choices={(GRADIENTS, "seed0"): (found["seed0"],)}))
    assert verdicts == {"its own": "pass", "the original's": "fail"}


def test_where_the_original_decides_by_nothing_half_of_the_digits_have_to_be_right() -> None:
    twin = Twin("", False, {}, {"seed0": beside_an_edge()}, {})
    assert allowed(None, twin, GRADIENTS, ["seed0"], UNIT) == Edges({}, UNIT**0.5)
    told = allowed(program(), twin, GRADIENTS, ["seed0"], UNIT)
    assert told.by_size == {ROWS: [told.elsewhere]} and UNIT < told.elsewhere < 1e-4


def test_a_training_run_is_allowed_what_rounding_does_to_any_of_its_steps() -> None:
    case = beside_an_edge()
    twin = Twin("", False, {}, {"seed0": {"x": case["x"]}}, {"w": case["w"]}, {"x": np.stack([case["x"], case["x"]])})
    told = allowed(stepping(), twin, STEP, ["trajectory"], UNIT, (1, 2))
    assert told.by_size == {ROWS: [told.elsewhere]} and UNIT < told.elsewhere < 1e-4


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(1, 2)), min_size=1), st.lists(st.floats(0, 1), min_size=1))
def test_no_value_may_lie_farther_than_it_reaches_or_than_it_is_allowed(
    values: list[tuple[float, int]], told: list[float]
) -> None:
    reached, tensors = [reach for reach, _ in values], [np.full(size, 2.0) for _, size in values]
    edges = Edges({1: sorted(told, reverse=True)}, 0.5)
    most = within(reached, tensors, edges)
    assert all(one <= reach for one, reach in zip(most, reached, strict=True))
    assert all(one <= 2.0 * (max(told) if len(tensor) == 1 else 0.5) for one, tensor in zip(most, tensors, strict=True))
    assert within(reached, tensors, ANYWHERE) == reached


def test_the_farthest_of_one_size_is_allowed_the_farthest() -> None:
    tensors, edges = [np.ones(3), np.ones(4), np.ones(3)], Edges({3: [0.3, 0.1], 4: [0.2]}, 0.3)
    assert within([0.2, 0.9, 0.4], tensors, edges) == [0.1, 0.2, 0.3]
    # As many as there are: which of them is which is not known.
    assert within([0.2, 0.9], tensors[:2], edges) == [0.2, 0.2]


def test_an_error_beside_the_choices_is_a_failure() -> None:
    port = program()
    evidence, twin = evidence_of(port, port, beside_an_edge())
    evidence = explained(evidence, twin, port)
    wrong = {"w": evidence.outputs["jax/jit", GRADIENTS, "seed0"]["w"] * np.float32(1 + 1e-4)}
    outputs = {**evidence.outputs, ("jax/jit", GRADIENTS, "seed0"): wrong}
    assert gradients(replace(evidence, outputs=outputs)) == "fail"


def test_leaves_stand_or_fall_together() -> None:
    """Choices that explain one leaf and not another explain neither."""
    exact, decided = {"a": np.ones(4), "b": np.ones(4)}, {"a": np.full(4, 2.0), "b": np.ones(4)}
    found = {"a": np.full(4, 2.0, np.float32), "b": np.full(4, 1.5, np.float32)}
    rounded = {leaf: array.astype(np.float32) for leaf, array in exact.items()}
    evidence = Evidence(
        workload="port",
        outputs={("tf/eager", GRADIENTS, "seed0"): rounded, ("jax/jit", GRADIENTS, "seed0"): found},
        doubles={("tf", GRADIENTS, "seed0"): exact, ("jax", GRADIENTS, "seed0"): exact},
        choices={(GRADIENTS, "seed0"): (Choices(decided, exact, 1, 4),)},
    )
    held = {each.place.leaf: each.verdict for each in held_leaves(evidence)["gradients"] if each.dtype == "float32"}
    assert held == {"a": "fail", "b": "fail"}


def test_a_mode_that_fuses_nothing_is_told_apart() -> None:
    port = program()
    evidence, twin = evidence_of(port, port, beside_an_edge())
    eager = {("jax/eager", *key[1:]): run for key, run in evidence.outputs.items() if key[0] == "jax/jit"}
    exact = {("jax/jit", GRADIENTS, "seed0"): evidence.outputs["tf/jit", GRADIENTS, "seed0"]}
    held = held_leaves(replace(evidence, outputs={**evidence.outputs, **eager, **exact}))
    assert undecided(held, fused=False) == {(GRADIENTS, "seed0")} and not undecided(held, fused=True)
    found = explain_by_choices(twin, port, GRADIENTS, ["seed0"], UNIT, options=FUSED[False])
    assert found["seed0"].turned > 0


def stepping() -> Program:
    """A step of gradient descent by the program above."""
    text = f"""
func.func @main(%x: {X}, %w: {W}) -> (tensor<f32>, {W}) {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.constant dense<0.0> : {SUMS}
  %ones = stablehlo.constant dense<1.0> : {SUMS}
  %rate = stablehlo.constant dense<1.0> : {W}
  %sum = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : ({X}, {W}) -> {SUMS}
  {EDGE}
  %passed = stablehlo.select %open, %ones, %zeros : {FLAGS}, {SUMS}
  %kept = stablehlo.maximum %sum, %zeros : {SUMS}
  %loss = stablehlo.reduce(%kept init: %zero) applies stablehlo.add across dimensions = [0]
    : ({SUMS}, tensor<f32>) -> tensor<f32>
  %y = stablehlo.dot_general %passed, %x, contracting_dims = [0] x [0] : ({SUMS}, {X}) -> {W}
  %by = stablehlo.multiply %rate, %y : {W}
  %new = stablehlo.subtract %w, %by : {W}
  return %loss, %new : tensor<f32>, {W}
}}"""
    inputs = Parameter("input", "x", (ROWS, TERMS), "float32"), Parameter("weight", "w", (TERMS,), "float32")
    return Program(
        bindings.artifact(text), inputs, (Result("loss", (), "float32"), Result("weights/w", (TERMS,), "float32"))
    )


def test_a_training_run_is_followed_step_by_step() -> None:
    port, case = stepping(), beside_an_edge()
    twin = Twin("", False, {}, {"seed0": {"x": case["x"]}}, {"w": case["w"]}, {"x": np.stack([case["x"], case["x"]])})
    found = explain_by_choices(twin, port, STEP, ["trajectory"], UNIT, (1, 2))["trajectory"]
    narrow = running(port, twin).executable([case["x"], case["w"]])[1]
    assert found.turned > 0 and found.all == 2 * ROWS
    assert set(found.decided) == {"loss", "weights@1/w", "weights@2/w"}
    assert np.abs(narrow - found.own["weights@1/w"]).max() > 0.01
    assert np.abs(narrow - found.decided["weights@1/w"]).max() < 1e-4


def swept(original: Program, port: Program, case: Arrays) -> tuple[Values, bool]:
    """A call of a sweep: what it gives, and whether it holds but for its choices."""
    twin = Twin("", False, {}, {"seed0": case}, {})
    run = running(port, twin)
    (exact,), (found,) = running(promoted(original), twin)([case]), run([case])
    values = Values(found, {leaf: array.astype(np.float32) for leaf, array in exact.items()}, exact)
    return values, holds_but_for_choices(run, original, values, case, GRADIENTS, ROUNDING, {})


def test_a_swept_call_holds_but_for_its_choices() -> None:
    values, holds = swept(program(), program(), beside_an_edge())
    assert worst(by_leaf(values, ROUNDING).values()).status == BREAKS
    assert holds


@pytest.mark.parametrize("shift", [1e-4, -1e-4])
def test_a_swept_call_with_an_edge_elsewhere_does_not_hold(shift: float) -> None:
    _, holds = swept(program(), program(shift=shift), beside_an_edge())
    assert not holds


def test_a_swept_call_that_an_unstable_formula_decides_does_not_hold() -> None:
    values, holds = swept(program(), program(UNSTABLE), beside_an_edge(0.02))
    assert worst(by_leaf(values, ROUNDING).values()).status == BREAKS
    assert not holds


def test_a_swept_call_holds_where_the_original_is_as_unstable() -> None:
    _, holds = swept(program(UNSTABLE), program(UNSTABLE), beside_an_edge(0.02))
    assert holds


def test_a_swept_call_that_is_off_beside_its_choices_does_not_hold() -> None:
    case = beside_an_edge()
    run = running(program(), Twin("", False, {}, {"seed0": case}, {}))
    values, _ = swept(program(), program(), case)
    off = {"w": values.found["w"] + np.float32(0.01) * np.abs(values.exact["w"]).max()}
    assert not holds_but_for_choices(run, run.program, replace(values, found=off), case, GRADIENTS, ROUNDING, {})
