"""Bytes of one operation: operands and results, but for what is sliced or updated in place."""

from __future__ import annotations

import pytest

from compare.devices.traffic import traffic
from compare.hlo import bindings, read_module

MODULE = """\
HloModule m

sliced {
  p = f32[100,64] parameter(0)
  i = s32[] parameter(1)
  z = s32[] constant(0)
  ROOT d = f32[1,64] dynamic-slice(p, i, z), dynamic_slice_sizes={1,64}
}

updated {
  p = f32[100,64] parameter(0)
  u = f32[1,64] parameter(1)
  i = s32[] parameter(2)
  z = s32[] constant(0)
  ROOT d = f32[100,64] dynamic-update-slice(p, u, i, z)
}

both {
  p = f32[100,64] parameter(0)
  i = s32[] parameter(1)
  z = s32[] constant(0)
  d = f32[1,64] dynamic-slice(p, i, z), dynamic_slice_sizes={1,64}
  r = f32[64] reshape(d)
  b = f32[100,64] broadcast(r), dimensions={1}
  ROOT s = f32[100,64] add(p, b)
}

ENTRY main {
  x = f32[100,64] parameter(0)
  u = f32[1,64] parameter(1)
  i = s32[] parameter(2)
  add.1 = f32[100,64] add(x, x)
  slice.1 = f32[1,64] slice(x), slice={[0:1], [0:64]}
  sliced.1 = f32[1,64] fusion(x, i), kind=kLoop, calls=sliced
  updated.1 = f32[100,64] fusion(x, u, i), kind=kLoop, calls=updated
  both.1 = f32[100,64] fusion(x, i), kind=kLoop, calls=both
  library.1 = (f32[100,64], s8[4194304]) custom-call(x, x), custom_call_target="__cublas$lt$matmul"
  product = f32[100,64] get-tuple-element(library.1), index=0
  rows = (f32[1,64], f32[1,64]) tuple(slice.1, sliced.1)
  wide = (f32[100,64], f32[100,64], f32[100,64], f32[100,64]) tuple(add.1, product, updated.1, both.1)
  ROOT t = ((f32[1,64], f32[1,64]), (f32[100,64], f32[100,64], f32[100,64], f32[100,64])) tuple(rows, wide)
}
"""
WHOLE, ROW, INDEX = 100 * 64 * 4, 64 * 4, 4


@pytest.fixture(scope="module")
def graph():
    return read_module.read(bindings.hlo_from_text(MODULE))


@pytest.mark.parametrize(
    ("name", "bytes_"),
    [
        ("add.1", 3 * WHOLE),
        ("slice.1", 2 * ROW),
        ("sliced.1", ROW + INDEX + ROW),
        ("updated.1", ROW + INDEX + ROW),
        # The workspace of a library is no traffic.
        ("library.1", 3 * WHOLE),
        ("both.1", WHOLE + INDEX + WHOLE),
    ],
)
def test_what_is_not_touched_is_not_counted(graph, name, bytes_):
    (node,) = [node for node in graph if node.name == name]
    assert traffic(node, graph) == bytes_
