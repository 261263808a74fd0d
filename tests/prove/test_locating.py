"""Locating names the operation whose value departs while all that it reads agrees."""

from __future__ import annotations

import numpy as np
import pytest
from departing import ADD, MAX, cases, constant, found, only, program

from compare.hlo import bindings
from compare.hlo.levels import Subject
from compare.hlo.locate import SINGLE, Findings, locate

pytestmark = pytest.mark.usefixtures("programs_here")


class TestAgreement:
    def test_a_program_agrees_with_itself(self) -> None:
        assert found("r = f64[8] add(x, y)", "r = f64[8] add(x, y)") == Findings((), ())

    def test_another_formula_for_the_same_value_agrees(self) -> None:
        left = "s = f64[8] add(x, y)\nr = f64[8] multiply(s, s)"
        right = """a = f64[8] multiply(x, x)
            b = f64[8] multiply(x, y)
            c = f64[8] add(b, b)
            d = f64[8] multiply(y, y)
            e = f64[8] add(a, c)
            r = f64[8] add(e, d)"""
        assert not found(left, right).departures

    def test_constants_rounded_to_float32_on_one_side_agree(self) -> None:
        left = constant(0.1) + "r = f64[8] multiply(x, c)"
        right = constant(float(np.float32(0.1))) + "r = f64[8] multiply(x, c)"
        assert not found(left, right).departures

    def test_a_constant_off_by_more_than_rounding_departs(self) -> None:
        left = constant(0.1) + "r = f64[8] multiply(x, c)"
        right = constant(0.10001) + "r = f64[8] multiply(x, c)"
        assert only(found(left, right)).op == "multiply"

    def test_what_only_one_side_returns_departs_from_nothing(self) -> None:
        left = program("tf", "r = f64[8] add(x, y)")
        right = program("jax", "r = f64[8] add(x, y)\nn = f64[8] negate(x)\nt = (f64[8], f64[8]) tuple(r, n)", "",
                        ("out", "another"))  # fmt: skip
        assert not locate(left, right, cases()).departures

    def test_another_shape_of_the_same_numbers_is_another_result(self) -> None:
        findings = found("r = f64[8] add(x, y)", "s = f64[8] add(x, y)\nr = f64[8,1] reshape(s)")
        assert findings.results == ("out",)
        assert only(findings).right is not None


