"""What both sides share of a loaded twin and of a training run, without a framework."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from workloads.core.spec import dtype_in
from workloads.protocol.framework import FORWARD, STEP, Parameter, Program, Result, Twin, Unsupported
from workloads.protocol.loaded import Loaded, main_pass
from workloads.protocol.trajectory import trajectory
from workloads.protocol.unroll import unroll


@dataclass(frozen=True)
class Built:
    step: Any = None


@dataclass
class OneType:
    twin: Twin
    dtype: str
    anew: bool
    model: Built = Built()


def twin(**more: Any) -> Twin:
    inputs = {"x": np.ones(2, np.float32), "index": np.zeros(2, np.int32)}
    cases = {"random": inputs | {"weights/w": np.full(2, 7.0, np.float32)}, "other": inputs}
    return Twin("m:f", False, {}, cases, **{"weights": {"w": np.zeros(2, np.float32)}, **more})


def test_nothing_is_loaded_at_first_and_nothing_is_cleared_for_the_first_twin() -> None:
    cleared: list[None] = []
    loaded: Loaded[OneType, str] = Loaded(OneType, lambda: cleared.append(None))
    with pytest.raises(RuntimeError, match="no workload is loaded"):
        loaded.session("float32")
    loaded.load(twin())
    assert not cleared
    loaded.load(twin())
    assert len(cleared) == 1


def test_a_session_and_a_function_are_made_once_until_another_twin_is_loaded() -> None:
    loaded: Loaded[OneType, str] = Loaded(OneType, lambda: None)
    loaded.load(twin())
    session = loaded.session("float32")
    assert loaded.session("float32") is session and not session.anew
    assert loaded.session("float64") is not session
    staged = loaded.function("float32", FORWARD, "jit", lambda: "first")
    assert loaded.function("float32", FORWARD, "jit", lambda: "second") == staged == "first"
    assert loaded.function("float32", FORWARD, "tuned", lambda: "third") == "third"
    loaded.drop("tuned")
    assert loaded.function("float32", FORWARD, "tuned", lambda: "fourth") == "fourth"
    assert loaded.function("float32", FORWARD, "jit", lambda: "second") == "first"
    assert loaded.replace("float32", FORWARD, "jit", "fifth") == "fifth"
    assert loaded.function("float32", FORWARD, "jit", lambda: "second") == "fifth"
    loaded.load(twin())
    assert loaded.session("float32") is not session
    assert loaded.function("float32", FORWARD, "jit", lambda: "second") == "second"


def test_rebuilt_sessions_stand_for_those_before_and_their_functions_are_forgotten() -> None:
    loaded: Loaded[OneType, str] = Loaded(OneType, lambda: None)
    loaded.load(twin())
    before = [loaded.session(dtype) for dtype in ("float32", "float64")]
    loaded.function("float32", FORWARD, "jit", lambda: "first")
    after = loaded.rebuild()
    assert [(session.dtype, session.anew) for session in after] == [("float32", True), ("float64", True)]
    assert loaded.session("float32") is after[0] and after[0] not in before
    assert loaded.function("float32", FORWARD, "jit", lambda: "second") == "second"
    assert loaded.anew("float32") is not loaded.session("float32")


def test_compiled_programs_have_handles_of_their_own() -> None:
    loaded: Loaded[OneType, str] = Loaded(OneType, lambda: None)
    loaded.load(twin())
    programs = [Program(name, (), ()) for name in (b"one", b"two")]
    kept = [loaded.keep(program, program.artifact.decode(), 0.5) for program in programs]
    assert [compiled.handle for compiled in kept] == [0, 1] and kept[0].compile_s == 0.5
    assert loaded.compiled(1) == (programs[1], "two")


def test_the_main_pass_is_the_step_where_there_is_one() -> None:
    assert main_pass(OneType(twin(), "float32", False)) == FORWARD
    assert main_pass(OneType(twin(), "float32", False, Built(step=print))) == STEP


def test_the_main_pass_is_the_one_that_was_asked_for() -> None:
    asked = dataclasses.replace(twin(), main_pass=FORWARD)
    assert main_pass(OneType(asked, "float32", False, Built(step=print))) == FORWARD


def test_a_twin_says_what_can_be_differentiated() -> None:
    assert (twin().first_case, twin().inputs, twin().float_inputs) == ("random", ("x", "index"), [0])
    assert twin(weights={}).is_differentiable
    whole = {"random": {"index": np.zeros(2, np.int32)}}
    assert not Twin("m:f", False, {}, whole, {}).is_differentiable
    assert Twin("m:f", False, {}, whole, {"w": np.zeros(2)}).is_differentiable


@pytest.mark.parametrize(
    ("dtype", "precision", "held"),
    [
        ("float32", "float32", "float32"),
        ("bfloat16", "float32", "bfloat16"),
        ("float32", "float64", "float64"),
        ("bfloat16", "float64", "float64"),
        ("complex64", "float64", "complex128"),
        ("int32", "float64", "int32"),
        ("bool", "float64", "bool"),
    ],
)
def test_floats_alone_are_widened_and_in_a_float64_run_alone(dtype: str, precision: str, held: str) -> None:
    assert dtype_in(dtype, precision) == dtype_in(np.dtype(dtype), precision) == held


def test_a_trajectory_holds_every_loss_and_copies_of_the_weights_at_checkpoints() -> None:
    batches = {"x": np.arange(6, dtype=np.float32).reshape(3, 2)}
    held = np.zeros(2, np.float32)

    def step(batch: Any) -> np.floating[Any]:
        held[:] += batch["x"]
        return held.sum()

    found = trajectory(twin(batches=batches), (1, 3), step, lambda: {"w": held})
    assert sorted(found) == ["loss", "weights@1/w", "weights@3/w"]
    np.testing.assert_array_equal(found["loss"], np.array([1, 6, 15], np.float32))
    np.testing.assert_array_equal(found["weights@1/w"], [0, 1])
    np.testing.assert_array_equal(found["weights@3/w"], [6, 9])


def test_results_are_named_in_order_and_none_may_be_missing() -> None:
    program = Program(b"", (), (Result("loss", (), "float32"), Result("y", (2,), "float32")))
    named = program.name_results([1.0, [2.0, 3.0]])
    assert list(named) == ["loss", "y"] and named["y"].shape == (2,)
    with pytest.raises(ValueError, match="shorter"):
        program.name_results([1.0])


def test_a_step_program_without_a_loss_cannot_be_unrolled() -> None:
    with pytest.raises(Unsupported, match="returns no loss"):
        unroll(lambda arguments: arguments, Program(b"", (), ()), twin(), ())


def test_what_was_compiled_is_forgotten_with_the_twin() -> None:
    loaded: Loaded[OneType, str] = Loaded(OneType, lambda: None)
    loaded.load(twin())
    loaded.executables[b"one"] = "one", 0.5
    loaded.load(twin())
    assert not loaded.executables


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_weight_that_a_step_program_does_not_return_stays_as_it_is_in_its_type(dtype: str) -> None:
    results = Result("loss", (), dtype), Result("weights/w", (2,), dtype)
    program = Program(b"", (Parameter("weight", "w", (2,), dtype),), results)
    started = {"w": np.zeros(2, np.float32), "unused": np.array([4.0], np.float32), "seen": np.array([7])}
    batches = {"x": np.zeros((2, 2), np.float32)}
    given = twin(weights=started, batches=batches)
    found = unroll(lambda arguments: [1.0, [2.0, 3.0]], program, given, (2,))  # type: ignore[arg-type,return-value]
    np.testing.assert_array_equal(found["weights@2/w"], [2, 3])
    np.testing.assert_array_equal(found["weights@2/unused"], [4])
    assert found["weights@2/unused"].dtype == dtype
    assert found["weights@2/seen"].dtype == np.int64


def test_a_run_ends_with_its_last_checkpoint() -> None:
    batches = {"x": np.arange(4.0)}
    run = trajectory(twin(batches=batches), (1, 2), lambda batch: batch["x"], dict)
    assert run["loss"].tolist() == [0, 1]
    assert trajectory(twin(batches=batches), (), lambda batch: batch["x"], dict)["loss"].tolist() == [0, 1, 2, 3]
