"""Vectors, unrolling and fused multiply-adds, read off generated code."""

from __future__ import annotations

from places import DATA

from compare.hlo.dumps import modules, vector_code
from compare.hlo.dumps.vector_code import KernelCode

LOOP = """\
define noalias ptr @fusion.1(ptr %0) #0 {
  br label %vector.body

vector.body:                                      ; preds = %vector.body, %1
  %index = phi i64 [ 0, %1 ], [ %index.next.1, %vector.body ]
  %wide.load = load <8 x float>, ptr %2, align 4
  %3 = fmul <8 x float> %wide.load, %wide.load
  %index.next = or disjoint i64 %index, 16
  %4 = fadd <8 x float> %3, %wide.load
  %index.next.1 = add nuw nsw i64 %index, 32
  %5 = icmp eq i64 %index.next.1, 4096
  br i1 %5, label %done, label %vector.body, !llvm.loop !15

done:                                             ; preds = %vector.body
  %6 = fadd float %7, 1.000000e+00
  ret ptr null
}
"""
SCALAR = """\
define ptr @"odd name"(ptr %0) {
  %1 = load float, ptr %0
  %2 = fadd float %1, 1.000000e+00
  store float %2, ptr %0
  ret ptr null
}
"""
ASSEMBLY = """\
0000000000000000 <fusion.1>:
   0:\tpush   %rbp
   4:\tadd    $0x20,%rax
   8:\tvmulps %ymm1,%ymm1,%ymm1
   c:\tvfmadd213ps (%rdx),%ymm1,%ymm2
  10:\tvaddss %xmm1,%xmm2,%xmm3
  14:\tsub    %rax,%rdx

0000000000000020 <other>:
  20:\tfmla   v0.4s, v1.4s, v2.4s
  24:\tfadd   s0, s1, s2
  28:\tadd    x0, x1, x2
  2c:\tmul    x0, x1, x2
"""


def test_the_loop_says_how_wide_and_how_often() -> None:
    (code,) = vector_code.of_llvm(LOOP)
    assert code == KernelCode("fusion.1", "8 x float", 8, 32)
    assert code.unroll == 4


def test_a_narrower_vector_and_a_shorter_turn_are_told_apart() -> None:
    (narrow,) = vector_code.of_llvm(LOOP.replace("8 x float", "4 x float"))
    (short,) = vector_code.of_llvm(LOOP.replace("%index, 32", "%index, 8"))
    assert (narrow.vector, narrow.unroll) == ("4 x float", 8)
    assert (short.vector, short.unroll) == ("8 x float", 1)


def test_a_turn_that_is_no_number_of_vectors_says_nothing_of_unrolling() -> None:
    (code,) = vector_code.of_llvm(LOOP.replace("%index, 32", "%index, 1"))
    assert (code.turn, code.unroll) == (1, None)


def test_code_without_a_loop_has_a_type_and_no_turn() -> None:
    assert vector_code.of_llvm(SCALAR) == (KernelCode("odd name", "float", 1, None),)
    (empty,) = vector_code.of_llvm("define ptr @nothing(ptr %0) {\n  ret ptr null\n}\n")
    assert empty == KernelCode("nothing")


def test_fused_multiply_adds_are_counted_and_integers_are_not() -> None:
    assert vector_code.of_assembly(ASSEMBLY) == {"fusion.1": (1, 3), "other": (1, 2)}


def test_a_dumped_module_has_its_kernels() -> None:
    (module,) = [each for each in modules(DATA / "dumps" / "jax") if each.function == "steps"]
    (code,) = vector_code.kernels(module)
    assert (code.kernel, code.vector, code.width, code.fused) == ("broadcast_multiply_fusion", "8 x float", 8, None)
    (counted,) = vector_code.kernels(module, {"k.o": ASSEMBLY.replace("fusion.1", "broadcast_multiply_fusion")})
    assert (counted.fused, counted.arithmetic) == (1, 3)


def test_the_same_code_under_other_names_has_one_fingerprint() -> None:
    renamed = LOOP.replace("fusion.1", "fusion.27") + '!5 = !{!"name of an array"}\n'
    assert vector_code._without_names(renamed).strip() == vector_code._without_names(LOOP).strip()
    assert vector_code._without_names(LOOP.replace("fmul", "fadd")) != vector_code._without_names(LOOP)