class TestOneDeparture:
    def test_a_changed_operation_is_named_and_not_what_it_leads_to(self) -> None:
        after = "t = f64[8] tanh(s)\nu = f64[8] exponential(t)\nr = f64[8] multiply(u, x)"
        findings = found(f"s = f64[8] add(x, y)\n{after}", f"s = f64[8] subtract(x, y)\n{after}")
        departure = only(findings)
        assert (departure.kind, departure.op, departure.confirmed) == ("changed", "subtract", True)
        assert departure.left is not None
        assert departure.left.op == "add"
        assert min(findings.cascade) >= 3

    def test_a_constant_belongs_to_the_operation_that_reads_it(self) -> None:
        left = constant(0.001) + "s = f64[8] add(x, c)\nr = f64[8] tanh(s)"
        right = constant(0.01) + "s = f64[8] add(x, c)\nr = f64[8] tanh(s)"
        assert only(found(left, right)).difference == "the constant is 0.01, tf has 0.001"

    def test_a_missing_operation_is_named_as_the_left_has_it(self) -> None:
        left = "s = f64[8] multiply(x, y)\nt = f64[8] add(s, y)\nr = f64[8] tanh(t)"
        right = "s = f64[8] multiply(x, y)\nr = f64[8] tanh(s)"
        departure = only(found(left, right))
        assert (departure.kind, departure.op, departure.confirmed) == ("missing", "add", True)
        assert departure.right is not None
        assert departure.right.op == "multiply"

    def test_a_missing_last_operation_is_named(self) -> None:
        departure = only(found("s = f64[8] add(x, y)\nr = f64[8] tanh(s)", "r = f64[8] add(x, y)"))
        assert (departure.kind, departure.op) == ("missing", "tanh")

    def test_an_operation_too_many_is_named(self) -> None:
        left = "r = f64[8] tanh(x)"
        right = constant(3) + "s = f64[8] multiply(x, c)\nr = f64[8] tanh(s)"
        departure = only(found(left, right))
        assert (departure.kind, departure.op, departure.left) == ("extra", "multiply", None)
        assert departure.difference == "jax computes multiply by 3.0 here, tf nothing"

    def test_swapped_operands_are_said_to_be(self) -> None:
        departure = only(found("r = f64[8] divide(x, y)", "r = f64[8] divide(y, x)"))
        assert (departure.difference, departure.cause) == ("its operands are swapped", "operands swapped")

    def test_another_input_is_named(self) -> None:
        departure = only(found("r = f64[8] multiply(x, y)", "r = f64[8] multiply(x, x)"))
        assert departure.difference == "it reads input x where tf reads input y"

    def test_values_of_one_description_are_told_apart_by_what_they_are_computed_from(self) -> None:
        both = (
            constant(8)
            + """a = f64[8] exponential(x)
            b = f64[8] exponential(y)
            d = f64[8] divide(a, c)
            e = f64[8] divide(b, c)
            p = f64[8] multiply(d, e)
            t = f64[8] tanh(READ)
            r = f64[8] add(t, p)"""
        )
        departure = only(found(both.replace("READ", "d"), both.replace("READ", "e")))
        of_x, of_y = (f"the divide by 8.0 of the exponential of input {name}" for name in "xy")
        assert departure.difference == f"it reads {of_y} where tf reads {of_x}"

    def test_values_that_look_alike_far_back_are_told_apart_by_their_lines(self) -> None:
        def side(read: str) -> str:
            chains = [
                "\n".join(
                    f"{name}{at + 1} = f64[8] tanh({name}{at or ''}), "
                    f'metadata={{source_file="/home/me/model.py" source_line={line}}}'
                    for at in range(6)
                ).replace(f"({name})", f"({value})")
                for name, value, line in (("a", "x", 3), ("b", "y", 4))
            ]
            return "\n".join(
                [*chains, "p = f64[8] multiply(a6, b6)", f"t = f64[8] sine({read})", "r = f64[8] add(t, p)"]
            )

        departure = only(found(side("a6"), side("b6")))
        assert departure.difference == "it reads the tanh (model.py:4) where tf reads the tanh (model.py:3)"

    def test_constants_of_many_numbers_are_weights_that_differ_at_an_index(self) -> None:
        numbers = [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5]

        def side(third: float) -> str:
            listed = ", ".join(str(third if at == 2 else each) for at, each in enumerate(numbers))
            return f"w = f64[8] constant({{{listed}}})\nr = f64[8] multiply(x, w)"

        departure = only(found(side(2.5), side(9.5)))
        assert departure.difference == "this constant float64[8] differs from tf's in 1 of 8 elements: " \
            "at [2] it is 9.5 against 2.5"  # fmt: skip
        assert departure.cause == "weights in the code"

    def test_an_operation_without_a_line_stands_where_what_it_reads_does(self) -> None:
        place = 'metadata={op_name="jit(f)/encoder/layer_1/tanh" source_file="/home/me/model.py" source_line=7}'
        left = f"a = f64[8] tanh(x), {place}\nr = f64[8] add(a, y)"
        departure = only(found(left, left.replace("add(a", "subtract(a")))
        assert departure.right is not None
        assert departure.right.source == "/home/me/model.py:7"

    def test_the_layers_that_an_operation_stands_in_are_told(self) -> None:
        place = 'metadata={op_name="jit(f)/transpose(jvp(encoder))/layer_1/mul"}'
        departure = only(found(f"r = f64[8] add(x, y), {place}", f"r = f64[8] multiply(x, y), {place}"))
        assert departure.right is not None
        assert departure.right.scope == "encoder/layer_1"

    def test_a_changed_attribute_is_named_with_both_values(self) -> None:
        square = "m = f64[2,4] reshape(x)\nz = f64[] constant(0)\n"
        largest = "\nr = f64[] reduce(s, z), dimensions={0}, to_apply=max_"
        left = square + "s = f64[4] reduce(m, z), dimensions={0}, to_apply=add_" + largest
        right = square + "s = f64[2] reduce(m, z), dimensions={1}, to_apply=add_" + largest
        departure = only(found(left, right, ADD + "\n" + MAX))
        assert departure.difference == "dimensions (1,) where tf has (0,)"

    def test_another_reducer_is_named(self) -> None:
        template = "z = f64[] constant(0)\nr = f64[] reduce(x, z), dimensions={{0}}, to_apply={}"
        departure = only(found(template.format("add_"), template.format("max_"), ADD + "\n" + MAX))
        assert departure.difference == "it applies maximum where tf applies add"

    def test_the_sample_holds_both_values_at_the_first_index_that_differs(self) -> None:
        given = cases()
        findings = locate(program("tf", "r = f64[8] add(x, y)"), program("jax", "r = f64[8] subtract(x, y)"), given)
        sample = only(findings).value
        x, y = given[0].left
        assert sample is not None
        assert (sample.index, sample.left, sample.right) == ((0,), x[0] + y[0], x[0] - y[0])
        assert sample.error == np.max(np.abs(2 * y)) / np.max(np.abs(x + y))

    def test_not_a_number_on_one_side_departs(self) -> None:
        departure = only(found("a = f64[8] abs(x)\nr = f64[8] sqrt(a)", "r = f64[8] sqrt(x)"))
        assert departure.confirmed

    def test_what_departs_at_an_edge_alone_is_known_as_that(self) -> None:
        z = constant(0, "z")
        left = z + "m = pred[8] compare(x, z), direction=GT\nr = f64[8] select(m, y, z)"
        right = z + "m = pred[8] compare(x, z), direction=GE\nr = f64[8] select(m, y, z)"
        departure = only(found(left, right))
        assert (departure.op, departure.cause) == ("compare", "value at an edge")

    def test_a_result_that_is_a_constant_is_unconfirmed_and_named_by_what_it_lacks(self) -> None:
        departure = only(found("r = f64[8] multiply(x, y)", constant(0) + "r = f64[8] copy(c)"))
        assert (departure.kind, departure.op, departure.confirmed) == ("missing", "multiply", False)


