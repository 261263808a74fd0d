"""Both programs on a device as pages are given them: a GPU with one of everything, and a TPU, which lists no launch."""

from __future__ import annotations

from typing import Any

NOTE, OF_ONE = "nothing was tuned", "tf's program was lowered for the CPU"
LIBRARY_CALL = {
    "kernel": "", "kind": "kCublasLtMatmul", "instruction": "custom-call.7", "library": "cuBLASLt", "bytes": 4200960,
    "sources": ["/home/u/model.py:23"],
}  # fmt: skip
KERNEL = {
    "kernel": "loop_add_fusion", "kind": "kCustomKernel", "instruction": "loop_add_fusion.4", "library": "",
    "grid": [96, 2, 1], "threads": [128, 1, 1], "registers": 56, "spill_bytes": 72, "shared_memory_bytes": 1056,
    "occupancy": 0.25, "limited_by": "registers", "filled": 0.75, "bytes": 57348,
    "sources": ["/home/u/model.py:7", "/home/u/model.py:9", "/home/u/model.py:11"],
}  # fmt: skip
PTX = {"name": "PTX", "text": "//\n.version 8.8", "lines": 366, "file": "module_1.add.ptx"}
LADDER = {
    "kernel": "loop_add_fusion", "instruction": "loop_add_fusion.4",
    "levels": [{"name": "StableHLO", "text": "%1 = stablehlo.add %arg0", "lines": 1, "file": ""}, PTX],
}  # fmt: skip


def cell(**more: Any) -> dict[str, Any]:
    """A program on a GPU: two launches, the lighter one first."""
    return {
        "kernels": 17, "launches": 19, "fusions": 11, "temp_bytes": 4209688, "peak_bytes": 5247048,
        "library_calls": {"cuBLASLt": 5, "cuDNN": 2}, "flops": 360521.0, "bytes": 21133760.0, "bound_s": 2.353e-05,
        "bound_by": "memory", "fits": True, "lowered_for": "gpu", "compile_s": 0.979,
        "launched": [KERNEL, LIBRARY_CALL], "notes": [NOTE],
    } | more  # fmt: skip


def target(**more: Any) -> dict[str, Any]:
    """Both programs on a GPU, as hlo.json has them."""
    tf = cell(launches=23, temp_bytes=1234567, bound_s=3.7e-05, lowered_for="cpu", notes=[NOTE, OF_ONE])
    return {
        "tf@jax": tf, "jax@jax": cell(), "description": "A GPU of 80 GB", "source": "its white paper, table 2",
        "memory_bytes": 84942979072, "packages": {"jax-cuda12-pjrt": "0.10.2"}, "equal": False,
        "differences": ["launches: 23 in tf@jax, 19 in jax@jax"],
        "regrouped": ["tf@jax's fusion.1 does what is 2 kernels in jax@jax: a, b"],
        "ladders": {"tf@jax": [], "jax@jax": [LADDER]},
    } | more  # fmt: skip


def on_tpu() -> dict[str, Any]:
    """Both programs on a TPU, which are equal there."""
    made = cell(launches=None, launched=[], library_calls={}, notes=["kernels count instructions"])
    return target(**{"tf@jax": made, "jax@jax": made, "equal": True, "differences": [], "regrouped": [], "ladders": {}})


def pair(**targets: Any) -> dict[str, Any]:
    """A pair of hlo.json as far as it is about devices; on a GPU unless others are given."""
    return {"name": "mnist_mlp", "targets": targets or {"H100": target()}}
