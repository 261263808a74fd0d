"""Code and memory of a dump directory: LLVM IR, MLIR, PTX, thunks and buffers counted."""

from __future__ import annotations

import pytest
from places import DATA

from compare.hlo.dumps import DumpedModule, buffers, gpu, llvm, modules

DUMPS = DATA / "dumps"


def module(folder: str, function: str) -> DumpedModule:
    """One module of the samples."""
    (found,) = [each for each in modules(DUMPS / folder) if each.function == function]
    return found


def test_kernels_are_paired_before_and_after_llvm() -> None:
    (kernel,) = llvm.kernels(module("jax", "steps"))
    assert kernel.name == "broadcast_multiply_fusion_kernel_module"
    assert kernel.unoptimized is not None
    assert kernel.optimized is not None
    assert kernel.unoptimized.functions == ("broadcast_multiply_fusion", "broadcast_multiply_fusion_wrapped")
    assert kernel.optimized.functions == ("broadcast_multiply_fusion",)
    assert (kernel.unoptimized.vector, kernel.unoptimized.vector_bits) == ("", 0)
    assert (kernel.optimized.vector, kernel.optimized.vector_bits) == ("8 x float", 256)
    assert (kernel.unoptimized.bytes, kernel.optimized.bytes) == (3417, 4428)
    assert kernel.optimized.preferred_bits == 256


def test_instructions_are_lines_of_bodies_without_labels_comments_and_cases() -> None:
    text = """\
declare <32 x double> @other(ptr)
define void @"odd name"(ptr %0) #0 {
  ; a comment
  %1 = load <4 x i1>, ptr %0
  switch i32 %2, label %end [
    i32 0, label %a
    i32 1, label %end
  ]

a:                                       ; preds = %1
  %3 = fadd <4 x double> %4, <double 1.0, double 1.0, double 1.0, double 1.0>
  br label %end

end:
  ret void
}
!0 = !{<64 x float> undef}
"""
    found = llvm.read_code("k.ll", text, 99)
    assert (found.functions, found.instructions, found.bytes) == (("odd name",), 5, 99)
    assert (found.vector, found.vector_bits, found.vector_instructions) == ("4 x double", 256, 2)
    assert found.preferred_bits is None


def test_mlir_is_counted_by_dialect() -> None:
    (program,) = llvm.lowered(module("jax", "steps"))
    assert (program.file, program.operations) == ("module.mlir", {"stablehlo": 12, "func": 1})
    (kernel,) = llvm.lowered(module("tf_autocluster", "cluster_0"))
    assert kernel.step == "pre-optimization"
    assert kernel.operations["xtile"] == 3


# Written by hand: no GPU wrote them. PTX as in the ISA's manual, thunks as XLA's own tests print them.
PTX = """\
.version 8.7
.target sm_90a
.visible .entry loop_add_fusion(
	.param .u64 .ptr .align 16 loop_add_fusion_param_0,
	.param .u64 .ptr .align 128 loop_add_fusion_param_1
)
.reqntid 128, 1, 1
{
	.reg .pred 	%p<3>;
	.reg .b32 	%r<10>;
	.reg .b32 	%f<4>;
	ret;
}
.visible .entry wrapped_add(.param .u64 wrapped_add_param_0)
.maxntid 256
{
	.reg .b64 	%rd<7>;
	ret;
}
"""
THUNKS = """\
000: kKernel\tloop_add_fusion
001: kConditional\t
  false_branch:
    000: kGemm\tgemm.1
  true_branch:
    000: kGemm\tgemm.2
"""


def test_ptx_names_its_entries_with_registers_and_launch() -> None:
    found = gpu.read_ptx("f.ptx", PTX, 7)
    first, second = found.kernels
    assert (found.target, first.name, second.name) == ("sm_90a", "loop_add_fusion", "wrapped_add")
    assert (first.parameters, first.registers, first.launch) == (2, {"pred": 3, "b32": 14}, {"reqntid": "128, 1, 1"})
    assert (second.parameters, second.registers, second.launch) == (1, {"b64": 7}, {"maxntid": "256"})
    assert gpu.read_ptx("empty.ptx", "", 0).kernels == ()


def test_thunks_are_counted_and_nested() -> None:
    found = gpu.read_thunks("t.txt", THUNKS)
    assert found.kinds == {"kGemm": 2, "kKernel": 1, "kConditional": 1}
    assert found.launched == 3, "a branch hands nothing to the device"
    assert [(each.kind, each.depth, each.what) for each in found.thunks] == [
        ("kKernel", 0, "loop_add_fusion"),
        ("kConditional", 0, ""),
        ("kGemm", 1, "gemm.1"),
        ("kGemm", 1, "gemm.2"),
    ]


# Buffers


@pytest.mark.parametrize(
    ("folder", "function", "total", "by_use"),
    [
        ("jax", "steps", 32909, {"parameter": 16384, "output": 16384, "temp": 129, "constant": 12, "thread-local": 0}),
        ("tf_jit", "train_step", 32832,
         {"parameter": 32768, "output": 20, "temp": 16, "constant": 4, "thread-local": 24}),
        ("jax_proto", "<lambda>", 64, {"parameter": 32, "output": 32, "temp": 0, "constant": 0, "thread-local": 0}),
    ],
)  # fmt: skip
def test_bytes_are_counted_by_what_they_hold(folder: str, function: str, total: int, by_use: dict[str, int]) -> None:
    found = buffers.read_buffers(module(folder, function))
    assert found is not None
    assert (found.total, found.by_use) == (total, by_use)


@pytest.mark.parametrize(("folder", "function"), [("jax", "steps"), ("tf_autocluster", "cluster_0")])
def test_the_sum_of_the_allocations_is_what_xla_reports(folder: str, function: str) -> None:
    found = buffers.read_buffers(module(folder, function))
    assert found is not None
    assert found.allocations
    assert found.total == found.reported


def test_the_largest_buffer_names_the_instructions_that_live_in_it() -> None:
    found = buffers.read_buffers(module("jax", "steps"))
    assert found is not None
    assert [each.bytes for each in found.allocations] == [16384, 16384, 129, 4, 4, 4]
    fusion = found.allocations[0].values[0]
    assert (fusion.instruction, fusion.opcode, fusion.op_name, fusion.bytes) == (
        "broadcast_multiply_fusion",
        "fusion",
        "jit(steps)/while/body/mul",
        16384,
    )
    assert [(each.instruction, each.index) for each in found.allocations[0].values][2] == ("arg_tuple.3", "{1}")
    assert [(each.instruction, each.bytes) for each in found.peak][:2] == [("arg_tuple.3", 16384), ("x.1", 16384)]


def test_a_variable_updated_in_place_is_a_parameter_that_is_also_output() -> None:
    found = buffers.read_buffers(module("tf_jit", "train_step"))
    assert found is not None
    (variable,) = [each for each in found.allocations if "parameter 1" in each.said]
    assert (variable.use, "maybe-live-out" in variable.said) == ("parameter", True)
    assert [each.instruction for each in variable.values] == ["arg1.1", "multiply_add_fusion"]


def test_a_report_alone_still_says_the_total() -> None:
    found = buffers.from_texts({"memory-usage-report": "Memory Space: default (color=0)\nTotal bytes: 12 (12B)\n"})
    assert (found.total, found.reported, found.allocations) == (12, 12, ())


def test_a_module_without_reports_has_no_buffers() -> None:
    assert buffers.read_buffers(module("jax", "table")) is None