class TestSeveral:
    def test_two_errors_behind_each_other_are_both_named(self) -> None:
        left = constant(2) + "s = f64[8] multiply(x, c)\nt = f64[8] tanh(s)\nr = f64[8] add(t, y)"
        right = constant(3) + "s = f64[8] multiply(x, c)\nt = f64[8] tanh(s)\nr = f64[8] subtract(t, y)"
        findings = found(left, right)
        assert [each.op for each in findings.departures] == ["multiply", "subtract"]
        assert all(each.confirmed for each in findings.departures)

    def test_one_formula_for_another_is_one_error_and_not_as_many_as_it_has_operations(self) -> None:
        left = constant(0.5) + "h = f64[8] multiply(x, c)\nt = f64[8] tanh(h)\nr = f64[8] add(t, y)"
        right = "h = f64[8] multiply(x, x)\ns = f64[8] sine(h)\nt = f64[8] negate(s)\nr = f64[8] add(t, y)"
        departure = only(found(left, right))
        assert (departure.op, departure.confirmed) == ("multiply", True)

    def test_errors_on_the_way_to_two_results_are_both_named_and_confirmed(self) -> None:
        ending = "t = (f64[8], f64[8]) tuple(s, u)"
        left = f"s = f64[8] add(x, y)\nu = f64[8] tanh(x)\n{ending}"
        right = f"s = f64[8] subtract(x, y)\nu = f64[8] sine(x)\n{ending}"
        findings = found(left, right, results=("one", "two"))
        assert {each.op for each in findings.departures} == {"subtract", "sine"}
        assert all(each.confirmed for each in findings.departures)

    def test_one_error_for_two_results_on_one_line_is_named_once(self) -> None:
        template = "s = f64[8] multiply(x, c)\nu = f64[8] multiply(y, c)\nt = (f64[8], f64[8]) tuple(s, u)"
        departure = only(found(constant(2) + template, constant(3) + template, results=("one", "two")))
        assert departure.times == 2

    def test_an_honest_formula_beside_an_error_is_not_blamed(self) -> None:
        left = "s = f64[8] add(x, y)\nq = f64[8] multiply(s, s)\nt = f64[8] tanh(x)\nr = f64[8] add(q, t)"
        right = """a = f64[8] multiply(x, x)
            b = f64[8] multiply(x, y)
            c = f64[8] add(b, b)
            d = f64[8] multiply(y, y)
            e = f64[8] add(a, c)
            t = f64[8] sine(x)
            f = f64[8] add(d, t)
            r = f64[8] add(e, f)"""
        departure = only(found(left, right))
        assert (departure.op, departure.confirmed) == ("sine", True)


