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
from compare.record.vocabulary import PASS
from workloads._framework import FORWARD, Parameter, Program, Result, Twin
from workloads._spec import Arrays

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
