"""Fusion partitions: two modules that compute the same values in other kernels."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hlo_programs import exported

from compare.hlo import bindings, executing, partitions
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.graph import Graph, Node, Shape
from compare.hlo.levels import Subject, read

FUSED = """HloModule one
body {
p = f32[8] parameter(0)
m = f32[8] multiply(p, p)
ROOT s = f32[8] sine(m)
}
ENTRY entry {
p = f32[8] parameter(0)
ROOT f = f32[8] fusion(p), kind=kLoop, calls=body
}"""
APART = """HloModule two
ENTRY entry {
p = f32[8] parameter(0)
m = f32[8] multiply(p, p)
ROOT s = f32[8] sine(m)
}"""


def subject(label: str, text: str) -> Subject:
    return Subject(label, bindings.hlo_from_text(text), ("input x",))


def compared(left: str, right: str) -> partitions.Partitions:
    return partitions.compare(subject("a", left), subject("b", right))


def test_one_partition_differs_in_nothing_from_itself() -> None:
    found = compared(FUSED, FUSED)
    assert found.lines == []
    assert found.matched == 2
    assert found.kernels == {"a": 1, "b": 1}


def test_a_fusion_that_is_several_kernels_elsewhere_is_named() -> None:
    found = compared(FUSED, APART)
    (regrouped,) = found.regrouped
    assert (regrouped.side, regrouped.kernel, regrouped.kernels, regrouped.values) == ("a", "f", ("m", "s"), 2)
    assert str(regrouped) == "a's f does what is 2 kernels in b: m, s"


def test_a_value_written_on_one_side_only_is_named_with_its_bytes() -> None:
    (written,) = compared(FUSED, APART).written
    assert (written.side, written.op, written.bytes, written.kernel, written.kept_in) == ("b", "multiply", 32, "m", "f")
    assert str(written) == "b writes multiply f32[8], 32 bytes, from m; a keeps it within f"


def test_swapping_the_sides_says_the_same() -> None:
    there, back = compared(FUSED, APART), compared(APART, FUSED)
    assert {each.kernel for each in there.regrouped} == {each.kernel for each in back.regrouped}
    assert [each.bytes for each in there.written] == [each.bytes for each in back.written]


def test_what_a_fusion_hands_out_beside_its_root_is_written() -> None:
    both = FUSED.replace("ROOT s = f32[8] sine(m)", "s = f32[8] sine(m)\nROOT t = (f32[8], f32[8]) tuple(m, s)")
    both = both.replace("ROOT f = f32[8] fusion", "ROOT f = (f32[8], f32[8]) fusion")
    apart = APART.replace("ROOT s = f32[8] sine(m)", "s = f32[8] sine(m)\nROOT t = (f32[8], f32[8]) tuple(m, s)")
    found = compared(both, apart)
    assert len(found.regrouped) == 1
    assert found.written == ()


def test_a_value_that_passes_a_bitcast_on_its_way_out_is_written() -> None:
    passed, within = (
        text.replace("ROOT s = f32[8] sine(m)", "b = f32[8] bitcast(m)\nROOT s = f32[8] sine(b)")
        for text in (APART, FUSED)
    )
    assert [(each.side, each.op) for each in compared(passed, within).written] == [("a", "multiply")]
    assert compared(passed, APART).written == ()


def test_a_value_computed_in_two_kernels_is_covered_by_either() -> None:
    twice = """HloModule twice
    first {
    p = f32[8] parameter(0)
    m = f32[8] multiply(p, p)
    ROOT s = f32[8] sine(m)
    }
    second {
    p = f32[8] parameter(0)
    m = f32[8] multiply(p, p)
    ROOT c = f32[8] cosine(m)
    }
    ENTRY entry {
    p = f32[8] parameter(0)
    f = f32[8] fusion(p), kind=kLoop, calls=first
    g = f32[8] fusion(p), kind=kLoop, calls=second
    ROOT t = (f32[8], f32[8]) tuple(f, g)
    }"""
    again = twice.replace("HloModule twice", "HloModule again").replace(" f = ", " k = ").replace("(f, g)", "(k, g)")
    assert compared(twice, again).regrouped == ()


def test_a_value_that_any_of_its_partners_writes_is_written_on_both_sides() -> None:
    graph = Graph("g", {1: Node(1, "m", "multiply", Shape("f32", (8,)))}, (), (1,))
    side = partitions._Side("a", graph, {1: frozenset("k")}, {1: "k"}, {})
    kept = partitions._Side("b", graph, {1: frozenset("f"), 2: frozenset("g")}, {}, {})
    assert len(partitions._find_writes([(1, 1), (1, 2)], side, kept)) == 1
    assert partitions._find_writes([(1, 1), (1, 2)], side, dataclasses.replace(kept, written={2: "g"})) == []


def test_a_kernel_of_which_nothing_has_a_partner_is_listed() -> None:
    found = compared(FUSED, APART.replace("sine(m)", "cosine(m)"))
    assert found.unmatched == {"a": (), "b": ("s",)}
    assert found.lines[-1] == "b's s computes nothing that has a partner"


def test_a_kernel_that_stands_between_those_of_a_fusion_is_one_of_them() -> None:
    graph = Graph("g", {at: Node(at, "", "sine", Shape("f32")) for at in (1, 2)}, (), (2,))
    fused = partitions._Side("a", graph, dict.fromkeys((1, 2), frozenset("f")), {}, {"f": frozenset()})
    reads = {"m": frozenset(), "h": frozenset("m"), "x": frozenset("m"), "n": frozenset("h"), "s": frozenset("n")}
    apart = partitions._Side("b", graph, {1: frozenset("m"), 2: frozenset("s")}, {}, reads)
    (found,) = partitions._find_regroupings([(1, 1), (2, 2)], fused, apart, idle=["h", "x", "n"])
    assert found.kernels == ("m", "h", "n", "s")


def test_kernels_read_through_what_runs_no_code() -> None:
    passed = APART.replace("ROOT s = f32[8] sine(m)", "b = f32[8] bitcast(m)\nROOT s = f32[8] sine(b)")
    places = {node.id: partitions.kernel_of(node, frozenset()) for node in read(subject("a", passed))}
    found = partitions._reads(read(subject("a", passed)), places)
    assert found == {"m": frozenset(), "s": frozenset("m")}


def test_a_kernel_that_only_broadcasts_has_a_partner_too() -> None:
    spread = """HloModule spread
    ENTRY entry {
    p = f32[] parameter(0)
    ROOT b = f32[8] broadcast(p), dimensions={}
    }"""
    assert compared(spread, spread).lines == []


def test_calls_are_transparent() -> None:
    called = FUSED.replace(
        "ROOT f = f32[8] fusion(p), kind=kLoop, calls=body", "ROOT c = f32[8] call(p), to_apply=body"
    )
    assert compared(called, APART).lines == []


def test_the_most_bytes_come_first_and_lines_know_the_source() -> None:
    def two(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jnp.sin(x) * 2, jnp.cos(x[:2]) * 3

    artifact = exported(two, np.ones(8, np.float32))
    unfused = {"xla_disable_hlo_passes": "fusion,fusion-wrapper"}
    one = executing.compile_bytecode(artifact).optimized_module
    other = executing.compile_bytecode(artifact, unfused).optimized_module
    found = partitions.compare(Subject("fused", one), Subject("unfused", other))
    sizes = [each.bytes for each in found.written]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes
    assert {each.source.rpartition(":")[0] for each in found.written} == {__file__}


def test_refuses_what_is_no_module() -> None:
    with pytest.raises(UnreadableProgram):
        partitions.compare(Subject("a", b"junk"), subject("b", APART))
