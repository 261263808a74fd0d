"""Collectives read off a module: kinds, bytes, and groups in each of the forms in which XLA writes them."""

from __future__ import annotations

import pytest

from compare.hlo import bindings, collectives
from compare.hlo.graph import Node, Shape

MODULE = """
HloModule m, entry_computation_layout={(f32[8,4]{1,0}, f32[16]{0})->(f32[8,4]{1,0}, f32[64]{0})}

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}

ENTRY main {
  x = f32[8,4]{1,0} parameter(0)
  y = f32[16]{0} parameter(1)
  r = f32[8,4]{1,0} all-reduce(x), channel_id=1, replica_groups={{0,1},{2,3}}, use_global_device_ids=true, to_apply=add
  g = f32[64]{0} all-gather(y), channel_id=2, replica_groups=GROUPS, dimensions={0}, use_global_device_ids=true
  ROOT t = (f32[8,4]{1,0}, f32[64]{0}) tuple(r, g)
}
"""


@pytest.mark.parametrize(
    ("written", "groups"),
    [
        ("{{0,1,2,3}}", ((0, 1, 2, 3),)),
        ("[2,2]<=[4]", ((0, 1), (2, 3))),
        ("[2,2]<=[2,2]T(1,0)", ((0, 2), (1, 3))),
        ("{}", ()),
    ],
)
def test_kinds_bytes_and_groups(written: str, groups: collectives.Groups) -> None:
    found = collectives.collectives(bindings.hlo_from_text(MODULE.replace("GROUPS", written)))
    assert [(each.kind, each.arrays, each.bytes) for each in found] == [("all-reduce", 1, 128), ("all-gather", 1, 64)]
    assert [each.groups for each in found] == [((0, 1), (2, 3)), groups]


def listed(mesh: tuple[int, ...], *axes: tuple[int, int, int], devices: tuple[int, ...] = ()) -> Node:
    message = collectives._CLASSES["MeshList"]()
    for size in mesh:
        message.mesh.axes.add(name="axis", size=size)
    message.mesh.device_ids.extend(devices)
    for axis, before, size in axes:
        ref = message.axes.add(axis=axis)
        if size:
            ref.part.before, ref.part.size = before, size
    named = ("mesh_axes_replica_group_list", message.SerializeToString())
    return Node(0, "all-reduce", "all-reduce", Shape("f32"), attributes=(named,))


def test_groups_of_a_mesh() -> None:
    assert collectives.groups_of(listed((2, 2), (0, 0, 0))) == ((0, 2), (1, 3))
    assert collectives.groups_of(listed((2, 2), (1, 0, 0))) == ((0, 1), (2, 3))
    assert collectives.groups_of(listed((2, 2), (0, 0, 0), (1, 0, 0))) == ((0, 1, 2, 3),)
    assert collectives.groups_of(listed((2, 2), (1, 0, 0), devices=(3, 2, 1, 0))) == ((3, 2), (1, 0))
    # Half of an axis of four: its outer part, then its inner one.
    assert collectives.groups_of(listed((4,), (0, 1, 2))) == ((0, 2), (1, 3))
    assert collectives.groups_of(listed((4,), (0, 2, 2))) == ((0, 1), (2, 3))


def test_what_exchanges_nothing_is_no_collective() -> None:
    assert [collectives.kind_of(opcode) for opcode in ("all-reduce-start", "all-reduce-done", "reduce", "add")] == [
        "all-reduce", "", "", "",
    ]  # fmt: skip
