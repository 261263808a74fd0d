"""Names of statistics that XLA's profiler gives the events of a profile, whichever framework took it."""

from __future__ import annotations

HLO = "hlo_op"
"""The HLO instruction of an event."""

ON_GPU = "kernel_details"
"""The statistic that only a kernel of a GPU has (XLA, `cupti_collector.cc`)."""

OF_GRAPH = "cuda_graph_id"
"""The statistic of kernels in a CUDA graph. XLA gives all of them one HLO instruction, `command_buffer_1`."""
