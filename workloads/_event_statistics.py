"""Names of statistics that XLA's profiler gives the events of a profile, whichever framework took it."""

from __future__ import annotations

HLO = "hlo_op"
"""The HLO instruction of an event."""

ON_GPU = "kernel_details"
"""Of a kernel that a GPU ran, and of nothing else (XLA, `cupti_collector.cc`)."""

OF_GRAPH = "cuda_graph_id"
"""Of what ran in a CUDA graph. XLA gives all of it one HLO instruction, `command_buffer_1`."""
