"""Lines of a StableHLO program by name, shape and place."""

from __future__ import annotations

from compare.hlo import bindings
from compare.hlo.stablehlo_lines import lines

# Two spellings of a place: JAX's call sites, and TensorFlow's name fused with a line of its own file.
PROGRAM = """\
#file = loc("model.py":7:2)
#caller = loc("train.py":30:0)
#ops = loc("/tensorflow/python/framework/ops.py":1221:0)
#call = loc(callsite(#file at #caller))
#matmul = loc("MatMul")
module @m {
  func.func public @main(%arg0: tensor<8x4xf32>) -> tensor<i32> {
    %0 = stablehlo.tanh %arg0 : tensor<8x4xf32> loc("jit(f)/tanh"(#call))
    %1 = stablehlo.negate %0 : tensor<8x4xf32> loc(fused[#matmul, #ops])
    %2 = stablehlo.convert %1 : (tensor<8x4xf32>) -> tensor<8x4xi1> loc("jit(f)/convert"(#call))
    %3 = stablehlo.constant dense<1> : tensor<i32> loc(unknown)
    return %3 : tensor<i32>
  }
}
"""


def test_each_operation_has_its_name_shape_and_places():
    found = lines(bindings.artifact(PROGRAM))
    assert [(line.name, line.shape) for line in found] == [
        ("jit(f)/tanh", "f32[8,4]"), ("MatMul", "f32[8,4]"), ("jit(f)/convert", "pred[8,4]"), ("", "s32[]"),
    ]  # fmt: skip
    assert found[0].places == {"model.py:7", "train.py:30"}
    assert found[0].text == "%0 = stablehlo.tanh %arg0 : tensor<8x4xf32>"


def test_a_line_of_tensorflow_itself_is_no_place():
    assert lines(bindings.artifact(PROGRAM))[1].places == frozenset()
