"""What a GPU's runtime launches, read off XLA's thunk sequence, and what the assembler says of each kernel."""

from __future__ import annotations

from compare.devices.launches import Assembled, launches, parse_reports
from compare.hlo.dumps import gpu

# As jaxlib 0.10.2 writes it for an H100: a loop, a fusion with a slice, library calls, and a kernel that is used twice.
SEQUENCE = """\
001: kCopy         [source       | next=002 (1) ] kCopy
002: kCustomKernel [prev=001 | sink] loop_add_fusion_1 grid: [8, 2, 1] threads: [128, 1, 1]  shared_memory: 1024 bytes
006: kWhile        [prev=002 (1) | next=007 (5) ]
condition:
    003: kCustomKernel [source | sink] loop_compare_fusion grid: [1, 1, 1] threads: [1, 1, 1]  shared_memory: 0 bytes
  body:
    004: kDynamicSliceFusion [source       | next=005 (1)] params=1, results=1
        005: kCopy [source | sink] kCopy
007: kFft          [prev=006 (1) | next=008 (1) ] (no description)
008: kConvolution  [prev=007 (1) | sink         ] kConvolution
"""

METADATA = """\
thunk_metadata {
  thunk_info {
    profile_annotation: "copy.3"
    thunk_id: 1
  }
  thunk_kind: "kCopy"
}
thunk_metadata {
  thunk_info {
    thunk_id: 9
  }
  thunk_kind: "kSequential"
}
thunk_metadata {
  thunk_info {
    profile_annotation: "loop_add_fusion.1"
    thunk_id: 2
  }
  thunk_kind: "kCustomKernel"
}
"""

REPORT = """\
ptxas info    : 640 bytes gmem
ptxas info    : Compiling entry function 'sort_6_1' for 'sm_90a'
ptxas info    : Function properties for sort_6_1
    0 bytes stack frame, 16 bytes spill stores, 24 bytes spill loads
ptxas info    : Used 31 registers, used 1 barriers, 8192 bytes smem
ptxas info    : Compile time = 143.016 ms
ptxas info    : Compiling entry function 'loop_add_fusion_1' for 'sm_90a'
ptxas info    : Function properties for loop_add_fusion_1
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
"""


def test_every_leaf_is_a_launch_and_what_holds_others_is_none():
    found = launches(gpu.read_thunks("thunk_sequence.txt", SEQUENCE), METADATA)
    assert [(launch.number, launch.kind) for launch in found] == [
        (1, "kCopy"), (2, "kCustomKernel"), (3, "kCustomKernel"), (5, "kCopy"), (7, "kFft"), (8, "kConvolution"),
    ]  # fmt: skip


def test_a_kernel_has_its_grid_its_memory_and_its_instruction():
    kernel = launches(gpu.read_thunks("thunk_sequence.txt", SEQUENCE), METADATA)[1]
    assert (kernel.kernel, kernel.instruction) == ("loop_add_fusion_1", "loop_add_fusion.1")
    assert (kernel.grid, kernel.threads, kernel.shared_memory_bytes) == ((8, 2, 1), (128, 1, 1), 1024)


def test_a_librarys_kernel_has_no_grid():
    fft = launches(gpu.read_thunks("thunk_sequence.txt", SEQUENCE), "")[-2]
    assert (fft.kernel, fft.grid, fft.threads, fft.instruction) == ("", (), (), "")


def test_the_assembler_reports_each_kernel_by_its_name():
    assert parse_reports(REPORT) == {
        "sort_6_1": Assembled(31, 16, 24, 8192),
        "loop_add_fusion_1": Assembled(8, 0, 0, 0),
    }


def test_nothing_is_nothing():
    assert launches(gpu.read_thunks("thunk_sequence.txt", ""), "") == ()
    assert parse_reports("") == {}
