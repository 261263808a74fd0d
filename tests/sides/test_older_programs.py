"""Programs of a TensorFlow that writes HLO alone become StableHLO on this side."""

from __future__ import annotations

import numpy as np
import pytest

from compare.hlo import bindings
from compare.sides._side import Reply, SideError
from compare.sides.older_programs import as_stablehlo

HLO = """HloModule older, entry_computation_layout={(f32[3]{0}, s32[2]{0})->(f32[3]{0}, s32[2]{0})}

ENTRY main {
  x = f32[3]{0} parameter(0)
  n = s32[2]{0} parameter(1)
  sum = f32[3]{0} add(x, x)
  ROOT result = (f32[3]{0}, s32[2]{0}) tuple(sum, n)
}
"""
STABLEHLO = """
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  return %x : tensor<3xf32>
}
"""


def given(artifact: bytes) -> Reply:
    return Reply({"sources": {}}, {"artifact": np.frombuffer(artifact, np.uint8), "states/step": np.int64(3)})


def test_hlo_becomes_stablehlo_with_flat_parameters_and_results() -> None:
    found = as_stablehlo("tf", given(bindings.hlo_from_text(HLO)))
    text = str(bindings.parse(found.arrays["artifact"].tobytes()))
    assert "@main(%arg0: tensor<3xf32>, %arg1: tensor<2xi32>) -> (tensor<3xf32>, tensor<2xi32>)" in text
    assert "stablehlo.add %arg0, %arg0" in text
    assert (found.value, found.arrays["states/step"]) == ({"sources": {}}, 3)


def test_stablehlo_stays_as_it_is() -> None:
    reply = given(bindings.artifact(STABLEHLO))
    assert as_stablehlo("tf", reply) is reply


@pytest.mark.parametrize("artifact", [b"", b"\xff" * 40, b"ML is not all of the magic number"])
def test_what_is_neither_is_one_line(artifact: bytes) -> None:
    with pytest.raises(SideError, match="tf: program: expected"):
        as_stablehlo("tf", given(artifact))
