"""Settings of a worker's process: the same threads on both sides; caches and dumps if asked for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from compare.sides import clustering_variables, optional_imports
from workloads.core.device import ON_CPU, SYNCHRONOUS, Device
from workloads.protocol.distributing import LOGICAL_DEVICES

THREAD_VARIABLES = (
    *("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"),
    # JAX's CPU client sizes its pools by these: XLA_FLAGS and OMP_NUM_THREADS change nothing.
    *("NPROC", "PJRT_NPROC"),
)

RETAINING = {
    "MALLOC_MMAP_THRESHOLD_": str(8 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(16 << 30),
    "MALLOC_TOP_PAD_": str(1 << 30),
    # Arenas of threads hold 64 MiB at most: every call would map larger blocks, whatever the threshold.
    "MALLOC_ARENA_MAX": "1",
}
"""Thresholds of glibc in bytes, such that no call maps memory anew."""


@dataclass(frozen=True)
class Settings:
    """How one worker is started.

    Attributes:
      threads: for computing; also the number of processors that the process may use. None leaves both to the
        framework.
      compilation_cache: a folder where compiled programs are kept for the next process; None keeps none, whatever
        the environment asks for.
      dump: a folder where XLA writes what it compiles; None writes nothing.
      clustering: a folder where TensorFlow writes its graphs before and after clustering; None writes nothing.
      reasons: whether TensorFlow also logs why each node stayed outside of every cluster.
      x64: whether JAX keeps arrays of 64 bits; None leaves it to the arrays, or to the environment.
      device: that it computes on; `compare.sides.device_variables` says so to both frameworks.
      logical_devices: that the CPU of a process which hosts several is taken apart into; None leaves it whole.
      whole_imports: with every library that a framework imports where it finds it: for what measures the import, or
        the memory that the process holds.
      retained_memory: whether the C library, glibc, keeps what it is given back instead of returning it to the kernel.
      synchronous_dispatch: whether JAX hands no call on a CPU to another thread.
    """

    threads: int | None = None
    compilation_cache: Path | None = None
    dump: Path | None = None
    clustering: Path | None = None
    reasons: bool = False
    whole_imports: bool = False
    x64: bool | None = None
    device: Device = ON_CPU
    logical_devices: int | None = None
    retained_memory: bool = False
    synchronous_dispatch: bool = False

    def variables(self, side: str, environment: Mapping[str, str]) -> dict[str, str]:
        """The environment variables of these settings for a side; flags that were set before are kept."""
        variables: dict[str, str] = {}
        if self.threads is not None:
            variables |= dict.fromkeys(THREAD_VARIABLES, str(self.threads))
        if self.dump is not None:
            variables["XLA_FLAGS"] = f"{environment.get('XLA_FLAGS', '')} --xla_dump_to={self.dump}".strip()
        variables |= (_tf_cache if side == "tf" else _jax_cache)(self.compilation_cache, environment)
        if self.x64 is not None and side == "jax":
            variables["JAX_ENABLE_X64"] = "1" if self.x64 else "0"
        if self.logical_devices is not None:
            flags = variables.get("XLA_FLAGS", environment.get("XLA_FLAGS", ""))
            variables["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count={self.logical_devices}".strip()
            variables[LOGICAL_DEVICES] = str(self.logical_devices)
        if self.retained_memory:
            variables |= RETAINING
        if side == "jax" and (self.synchronous_dispatch or SYNCHRONOUS in environment):
            variables[SYNCHRONOUS] = "1" if self.synchronous_dispatch else ""
        if self.whole_imports:
            variables[optional_imports.WHOLE] = "1"
        if self.clustering is not None and side == "tf":
            clustering = clustering_variables.variables(self.clustering, {**environment, **variables})
            variables |= (
                clustering if self.reasons else {name: clustering[name] for name in clustering_variables.GRAPHS_ONLY}
            )
        return variables


TF_CACHE_FLAG = "--tf_xla_persistent_cache_directory="
"""The last of several counts, and an empty one keeps nothing."""


def _tf_cache(folder: Path | None, environment: Mapping[str, str]) -> dict[str, str]:
    flags = environment.get("TF_XLA_FLAGS", "")
    if folder is None and TF_CACHE_FLAG not in flags:
        return {}
    return {"TF_XLA_FLAGS": f"{flags} {TF_CACHE_FLAG}{folder or ''}".strip()}


def _jax_cache(folder: Path | None, environment: Mapping[str, str]) -> dict[str, str]:
    if folder is None:
        return {"JAX_COMPILATION_CACHE_DIR": ""} if "JAX_COMPILATION_CACHE_DIR" in environment else {}
    # By default JAX keeps only what took a second to compile.
    return {
        "JAX_COMPILATION_CACHE_DIR": str(folder),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


def python_path(shelf: Path, environment: Mapping[str, str]) -> str:
    """PYTHONPATH of a process of ours: the folder of these packages, and what the user's own PYTHONPATH names.

    An empty entry would be the current folder, and files from others there must not run.
    """
    return os.pathsep.join([str(shelf), *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))])


def available_processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def pin(threads: int | None, tasks: Path = Path("/proc/self/task")) -> None:
    """Pin this process to the first `threads` of its processors: every worker of a run gets the same ones.

    Thread by thread: NumPy's BLAS has started some by now, and these would keep all processors.
    """
    if threads is None or not hasattr(os, "sched_setaffinity"):
        return
    processors = sorted(os.sched_getaffinity(0))[:threads]
    for task in tasks.iterdir():
        os.sched_setaffinity(int(task.name), processors)
