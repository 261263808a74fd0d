"""Kernels of a CUDA graph are told by their instructions, or keep their own names: never another one's."""

from __future__ import annotations

import pytest

from compare.hlo import bindings
from compare.hlo.graph_kernels import Schedule
from workloads.protocol.framework import KernelRun

MODULE = """HloModule step, is_scheduled=true
tanh {
  p = f32[8,8] parameter(0)
  ROOT t = f32[8,8] tanh(p)
}
negate {
  q = f32[8,8] parameter(0)
  ROOT n = f32[8,8] negate(q)
}
ENTRY entry {
  x = f32[8,8] parameter(0)
  gemm.1 = f32[8,8] custom-call(x, x), custom_call_target="__cublas$gemm"
  tanh_fusion = f32[8,8] fusion(gemm.1), kind=kLoop, calls=tanh
  gemm.2 = f32[8,8] custom-call(tanh_fusion, x), custom_call_target="__cublas$gemm"
  gemm.3 = f32[8,8] custom-call(gemm.2, x), custom_call_target="__cublas$gemm"
  negate_fusion.4 = f32[8,8] fusion(gemm.3), kind=kLoop, calls=negate
  gemm.5 = f32[8,8] custom-call(negate_fusion.4, x), custom_call_target="__cublas$gemm"
  ROOT out = (f32[8,8]) tuple(gemm.5)
}
"""
CALL = ["sgemm", "tanh_fusion", "sgemm", "sgemm", "negate_fusion_4", "sgemm_splitK", "reduce_K"]
TOLD = ["gemm.1", "tanh_fusion", "gemm.2", "gemm.3", "negate_fusion.4", "gemm.5", "gemm.5"]


@pytest.fixture
def schedule() -> Schedule:
    return Schedule(bindings.hlo_from_text(MODULE))


def test_what_xla_wrote_is_known_by_name_and_a_library_by_its_place(schedule: Schedule) -> None:
    assert schedule.instructions(CALL) == TOLD


def test_a_kernel_keeps_its_times(schedule: Schedule) -> None:
    call = [KernelRun(name, at, at * 1e-6, 1e-6) for at, name in enumerate(CALL)]
    assert schedule.name_runs(call) == [KernelRun(name, at, at * 1e-6, 1e-6) for at, name in enumerate(TOLD)]


def test_between_two_calls_lie_the_end_of_one_and_the_start_of_the_next(schedule: Schedule) -> None:
    calls = [*CALL[:5], "sgemm", "sgemm", *CALL[1:5]]
    assert schedule.instructions(calls) == [*TOLD[:5], "gemm.5", "gemm.1", *TOLD[1:5]]


@pytest.mark.parametrize(
    "kernels",
    [
        ["tanh_fusion", "one", "negate_fusion_4"],  # two products stand between
        ["tanh_fusion", "one", "two", "three", "negate_fusion_4"],
        ["one", "two", "three"],  # no kernel is known by its name
        ["negate_fusion_4", "of gemm.5 or gemm.1", "tanh_fusion"],
    ],
)
def test_what_may_be_several_instructions_keeps_its_own_name(schedule: Schedule, kernels: list[str]) -> None:
    told = schedule.instructions(kernels)
    unknown = [name for name in kernels if "fusion" not in name]
    assert [name for name in told if "fusion" not in name] == unknown


def test_an_instruction_within_a_fusion_is_no_kernel(schedule: Schedule) -> None:
    assert schedule.instructions(["tanh_fusion", "n", "t"]) == ["tanh_fusion", "n", "t"]
    # It is named, so that what stands alone in its place is not taken for it.
    assert schedule.instructions(["n", "tanh_fusion"]) == ["n", "tanh_fusion"]


def test_names_that_come_out_alike_are_nobodys() -> None:
    alike = MODULE.replace("negate_fusion.4", "tanh.fusion").replace("tanh_fusion", "tanh-fusion")
    assert Schedule(bindings.hlo_from_text(alike)).instructions(["tanh_fusion"]) == ["tanh_fusion"]


def test_without_a_schedule_a_library_is_not_told() -> None:
    unordered = MODULE.replace(", is_scheduled=true", "")
    expected = ["sgemm", "tanh_fusion", "sgemm", "sgemm", "negate_fusion.4", "sgemm_splitK", "reduce_K"]
    assert Schedule(bindings.hlo_from_text(unordered)).instructions(CALL) == expected
