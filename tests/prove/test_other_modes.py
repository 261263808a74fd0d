"""TensorFlow in its other mode: XLA where modes differ or the port fails, eager mode only where all else holds."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

from compare.parity import Evidence, held_leaves, judge
from compare.parity.evidence import OracleSource
from compare.prove.oracle import Doubles
from compare.prove.original_modes import AskEager, Eager
from compare.prove.other_modes import with_eager, with_xla
from compare.record.vocabulary import FAIL, PASS
from workloads.core.spec import Arrays
from workloads.protocol.framework import FORWARD, GRADIENTS, Parameter, Program, Result, Twin

pytestmark = pytest.mark.usefixtures("programs_here")

X = np.array([0.5, -1.0, 2.0])
CASES = {"seed0": {"x": X}, "seed1": {"x": -X}}
MORE = {"constants0": {"x": np.array([0.0, 1.0, -1.0])}}


def by_xla(x: np.ndarray) -> np.ndarray:
    return np.sign(x) + (x == 0)


def by_eager(x: np.ndarray) -> np.ndarray:
    return np.sign(x) - (x == 0)


def program() -> Program:
    with jax.enable_x64(True):
        exported = export.export(jax.jit(lambda x: jnp.sign(x) + (x == 0)))(jnp.asarray(X))
    parameters = (Parameter("input", "x", (3,), "float64"),)
    return Program(exported.mlir_module_serialized, parameters, (Result("output", (3,), "float64"),))


def gathered(port: str, more: bool) -> tuple[Evidence, Doubles]:
    functions = {"eager": by_eager, "xla": by_xla, "neither": lambda x: np.sign(x) + 3 * (x == 0)}
    cases = {**CASES, "kinks0": {"x": np.array([0.0, -3.0, 0.0])}} if not more else CASES
    own = functions[port]
    runs = {"jax/jit": own, "tf/eager": by_eager, "tf/graph": by_eager, "tf/jit": by_xla}
    arrays: dict[tuple[str, str, str], Arrays] = {
        (side, FORWARD, case): {"output": of(inputs["x"])}
        for side, of in (("tf", by_eager), ("jax", own))
        for case, inputs in cases.items()
    }
    if more:
        arrays["tf", FORWARD, "constants0"] = {"output": by_xla(MORE["constants0"]["x"])}
        arrays["jax", FORWARD, "constants0"] = {"output": own(MORE["constants0"]["x"])}
    evidence = Evidence(
        workload="signs",
        outputs={
            (mode, FORWARD, case): {"output": of(inputs["x"]).astype(np.float32)}
            for mode, of in runs.items()
            for case, inputs in cases.items()
        },
        doubles=arrays,
        oracle={("tf", FORWARD): OracleSource("native")},
        not_applicable={"gradients": "none", "training": "none"},
    )
    doubles = Doubles(arrays=arrays, programs={("tf", FORWARD): program()}, cases=dict(MORE) if more else {})
    return evidence, doubles


def asked(calls: list[str]) -> AskEager:
    def run(pass_: str, inputs: Sequence[Arrays]) -> list[Eager]:
        calls.append(pass_)
        leaves: list[Arrays] = [{"output": by_eager(each["x"])} for each in inputs]
        return [Eager(leaf, leaf) for leaf in leaves]

    return run


@pytest.mark.parametrize(("port", "follows"), [("eager", "tf/eager"), ("xla", "tf/jit"), ("neither", "")])
def test_xla_is_run_in_cases_that_both_sides_ran(port: str, follows: str) -> None:
    evidence, doubles = gathered(port, more=False)
    cases = {**CASES, "kinks0": {"x": np.array([0.0, -3.0, 0.0])}}
    twin = Twin(target="", builds=False, dimensions={}, cases=cases, weights={})
    parity = judge(with_xla(evidence, held_leaves(evidence), twin, doubles))
    assert (parity.verdict == PASS) is bool(follows)
    assert {finding.follows for finding in parity.findings} == ({follows} if follows else set())


@pytest.mark.parametrize(("port", "passes"), [("eager", True), ("xla", False), ("neither", False)])
def test_eager_mode_is_asked_of_suggested_cases_that_alone_fail(port: str, passes: bool) -> None:
    evidence, doubles = gathered(port, more=True)
    calls: list[str] = []
    held = held_leaves(evidence)
    told = with_eager(evidence, held, doubles, asked(calls))
    if port == "xla":
        # What holds by the programs of both sides asks nothing.
        assert told is evidence and not calls and judge(told).verdict == PASS
        return
    assert calls == [FORWARD]
    assert (judge(told).verdict == PASS) is passes


@pytest.mark.parametrize(("error", "passes"), [(0.0, True), (1e-7, False)])
def test_a_port_is_as_right_as_eager_mode_where_xla_is_less_accurate(error: float, passes: bool) -> None:
    """As of singular values, which XLA computes to 3e-8: far less than what modes disagree by."""
    case, exact = MORE["constants0"], np.array([1.0, 2.0, 3.0])
    arrays: dict[tuple[str, str, str], Arrays] = {
        ("tf", FORWARD, "constants0"): {"output": exact * (1 + 3e-8)},
        ("jax", FORWARD, "constants0"): {"output": exact * (1 + error)},
    }
    evidence = Evidence("port", outputs={}, doubles=arrays, oracle={("tf", FORWARD): OracleSource("native")})
    doubles = Doubles(arrays=arrays, cases={"constants0": case})
    held = held_leaves(evidence)
    by_eager = with_eager(evidence, held, doubles, lambda pass_, calls: [Eager({}, {"output": exact}) for _ in calls])
    assert judge(evidence).gates["semantics"].verdict == FAIL
    assert (judge(by_eager).gates["semantics"].verdict == PASS) is passes


@pytest.mark.parametrize(("of_eager", "says"), [(2.0, True), (1.0, False)])
def test_gradients_are_not_judged_where_the_modes_give_other_results(of_eager: float, says: bool) -> None:
    """As at a cutoff: which side of it a value comes out on differs, and so does all that follows."""
    case = MORE["constants0"]
    results = {"tf": 1.0, "jax": of_eager * (1 + 1e-9 * (not says))}
    arrays: dict[tuple[str, str, str], Arrays] = {
        (side, pass_, "constants0"): {"output": np.full(3, value if pass_ == FORWARD else value * 7)}
        for side, value in results.items()
        for pass_ in (FORWARD, GRADIENTS)
    }
    oracle = {("tf", pass_): OracleSource("native") for pass_ in (FORWARD, GRADIENTS)}
    evidence = Evidence("port", outputs={}, doubles=arrays, oracle=oracle)
    doubles = Doubles(arrays=arrays, cases={"constants0": case})

    def eager(pass_: str, calls: Sequence[Arrays]) -> list[Eager]:
        return [Eager({}, {"output": np.full(3, of_eager if pass_ == FORWARD else 5.0)}) for _ in calls]

    told = with_eager(evidence, held_leaves(evidence), doubles, eager)
    assert (("jax", GRADIENTS, "constants0") not in told.doubles) is says
    assert any("not judged" in remark for remark in told.remarks) is says
