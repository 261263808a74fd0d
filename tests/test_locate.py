"""Locating names the operation whose value departs while all that it reads agrees."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compare import cli
from compare.commands import locate as command
from compare.hlo import bindings
from compare.hlo.causes import CAUSES, Clue, cause_of
from compare.hlo.levels import Subject
from compare.hlo.locate import DOUBLE, SINGLE, Case, Departure, Findings, Precision, locate
from compare.run import locate as run_locate
from compare.run.locate import AGREES, DEPARTS, FAILED, NONE, Located

SIZE = 8
ADD = "add_ { p = f64[] parameter(0) q = f64[] parameter(1) ROOT r = f64[] add(p, q) }"
MAX = "max_ { p = f64[] parameter(0) q = f64[] parameter(1) ROOT r = f64[] maximum(p, q) }"


def program(label: str, body: str, regions: str = "", results: Sequence[str] = ("out",)) -> Subject:
    """A program of x and y, f64[8] each; its last line is its result."""
    *lines, last = [line.strip() for line in body.strip().splitlines()]
    entry = "\n".join([*lines, f"ROOT {last}"])
    text = f"HloModule m\n{regions}\nENTRY e {{ x = f64[{SIZE}] parameter(0)\ny = f64[{SIZE}] parameter(1)\n{entry} }}"
    return Subject(label, bindings.hlo_from_text(text), ("input x", "input y"), tuple(results))


def cases(dtype: str = "float64") -> list[Case]:
    generator = np.random.default_rng(0)
    arrays = [generator.standard_normal(SIZE).astype(dtype) for _ in range(2)]
    edges = [np.resize(values, SIZE).astype(dtype) for values in ([-1.0, 0.0, 1.0], [1.0, 2.0])]
    return [Case(arrays, arrays), Case(edges, edges, smooth=False)]


def found(left: str, right: str, regions: str = "", precision: Precision = DOUBLE, **more: Any) -> Findings:
    return locate(program("tf", left, regions, **more), program("jax", right, regions, **more), cases(), precision)


def only(findings: Findings) -> Departure:
    (departure,) = findings.departures
    return departure


def constant(value: float, name: str = "c") -> str:
    return f"{name}0 = f64[] constant({value})\n{name} = f64[{SIZE}] broadcast({name}0), dimensions={{}}\n"


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
        assert (departure.op, departure.cause) == ("compare", "subgradient at an edge")

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


CLUES = {
    "narrow type": Clue("extra", ("", "convert"), dtypes=("", "bf16")),
    "subgradient at an edge": Clue("changed", ("compare", "compare"), at_edges=True),
    "stop_gradient": Clue("missing", ("dot", ""), cut=True),
    "epsilon": Clue("changed", ("add", "add"), ((1e-3,), (1e-5,))),
    "place of epsilon": Clue("changed", ("add", "sqrt"), ((1e-3,), ())),
    "gelu": Clue("changed", ("multiply", "tanh"), words="gelu/erfc"),
    "biased or unbiased variance": Clue("changed", ("divide", "divide"), ((64.0,), (63.0,))),
    "number of iterations": Clue("changed", ("compare", "compare"), ((5.0,), (6.0,)), results=("goes on",)),
    "base of the logarithm": Clue("extra", ("", "divide"), ((), (float(np.log(2)),))),
    "axis of the softmax": Clue("changed", ("reduce", "reduce"), changed=("dimensions",), words="jit(softmax)"),
    "axis": Clue("changed", ("reduce", "reduce"), changed=("dimensions",)),
    "padding": Clue("changed", ("convolution", "convolution"), changed=("window",),
                    windows=(((3, 2, 0, 1),), ((3, 2, 1, 1),))),
    "window": Clue("changed", ("reduce-window", "reduce-window"), changed=("window",),
                   windows=(((2, 2, 0, 0),), ((2, 1, 0, 0),))),
    "gates of a recurrent cell": Clue("changed", ("slice", "slice"), changed=("slice_dimensions",),
                                      near=frozenset({"logistic"})),
    "axes of a product": Clue("changed", ("dot", "dot"), changed=("dot_dimension_numbers", "batch")),
    "transposed kernel": Clue("changed", ("dot", "dot"), changed=("dot_dimension_numbers",)),
    "layout": Clue("changed", ("convolution", "convolution"), changed=("convolution_dimension_numbers",)),
    "operands swapped": Clue("changed", ("subtract", "subtract"), swapped=True),
    "weights swapped": Clue("changed", ("multiply", "multiply"), slots=(("weight gamma",), ("weight beta",))),
    "slope of leaky relu": Clue("changed", ("maximum", "multiply"), ((0.0,), (0.01,)), near=frozenset({"select"})),
    "optimizer's averages": Clue("changed", ("multiply", "multiply"), ((0.001,), (0.1,)), results=("weight w",)),
    "weight decay": Clue("extra", ("", "multiply"), ((), (0.999,)), slots=((), ("weight w",)), results=("weight w",)),
    "bias correction": Clue("missing", ("divide", ""), near=frozenset({"power"}), results=("weight w",)),
    "power": Clue("extra", ("", "multiply"), words="integer_pow"),
    "learning rate": Clue("changed", ("multiply", "multiply"), ((), (0.01,)), results=("weight w",)),
    "scale by the root of the depth": Clue("missing", ("divide", ""), ((8.0,), ()),
                                           near=frozenset({"dot", "exponential"})),
    "mean or sum": Clue("missing", ("divide", ""), ((4096.0,), ())),
    "another reduction": Clue("changed", ("reduce", "reduce"), changed=("reducer",)),
    "index": Clue("extra", ("", "add"), ((), (1.0,)), dtypes=("", "s32"), near=frozenset({"gather"})),
    "integer division": Clue("changed", ("floor", "divide")),
    "depth of one-hot": Clue("changed", ("compare", "compare"), words="one_hot"),
    "pixel centres of resize": Clue("changed", ("gather", "dot"), words="resizebilinear"),
    "momentum of batch normalization": Clue("changed", ("multiply", "multiply"), slots=(("state moving mean",), ())),
    "bias left out": Clue("missing", ("add", ""), slots=(("weight bias",), ())),
    "weight left out": Clue("missing", ("multiply", ""), slots=(("weight gamma",), ())),
    "residual connection": Clue("missing", ("add", "")),
    "another activation": Clue("changed", ("maximum", "logistic")),
    "another constant": Clue("changed", ("multiply", "multiply"), ((2.0,), (3.0,))),
    "another operand": Clue("changed", ("add", "add")),
    "another operation": Clue("changed", ("add", "subtract")),
}  # fmt: skip


class TestCauses:
    @pytest.mark.parametrize("name", CLUES)
    def test_a_cause_is_recognised_by_its_clue(self, name: str) -> None:
        assert cause_of(CLUES[name]).name == name

    def test_every_cause_has_a_clue_a_name_of_its_own_and_a_remedy(self) -> None:
        assert [cause.name for cause in CAUSES] == list(dict.fromkeys(cause.name for cause in CAUSES))
        assert {cause.name for cause in CAUSES} == set(CLUES)
        assert all(cause.remedy for cause in CAUSES)

    @pytest.mark.parametrize(
        ("name", "changes"),
        [
            ("epsilon", {"constants": ((1e-3,), (1.0,))}),
            ("biased or unbiased variance", {"constants": ((64.0,), (60.0,))}),
            ("base of the logarithm", {"constants": ((), (0.7,))}),
            ("padding", {"windows": (((3, 2, 0, 1),), ((5, 2, 1, 1),))}),
            ("scale by the root of the depth", {"near": frozenset({"dot"})}),
            ("weights swapped", {"slots": (("weight gamma",), ("weight gamma",))}),
            ("index", {"dtypes": ("", "f32")}),
            ("learning rate", {"results": ("output",)}),
        ],
    )
    def test_a_cause_is_not_named_without_what_it_is_known_by(self, name: str, changes: dict[str, Any]) -> None:
        assert cause_of(dataclasses.replace(CLUES[name], **changes)).name != name


class TestCommand:
    @pytest.mark.parametrize(
        ("verdicts", "code"),
        [([AGREES, AGREES], 0), ([AGREES, NONE], 0), ([AGREES, DEPARTS], 1), ([FAILED, AGREES], 1)],
    )
    def test_the_exit_code_says_whether_anything_departs(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verdicts: list[str], code: int
    ) -> None:
        names: list[str] = ["forward", "gradients"]
        passes = {name: Located(verdict) for name, verdict in zip(names, verdicts, strict=True)}
        assert self.asked(monkeypatch, ["add", "--json"], passes) == code
        record = json.loads(capsys.readouterr().out)
        assert record["schema"] == 1
        assert [each["verdict"] for each in record["workloads"]["add"].values()] == verdicts

    def test_only_the_pass_asked_for_is_looked_at(self, monkeypatch: pytest.MonkeyPatch) -> None:
        choices: list[run_locate.Choice] = []
        self.asked(monkeypatch, ["add", "--pass", "gradients", "--size", "smoke"], {}, choices)
        assert choices == [run_locate.Choice(("gradients",), "smoke", None)]

    def test_an_unknown_workload_is_one_line(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setitem(cli.COMMANDS, "locate", command)
        assert cli.main(["locate", "no_such_workload"]) == 2
        assert capsys.readouterr().err.startswith("jaxport: expected the name of a workload")

    def test_what_stands_at_a_line_is_read_where_the_file_is_there(self, tmp_path: Path) -> None:
        (tmp_path / "m.py").write_text("a\n  b = 1\n")
        assert run_locate.text(f"{tmp_path}/m.py:2") == "b = 1"
        assert run_locate.text(f"{tmp_path}/m.py:9") == run_locate.text("/nowhere/m.py:1") == ""

    def asked(
        self,
        monkeypatch: pytest.MonkeyPatch,
        arguments: list[str],
        found: dict[str, Located],
        choices: list[run_locate.Choice] | None = None,
    ) -> int:
        def instead(pool: object, workload: object, choice: run_locate.Choice, *_: object) -> dict[str, Located]:
            (choices if choices is not None else []).append(choice)
            return found

        class NoSides:
            def __init__(self, *_: object) -> None: ...
            def __enter__(self) -> NoSides:
                return self

            def __exit__(self, *_: object) -> None: ...

        monkeypatch.setattr(run_locate, "locate_workload", instead)
        monkeypatch.setattr(command, "Pool", NoSides)
        monkeypatch.setitem(cli.COMMANDS, "locate", command)
        return cli.main(["locate", *arguments])
