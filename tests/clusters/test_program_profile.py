"""Where the time of a program went: what is innermost counts, and compiling is no time in what was compiled."""

from __future__ import annotations

from pathlib import Path

import pytest

from compare import xspace
from compare.clusters import program_profile
from compare.clusters.program_profile import Span, read_profile, split
from compare.files import FileError

MS = 10**9
"""Picoseconds of a millisecond."""

WHOLE, NODE, CLUSTER = "__inference_f_1:__inference_f_1", "a/MatMul:MatMul", "cluster_0_1/xla_run:_XlaRun"
COMPILER = "CpuCompiler::RunBackend"


def span(name: str, start: int, end: int, thread: int = 0) -> Span:
    return Span(name, ("p", thread), start * MS, end * MS)


def shares(*spans: Span) -> tuple[float | None, ...]:
    """Milliseconds compiled, outside, and else."""
    time = split(spans)
    return tuple(round(1000 * (part or 0.0), 6) for part in (time.compiled_s, time.outside_s, time.overhead_s))


def test_clusters_are_compiled_and_nodes_are_outside() -> None:
    assert shares(span(CLUSTER, 0, 3), span(NODE, 3, 5), span("c/merge:_XlaMerge", 5, 6)) == (3, 2, 1)


def test_a_function_compiled_whole_is_compiled_but_for_the_call_that_compiles_it() -> None:
    assert shares(span(WHOLE, 0, 4)) == (4, 0, 0)
    run = span("CpuExecutable::ExecuteAsyncOnStream", 80, 83)
    assert shares(span(WHOLE, 0, 90), span(COMPILER, 10, 70), run) == (3, 0, 87)


def test_compiling_of_one_call_does_not_taint_the_next() -> None:
    assert shares(span(WHOLE, 0, 10), span(COMPILER, 1, 9), span(WHOLE, 10, 14)) == (4, 0, 10)


def test_time_within_time_counts_once() -> None:
    eager, inner = span("EagerLocalExecute: MatMul", 0, 10), span(NODE, 2, 8)
    assert shares(eager, inner) == (0, 10, 0)
    assert split([eager, inner]).nodes == pytest.approx({"MatMul, eager": 0.004, NODE: 0.006})


def test_what_only_waits_for_others_has_no_time() -> None:
    calls = span("call:PartitionedCall", 0, 9), span("EagerLocalExecute: __inference_f_1", 0, 9)
    assert split(calls).reason == "the profiler saw no operation"
    assert shares(*calls, span(NODE, 1, 3, thread=1)) == (0, 2, 0)


def test_threads_are_added_up() -> None:
    assert shares(span(NODE, 0, 5), span(NODE, 0, 5, thread=1)) == (0, 10, 0)


def test_other_names_are_no_operations() -> None:
    assert split([span(name, 0, 1) for name in ("end: dot.1", "$train.py:3 f", "dot.1", "std::sort:x")]).reason


@pytest.mark.parametrize("data", [b"\xff\xff\xff", b"\x0a\x05\x1a\x99"])
def test_a_damaged_profile_is_one_line(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "p.xplane.pb").write_bytes(data)
    with pytest.raises(FileError, match="expected a profile that TensorFlow wrote"):
        read_profile(tmp_path / "p.xplane.pb")


def test_a_profile_that_is_too_large_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xspace, "MOST_BYTES", 3)
    (tmp_path / "p.xplane.pb").write_bytes(bytes(9))
    with pytest.raises(FileError, match="profile fewer seconds"):
        read_profile(tmp_path / "p.xplane.pb")


def test_of_a_profile_only_what_tells_of_operations_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    space = xspace.new()
    for plane in (space.planes.add(name="/host:CPU"), space.planes.add(name="/device:GPU:0")):
        for key, name in enumerate((NODE, "Session::Run", "ThreadpoolListener::StartRegion")):
            plane.event_metadata.add(key=key).value.name = name
        line = plane.lines.add(timestamp_ns=1)
        for key in (0, 1, 2, 7, 1, 2):
            line.events.add(metadata_id=key, offset_ps=5, duration_ps=10)
    (tmp_path / "p.xplane.pb").write_bytes(space.SerializeToString())
    made: list[str] = []
    monkeypatch.setattr(program_profile, "Span", lambda *told: made.append(told[0]) or Span(*told))
    path = tmp_path / "p.xplane.pb"
    assert read_profile(path) == [Span(NODE, (str(path), 0), 1005, 1015)] and made == [NODE]
