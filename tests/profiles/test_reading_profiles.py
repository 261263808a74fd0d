"""A profile names what was made slow, by kernel, phase and line; and never what was not recorded."""

from __future__ import annotations

import os
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
import recorded_profiles
from gpu_trace import IN_A_GRAPH, KERNELS, XSPACE
from recorded_profiles import (
    FILE,
    MODULE,
    TANH,
    UPDATE,
    Event,
    instruction,
    pool,
    space,
    step_kernels,
    step_module,
    step_profile,
    written,
)

from compare import xspace
from compare.errors import RequestError
from compare.hlo import bindings
from compare.profiles.finding_profiles import find
from compare.profiles.programs import instructions
from compare.profiles.reading import read_profile
from compare.record.profile_part import ProfiledKernel, ReadProfile
from compare.report import kernel_phases, profile_page


@pytest.fixture(autouse=True)
def run_here(programs_here: None) -> None:
    """The module of the training step is compiled in this process."""


def read(folder: Path, made: object) -> ReadProfile:
    return read_profile(find(written(folder, made)))


def kernel(profile: ReadProfile, name: str) -> ProfiledKernel:
    return next(each for each in profile.kernels if each.name == name)


def test_the_kernel_that_was_made_slow_is_named_first(tmp_path: Path) -> None:
    for slow in step_kernels():
        profile = read(tmp_path, step_profile(slow))
        first = profile.kernels[0]
        assert first.name == slow and first.module == MODULE and first.runs == 3
        assert first.seconds == pytest.approx(300e-6) and first.longest_s == pytest.approx(100e-6)
        assert first.share == pytest.approx(300 / (300 + 30 * (len(step_kernels()) - 1)))
        assert slow in next(profile_page.sentences(profile))


def test_phases_and_lines_are_those_of_the_module(tmp_path: Path) -> None:
    profile = read(tmp_path, step_profile())
    phases = {each.phase for each in profile.kernels}
    assert {"forward", "backward", "optimizer"} <= phases
    assert {time.phase for time in profile.phases} == phases
    assert sum(time.seconds or 0 for time in profile.phases) == pytest.approx(
        sum(k.seconds or 0 for k in profile.kernels)
    )
    sources = {source for each in profile.kernels for source in each.sources}
    assert f"{recorded_profiles.__file__}:{TANH}" in sources


def test_from_a_line_to_its_kernels_and_back(tmp_path: Path) -> None:
    profile = read(tmp_path, step_profile())
    found = profile_page.of_line(profile, f"{FILE}:{UPDATE}")
    assert found and all(each.phase == "optimizer" for each in found if each.opcode != "copy")
    assert profile_page.of_line(profile, f"support/{FILE}:{UPDATE}") == found
    assert not profile_page.of_line(profile, f"other/{FILE}:{UPDATE}")
    assert not profile_page.of_line(profile, f"{FILE}:1")
    said = profile_page.no_such_line(profile, f"{FILE}:1")
    assert said.startswith(f"no kernel comes from {FILE}:1: of {FILE}, kernels come from line ") and str(TANH) in said
    assert FILE in profile_page.no_such_line(profile, "absent.py:1")


def test_a_pause_is_told_with_what_the_host_did(tmp_path: Path) -> None:
    names = step_kernels()[:2]
    events = [instruction(names[0], 0, 10), instruction(names[1], 90, 10)]
    host = [Event("$data.py:3 load", 5, 80), Event("read", 40, 10)]
    profile = read(tmp_path, space({"tf_XLAEigen/1": events, "python": host}))
    (pause,) = profile.pauses
    assert (pause.before, pause.after, pause.times, pause.host) == (*names, 1, "$data.py:3 load")
    assert (pause.seconds, pause.host_s) == (pytest.approx(80e-6), pytest.approx(65e-6))
    (said,) = [each for each in profile_page.sentences(profile) if "while nothing ran" in each]
    assert "80.0 µs (80 %)" in said and "$data.py:3 load" in said


def test_without_pauses_none_is_told(tmp_path: Path) -> None:
    profile = read(tmp_path, step_profile())
    assert not profile.pauses and not [each for each in profile_page.sentences(profile) if "nothing ran" in each]


