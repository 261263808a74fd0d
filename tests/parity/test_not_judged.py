"""Evidence that is missing is neither a pass nor a failure: the verdict says why, and nothing makes a pass of it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from numpy_model import HONEST, Side, gathered

from compare.parity import Evidence, judge, with_sizes, with_sweep
from compare.parity.breaks import Swept
from compare.plain_json import to_json
from compare.record.parity_part import AtSize, Gate, Parity
from compare.record.vocabulary import FAIL, NOT_APPLICABLE, NOT_JUDGED, PASS, compose
from compare.record.workload_part import Failure
from compare.sides._side import Missing, NoDevice, NotRecorded, SideError, Unavailable
from compare.sides.workers import failure_of

WORDS = (PASS, FAIL, NOT_APPLICABLE, NOT_JUDGED, None)
REASON = "XLA has to know input 1 of TensorFlow's Tile when it compiles"


def without(runs: Mapping[Any, Any], *words: str) -> dict[Any, Any]:
    """The runs whose key has not all of the words."""
    return {key: run for key, run in runs.items() if not set(words) <= set(key)}


def without_reference(evidence: Evidence) -> Evidence:
    """The evidence without TensorFlow's float64 gradients, and why they are missing."""
    failure = Failure("tf", "float64 gradients", REASON, of_pass="gradients")
    other = Failure("tf", "profile", "no profiler", of_pass="forward")
    return replace(evidence, doubles=without(evidence.doubles, "tf", "gradients"), failures=(other, failure))


def test_a_missing_reference_is_not_judged_and_says_the_real_reason() -> None:
    parity = judge(without_reference(HONEST))

    assert {name: gate.verdict for name, gate in parity.gates.items()} == {
        "structure": PASS, "semantics": PASS, "rounding": PASS, "gradients": NOT_JUDGED, "training": PASS,
    }  # fmt: skip
    assert parity.verdict == NOT_JUDGED
    assert parity.gates["gradients"].reason.endswith(f"tf gave no float64 arrays: float64 gradients: {REASON}")


def test_what_is_not_judged_has_no_error_and_no_bound() -> None:
    compared = judge(without_reference(HONEST)).gates["gradients"].comparisons
    unjudged = [comparison for comparison in compared if comparison.verdict == NOT_JUDGED]

    assert unjudged and {(comparison.error, comparison.bound) for comparison in unjudged} == {(None, None)}
    assert "inf" not in str(to_json(unjudged)).replace(REASON, "") and "nan" not in str(to_json(unjudged))


def test_a_failing_gate_beside_one_that_is_not_judged_fails() -> None:
    parity = judge(without_reference(gathered(Side(kernel_factor=1.001))))

    assert parity.gates["gradients"].verdict == NOT_JUDGED
    assert (parity.gates["semantics"].verdict, parity.verdict) == (FAIL, FAIL)


def test_a_wrong_leaf_beside_a_missing_run_fails_its_gate() -> None:
    wrong = gathered(Side(slope_at_zero=1.0))
    missing = replace(
        wrong, doubles={key: run for key, run in wrong.doubles.items() if key != ("tf", "gradients", "seed0")}
    )

    assert judge(missing).gates["gradients"].verdict == FAIL


@pytest.mark.parametrize("mode", ["tf/graph", "tf/jit"])
def test_another_mode_of_the_original_stands_in_for_one_that_cannot_run(mode: str) -> None:
    wrong = gathered(Side(kernel_factor=1.001))
    for evidence, verdict in ((HONEST, PASS), (wrong, FAIL)):
        modes = {key: run for key, run in evidence.outputs.items() if key[0] == mode or key[0].startswith("jax")}
        parity = judge(replace(evidence, outputs=modes))

        assert {row.expected_from for row in parity.gates["structure"].comparisons} == {mode}
        assert parity.verdict == verdict


def test_gradients_that_no_mode_of_the_original_computes_leave_the_other_gates_as_they_are() -> None:
    outputs = {key: run for key, run in HONEST.outputs.items() if key[0].startswith("jax") or key[1] != "gradients"}
    parity = judge(replace(without_reference(HONEST), outputs=outputs))

    assert [name for name, gate in parity.gates.items() if gate.verdict != PASS] == ["gradients"]
    assert parity.gates["gradients"].verdict == NOT_JUDGED


def test_a_port_that_does_not_compute_what_the_original_does_fails() -> None:
    raised = Failure("jax", "outputs jit forward", "TracerBoolConversionError", "jit", "forward")
    parity = judge(replace(HONEST, outputs=without(HONEST.outputs, "jax/jit", "forward"), failures=(raised,)))

    assert (parity.gates["structure"].verdict, parity.verdict) == (FAIL, FAIL)
    assert (
        "jax/jit gave no float32 arrays: outputs jit forward: TracerBool"
        in parity.gates["structure"].comparisons[0].message
    )


@pytest.mark.parametrize(
    "said",
    [
        {"failures": (Failure("jax", "outputs jit forward", "signal 11", "jit", "forward", lost=True),)},
        {"refusals": (Failure("jax", "outputs jit forward", "it was not recorded", "jit", "forward"),)},
    ],
    ids=["a lost worker", "a recorded side without that run"],
)
def test_an_answer_that_nobody_gave_is_no_failure_of_the_port(said: dict[str, Any]) -> None:
    parity = judge(replace(HONEST, outputs=without(HONEST.outputs, "jax/jit", "forward"), **said))

    assert (parity.gates["structure"].verdict, parity.verdict) == (NOT_JUDGED, NOT_JUDGED)


def test_a_sweep_that_did_not_end_is_not_judged() -> None:
    swept = with_sweep(judge(HONEST), "port", Swept(reason="not judged: signal 11", lost=True), ())

    assert (swept.gates["stability"].verdict, swept.verdict) == (NOT_JUDGED, NOT_JUDGED)


def test_a_size_that_is_not_judged_leaves_its_gates_not_judged() -> None:
    at = AtSize({"B": 3}, NOT_JUDGED, REASON)
    parity = with_sizes(judge(HONEST), [(at, judge(without_reference(HONEST)))], varies=True)

    assert (parity.gates["gradients"].verdict, parity.verdict) == (NOT_JUDGED, NOT_JUDGED)
    assert "not judged at B=3" in parity.gates["gradients"].reason


@pytest.mark.parametrize("verdicts", list(itertools.product(WORDS, repeat=3)))
def test_nothing_makes_a_pass_of_what_is_not_judged(verdicts: tuple[str | None, ...]) -> None:
    expected = FAIL if FAIL in verdicts else NOT_JUDGED if {NOT_JUDGED, None} & set(verdicts) else PASS

    assert compose(verdicts) == expected


@pytest.mark.parametrize("verdict", [FAIL, NOT_JUDGED])
def test_a_record_that_passes_beside_such_a_gate_is_refused(verdict: Any) -> None:
    with pytest.raises(ValueError, match="verdict pass beside the gate rounding"):
        Parity(verdict=PASS, gates={"rounding": Gate(verdict)})


@pytest.mark.parametrize(
    ("error", "unanswered"),
    [(NotRecorded, True), (Missing, True), (NoDevice, True), (SideError, False), (Unavailable, False)],
)
def test_a_failure_tells_whether_anybody_answered(error: type[SideError], unanswered: bool) -> None:
    assert failure_of(error("jax", "outputs", REASON)).lost is unanswered
    assert failure_of(SideError("jax", "outputs", REASON, is_lost=True)).lost
