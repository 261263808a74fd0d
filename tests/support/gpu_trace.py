"""A profile as a GPU leaves it, by hand: what XLA's `cupti_collector.cc` writes, since no GPU was there to record one.

Two kernels, one of an HLO instruction and one of a library; a copy; and on the host the launch of the first, and the
thunk that launched it, which names the same instruction.
"""

from __future__ import annotations

XSPACE = """
planes {
  name: "/device:GPU:0"
  lines {
    id: 13 name: "Stream #13(Compute,MemcpyD2D)" timestamp_ns: 1000
    events { metadata_id: 2 offset_ps: 9000000 duration_ps: 2000000 stats { metadata_id: 1 str_value: "regs:32" } }
    events {
      metadata_id: 1 offset_ps: 4000000 duration_ps: 3000000
      stats { metadata_id: 1 str_value: "regs:16" } stats { metadata_id: 3 ref_value: 4 }
    }
    events { metadata_id: 3 offset_ps: 7000000 duration_ps: 1000000 stats { metadata_id: 2 str_value: "size:8" } }
  }
  event_metadata { key: 1 value { id: 1 name: "loop_add_fusion" } }
  event_metadata { key: 2 value { id: 2 name: "void cublas::gemm<float>(int)" } }
  event_metadata { key: 3 value { id: 3 name: "MemcpyD2D" } }
  stat_metadata { key: 1 value { id: 1 name: "kernel_details" } }
  stat_metadata { key: 2 value { id: 2 name: "memcpy_details" } }
  stat_metadata { key: 3 value { id: 3 name: "hlo_op" } }
  stat_metadata { key: 4 value { id: 4 name: "add_fusion.1" } }
}
planes {
  name: "/host:CPU"
  lines {
    id: 1 name: "main" timestamp_ns: 1000
    events { metadata_id: 1 offset_ps: 1000000 duration_ps: 1000000 stats { metadata_id: 1 str_value: "add_fusion.1" } }
    events { metadata_id: 2 offset_ps: 2000000 duration_ps: 1000000 }
    events { metadata_id: 3 offset_ps: 3000000 duration_ps: 1000000 }
  }
  event_metadata { key: 1 value { id: 1 name: "add_fusion.1" } }
  event_metadata { key: 2 value { id: 2 name: "cuLaunchKernel" } }
  event_metadata { key: 3 value { id: 3 name: "EagerLocalExecute: AddV2" } }
  stat_metadata { key: 1 value { id: 1 name: "hlo_op" } }
}
"""

KERNELS = ["add_fusion.1", "void cublas::gemm<float>(int)"]
"""What it ran, in order: the copy is no kernel, and what the host did is none."""