def test_a_kernel_that_other_threads_finish_is_no_pause_meanwhile(tmp_path: Path) -> None:
    numbered = {"hlo_op": "dot", "hlo_module": MODULE, "program_id": 7, "_p": 3}
    events = [Event("dot", 0, 10, numbered), instruction("add", 60, 10)]
    elsewhere = [Event("end: dot", 58, 1, {"_c": 3})]
    assert not read(tmp_path, space({"tf_a": events, "tf_b": [Event("end: dot", 60, 1, {"_c": 3})]})).pauses
    (pause,) = read(tmp_path, space({"tf_a": events, "tf_b": elsewhere})).pauses
    assert pause.seconds == pytest.approx(2e-6)


def test_what_other_threads_did_of_a_kernel_is_its_time(tmp_path: Path) -> None:
    first = [instruction("dot", 0, 10), instruction("add", 30, 10), pool("Record", 4, 1), pool("Record", 25, 9)]
    second = [
        *(pool("StartRegion", 5, 1), pool("Record", 6, 2), instruction("tanh", 8, 3), pool("StopRegion", 15, 0)),
        *(pool("StartRegion", 16, 2), pool("StopRegion", 20, 0), pool("StartRegion", 26, 9), pool("StopRegion", 29, 0)),
        *(pool("StartRegion", 50, 77), pool("StopRegion", 60, 0), pool("StopRegion", 70, 0)),
    ]
    profile = read(tmp_path, space({"tf_a": first, "tf_b": second}))
    # Its own thread, a task but for the kernel that ran in it, and a task that this one handed over.
    assert kernel(profile, "dot").seconds == pytest.approx((10 + 7 + 4) * 1e-6)
    assert kernel(profile, "add").seconds == pytest.approx(10e-6)
    assert kernel(profile, "tanh").seconds == pytest.approx(3e-6)


def test_a_task_that_the_kernels_own_thread_does_counts_once(tmp_path: Path) -> None:
    within = [pool("Record", 1, 1), pool("StartRegion", 2, 1), pool("StopRegion", 6, 0)]
    after = [pool("Record", 7, 2), pool("StartRegion", 12, 2), pool("StartRegion", 13, 3), pool("StopRegion", 14, 0)]
    events = [instruction("dot", 0, 10), *within, *after, pool("StopRegion", 20, 0)]
    assert kernel(read(tmp_path, space({"tf_a": events})), "dot").seconds == pytest.approx((10 + 8 - 1) * 1e-6)


def test_of_a_gpu_only_what_it_ran_counts(tmp_path: Path) -> None:
    made = xspace.new()
    made.ParseFromString(jax.profiler.ProfileData.text_proto_to_serialized_xspace(XSPACE))
    profile = read(tmp_path, made)
    assert [(each.name, each.kind) for each in profile.kernels] == [
        *((name, "device") for name in KERNELS),
        ("MemcpyD2D", "device"),
    ]
    assert profile.busy_s == pytest.approx(6e-6) and profile.span_s == pytest.approx(7e-6)


def test_nodes_of_a_graph_have_the_phases_that_their_names_tell(tmp_path: Path) -> None:
    nodes = ["dense/MatMul:MatMul", "gradient_tape/dense/MatMul/MatMul:MatMul", "adam/Sub:Sub", "sub:Sub"]
    waiting = [Event("f:StatefulPartitionedCall", 0, 90), Event("__inference_f_1:__inference_f_1", 0, 90)]
    made = space({"tf_Compute/1": [*waiting, *(Event(name, 10 * at, 10) for at, name in enumerate(nodes))]})
    profile = read(tmp_path, made)
    found = {each.name: (each.phase, each.opcode) for each in profile.kernels}
    assert found == {
        "dense/MatMul": ("forward", "MatMul"),
        "gradient_tape/dense/MatMul/MatMul": ("backward", "MatMul"),
        "adam/Sub": ("optimizer", "Sub"),
        "sub": ("", "Sub"),
    }
    assert kernel_phases.UNKNOWN in {table.title.partition(":")[0] for table in profile_page.kernel_tables(profile, 9)}


def test_eager_operations_are_not_grouped(tmp_path: Path) -> None:
    events = [Event("EagerLocalExecute: MatMul", 0, 9), Event("EagerLocalExecute: __inference_f_1", 9, 9)]
    profile = read(tmp_path, space({"python": events}))
    assert [(each.name, each.phase) for each in profile.kernels] == [("MatMul", "")] and not profile.phases
    assert any("not grouped" in said for said in profile_page.sentences(profile))


