"""Collectives of optimized modules as XLA's compilers for CPU, GPU and TPU write them."""

from __future__ import annotations

import pytest

from compare.hlo.collective_bytes import collectives

EVERYONE = ((0, 1, 2, 3),)
TAIL = "channel_id=1, replica_groups=[1,4]<=[4], use_global_device_ids=true"


@pytest.mark.parametrize(
    ("line", "kind", "bytes_"),
    [
        (f"%a = f32[8,4]{{1,0}} all-reduce(%p), {TAIL}, to_apply=%add", "all-reduce", 128),
        (f"%a = (f32[8]{{0}}, bf16[2,2]{{1,0}}) all-reduce(%p, %q), {TAIL}, to_apply=%add", "all-reduce", 40),
        (f"%a = f32[8]{{0:T(128)}} all-reduce-start(%p), {TAIL}, to_apply=%add", "all-reduce", 32),
        (f"%a = f32[16]{{0}} all-gather(%p), {TAIL}, dimensions={{0}}", "all-gather", 64),
        (f"%a = (f32[4]{{0}}, f32[16]{{0}}) all-gather-start(%p), {TAIL}, dimensions={{0}}", "all-gather", 64),
        (
            f"%a = ((f32[4]{{0}}, f32[1]{{0}}), (f32[16]{{0}}, /*i=1*/f32[4]{{0}})) all-gather-start(%p, %q), {TAIL}",
            "all-gather", 80,
        ),
        (f"%a = f32[4]{{0}} reduce-scatter(%p), {TAIL}, to_apply=%add", "reduce-scatter", 64),
        (f"%a = ((f32[16]{{0}}), f32[4]{{0}}) reduce-scatter-start(%p), {TAIL}", "reduce-scatter", 64),
        (f"%a = f32[4,4]{{1,0}} all-to-all(%p), {TAIL}, dimensions={{0}}", "all-to-all", 64),
    ],
)  # fmt: skip
def test_bytes_are_those_of_the_whole_array(line: str, kind: str, bytes_: int) -> None:
    (found,) = collectives(f"ENTRY %main (p: f32[4]) -> f32[4] {{\n  {line}\n}}\n", 4)
    assert (found.kind, found.bytes, found.groups) == (kind, bytes_, EVERYONE)


def test_what_a_permute_hands_on_and_the_line_that_it_comes_from() -> None:
    line = (
        "%a = f32[4]{0} collective-permute(%p), source_target_pairs={{0,1},{1,0}}, "
        'metadata={op_name="x" source_file="step.py" source_line=7}'
    )
    (found,) = collectives(f"ENTRY %main (p: f32[4]) -> f32[4] {{\n  {line}\n}}\n", 2)
    assert (found.bytes, found.groups, found.source) == (16, ((0, 1), (1, 0)), "step.py:7")


def test_a_tpu_scatters_in_a_fusion_of_an_all_reduce() -> None:
    text = f"""\
%all-reduce-scatter.1 (p: f32[16]) -> f32[4] {{
  %a = f32[16]{{0}} all-reduce(%p), {TAIL}, to_apply=%add
}}

ENTRY %main (p: f32[16]) -> f32[4] {{
  ROOT %f = f32[4]{{0}} fusion(%p), kind=kCustom, calls=%all-reduce-scatter.1
}}
"""
    (found,) = collectives(text, 4)
    assert (found.kind, found.bytes) == ("reduce-scatter", 64)


def test_one_channel_in_several_fusions_is_one_collective() -> None:
    line = "f32[16]{0} all-gather(%p), channel_id=7, replica_groups=[1,4]<=[4], dimensions={0}"
    other = line.replace("channel_id=7", "channel_id=8")
    text = f"%async_collective_fusion.1 (p: f32[4]) -> f32[16] {{\n  %a = {line}\n}}\n\n" + (
        f"%async_collective_fusion.2 (p: f32[4]) -> f32[16] {{\n  %b = {line}\n  %c = {other}\n}}\n"
    )
    assert [one.name for one in collectives(text, 4)] == ["a", "c"]


def test_what_has_ended_and_what_only_reads_one_count_nothing() -> None:
    text = "ENTRY %main (p: f32[4]) -> f32[4] {\n  %b = f32[4]{0} all-reduce-done(%all-reduce-start)\n}\n"
    assert collectives(text, 4) == ()