LOOP = """
body { s = (s64[], f64[8]) parameter(0)
  i = s64[] get-tuple-element(s), index=0
  v = f64[8] get-tuple-element(s), index=1
  one = s64[] constant(1)
  next = s64[] add(i, one)
  w = f64[8] OPERATION(v)
  ROOT r = (s64[], f64[8]) tuple(next, w) }
condition { s = (s64[], f64[8]) parameter(0)
  i = s64[] get-tuple-element(s), index=0
  last = s64[] constant(TURNS)
  ROOT r = pred[] compare(i, last), direction=LT }
"""
IN_LOOP = """i = s64[] constant(0)
    s = (s64[], f64[8]) tuple(i, x)
    w = (s64[], f64[8]) while(s), condition=condition, body=body
    r = f64[8] get-tuple-element(w), index=1"""
BRANCHES = """
yes { v = f64[8] parameter(0)
  ROOT r = f64[8] OPERATION(v) }
no { v = f64[8] parameter(0)
  ROOT r = f64[8] negate(v) }
"""
IN_BRANCH = """z = s64[] constant(0)
    f = f64[1] slice(x), slice={[0:1]}
    n = f64[] reshape(f)
    c0 = f64[] constant(0)
    p = pred[] compare(n, c0), direction=LT
    r = f64[8] conditional(p, x, x), true_computation=yes, false_computation=no"""


def loop(operation: str, turns: int) -> Subject:
    regions = LOOP.replace("OPERATION", operation).replace("TURNS", str(turns))
    return program("tf", IN_LOOP, regions)


class TestRegions:
    def test_a_loop_is_entered(self) -> None:
        departure = only(locate(loop("sine", 3), loop("cosine", 3), cases()))
        assert (departure.op, departure.inside) == ("cosine", ("body of the while",))

    def test_a_loop_that_turns_once_more_is_told_by_its_condition(self) -> None:
        departure = only(locate(loop("sine", 3), loop("sine", 4), cases()))
        assert (departure.op, departure.inside) == ("compare", ("condition of the while",))
        assert (departure.difference, departure.cause) == ("the constant is 4.0, tf has 3.0", "number of iterations")

    def test_equal_loops_agree(self) -> None:
        assert not locate(loop("sine", 3), loop("sine", 3), cases()).departures

    @pytest.mark.parametrize(("right", "ops"), [("sine", []), ("cosine", ["cosine"])])
    def test_a_branch_is_entered(self, right: str, ops: list[str]) -> None:
        sides = [program("tf", IN_BRANCH, BRANCHES.replace("OPERATION", each)) for each in ("sine", right)]
        departures = locate(sides[0], sides[1], cases()).departures
        assert [each.op for each in departures] == ops
        assert all(each.inside == ("branch of the conditional",) for each in departures)


class TestFloat32:
    def test_a_cast_to_bfloat16_departs_and_float32_arithmetic_does_not(self) -> None:
        def single(label: str, body: str) -> Subject:
            text = f"HloModule m\nENTRY e {{ x = f32[8] parameter(0)\ny = f32[8] parameter(1)\n{body} }}"
            return Subject(label, bindings.hlo_from_text(text), ("input x", "input y"), ("out",))

        left = single("tf", "s = f32[8] add(x, y)\nROOT r = f32[8] tanh(s)")
        cast = single(
            "jax", "s = f32[8] add(x, y)\nb = bf16[8] convert(s)\nc = f32[8] convert(b)\nROOT r = f32[8] tanh(c)"
        )
        other = single(
            "jax", "s = f32[8] subtract(x, y)\nt = f32[8] add(s, y)\nu = f32[8] add(t, y)\nROOT r = f32[8] tanh(u)"
        )
        departure = only(locate(left, cast, cases("float32"), SINGLE))
        assert (departure.op, departure.cause) == ("convert", "narrow type")
        assert not locate(left, other, cases("float32"), SINGLE).departures