def test_what_the_profile_does_not_hold_is_said_and_read_from_a_dump(tmp_path: Path) -> None:
    slow = step_kernels()[0]
    made = space({"tf_a": [instruction(slow, 0, 10)]})
    path = find(written(tmp_path, made))
    assert any(f"does not hold module {MODULE}" in note for note in read_profile(path).notes)
    (found,) = read_profile(path, {(MODULE, "7"): step_module()}).kernels
    assert found.opcode and found == ProfiledKernel(
        **{name: getattr(found, name) for name in found.__struct_fields__ if name != "op_name"},
        op_name=instructions(step_module())[slow].op_name,
    )


def test_a_module_that_cannot_be_read_costs_its_lines(tmp_path: Path) -> None:
    made = space({"tf_a": [instruction("dot", 0, 10)]}, {f"{MODULE}(7)": b"\x0a\x03abc"})
    profile = read(tmp_path, made)
    assert [each.name for each in profile.kernels] == ["dot"]
    assert any("cannot be read" in note for note in profile.notes)


@pytest.mark.parametrize(
    ("data", "found"),
    [(b"", "an XSpace in which nothing"), (b"\xff\xff\xff", "no XSpace"), (b"\x0a\x05\x1a\x99", "no XSpace")],
)
def test_a_file_that_is_no_profile_or_empty_is_told(tmp_path: Path, data: bytes, found: str) -> None:
    path = tmp_path / "x.xplane.pb"
    path.write_bytes(data)
    with pytest.raises(RequestError, match=rf"expected a profile .* found {found}"):
        read_profile(find(path))


def test_times_that_no_clock_gives_are_left_out(tmp_path: Path) -> None:
    assert not read(tmp_path, space({"tf_a": [instruction("dot", 5, -3), instruction("add", 5, 0)]})).kernels


def test_the_newest_profile_of_a_folder_is_read(tmp_path: Path) -> None:
    older = written(tmp_path, space({}), "2026_01_02")
    newer = written(tmp_path, step_profile(), "2026_01_01")
    os.utime(older, (1, 1))
    found = find(tmp_path)
    assert (found.files, found.older) == ((newer,), 1)
    assert any("newest of 2 profiles" in note for note in read_profile(found).notes)


@pytest.mark.parametrize("name", ["absent", "empty"])
def test_a_folder_without_a_profile_is_told(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(RequestError, match="record one by"):
        find(tmp_path / name)


def test_a_profile_that_jax_records_is_read(tmp_path: Path) -> None:
    def doubled(x: jax.Array) -> jax.Array:
        return jnp.sort(x + x)

    call = jax.jit(doubled)
    x = call(jnp.ones((64, 64)))
    with jax.profiler.trace(str(tmp_path)):
        call(x).block_until_ready()
    profile = read_profile(find(tmp_path))
    assert {each.module for each in profile.kernels} == {"jit_doubled"} and not profile.notes
    assert {Path(source).name.partition(":")[0] for line in profile.lines for source in [line.source]} == {
        Path(__file__).name
    }


GRAPH_MODULE = """HloModule jit_step, is_scheduled=true
tanh {
  p = f32[8,8] parameter(0)
  ROOT t = f32[8,8] tanh(p), metadata={op_name="jit(step)/tanh" source_file="m.py" source_line=3}
}
ENTRY entry {
  x = f32[8,8] parameter(0)
  custom-call.1 = f32[8,8] custom-call(x, x), custom_call_target="gemm", metadata={source_file="m.py" source_line=2}
  ROOT tanh_fusion = f32[8,8] fusion(custom-call.1), kind=kLoop, calls=tanh
}
"""


def test_kernels_of_a_cuda_graph_are_told_by_their_instructions(tmp_path: Path) -> None:
    xplane = jax.profiler.ProfileData.text_proto_to_serialized_xspace(IN_A_GRAPH)
    (tmp_path / "vm.xplane.pb").write_bytes(xplane)
    module = {("jit_step", "9"): bindings.hlo_from_text(GRAPH_MODULE)}
    told = {each.name: each for each in read_profile(find(tmp_path), module).kernels}
    assert told["custom-call.1"].sources == ("m.py:2",) and told["tanh_fusion"].sources == ("m.py:3",)
    assert told["custom-call.1"].seconds == pytest.approx(3e-6), "it overlaps with the next, which is not within it"
    assert told["Memset"].seconds == pytest.approx(0.5e-6)
    without = {each.name for each in read_profile(find(tmp_path)).kernels}
    assert without == {"sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n", "tanh_fusion", "Memset"}
