"""Several training steps as one program: each side's loop against single steps, and errors that are planted in one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runs import record_of

from compare import cli
from compare.bench import pairs
from compare.inputs.at_size import Prepared, examples_of, prepare
from compare.measure import timed_sets
from compare.progress import Silent
from compare.prove import unrolling
from compare.prove.collect import Collected
from compare.sides._side import Reply, Side, SideError
from jaxport._framework import create
from jaxport._session import Session
from workloads.core import registry
from workloads.core.modes import JAX_JIT, TF_JIT, Arm
from workloads.core.spec import Arrays
from workloads.protocol.framework import STEP, UNROLLED, Parameter, Twin

STEPS = 3


def single(**changed: Any) -> dict[str, np.ndarray]:
    """A training run of more steps than the loop has, with a checkpoint after its last one."""
    run = {"loss": np.array([3.0, 2.0, 1.5, 1.2], np.float32), f"weights@{STEPS}/w": np.array([1.0, 2.0], np.float32)}
    return run | changed


def looped(**changed: Any) -> dict[str, np.ndarray]:
    """What a loop of three steps leaves that carries all it should."""
    return {"loss": np.array([3.0, 2.0, 1.5], np.float32), "weights/w": np.array([1.0, 2.0], np.float32)} | changed


def test_a_loop_that_leaves_what_single_steps_leave_agrees() -> None:
    expected = unrolling.single_steps(single(), STEPS)
    assert unrolling.difference(looped(), expected, STEPS) == ""
    assert unrolling.difference(looped(loss=looped()["loss"] * np.float32(1 + 1e-6)), expected, STEPS) == ""


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"loss": np.array([3.0, 3.0, 3.0], np.float32)}, "differ from as many single steps by 0.5 of the largest"),
        ({"weights/w": np.array([1.0, 1.9], np.float32)}, "differ from as many single steps by 0.05 of the largest"),
        ({"loss": np.array([3.0, 2.0], np.float32)}, "differ from as many single steps by inf"),
    ],
    ids=["weights not carried", "one update less", "one step less"],
)
def test_a_loop_that_leaves_something_else_is_told(changed: Mapping[str, np.ndarray], said: str) -> None:
    assert said in unrolling.difference(looped(**changed), unrolling.single_steps(single(), STEPS), STEPS)


def test_a_loop_without_weights_is_told() -> None:
    found = {"loss": looped()["loss"]}
    reason = unrolling.difference(found, unrolling.single_steps(single(), STEPS), STEPS)
    assert reason == "expected weights/w among the results of 3 steps in one program, found none"


# A planted error in JAX's own loop, on a real model.


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    workload = registry.get("mnist_mlp")
    folder = tmp_path_factory.mktemp("arrays")
    drawn = prepare(workload, "smoke", examples_of(workload, "smoke", None), folder, one_case=True)
    return drawn.on_pass(UNROLLED, STEPS)


@dataclass
class Here(Side):
    """JAX in this process: what is asked of single steps and of their loop."""

    twin: Twin
    name: str = "jax"
    lost_at: str = ""
    framework: Any = field(default_factory=create)

    def __post_init__(self) -> None:
        self.modes = self.framework.load(self.twin)["modes"]

    def call(self, method: str, parameters: Mapping[str, Any], arrays: Arrays | None = None) -> Reply:
        if method == self.lost_at:
            raise SideError(self.name, method, "the worker ended", is_lost=True)
        given = dict(parameters)
        return Reply(arrays=getattr(self.framework, method)(**given))

    def close(self) -> None:
        """Nothing runs apart."""


@pytest.fixture
def side(prepared: Prepared) -> Here:
    from compare.sides import mapped, wire

    told = vars(prepared.loading) | {"target": prepared.loading.targets["jax"]}
    twin = wire.unpack_twin(told, mapped.load(prepared.loading.arrays))
    few = {name: array[: STEPS + 1] for name, array in twin.batches.items()}
    return Here(Twin(**{**vars(twin), "batches": few}))


def checked(side: Here, prepared: Prepared) -> tuple[list[Any], Collected]:
    collected = Collected("jax", modes={UNROLLED: ["jit"], STEP: ["jit"]})
    return unrolling.check(side, prepared, collected, Silent()), collected


def test_jax_s_loop_is_as_many_single_steps(side: Here, prepared: Prepared) -> None:
    assert side.modes[UNROLLED] == ["jit", "donated"]
    assert checked(side, prepared)[0] == []


@pytest.mark.parametrize("what", ["parameters", "state"])
def test_a_state_that_is_not_carried_fails(
    what: str, side: Here, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    import jax

    def forgetful(self: Session, parameters: Any, state: Any, *batches: Any) -> Any:
        started = {"parameters": parameters, "state": state}

        def one(carried: Any, batch: Any) -> Any:
            parameters, state = carried
            told = {"parameters": parameters, "state": state} | {what: started[what]}
            parameters, state, loss = self.model.step(told["parameters"], told["state"], *batch)  # type: ignore[misc]
            return (parameters, state), loss

        (parameters, state), losses = jax.lax.scan(one, (parameters, state), batches)
        return parameters, state, losses

    monkeypatch.setattr(Session, "_unroll", forgetful)
    (failure,) = checked(side, prepared)[0]
    assert (failure.side, failure.doing) == ("jax", "jax/jit unrolled")
    assert "3 steps in one program differ from as many single steps by" in failure.reason


def test_a_side_that_is_lost_meanwhile_is_one_failure(side: Here, prepared: Prepared) -> None:
    side.lost_at = "trajectory"
    failures, collected = checked(side, prepared)
    assert [failure.reason for failure in failures] == ["the worker ended"] and collected.lost


# What fills its program, and what its times are.


def test_batches_fill_a_parameter_as_long_as_it_is() -> None:
    twin = Twin("a:b", True, {}, {"seed0": {"x": np.zeros(2)}}, {}, {"x": np.arange(10.0).reshape(5, 2)}, unrolled=3)
    filled = twin.argument(Parameter("batches", "x", (3, 2), "float32"), "seed0", {})
    np.testing.assert_array_equal(filled, np.arange(6, dtype=np.float32).reshape(3, 2))
    np.testing.assert_array_equal(twin.first_batches["x"], np.arange(6.0).reshape(3, 2))


def test_times_are_those_of_one_step() -> None:
    called = pairs.Measured({Arm(TF_JIT): (8.0, 4.0), Arm(JAX_JIT): (2.0,)}, {Arm(TF_JIT): "no"})
    told = timed_sets.per_step(called, 4)
    assert dict(told.medians) == {Arm(TF_JIT): (2.0, 1.0), Arm(JAX_JIT): (0.5,)}
    assert told.failures == called.failures


# The command.


@pytest.mark.parametrize(
    "beside", [["--pass", "step"], ["--parity-only"], ["--tf-recorded", "tf.side"]], ids=lambda beside: beside[0]
)
def test_what_a_loop_of_steps_has_not_is_refused(beside: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "mnist_mlp", "--unroll", "3", *beside]) == 2
    assert f"expected --unroll without {beside[0]}, found both: drop one" in capsys.readouterr().err


@pytest.mark.process
@pytest.mark.parametrize(
    ("workload", "steps", "said"),
    [
        ("add", "3", "expected a workload that trains with --unroll, found add: drop --unroll"),
        ("mnist_mlp", "51", "expected --unroll of at most 50, the training steps of mnist_mlp, found 51: lower it"),
    ],
)
def test_a_workload_that_does_not_train_so_long_is_one_line(
    workload: str, steps: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["run", workload, "--size", "smoke", "--no-timing", "--unroll", steps, "-o", str(tmp_path / "out")]
    assert cli.main(asked) == 2
    assert said in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.process
def test_both_sides_compile_a_loop_and_all_four_cells_agree() -> None:
    record = record_of(
        "mnist_mlp", size="smoke", plans=(), modes=(TF_JIT, JAX_JIT), unrolled=STEPS, alignment=False
    )  # fmt: skip
    found = record["workloads"]["mnist_mlp"]
    assert (found["main_pass"], found["unrolled"], found["failures"]) == (UNROLLED, STEPS, [])
    assert all("while" in found["programs"][side]["text"] for side in ("tf", "jax"))
    assert max(cell["error"] for cell in found["compiled"].values()) < 1e-3
    assert found["parity"]["verdict"] == "pass"
