"""Every gate can fail: a port with one defect fails exactly the gates that can see it, and the place is named."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest
from numpy_model import HONEST, Leaves, Side, gathered, verdicts

from compare.parity import Evidence, judge
from compare.record.vocabulary import FAIL, PASS
from workloads.core.spec import Deviation

Change = Callable[[Leaves], Leaves]
FORWARD = {"structure", "semantics", "rounding"}


def failed(evidence: Evidence) -> set[str]:
    return {name for name, verdict in verdicts(evidence).items() if verdict == FAIL}


def messages(evidence: Evidence, gate: str) -> list[str]:
    return [c.message for c in judge(evidence).gates[gate].comparisons if c.verdict == FAIL]


def changed(
    change: Change, run: tuple[str, str, str] = ("jax/jit", "forward", "seed0"), evidence: Evidence = HONEST
) -> Evidence:
    """The evidence with one float32 run changed."""
    return replace(evidence, outputs={**evidence.outputs, run: change(dict(evidence.outputs[run]))})


def changed_double(
    change: Change, run: tuple[str, str, str] = ("jax", "forward", "seed0"), evidence: Evidence = HONEST
) -> Evidence:
    return replace(evidence, doubles={**evidence.doubles, run: change(dict(evidence.doubles[run]))})


def put(leaf: str, index: tuple[int, ...], value: float) -> Change:
    def change(run: Leaves) -> Leaves:
        array = run[leaf].copy()
        array[index] = value
        return {**run, leaf: array}

    return change


def cast(leaf: str, dtype: str) -> Change:
    return lambda run: {**run, leaf: run[leaf].astype(dtype)}


def swapped(one: str, other: str) -> Change:
    return lambda run: {**run, one: run[other], other: run[one]}


def without(leaf: str) -> Change:
    return lambda run: {name: array for name, array in run.items() if name != leaf}


DEFECTS = {
    "perturbed weight": (
        Side(kernel_factor=1.001),
        {"semantics", "rounding", "gradients", "training"},
        r"my_port: semantics gate, forward pass, case seed0, leaf hidden\[\d, 1\]: jax -?\d\.\d+ \(float64\), tf -?\d",
    ),
    "epsilon of layer norm off by 1e-3": (
        Side(epsilon=1.001e-3),
        {"semantics", "gradients", "training"},
        r"my_port: semantics gate, forward pass, case \w+, leaf output\[\d, \d\]: jax .*error \d.*e-0[6789] of",
    ),
    "bfloat16 computation": (
        Side(bfloat16=True),
        {"rounding", "gradients", "training"},
        r"my_port: rounding gate, forward pass, case seed0, leaf output\[\d, \d\]: jax/jit .* \(float32\), tf .*"
        r"error .* bound .*times TF's own error",
    ),
    "wrong subgradient at a tie": (
        Side(slope_at_zero=1.0),
        {"gradients"},
        r"my_port: gradients gate, gradients pass, case kinks, leaf x\[\d, \d\]: jax .* \(float64\), tf ",
    ),
    "wrong epsilon of Adam": (
        Side(adam_epsilon=1e-8),
        {"training"},
        r"my_port: training gate, step pass, case trajectory, leaf weights@1/kernel\[\d, \d\]: jax/jit .* \(float32\)",
    ),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defective_port_fails_exactly_the_gates_that_see_it(defect: str) -> None:
    port, gates, place = DEFECTS[defect]
    evidence = gathered(port)
    assert failed(evidence) == gates
    said = [message for gate in gates for message in messages(evidence, gate)]
    assert any(re.match(place, message) for message in said), said
    assert all("\n" not in message for message in said)


def test_a_wrong_epsilon_of_adam_fails_in_float64_too() -> None:
    said = messages(gathered(Side(adam_epsilon=1e-8)), "training")
    assert any("leaf weights@1/bias" in message and "jax " in message and "float64" in message for message in said)


def test_a_wrong_epsilon_of_layer_norm_escapes_every_float32_rule() -> None:
    comparisons = judge(gathered(Side(epsilon=1.001e-3))).gates["gradients"].comparisons
    assert {c.dtype for c in comparisons if c.verdict == FAIL} == {"float64"}


STRUCTURES = {
    "wrong dtype": (cast("output", "float16"), r"leaf output: dtype float16 in jax/jit, float32 in tf/eager"),
    "wider dtype": (cast("output", "float64"), r"leaf output: dtype float64 in jax/jit, float32 in tf/eager"),
    "wider integers": (cast("label", "int64"), r"leaf label: dtype int64 in jax/jit, int32 in tf/eager"),
    "wrong shape": (
        lambda run: {**run, "output": run["output"].T},
        r"leaf output: shape \[5, 8\] in jax/jit, \[8, 5\] in tf/eager",
    ),
    "missing leaf": (without("output"), r"leaf output: only tf/eager has it, float32\[8, 5\]; jax/jit does not"),
    "extra leaf": (
        lambda run: {**run, "mask": run["positive"]},
        r"leaf mask: only jax/jit has it, bool\[8, 6\]; tf/eager does not",
    ),
    "NaN": (put("output", (3, 2), np.nan), r"leaf output\[3, 2\]: jax/jit nan \(float32\), tf/eager .*1 of 40 do not"),
    "infinity": (put("output", (3, 2), np.inf), r"leaf output\[3, 2\]: jax/jit inf \(float32\), tf/eager "),
    "NaN removed": (
        lambda run: {**run, "logarithm": np.nan_to_num(run["logarithm"])},
        r"leaf logarithm\[\d, \d\]: jax/jit 0.0 \(float32\), tf/eager nan; .*same places",
    ),
    "integer off by one": (
        lambda run: {**run, "label": run["label"] + np.eye(1, 8, 4, dtype=np.int32)[0]},
        r"leaf label\[4\]: jax/jit \d \(int32\), tf/eager \d; .*integers and booleans must be equal, 1 of 8 do not",
    ),
    "boolean flipped": (
        lambda run: {**run, "positive": ~run["positive"]},
        r"leaf positive\[0, 0\]: jax/jit (True|False) \(bool\), tf/eager (True|False); .*48 of 48 do not",
    ),
}


@pytest.mark.parametrize("defect", STRUCTURES)
def test_a_different_structure_fails_and_is_named(defect: str) -> None:
    change, place = STRUCTURES[defect]
    evidence = changed(change)
    (message,) = messages(evidence, "structure")
    assert re.match(r"my_port: structure gate, forward pass, case seed0, " + place, message), message


def test_signs_of_infinity_are_told_apart() -> None:
    flipped = changed(lambda run: {**run, "logarithm": -run["logarithm"]}, ("jax/jit", "forward", "kinks"))
    (message,) = messages(flipped, "structure")
    assert "jax/jit inf (float32), tf/eager -inf" in message


@pytest.mark.parametrize("mode", ["jax/eager", "jax/jit", "jax/donated", "jax/tuned"])
@pytest.mark.parametrize("pass_", ["forward", "gradients"])
@pytest.mark.parametrize("case", ["seed0", "seed1", "kinks"])
def test_no_run_of_the_port_goes_unjudged(mode: str, pass_: str, case: str) -> None:
    leaf = "hidden" if pass_ == "forward" else "x"
    (message,) = messages(changed(put(leaf, (0, 0), np.nan), (mode, pass_, case)), "structure")
    assert f"{pass_} pass, case {case}, leaf {leaf}[0, 0]: {mode} nan" in message


def test_swapped_leaves_of_one_shape_fail_in_both_dtypes() -> None:
    evidence = changed_double(swapped("output", "hidden"), evidence=changed(swapped("output", "hidden")))
    assert failed(evidence) == {"semantics", "rounding"}
    assert any("leaf hidden[" in message for message in messages(evidence, "semantics"))
    assert any("leaf hidden[" in message for message in messages(evidence, "rounding"))


@pytest.mark.parametrize("shift", [1e-3, 1e-11])
def test_semantics_resolves_what_float32_cannot(shift: float) -> None:
    index = np.unravel_index(np.argmax(HONEST.doubles["tf", "forward", "seed0"]["hidden"]), (8, 5))
    evidence = changed_double(lambda run: {**run, "hidden": run["hidden"] * (1 + shift)})
    (message,) = messages(evidence, "semantics")
    assert failed(evidence) == {"semantics"}
    assert f"error {shift:.3g} of the largest value, bound 1e-12" in message
    assert "hidden[" in message and index


def test_a_float64_run_that_is_none_fails() -> None:
    evidence = changed_double(cast("output", "float32"), ("tf", "forward", "seed0"))
    assert any("tf returns float32 for float64 inputs" in m for m in messages(evidence, "semantics"))


@pytest.mark.parametrize(("bound", "verdict"), [(1e-6, "pass"), (1e-9, "fail")])
def test_a_float64_run_that_is_none_is_judged_by_the_bound_that_is_declared(bound: float, verdict: str) -> None:
    evidence = changed_double(cast("output", "float32"), ("tf", "forward", "seed0"))
    declared = replace(evidence, deviations=(Deviation("semantics", bound, "computes in float32"),))
    assert judge(declared).gates["semantics"].verdict == verdict


@pytest.mark.parametrize("side", ["tf", "jax"])
def test_nan_in_one_float64_run_fails(side: str) -> None:
    evidence = changed_double(put("hidden", (1, 1), np.nan), (side, "forward", "seed0"))
    assert [m for m in messages(evidence, "semantics") if "hidden[1, 1]" in m and "error inf" in m]


def test_infinities_of_tensorflow_do_not_excuse_the_port() -> None:
    noisy = changed(put("hidden", (0, 0), np.inf), ("tf/jit", "forward", "seed0"))
    assert failed(noisy) == set()
    wrong = changed(put("hidden", (5, 1), 0.125), evidence=noisy)
    (message,) = messages(wrong, "rounding")
    assert "leaf hidden[5, 1]: jax/jit 0.125 (float32), tf " in message


def test_a_port_may_be_as_inaccurate_as_the_original_and_no_more() -> None:
    def off(by: float) -> Change:
        return lambda run: {**run, "hidden": run["hidden"] * np.float32(1 + by)}

    original = changed(off(1e-4), ("tf/jit", "forward", "seed1"))
    assert failed(changed(off(3e-4), evidence=original)) == set()
    assert failed(changed(off(5e-4), evidence=original)) == {"rounding"}


def test_lower_precision_does_not_widen_its_own_bound() -> None:
    evidence = changed(cast("output", "float16"))
    assert failed(evidence) == {"structure", "rounding"}


def test_a_gradient_that_is_zero_but_for_rounding_is_held_against_the_model() -> None:
    gradients = judge(HONEST).gates["gradients"].comparisons
    assert max(c.error for c in gradients if c.leaf == "shift") > 0.1
    evidence = changed(put("shift", (2,), 1e-3), ("jax/jit", "gradients", "seed0"))
    (message,) = messages(evidence, "gradients")
    assert "case seed0, leaf shift[2]: jax/jit 0.001 (float32)" in message


def test_tensorflow_that_disagrees_with_itself_is_said() -> None:
    torn = changed(put("output", (3, 2), np.nan), ("tf/eager", "forward", "seed0"))
    assert failed(torn) == set()
    (finding,) = judge(torn).findings
    assert (finding.leaf, finding.index, finding.modes, finding.follows) == (
        "output",
        (3, 2),
        ("tf/eager", "tf/graph"),
        "tf/graph",
    )
    wrong = changed(put("output", (0, 0), np.nan), evidence=torn)
    said = messages(wrong, "structure")
    assert said and all("TF itself differs at [3, 2]: tf/eager nan, tf/jit" in message for message in said)


def test_a_trajectory_is_judged_at_every_checkpoint_and_along_the_curve() -> None:
    def spoiled(name: str) -> Evidence:
        run = dict(HONEST.trajectories["jax/jit", "float32"])
        run[name] = run[name] * np.float32(1.001)
        return replace(HONEST, trajectories={**HONEST.trajectories, ("jax/jit", "float32"): run})

    for name in ("loss", "weights@1/kernel", "weights@4/gamma", "weights@12/bias"):
        assert failed(spoiled(name)) == {"training"}
        assert any(f"leaf {name}[" in message for message in messages(spoiled(name), "training"))


@pytest.mark.parametrize(("error", "verdict"), [(1e-13, "pass"), (1e-9, "fail")])
def test_a_run_that_starts_far_on_is_a_case_of_the_training_gate(error: float, verdict: str) -> None:
    run = {"loss": np.ones(5), "weights@5/kernel": np.ones((2, 3))}
    far = {"loss": run["loss"], "weights@5/kernel": run["weights@5/kernel"] + error}
    case = "trajectory from step 58"
    placed = {("tf", "step", case): run, ("jax", "step", case): far}
    gate = judge(replace(HONEST, doubles={**HONEST.doubles, **placed}, training_remarks=("none",))).gates["training"]
    assert gate.verdict == verdict
    assert {each.verdict for each in gate.comparisons if each.case == case and each.leaf != "loss"} == {verdict}
    # What is not judged is said of what holds.
    assert gate.reason == ("none" if verdict == "pass" else "")


def test_the_float64_trajectory_is_bounded_by_the_step() -> None:
    bounds = {c.leaf: c.bound for c in judge(HONEST).gates["training"].comparisons if c.dtype == "float64"}
    assert bounds["weights@1/kernel"] == pytest.approx(1e-12)
    assert min(bounds[f"weights@12/{leaf}"] for leaf in ("gamma", "beta", "kernel", "bias")) == pytest.approx(
        12e-12, rel=0.1
    )
    assert bounds["loss"] == pytest.approx(12e-12)


def nothing_of(side: str) -> Callable[[Mapping], dict]:
    return lambda runs: {key: run for key, run in runs.items() if not key[0].startswith(side)}


def test_mixed_precision_rounds_in_the_type_that_the_workload_computes_in() -> None:
    port = changed(lambda run: {**run, "hidden": run["hidden"].astype("float16").astype("float32")})
    assert "rounding" in failed(port)
    assert "rounding" not in failed(replace(port, computes_in="float16"))
    assert "rounding" in failed(replace(port, computes_in="float32"))


def test_bfloat16_leaves_round_in_their_own_unit() -> None:
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    outputs = {
        key: {n: a.astype(bfloat16) if n == "hidden" else a for n, a in run.items()}
        for key, run in HONEST.outputs.items()
    }
    evidence = replace(HONEST, outputs=outputs)
    assert verdicts(evidence)["structure"] == verdicts(evidence)["rounding"] == PASS
    assert failed(changed(put("hidden", (3, 2), 9.0), evidence=evidence)) == {"rounding"}


@pytest.mark.parametrize(("given", "said"), [(2.0, "with tf/jit, not with tf/eager"), (3.0, "with none of them")])
def test_where_tensorflow_disagrees_with_itself_it_is_said_whom_the_port_agrees_with(given: float, said: str) -> None:
    at = ("gradients", "kinks")
    values = {"tf/eager": 1.0, "tf/jit": 2.0, "jax/jit": given}
    evidence = Evidence(
        workload="tiny",
        outputs={(mode, *at): {"x": np.float32([value, 4.0])} for mode, value in values.items()},
        doubles={("tf", *at): {"x": np.array([1.0, 4.0])}, ("jax", *at): {"x": np.array([given, 4.0])}},
    )
    (failed,) = [each for each in judge(evidence).gates["gradients"].comparisons if each.verdict == FAIL]
    assert f"TF's own modes disagree here: the port agrees {said}" in failed.message


def test_integers_of_32_bits_pass_for_64_where_every_value_fits() -> None:
    """JAX has no others unless x64 is on."""
    wide = {
        key: {name: leaf.astype(np.int64) if name == "label" else leaf for name, leaf in run.items()}
        for key, run in HONEST.outputs.items()
        if key[0].startswith("tf/")
    }
    evidence = replace(HONEST, outputs={**HONEST.outputs, **wide})
    assert failed(evidence) == set()
    (derived,) = [one for one in judge(evidence).deviations if one.leaf == "label"]
    assert "int32 for int64" in derived.reason
    other = changed(lambda run: {**run, "label": run["label"] + np.int32(1)}, evidence=evidence)
    assert failed(other) == {"structure"}
    # What a user gives for an input without a range may not fit.
    unbounded = judge(replace(evidence, open_integers=("ids",))).gates["structure"]
    assert unbounded.verdict == FAIL
    assert any("declare low and high of ids" in leaf.message for leaf in unbounded.comparisons)


@pytest.mark.parametrize(("found", "expected", "told"), [("int32", "int64", True), ("int64", "int32", False)])
def test_integers_of_32_bits_for_64_are_told_both_cures(found: str, expected: str, told: bool) -> None:
    at = ("forward", "seed0")
    outputs = {
        (mode, *at): {"n": np.array([0, 1, 2**40]).astype(kind)}
        for mode, kind in (("tf/eager", expected), ("jax/jit", found))
    }
    evidence = Evidence(workload="tiny", outputs=outputs, doubles={})
    (refused,) = judge(evidence).gates["structure"].comparisons
    assert f"dtype {found} in jax/jit, {expected} in tf/eager" in refused.message
    assert ("output_type=tf.int32" in refused.message and "jax_enable_x64" in refused.message) is told
