"""What is declared, derived or missing is accounted for, and fails where it does not hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from numpy_model import HONEST, ON_ARRAYS, Leaves, Side, gathered, verdicts

from compare.parity import Evidence, OracleSource, explicable, held_leaves, judge
from compare.plain_json import to_json
from compare.record.vocabulary import FAIL, NOT_APPLICABLE, NOT_JUDGED, PASS
from compare.record.workload_part import Failure
from workloads.core.spec import Deviation

REASON = "the port adds 1e-4 to epsilon"


def failed(evidence: Evidence) -> set[str]:
    return {name for name, verdict in verdicts(evidence).items() if verdict == FAIL}


def kept(runs: Mapping, *dropped: str) -> dict:
    """The runs whose key starts with none of the dropped words."""
    return {key: run for key, run in runs.items() if not any(part.startswith(dropped) for part in key)}


def declaring(evidence: Evidence, *deviations: tuple[str, float]) -> Evidence:
    return replace(evidence, deviations=tuple(Deviation(gate, bound, REASON) for gate, bound in deviations))


def promoted(spread: float, shift: float) -> Evidence:
    """A port whose float64 output is off by `shift`, with an oracle whose constants explain `spread`."""
    run: Leaves = dict(HONEST.doubles["jax", "forward", "seed0"])
    run["output"] = run["output"] * (1 + shift)
    return replace(
        HONEST,
        doubles={**HONEST.doubles, ("jax", "forward", "seed0"): run},
        oracle={**HONEST.oracle, ("tf", "forward"): OracleSource("promoted", "built from a SavedModel")},
        allowance={("forward", "seed0", "output", 0): spread},
    )


def test_a_declared_deviation_passes_and_is_listed() -> None:
    port = gathered(Side(epsilon=1.001e-3))
    evidence = declaring(port, ("semantics", 1e-6), ("gradients", 1e-5), ("training", 1e-3))
    parity = judge(evidence)
    assert parity.verdict == PASS
    listed = {entry.gate: entry for entry in parity.deviations if entry.kind == "declared"}
    assert listed["semantics"].reason == REASON
    assert listed["semantics"].bound == 1e-6
    assert 1e-8 < listed["semantics"].observed < 1e-6
    raised = [c for c in parity.gates["semantics"].comparisons if c.leaf == "hidden"]
    assert all(f"declared deviation up to 1e-06: {REASON}" in comparison.message for comparison in raised)


def test_a_declared_deviation_excuses_no_more_than_its_bound() -> None:
    evidence = declaring(gathered(Side(epsilon=1.001e-3)), ("semantics", 1e-9), ("gradients", 1e-5), ("training", 1e-3))
    assert failed(evidence) == {"semantics"}


@pytest.mark.parametrize("gate", ON_ARRAYS)
def test_a_deviation_that_no_longer_occurs_fails(gate: str) -> None:
    evidence = declaring(HONEST, (gate, 1e-2))
    assert failed(evidence) == {gate}
    reason = judge(evidence).gates[gate].reason
    assert f"my_port: {gate} gate: the declared deviation ({REASON}; bound 0.01) no longer occurs" in reason
    assert reason.endswith("remove it")


def test_a_deviation_covers_no_missing_leaf() -> None:
    run = {n: a for n, a in HONEST.outputs["jax/jit", "forward", "seed0"].items() if n != "output"}
    evidence = replace(HONEST, outputs={**HONEST.outputs, ("jax/jit", "forward", "seed0"): run})
    assert "structure" in failed(declaring(evidence, ("structure", 1e300)))


def test_a_deviation_of_an_unknown_gate_is_refused() -> None:
    with pytest.raises(ValueError, match=r"expected a deviation's gate to be one of structure.*found 'speed'"):
        declaring(HONEST, ("speed", 1e-3))


def test_rounded_constants_excuse_what_they_explain_and_are_listed() -> None:
    parity = judge(promoted(spread=1e-8, shift=2e-8))
    assert parity.verdict == PASS
    (entry,) = [entry for entry in parity.deviations if entry.gate == "semantics"]
    assert (entry.kind, entry.pass_, entry.leaf) == ("derived", "forward", "output")
    assert entry.observed == pytest.approx(2e-8)
    assert entry.bound == pytest.approx(4e-8, rel=1e-3)
    assert "constants rounded to float32" in entry.reason
    assert "tf promoted (built from a SavedModel)" in entry.reason
    (widened,) = [c for c in parity.gates["semantics"].comparisons if c.case == "seed0" and c.leaf == "output"]
    assert "bound 4e-08; widened by 4e-08, which constants rounded to float32 explain" in widened.message


@pytest.mark.parametrize(("spread", "shift"), [(0.0, 2e-8), (1e-8, 5e-8), (np.inf, 2e-8), (np.nan, 2e-8)])
def test_rounded_constants_excuse_nothing_else(spread: float, shift: float) -> None:
    parity = judge(promoted(spread, shift))
    assert parity.gates["semantics"].verdict == FAIL
    assert not [entry for entry in parity.deviations if entry.gate == "semantics"]


@pytest.mark.parametrize(("shift", "looked_at"), [(0.0, False), (2e-8, True), (9e-3, True), (0.1, False)])
def test_what_no_rounded_constant_can_excuse_is_not_explained(shift: float, looked_at: bool) -> None:
    evidence = promoted(spread=0.0, shift=shift)
    assert (judge(evidence).gates["semantics"].verdict == PASS) is (shift == 0)
    assert explicable(held_leaves(evidence)) == ({("forward", "seed0")} if looked_at else set())


def test_an_unused_allowance_is_not_listed() -> None:
    assert judge(promoted(spread=1e-8, shift=0.0)).deviations == ()


@pytest.mark.parametrize(("side", "verdict"), [("tf", NOT_JUDGED), ("jax", FAIL)])
def test_of_a_side_that_gave_nothing_no_gate_holds_and_each_says_why(side: str, verdict: str) -> None:
    evidence = replace(
        HONEST,
        outputs=kept(HONEST.outputs, side),
        doubles=kept(HONEST.doubles, side),
        trajectories=kept(HONEST.trajectories, side),
        failures=(Failure(side, "load", "ModuleNotFoundError: no module named model"),),
    )
    parity = judge(evidence)
    assert parity.verdict == parity.gates["structure"].verdict == verdict
    assert {gate.verdict for gate in parity.gates.values()} <= {FAIL, NOT_JUDGED}
    for gate in parity.gates.values():
        said = [comparison.message for comparison in gate.comparisons if comparison.verdict == gate.verdict]
        assert any("load: ModuleNotFoundError: no module named model" in message for message in said)


def test_without_any_evidence_no_gate_is_judged() -> None:
    parity = judge(Evidence(workload="my_port", outputs={}, doubles={}))
    assert parity.verdict == NOT_JUDGED
    assert all("my_port" in gate.reason and "no evidence" in gate.reason for gate in parity.gates.values())


@pytest.mark.parametrize("gate", ["gradients", "training"])
def test_a_gate_does_not_apply_only_with_a_reason(gate: str) -> None:
    absent = replace(
        HONEST,
        outputs=kept(HONEST.outputs, gate),
        doubles=kept(HONEST.doubles, gate),
        trajectories={} if gate == "training" else HONEST.trajectories,
    )
    excused = judge(replace(absent, not_applicable={gate: "no input is floating-point"}))
    assert (excused.verdict, excused.gates[gate].verdict) == (PASS, NOT_APPLICABLE)
    assert excused.gates[gate].reason == "no input is floating-point"
    unexplained = judge(replace(absent, failures=(Failure("jax", gate, "ValueError: shapes"),)))
    assert (unexplained.verdict, unexplained.gates[gate].verdict) == (NOT_JUDGED, NOT_JUDGED)
    assert f"jax: {gate}: ValueError: shapes" in unexplained.gates[gate].reason


def test_a_reason_does_not_silence_evidence() -> None:
    evidence = replace(gathered(Side(slope_at_zero=1.0)), not_applicable={"gradients": "no input is floating-point"})
    assert failed(evidence) == {"gradients"}


@pytest.mark.parametrize(
    ("runs", "dropped", "gates", "verdict"),
    [
        ("outputs", ("jax/jit", "forward", "seed1"), {"structure", "rounding"}, FAIL),
        ("outputs", ("jax/eager", "gradients", "seed1"), {"structure", "gradients"}, FAIL),
        ("doubles", ("jax", "forward", "seed1"), {"semantics"}, NOT_JUDGED),
        ("doubles", ("tf", "forward", "seed1"), {"semantics", "rounding"}, NOT_JUDGED),
        ("doubles", ("jax", "gradients", "kinks"), {"gradients"}, NOT_JUDGED),
        ("trajectories", ("jax/jit", "float32"), {"training"}, FAIL),
        ("trajectories", ("jax/jit", "float64"), {"training"}, NOT_JUDGED),
        ("trajectories", ("tf/jit", "float64"), {"training"}, NOT_JUDGED),
    ],
)
def test_a_single_missing_run_leaves_the_gates_that_need_it_without_a_pass(
    runs: str, dropped: tuple[str, ...], gates: set[str], verdict: str
) -> None:
    remaining = {key: run for key, run in getattr(HONEST, runs).items() if key != dropped}
    evidence = replace(HONEST, failures=(Failure(dropped[0].partition("/")[0], "run", "out of memory"),))
    evidence = replace(evidence, **{runs: remaining})
    assert {name for name, said in verdicts(evidence).items() if said == verdict} == gates
    said = [c.message for gate in gates for c in judge(evidence).gates[gate].comparisons if c.verdict == verdict]
    assert any("arrays: run: out of memory" in message for message in said)


def test_gradients_without_kinks_say_so() -> None:
    evidence = replace(HONEST, outputs=kept(HONEST.outputs, "kinks"), doubles=kept(HONEST.doubles, "kinks"))
    assert "kinks" in judge(evidence).gates["gradients"].reason


def test_gradients_that_are_all_zero_are_no_evidence_until_one_is_not() -> None:
    def zeros(runs: Mapping) -> dict:
        return {
            key: {name: np.zeros_like(leaf) for name, leaf in run.items()} if key[1] == "gradients" else run
            for key, run in runs.items()
        }

    stopped = replace(HONEST, outputs=zeros(HONEST.outputs), doubles=zeros(HONEST.doubles))
    gate = judge(stopped).gates["gradients"]
    assert (gate.verdict, judge(stopped).verdict) == (NOT_APPLICABLE, PASS)
    assert gate.reason.startswith("every gradient is zero, in the original too")
    honest = HONEST.doubles["jax", "gradients", "seed0"]
    assert failed(replace(stopped, doubles={**stopped.doubles, ("jax", "gradients", "seed0"): honest})) == {"gradients"}


def test_rounding_does_not_apply_to_integers() -> None:
    def integers(runs: Mapping) -> dict:
        return {key: {"label": run["label"]} for key, run in runs.items() if key[1] == "forward"}

    evidence = replace(
        HONEST,
        outputs=integers(HONEST.outputs),
        doubles=integers(HONEST.doubles),
        trajectories={},
        not_applicable=dict.fromkeys(("gradients", "training"), "no input is floating-point"),
    )
    parity = judge(evidence)
    assert (parity.verdict, parity.gates["rounding"].verdict) == (PASS, NOT_APPLICABLE)
    assert parity.gates["rounding"].reason == "no output is floating-point"


def test_the_verdict_is_a_record() -> None:
    record = to_json(judge(gathered(Side(epsilon=1.001e-3))))
    assert list(record["gates"]) == list(ON_ARRAYS)
    worst = max(record["gates"]["semantics"]["comparisons"], key=lambda comparison: comparison["error"])
    assert worst["verdict"] == FAIL
    assert worst["worst_index"] and worst["found"] != worst["expected"]
