"""Collectives read off a module: kinds, bytes, and groups in each of the forms in which XLA writes them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare.hlo import bindings, collectives
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.graph import Node, Shape
from workloads.protocol.distributing import Collective

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


EVERYONE = ((0, 1, 2, 3),)
TAIL = "channel_id=1, replica_groups=[1,4]<=[4], use_global_device_ids=true"
ADD = "add {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT sum = f32[] add(a, b)\n}\n"


def read(parameters: str, result: str, *others: str) -> tuple[Collective, ...]:
    """The collectives of a module with these lines in its entry, `ROOT a` the last, and computations before it."""
    text = f"HloModule m\n\n{ADD}\n{''.join(others)}\nENTRY main {{\n  {parameters}\n  ROOT a = {result}\n}}\n"
    return collectives.collectives(bindings.hlo_from_text(text))


@pytest.mark.parametrize(
    ("taken", "line", "kind", "bytes_"),
    [
        ("f32[8,4]", f"f32[8,4] all-reduce(p), {TAIL}, to_apply=add", "all-reduce", 128),
        ("f32[8]", f"f32[8] all-reduce-start(p), {TAIL}, to_apply=add", "all-reduce", 32),
        ("f32[4]", f"f32[16] all-gather(p), {TAIL}, dimensions={{0}}", "all-gather", 64),
        ("f32[4]", f"(f32[4], f32[16]) all-gather-start(p), {TAIL}, dimensions={{0}}", "all-gather", 64),
        ("f32[16]", f"f32[4] reduce-scatter(p), {TAIL}, dimensions={{0}}, to_apply=add", "reduce-scatter", 64),
        (
            "f32[4,4]",
            "f32[4,4] all-to-all(p), channel_id=1, replica_groups=[1,4]<=[4], dimensions={0}",
            "all-to-all",
            64,
        ),
    ],
)
def test_bytes_are_those_of_the_whole_array(taken: str, line: str, kind: str, bytes_: int) -> None:
    (found,) = (collectives.whole_array(each, 4) for each in read(f"p = {taken} parameter(0)", line))
    assert (found.kind, found.bytes, found.groups) == (kind, bytes_, EVERYONE)


def test_several_arrays_are_one_collective() -> None:
    both = "p = f32[8] parameter(0)\n  q = bf16[2,2] parameter(1)"
    (reduced,) = read(both, f"(f32[8], bf16[2,2]) all-reduce(p, q), {TAIL}, to_apply=add")
    (gathered,) = read(
        "p = f32[4] parameter(0)\n  q = f32[1] parameter(1)",
        f"((f32[4], f32[1]), (f32[16], f32[4])) all-gather-start(p, q), {TAIL}, dimensions={{0}}",
    )
    assert (reduced.arrays, collectives.whole_array(reduced, 4).bytes) == (2, 40)
    assert collectives.whole_array(gathered, 4).bytes == 80


def test_what_a_permute_hands_on_and_the_line_that_it_comes_from() -> None:
    line = (
        "f32[4] collective-permute(p), source_target_pairs={{0,1},{1,0}}, "
        'metadata={op_name="x" source_file="step.py" source_line=7}'
    )
    (found,) = (collectives.whole_array(each, 2) for each in read("p = f32[4] parameter(0)", line))
    assert (found.bytes, found.groups, found.source) == (16, ((0, 1), (1, 0)), "step.py:7")


def test_a_tpu_scatters_in_a_fusion_of_an_all_reduce() -> None:
    fused = (
        f"all-reduce-scatter.1 {{\n p = f32[16] parameter(0)\n r = f32[16] all-reduce(p), {TAIL}, to_apply=add\n"
        " ROOT s = f32[4] slice(r), slice={[0:4]}\n}\n"
    )
    line = "f32[4] fusion(p), kind=kCustom, calls=all-reduce-scatter.1"
    (found,) = (collectives.whole_array(each, 4) for each in read("p = f32[16] parameter(0)", line, fused))
    assert (found.kind, found.bytes) == ("reduce-scatter", 64)


def test_one_channel_in_several_fusions_is_one_collective() -> None:
    def fused(number: int, *channels: int) -> str:
        lines = "".join(
            f" g{channel} = f32[16] all-gather(p), channel_id={channel}, replica_groups=[1,4]<=[4], dimensions={{0}}, "
            "use_global_device_ids=true\n"
            for channel in channels
        )
        root = "".join(f", g{channel}" for channel in channels)[2:]
        shape = ", ".join(["f32[16]"] * len(channels))
        return f"f.{number} {{\n p = f32[4] parameter(0)\n{lines} ROOT t = ({shape}) tuple({root})\n}}\n"

    entry = "p = f32[4] parameter(0)\n  x = (f32[16]) fusion(p), kind=kCustom, calls=f.1"
    line = "(f32[16], f32[16]) fusion(p), kind=kCustom, calls=f.2"
    assert len(read(entry, line, fused(1, 7), fused(2, 7, 8))) == 2


def of_groups(*groups: tuple[int, ...]) -> Collective:
    return Collective("all-reduce", 1, 4, groups)


@pytest.mark.parametrize("groups", [((0, 1),), ((0, 1), (1, 2)), ((0, 1), (2, 3), (4, 5), (6, 8)), ((0,) * 8,)])
def test_what_does_not_name_every_device_once_is_refused(groups: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(UnreadableProgram, match="expected replica groups of 8 devices"):
        collectives.whole_array(of_groups(*groups), 8)


def test_no_groups_are_all_devices() -> None:
    assert collectives.whole_array(of_groups(), 3).groups == ((0, 1, 2),)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("{{0,2},{1,3},{4,6},{5,7}}", ((0, 2), (1, 3), (4, 6), (5, 7))),
        ("[2,4]<=[8]", ((0, 1, 2, 3), (4, 5, 6, 7))),
        ("[4,2]<=[2,4]T(1,0)", ((0, 4), (1, 5), (2, 6), (3, 7))),
        ("[2,4]<=[2,2,2]T(1,0,2)", ((0, 1, 4, 5), (2, 3, 6, 7))),
        ("mesh['x'=2,'y'=4] {'y'}", ((0, 1, 2, 3), (4, 5, 6, 7))),
        ("mesh['x'=2,'y'=4] {'x'}", ((0, 4), (1, 5), (2, 6), (3, 7))),
        ("mesh['x'=2,'y'=4] {'x','y'}", (tuple(range(8)),)),
        ("mesh['x'=8] {'x':(2)2}", ((0, 2), (1, 3), (4, 6), (5, 7))),
        # Device 1 stands beside device 0 on the first axis: ids run down the columns.
        ("mesh['x'=2,'y'=4], device_ids=([4,2]T(1,0)) {'x'}", ((0, 1), (2, 3), (4, 5), (6, 7))),
    ],
)
def test_every_form_that_text_has(written: str, expected: tuple[tuple[int, ...], ...]) -> None:
    line = f"f32[4] all-reduce(p), channel_id=1, replica_groups={written}, use_global_device_ids=true, to_apply=add"
    (found,) = read("p = f32[4] parameter(0)", line)
    assert found.groups == expected


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_an_iota_list_is_the_listed_groups(dimensions: list[int], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(dimensions))))
    count = math.prod(dimensions)
    each = data.draw(st.sampled_from([size for size in range(1, count + 1) if count % size == 0]))
    # By the definition in words: the number at a place of the transposed array is found by its coordinates.
    numbers = []
    for place in np.ndindex(*(dimensions[axis] for axis in order)):
        coordinates = [0] * len(dimensions)
        for axis, at in zip(order, place, strict=True):
            coordinates[axis] = at
        numbers.append(int(np.ravel_multi_index(coordinates, dimensions)))
    iota = collectives._CLASSES["Iota"](groups=count // each, devices=each, reshape=dimensions, transpose=order)
    written = ("iota_collective_device_list", iota.SerializeToString())
    node = Node(0, "all-reduce", "all-reduce", Shape("f32"), attributes=(written,))
    assert collectives.groups_of(node) == tuple(tuple(numbers[at : at + each]) for at in range(0, count, each))
