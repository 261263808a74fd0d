"""Kernels, their times and their lines: medians, nesting, from kernel to source and back, runs of small ones."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hlo_programs import exported
from hypothesis import given
from hypothesis import strategies as st

from compare.hlo import bindings, compiled, executing, kernel_times
from compare.hlo.kernel_times import KernelTime, LocatedKernel, Profile
from compare.hlo.levels import Subject
from compare.inputs.at_size import prepare
from compare.prove import cells
from compare.record import program_parts
from compare.sides import requests
from compare.sides._side import Reply, Side, SideError
from compare.sides.client import LiveSide
from workloads.core import registry
from workloads.core.spec import Arrays
from workloads.protocol.framework import Compiled, KernelRun

MATRIX = np.ones((8, 8), np.float32)
US = 1e-6


def ran(name: str, seconds: float, start: float = 0.0, thread: int = 0) -> KernelRun:
    return KernelRun(name, thread, start, seconds)


def in_turn(*kernels: tuple[str, float]) -> list[KernelRun]:
    """One call that runs these one after the other."""
    starts = np.cumsum([0.0, *(seconds for _, seconds in kernels)])
    return [ran(name, seconds, float(start)) for (name, seconds), start in zip(kernels, starts, strict=False)]


class TestProfile:
    def test_times_are_medians_over_the_calls(self) -> None:
        found = kernel_times.profile([in_turn(("a", seconds)) for seconds in (1.0, 9.0, 2.0)])
        assert found == Profile(1, ("a",), (2.0,), (KernelTime("a", 2.0, 1),))

    def test_a_kernel_that_runs_twice_has_two_times(self) -> None:
        calls = [in_turn(("a", 1.0), ("b", 5.0), ("a", 3.0))] * 3
        found = kernel_times.profile(calls)
        assert found.seconds == (1.0, 5.0, 3.0)
        assert found.times == (KernelTime("b", 5.0, 1), KernelTime("a", 4.0, 2))

    def test_the_order_is_that_of_the_first_call(self) -> None:
        found = kernel_times.profile([in_turn(("a", 1.0), ("b", 2.0)), in_turn(("b", 2.0), ("a", 1.0))])
        assert found.names == ("a", "b")
        assert found.seconds == (1.0, 2.0)

    def test_a_loop_does_not_count_its_body_twice(self) -> None:
        call = [ran("while", 10.0), ran("body", 3.0, 1.0), ran("body", 4.0, 5.0), ran("after", 2.0, 10.0)]
        assert kernel_times.profile([call]).seconds == (3.0, 3.0, 4.0, 2.0)

    def test_what_runs_on_another_thread_is_not_within(self) -> None:
        call = [ran("while", 10.0), ran("other", 3.0, 1.0, thread=1)]
        assert kernel_times.profile([call]).seconds == (10.0, 3.0)

    def test_only_the_innermost_loop_gives_its_time_away(self) -> None:
        call = [ran("outer", 10.0), ran("inner", 6.0, 1.0), ran("body", 5.0, 2.0)]
        assert kernel_times.profile([call]).seconds == (4.0, 1.0, 5.0)

    def test_names_without_times_stay_names(self) -> None:
        assert kernel_times.profile([[KernelRun("a"), KernelRun("a")]]) == Profile(2, ("a", "a"), (), ())

    def test_a_call_without_kernels_has_none(self) -> None:
        assert kernel_times.profile([[]]) == Profile(0, (), (), ())

    def test_refuses_no_call(self) -> None:
        with pytest.raises(ValueError, match="expected at least one profiled call"):
            kernel_times.profile([])

    @given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 1)), min_size=1))
    def test_times_by_name_add_up_to_the_call(self, kernels: list[tuple[str, float]]) -> None:
        found = kernel_times.profile([in_turn(*kernels)])
        assert sum(each.calls for each in found.times) == found.kernels == len(kernels)
        assert sum(each.seconds for each in found.times) == pytest.approx(sum(found.seconds))
        assert list(found.times) == sorted(found.times, key=lambda each: -each.seconds)


def two_lines(x: jax.Array) -> jax.Array:
    a = jnp.sin(x)
    return jnp.sort(a * 2)


LINES = [f"{__file__}:{inspect.getsourcelines(two_lines)[1] + at}" for at in (1, 2)]


def module() -> Subject:
    return Subject("jax", executing.compile_bytecode(exported(two_lines, MATRIX)).optimized_module)


class TestLocated:
    def test_a_fusion_has_all_lines_of_what_it_computes(self) -> None:
        compiled_module = module()
        names = compiled.describe(compiled_module.hlo).kernel_names
        found = kernel_times.locate([KernelTime(name, 1.0, 1) for name in names], compiled_module)
        fused = [each for each in found if each.opcode == "fusion"]
        assert {line for each in fused for line in each.sources} == set(LINES)
        assert all(each.opcode for each in found)

    def test_the_longest_comes_first_with_its_share(self) -> None:
        names = compiled.describe(module().hlo).kernel_names[:2]
        times = [KernelTime(names[0], 1.0, 1), KernelTime(names[1], 3.0, 2)]
        found = kernel_times.locate(times, module())
        assert [(each.name, each.share, each.calls) for each in found] == [(names[1], 0.75, 2), (names[0], 0.25, 1)]

    def test_a_kernel_that_the_module_has_not_stays_without_a_place(self) -> None:
        assert kernel_times.locate([KernelTime("nowhere", 1.0, 1)], module()) == (
            LocatedKernel("nowhere", 1.0, 1, 1.0),
        )

    def test_operations_of_tensorflow_are_known_by_name(self) -> None:
        times = [KernelTime("dense/MatMul:_MklMatMul", 2.0, 1), KernelTime("Mul", 1.0, 1)]
        found = kernel_times.located_operations(times, {"dense/MatMul": "model.py:3"})
        assert [(each.opcode, each.sources) for each in found] == [("_MklMatMul", ("model.py:3",)), ("", ())]

    def test_a_module_without_its_programs_lines_gets_them_by_op_name(self) -> None:
        program = Subject("jax", bindings.hlo_of(bindings.parse(exported(two_lines, MATRIX))), ("x",), ("y",))
        text = """HloModule foreign
        ENTRY e { p = f32[8,8] parameter(0)
          ROOT s = f32[8,8] sine(p), metadata={op_name="XlaCallModule/jit(two_lines)/sin"} }"""
        foreign = kernel_times.compiled_subject("jax@tf", bindings.hlo_from_text(text), program)
        (found,) = kernel_times.locate([KernelTime("s", 1.0, 1)], foreign)
        assert found.sources == (LINES[0],)
        assert (foreign.parameters, foreign.results) == (("x",), ("y",))

    def test_an_op_name_that_stands_at_two_lines_says_nothing(self) -> None:
        def twice(x: jax.Array) -> jax.Array:
            y = jnp.sin(x)
            return jnp.sin(y)

        program = Subject("jax", bindings.hlo_of(bindings.parse(exported(twice, MATRIX))))
        assert not kernel_times.compiled_subject("jax@tf", b"", program).sources


class TestLines:
    def test_the_way_back_has_every_kernel_of_a_line(self) -> None:
        kernels = [
            LocatedKernel("f", 3.0, 1, 0.5, "fusion", ("a.py:1", "a.py:2")),
            LocatedKernel("g", 2.0, 1, 0.4, "dot", ("a.py:2",)),
            LocatedKernel("h", 1.0, 1, 0.1, "copy"),
        ]
        found = kernel_times.lines(kernels)
        assert [(line.source, line.seconds, line.kernels) for line in found] == [
            ("a.py:2", 5.0, ("f", "g")),
            ("a.py:1", 3.0, ("f",)),
        ]


class TestSmallRuns:
    @staticmethod
    def profile(*microseconds: float) -> Profile:
        names = [chr(ord("a") + at) for at in range(len(microseconds))]
        return kernel_times.profile([in_turn(*zip(names, (each * US for each in microseconds), strict=True))])

    def test_are_consecutive_and_below_the_threshold(self) -> None:
        found = kernel_times.small_runs(self.profile(1, 2, 90, 3, 3, 3))
        assert [(run.first, run.names) for run in found] == [(3, ("d", "e", "f")), (0, ("a", "b"))]
        assert found[0].seconds == pytest.approx(9 * US)

    def test_a_single_small_kernel_is_no_run(self) -> None:
        assert kernel_times.small_runs(self.profile(90, 1, 90)) == ()

    def test_large_kernels_are_no_run(self) -> None:
        assert kernel_times.small_runs(self.profile(5, 11, 14)) == ()

    def test_where_every_kernel_is_a_call_twice_the_fastest_is_small(self) -> None:
        (run,) = kernel_times.small_runs(self.profile(30, 50, 500, 40))
        assert run.names == ("a", "b")
        assert kernel_times.small_runs(self.profile(1, 6, 7)) == ()

    def test_a_run_knows_the_lines_that_it_comes_from(self) -> None:
        kernels = [
            LocatedKernel("a", US, 1, 0.5, "fusion", ("m.py:1",)),
            LocatedKernel("b", US, 1, 0.5, "fusion", ("m.py:1", "m.py:2")),
        ]
        (run,) = kernel_times.small_runs(self.profile(1, 1), kernels)
        assert run.sources == ("m.py:1", "m.py:2")

    def test_nothing_is_small_where_no_times_were_kept(self) -> None:
        assert kernel_times.small_runs(kernel_times.profile([[KernelRun("a"), KernelRun("b")]])) == ()


class Answers(Side):
    """A side that gives one answer to everything, or fails."""

    name = "tf"

    def __init__(self, value: Any, lost: bool | None = None) -> None:
        self._value, self._lost = value, lost

    def call(self, method: str, parameters: Mapping[str, Any], arrays: Arrays | None = None) -> Reply:
        if self._lost is not None:
            raise SideError(self.name, method, "not recorded", is_lost=self._lost)
        return Reply(self._value)

    def close(self) -> None: ...


class TestRequests:
    def test_every_call_arrives(self) -> None:
        assert requests.profile(Answers([[["a", 1, 0.5, 2.0]], []]), "jit") == [[ran("a", 2.0, 0.5, 1)], []]

    def test_a_cell_that_cannot_be_profiled_says_why(self) -> None:
        counted = program_parts.Compiled(instructions=1)
        timed = cells._with_times(counted, Answers(None, lost=False), Compiled(0, 0.0), module())
        assert timed == program_parts.Compiled(instructions=1, times_reason="not recorded")

    def test_a_side_that_is_lost_is_not_survived(self) -> None:
        with pytest.raises(SideError):
            cells._with_times(program_parts.Compiled(), Answers(None, lost=True), Compiled(0, 0.0), module())


@pytest.fixture(scope="module", params=["tf", "jax"])
def side(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveSide]:
    started = LiveSide(request.param, tmp_path_factory.mktemp(request.param))
    yield started
    started.close()


@pytest.mark.process
def test_every_profiled_call_of_either_side_has_kernels_with_times(side: LiveSide, tmp_path: Path) -> None:
    modes = requests.load(side, prepare(registry.get("add"), "smoke", None, tmp_path).loading)
    for mode in modes["forward"]:
        calls = requests.profile(side, mode)
        assert len(calls) == 5
        for call in calls:
            assert call[0].start_s == 0
            assert all(each.seconds is not None and 0 < each.seconds < 10 for each in call)
            assert all(each.start_s >= 0 for each in call)
