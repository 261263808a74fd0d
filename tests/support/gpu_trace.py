"""Profiles as a GPU leaves them, by hand: what XLA's `cupti_collector.cc` writes.

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

IN_A_GRAPH = """
planes {
  name: "/device:GPU:0"
  lines {
    id: 14 name: "Stream #14(Memset,Compute)" timestamp_ns: 1000
    events {
      metadata_id: 1 offset_ps: 1000000 duration_ps: 3000000
      stats { metadata_id: 1 str_value: "regs:168" } stats { metadata_id: 3 ref_value: 4 }
      stats { metadata_id: 5 uint64_value: 12 } stats { metadata_id: 6 ref_value: 7 }
      stats { metadata_id: 8 uint64_value: 9 }
    }
    events {
      metadata_id: 2 offset_ps: 3500000 duration_ps: 1000000
      stats { metadata_id: 1 str_value: "regs:16" } stats { metadata_id: 3 ref_value: 4 }
      stats { metadata_id: 5 uint64_value: 12 } stats { metadata_id: 6 ref_value: 7 }
      stats { metadata_id: 8 uint64_value: 9 }
    }
    events {
      metadata_id: 3 offset_ps: 5000000 duration_ps: 500000
      stats { metadata_id: 2 str_value: "num_bytes:4" } stats { metadata_id: 3 ref_value: 4 }
      stats { metadata_id: 5 uint64_value: 12 } stats { metadata_id: 6 ref_value: 7 }
      stats { metadata_id: 8 uint64_value: 9 }
    }
  }
  event_metadata { key: 1 value { id: 1 name: "sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n" } }
  event_metadata { key: 2 value { id: 2 name: "tanh_fusion" } }
  event_metadata { key: 3 value { id: 3 name: "Memset" } }
  stat_metadata { key: 1 value { id: 1 name: "kernel_details" } }
  stat_metadata { key: 2 value { id: 2 name: "Memset_details" } }
  stat_metadata { key: 3 value { id: 3 name: "hlo_op" } }
  stat_metadata { key: 4 value { id: 4 name: "command_buffer_1" } }
  stat_metadata { key: 5 value { id: 5 name: "cuda_graph_id" } }
  stat_metadata { key: 6 value { id: 6 name: "hlo_module" } }
  stat_metadata { key: 7 value { id: 7 name: "jit_step" } }
  stat_metadata { key: 8 value { id: 8 name: "program_id" } }
}
"""
"""A product by a library, and what XLA wrote: the second begins before the first has ended, as an H200 let it."""

OF_GRAPH = ["sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n", "tanh_fusion"]
