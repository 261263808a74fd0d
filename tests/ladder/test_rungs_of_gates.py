"""Which rung a failing comparison belongs to, and what a ladder says of rungs that hold."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from compare.ladder import climbing, rungs_of_gates, speed_rung
from compare.ladder.asking_layers import Asked
from compare.ladder.looking_closer import with_advice
from compare.record.parity_part import Comparison, Gate, Parity
from compare.record.rung_part import Layers, LayerVerdict, LocatedOperation, Rung
from compare.record.timing_part import Ratio, Timing
from compare.record.workload_part import Failure, Workload

TRAINS: Any = SimpleNamespace(training=SimpleNamespace(compared=(1, 10), steps=10))


def parity(gate: str = "", **failing: Any) -> Parity:
    """Gates that hold but for one comparison."""
    gates = {}
    for name in ("structure", "semantics", "rounding", "gradients", "training", "stability"):
        pass_ = {"gradients": "gradients", "training": "step"}.get(name, "forward")
        held = Comparison(
            gate=name, pass_=pass_, leaf="held", case="seed0", error=0.0, verdict="pass", expected=1, found=1
        )
        fails = Comparison(gate=name, pass_=failing.pop("pass_", pass_), case="seed1", verdict="fail", message="apart",
                           **failing) if name == gate else None  # fmt: skip
        gates[name] = Gate("fail" if fails else "pass", (held, fails) if fails else (held,))
    return Parity("fail" if gate else "pass", gates)


def test_all_rungs_hold() -> None:
    assert rungs_of_gates.structure(parity()).verdict == "pass"
    assert rungs_of_gates.forward(parity()).verdict == "pass"
    assert rungs_of_gates.gradients(parity()).verdict == "pass"
    assert rungs_of_gates.optimizer(parity(), TRAINS).verdict == "pass"
    assert rungs_of_gates.trajectory(parity(), TRAINS, {}).verdict == "pass"


def test_a_shape_is_structure_and_no_value() -> None:
    refused = parity("structure", leaf="out", error=float("inf"))
    assert rungs_of_gates.structure(refused).verdict == "fail"


def test_an_integer_that_differs_and_a_nan_are_values() -> None:
    for expected, found in ((1.0, 2.0), (1.0, float("nan"))):
        apart = parity("structure", leaf="out", expected=expected, found=found)
        assert rungs_of_gates.structure(apart).verdict == "pass"
        assert rungs_of_gates.forward(apart).verdict == "fail"


@pytest.mark.parametrize("gate", ["semantics", "rounding", "stability"])
def test_gates_of_the_forward_pass(gate: str) -> None:
    rung = rungs_of_gates.forward(parity(gate, leaf="out", expected=1.0, found=2.0))
    assert rung.verdict == "fail" and rung.told == ("apart",) and rung.case == "seed1"


@pytest.mark.parametrize("gate", ["structure", "stability"])
def test_a_comparison_of_gradients_is_no_forward_pass(gate: str) -> None:
    apart = parity(gate, pass_="gradients", leaf="w", expected=1.0, found=2.0)
    assert rungs_of_gates.forward(apart).verdict == "pass"
    assert rungs_of_gates.gradients(apart).verdict == "fail"


def test_a_gate_without_evidence_fails_its_rung() -> None:
    gates = {**parity().gates, "gradients": Gate("fail", reason="nothing came")}
    rung = rungs_of_gates.gradients(Parity("fail", gates))
    assert rung.verdict == "fail" and rung.told == ("nothing came",)


def test_weights_after_one_update_are_the_optimizer() -> None:
    rung = rungs_of_gates.optimizer(parity("training", leaf="weights@1/kernel", expected=1.0, found=2.0), TRAINS)
    assert rung.verdict == "fail" and rung.told[0] == "1 of 1 weight departs after 1 update"


@pytest.mark.parametrize("leaf", ["weights@10/kernel", "loss"])
def test_what_parts_later_is_the_trajectory(leaf: str) -> None:
    apart = parity("training", leaf=leaf, expected=1.0, found=2.0)
    losses = {"tf": np.array([3.0, 2.0, 1.0]), "jax": np.array([3.0, 2.0, 1.5])}
    assert rungs_of_gates.optimizer(apart, TRAINS).verdict == "pass"
    rung = rungs_of_gates.trajectory(apart, TRAINS, losses)
    assert rung.verdict == "fail" and "part at step 3 of 10" in rung.told[0] and "update 2" in rung.told[0]


def test_losses_that_do_not_part_name_no_step() -> None:
    assert rungs_of_gates.first_other_loss({"tf": np.ones(3), "jax": np.ones(3)}) is None
    assert rungs_of_gates.first_other_loss({"tf": np.ones(3)}) is None


def test_a_first_checkpoint_that_is_no_single_update_is_said() -> None:
    late: Any = SimpleNamespace(training=SimpleNamespace(compared=(5, 10), steps=10))
    assert "after 5 steps" in rungs_of_gates.optimizer(parity(), late).remarks[0]


def test_weights_that_do_not_come_back_fail() -> None:
    unseen, seen = (climbing.weights_rung(Asked(Layers(dtype=dtype))) for dtype in ("", "float64"))
    assert unseen.verdict == seen.verdict == "pass"
    assert "comes back" in seen.told[0] and "comes back" not in unseen.told[0]
    assert climbing.weights_rung(Asked(Layers(), changed=("kernel",))).verdict == "fail"
    assert climbing.weights_rung(Asked(Layers(), exchanged=("weights of a lie in b",))).verdict == "fail"


def test_layers_that_were_not_compared_are_counted_as_such() -> None:
    calls = (LayerVerdict("a", 0, state="agrees"), LayerVerdict("b", 0, state="not_compared"))
    assert climbing.remarks_of(Layers(calls=calls)) == ("1 of 2 calls of layers agree, 1 were not compared",)
    assert climbing.remarks_of(Layers(reason="none")) == ("layers were not compared: none",)


def test_to_be_slower_is_no_failure_and_to_have_no_ratio_is() -> None:
    ratios = {"jax/jit vs tf/jit": Ratio(ratio=1.5, ci95=(1.4, 1.6), verdict="slower")}
    rung = speed_rung.rung_of(Workload(timing=Timing(ratios=ratios)))
    assert rung.verdict == "pass" and rung.told == ("jax/jit vs tf/jit: 1.5 [1.4, 1.6], slower",) and rung.next
    recorded = Timing(program_ratios={"jax@jax vs tf@jax": Ratio(ratio=0.9, verdict="equivalent")})
    assert speed_rung.rung_of(Workload(timing=recorded)).told == ("jax@jax vs tf@jax: 0.9, equivalent",)
    beside = Workload(timing=Timing(ratios=ratios), failures=(Failure("tf", "timing tf/jit", "it was lost"),))
    assert speed_rung.rung_of(beside).verdict == "fail" and speed_rung.rung_of(beside).told == ("it was lost",)
    lost = speed_rung.rung_of(Workload(failures=(Failure("jax", "round", "it was lost"),)))
    assert lost.verdict == "fail" and lost.told == ("it was lost",)


def test_a_cause_is_said_to_be_one_only_where_it_is_proved() -> None:
    proved = LocatedOperation(
        "changed add", "f.py:3", cause="epsilon", remedy="pass it", gotchas="epsilon", proof="cause"
    )
    guessed = LocatedOperation("changed dot", "f.py:4", cause="stop_gradient", remedy="look", gotchas="stop", proof="")
    told = with_advice(Rung("forward", "fail", located=(proved, guessed)), "port.py").next
    assert told[:3] == (
        "changed add at f.py:3: epsilon: pass it",
        "jaxport lookup gotchas epsilon",
        "changed dot at f.py:4: stop_gradient, which is not proved: look",
    )
    assert not any("gotchas stop" in line for line in told)
