"""What an ablation says on a machine whose truth is known: credit, blame, and what is not said."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from owned_machines import Machine

from compare.ablation import ablating, leaving_out
from compare.ablation.ablating import AGAIN, FULL, Asked, ablate, with_times
from compare.ablation.compiling import Made, Options
from compare.ablation.leaving_out import DISABLING
from compare.bench.pairs import Measured
from compare.errors import RequestError
from compare.progress import Silent
from compare.record.ablation_part import (
    BIT_EQUAL,
    COMPARED,
    GATES_FAIL,
    GATES_HOLD,
    KEPT,
    LOST,
    NOT_RUN,
    REFUSED,
    SAME_CODE,
    UNJUDGED,
    UNSTEADY,
    AblatedProgram,
    Ablation,
    LeftOut,
)
from compare.report import ablation_page
from compare.sides._side import SideError, Unavailable
from compare.tuning.option_search import PortFails
from workloads.core.spec import Arrays

PASSES = ("algsimp", "fusion", "copy-insertion", "cse", "needed", "stubborn", "renamer", "copies")
RIGHT = np.array([1.0, 2.0], np.float32)


def name_of(options: Options) -> str:
    return str(options.get(DISABLING, next(iter(options), "")))


class Owned:
    """A compiler and a machine that the test owns."""

    def __init__(self, seconds: Mapping[str, float] | None = None, wrong: Mapping[str, float] | None = None) -> None:
        self.machine = Machine(seconds or {})
        self.wrong = wrong or {}
        self.judged: list[str] = []
        self.steady = True
        self.port_fails = ""

    def make(self, options: Options) -> Made:
        name = name_of(options)
        if name == "needed":
            raise SideError("jax", "compile", "the worker ended by signal SIGABRT", is_lost=True)
        if name == "xla_unknown":
            raise Unavailable("jax", "compile", "No such compile option: 'xla_unknown'")
        passes = tuple(each for each in PASSES if each != name or each == "stubborn")
        values = RIGHT + np.float32(self.wrong.get(name, 0.0)) + np.float32(0 if self.steady else len(self.judged))
        if not self.steady:
            self.judged.append(name)
        figures = AblatedProgram(kernels_run=9 if name == "fusion" else 3, kernels=3, bytes=64.0, temp_bytes=8)
        digest = "full" if name in ("", "cse") else name
        code = "full" if name in ("", "renamer", "copies") else name
        return Made(digest, code, passes, figures, {"seed0": {"y": values}})

    def race(self, candidates: Mapping[str, Options], number: int) -> Measured[str]:
        return self.machine(list(candidates), number)

    def first_failure(self, options: Options) -> str:
        if self.port_fails:
            raise PortFails(self.port_fails)
        self.judged.append(name_of(options))
        return "rounding gate: y is 0.5 off" if self.wrong.get(name_of(options), 0) > 0.1 else ""


def ablated(bench: Owned, *passes: str, sets: int = 6, has_gates: bool = True) -> Ablation:
    omissions = tuple(leaving_out.without([name]) for name in passes) if passes else None
    return ablate(bench, Asked(omissions, sets, has_gates), Silent())


def row(ablation: Ablation, name: str) -> LeftOut:
    return next(each for each in ablation.rows if each.name == name)


def test_a_pass_is_worth_what_the_program_takes_longer_without_it() -> None:
    found = row(ablated(Owned({"fusion": 2.0, "algsimp": 1.0}), "fusion", "algsimp"), "fusion")
    assert found.outcome == COMPARED and found.time is not None and found.made is not None
    assert found.time.ratio == pytest.approx(2.0, rel=0.02)
    low, high = found.time.ci95 or (None, None)
    assert low is not None and high is not None and low < 2.0 < high
    assert (found.time.verdict, found.made.kernels_run) == ("slower", 9)
    assert found.made.seconds == pytest.approx(2.0, rel=0.4)  # a set's level is its own


def test_one_without_which_it_is_faster_is_said_to_be_in_the_way() -> None:
    ablation = ablated(Owned({"fusion": 0.5}), "fusion", "algsimp")
    said = list(ablation_page.sentences(ablation))
    assert [each for each in said if each.startswith("In the way: fusion (0.5")]
    assert row(ablation, "algsimp").time is not None
    assert [each for each in said if each.startswith("Worth having")] == []


@pytest.mark.parametrize("name", ["cse", "renamer"])
def test_a_pass_that_does_nothing_gets_no_credit_however_fast_the_machine_says_it_is(name: str) -> None:
    bench = Owned({name: 5.0})
    found = row(ablated(bench, name, "fusion"), name)
    assert (found.outcome, found.time, found.made) == (SAME_CODE, None, None)
    assert all(name not in names for _, names in bench.machine.raced)
    assert name not in " ".join(ablation_page.sentences(ablated(bench, name, "fusion")))


def test_the_same_code_that_gives_other_results_is_not_passed_over() -> None:
    found = row(ablated(Owned(wrong={"copies": 0.5}), "copies"), "copies")
    assert (found.outcome, found.results) == (COMPARED, GATES_FAIL)


def test_a_pass_without_which_results_are_wrong_is_named_with_the_gate() -> None:
    bench = Owned(wrong={"copy-insertion": 0.5, "algsimp": 1e-6})
    ablation = ablated(bench, "copy-insertion", "algsimp", "fusion")
    wrong, other, same = (row(ablation, name) for name in ("copy-insertion", "algsimp", "fusion"))
    assert (wrong.results, wrong.gate) == (GATES_FAIL, "rounding gate: y is 0.5 off")
    assert wrong.difference == pytest.approx(0.25)
    assert (other.results, same.results, same.difference) == (GATES_HOLD, BIT_EQUAL, 0.0)
    assert bench.judged == ["copy-insertion", "algsimp"]
    said = list(ablation_page.sentences(ablation))
    assert "Without copy-insertion results are not the program's: rounding gate: y is 0.5 off" in said
    assert [row[6].tone for row in ablation_page.rows(ablation) if row[0].text == "copy-insertion"] == ["fail"]


def test_without_gates_other_bits_are_said_and_not_judged() -> None:
    found = row(ablated(Owned(wrong={"fusion": 0.5}), "fusion", has_gates=False), "fusion")
    assert (found.results, found.gate) == (UNJUDGED, "")


def test_a_port_that_fails_by_itself_says_so_once() -> None:
    bench = Owned(wrong={"fusion": 0.5})
    bench.port_fails = "semantics gate: y is 7 off"
    ablation = ablated(bench, "fusion")
    assert (ablation.reason, row(ablation, "fusion").results) == ("semantics gate: y is 7 off", UNJUDGED)
    assert next(ablation_page.sentences(ablation)).startswith("The port itself fails parity")


def test_results_that_no_two_runs_agree_on_blame_no_pass() -> None:
    bench = Owned()
    bench.steady = False
    assert row(ablated(bench, "fusion", has_gates=False), "fusion").results == UNSTEADY


def test_what_xla_cannot_do_without_costs_its_own_row() -> None:
    bench = Owned({"fusion": 2.0})
    omissions = [leaving_out.without([name]) for name in ("needed", "fusion")]
    unknown = leaving_out.Omission("xla_unknown=true", {"xla_unknown": True})
    ablation = ablate(bench, Asked([*omissions, unknown], 6), Silent())
    assert [each.outcome for each in ablation.rows] == [LOST, COMPARED, REFUSED]
    assert row(ablation, "needed").reason == "the worker ended by signal SIGABRT"
    said = dict(ablation_page.others(ablation))
    assert said["Without it XLA ends its process"] == "needed: the worker ended by signal SIGABRT"
    assert "No such compile option" in said["XLA refuses the program then"]


def test_a_name_that_no_pass_has_is_said_with_the_nearest_that_ran() -> None:
    bench = Owned()
    ablation = ablated(bench, "fusoin", "stubborn")
    misspelt, stubborn = ablation.rows
    assert (misspelt.outcome, stubborn.outcome) == (NOT_RUN, KEPT)
    assert misspelt.reason == "no pass of that name changed this program; did you mean fusion?"
    assert stubborn.reason == "XLA ignores the option and still runs stubborn" and bench.machine.raced == []


def test_everything_is_each_pass_of_the_log_and_each_feature() -> None:
    found = leaving_out.everything(("algsimp", "adding_special-case_copies", "fusion"))
    names = [omission.name for omission in found]
    assert names[:3] == ["algsimp", "fusion", leaving_out.FEATURES[0].name]
    assert len(set(names)) == len(names) == 2 + len(leaving_out.FEATURES)


def test_several_passes_are_left_out_together() -> None:
    (together, alone) = leaving_out.parse(["cse+dce", "fusion", "fusion"])
    assert together.options == {DISABLING: "cse,dce"}
    assert (together.name, alone.passes) == ("cse and dce", ("fusion",))
    with pytest.raises(RequestError, match="expected --without PASS"):
        leaving_out.parse(["cse+"])


def measured(seconds: Mapping[str, float]) -> list[Measured[str]]:
    machine = Machine(seconds)
    return [machine([FULL, AGAIN, "fusion"], number) for number in range(6)]


def compared() -> Ablation:
    return Ablation(full=AblatedProgram(), rows=(LeftOut("fusion", outcome=COMPARED, made=AblatedProgram()),))


def test_no_ratio_is_stated_where_a_second_copy_of_the_code_is_slower() -> None:
    ablation = with_times(compared(), measured({"fusion": 2.0, AGAIN: 1.2}))
    (found,) = ablation.rows
    assert found.time is not None and found.time.ratio is None
    assert "A/A check failed: full pipeline against a second copy of itself" in found.time.withheld
    assert [each for each in ablation_page.sentences(ablation) if each.startswith("No ratio can be stated: A/A")]


def test_one_that_is_as_fast_is_not_called_worth_having() -> None:
    (found,) = with_times(compared(), measured({"fusion": 1.0})).rows
    assert found.time is not None and found.time.verdict in ("equivalent", "inconclusive")


def test_one_that_could_not_be_timed_says_why() -> None:
    taken = [Measured({FULL: (1.0,) * 5, AGAIN: (1.0,) * 5}, {"fusion": "out of memory"}) for _ in range(6)]
    (found,) = with_times(compared(), taken).rows
    assert (found.untimed, found.time and found.time.ratio) == ("out of memory", None)
    assert ablation_page.rows(with_times(compared(), taken))[1][1].text == "out of memory"


def test_equal_is_to_the_last_bit() -> None:
    expected: dict[str, Arrays] = {"seed0": {"y": np.array([0.0, np.nan], np.float32)}}
    minus: dict[str, Arrays] = {"seed0": {"y": np.array([-0.0, np.nan], np.float32)}}
    wider: dict[str, Arrays] = {"seed0": {"y": np.array([0.0, np.nan])}}
    assert ablating.identical(expected, expected)
    assert not ablating.identical(minus, expected)
    assert not ablating.identical(wider, expected)
    assert not ablating.identical({}, expected)
    assert ablating.difference({"seed0": {}}, expected) == float("inf")
    assert ablating.difference({"seed0": {"y": np.array([3.0, np.nan], np.float32)}}, expected) == 3.0


def test_a_bench_is_what_the_protocol_says() -> None:
    bench: ablating.Bench = Owned()
    assert bench.make({}).digest == "full"
