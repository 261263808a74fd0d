"""An entry holds only where numbers decided: a naive port that passes, or fails elsewhere, or could not run is told."""

from __future__ import annotations

import dataclasses

import pytest

from compare.gotchas.trying import Attempt, Trial, attempt_of, try_all
from compare.progress import Silent
from compare.record.parity_part import Comparison, Gate, Parity
from compare.record.workload_part import Failure, Workload
from workloads.gotchas import _catalogue
from workloads.gotchas._catalogue import Entry

ENTRIES = {entry.id: entry for entry in _catalogue.entries()}
GELU, RELU = ENTRIES["activations/gelu"], ENTRIES["activations/relu"]
PASSES = Attempt("pass")
FAILS = Attempt("fail", "semantics", "error 2e-4")
RAISED = Attempt(message="ValueError")


@pytest.mark.parametrize(
    ("entry", "naive", "right", "holds"),
    [
        (GELU, FAILS, PASSES, True),
        (GELU, PASSES, PASSES, False),
        (GELU, dataclasses.replace(FAILS, gate="gradients"), PASSES, False),
        (GELU, RAISED, PASSES, False),
        (GELU, FAILS, FAILS, False),
        (GELU, FAILS, RAISED, False),
        (RELU, None, PASSES, True),
        (RELU, None, FAILS, False),
    ],
)
def test_both_ports_have_to_come_out_as_the_entry_says(
    entry: Entry, naive: Attempt | None, right: Attempt, holds: bool
) -> None:
    assert Trial(entry, naive, right).holds is holds


def part(verdict: str, failures: tuple[Failure, ...] = (), **gates: Gate) -> Workload:
    return Workload(parity=Parity(verdict=verdict, gates=gates, bit_equal=("tf/jit",)), failures=failures)


def test_the_first_failing_gate_counts_with_its_first_message() -> None:
    failing = Gate("fail", (Comparison(verdict="pass"), Comparison(verdict="fail", message="0.1 of the largest")))
    gates = {"structure": Gate("pass"), "semantics": failing, "rounding": Gate("fail", reason="nothing")}
    assert attempt_of(part("fail", **gates)) == Attempt("fail", "semantics", "0.1 of the largest", True)


def test_a_side_that_raised_decides_nothing() -> None:
    raised = part("fail", (Failure("tf", "run", "ValueError: no"),), structure=Gate("fail"))
    assert attempt_of(raised) == Attempt(message="ValueError: no")
    assert attempt_of(Workload()).message == "nothing was judged"


@pytest.mark.slow
@pytest.mark.usefixtures("programs_here")
def test_what_an_entry_says_wrongly_is_found() -> None:
    elsewhere = Entry("activations", dataclasses.replace(GELU.gotcha, fails="gradients"))
    no_control = Entry("activations", dataclasses.replace(ENTRIES["activations/gelu_by_tanh"].gotcha, name="missing"))
    trials = try_all([elsewhere, RELU, no_control], Silent(), 120)
    assert [trial.holds for trial in trials] == [False, True, False]
    assert trials[0].naive is not None and trials[0].naive.gate == "semantics"
    assert "missing" in trials[2].right.message
