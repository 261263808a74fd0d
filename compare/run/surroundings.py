"""Facts for the report of a problem: memory, disks, tools, and the variables that configure the frameworks."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from compare.hlo.bindings import QUIETED
from compare.sides import processes
from compare.sides.clustering_variables import QUIETEST

STEERING = re.compile(
    r"(XLA|JAX|KERAS|CUDA|NVIDIA|TPU|PJRT|MALLOC|OMP|ONEDNN|DNNL|MKL|OPENBLAS|JAXPORT)_\w+"
    r"|TF_(XLA|CPP|CUDNN|DETERMINISTIC|DISABLE|DUMP|ENABLE|FORCE|GPU|NUM|USE)_\w+"
    r"|GLIBC_TUNABLES|LD_PRELOAD|LD_LIBRARY_PATH|NPROC|PYTHONPATH|PYTHONHASHSEED|TMPDIR|CI"
)
"""Variables that change what the frameworks or jaxport do. No others are told: they may hold what is secret, as
Terraform's, which begin with TF_ too, do."""

SECRET = re.compile(r".*(API_?KEY|ACCESS_?KEY|TOKEN|SECRET|PASSW|CREDENTIAL).*")
"""Secrets among the variables above, such as NVIDIA_API_KEY, but not JAX_LEGACY_PRNG_KEY, which is a switch."""

TOOLS = ("dot", "chromium", "nvidia-smi")

ASKS_GPUS = ("--query-gpu=name,driver_version,memory.total", "--format=csv,noheader")
"""https://docs.nvidia.com/deploy/nvidia-smi/"""

_ANSWERS_S = 20

MEMORY = Path("/proc/meminfo")
SHARED_MEMORY = Path("/dev/shm")


@dataclass(frozen=True)
class Surroundings:
    """The surroundings of this process on this machine.

    Attributes:
      memory_bytes: of the machine; None where the platform does not tell.
      temporary_folder: where files in transit go.
      temporary_free_bytes: of its disk.
      shared_memory_free_bytes: None where there is none.
      gpus: name, driver and memory of each that nvidia-smi knows, or in one line what it said instead.
      tools: by name, where it is; None where it is missing.
      variables: of the environment, those that steer the frameworks.
    """

    memory_bytes: int | None
    temporary_folder: str
    temporary_free_bytes: int
    shared_memory_free_bytes: int | None
    gpus: tuple[str, ...]
    tools: Mapping[str, str | None]
    variables: Mapping[str, str]


def look(variables: Mapping[str, str] = os.environ, memory: Path = MEMORY) -> Surroundings:
    """The state of this machine and this process."""
    own = (QUIETEST,) if QUIETED else ()
    folder = str(processes.outside_scratch())
    return Surroundings(
        memory_bytes=memory_bytes(memory),
        temporary_folder=folder,
        temporary_free_bytes=shutil.disk_usage(folder).free,
        shared_memory_free_bytes=shutil.disk_usage(SHARED_MEMORY).free if SHARED_MEMORY.is_dir() else None,
        gpus=gpus(shutil.which("nvidia-smi")),
        tools={name: shutil.which(name) for name in TOOLS},
        variables={name: variables[name] for name in sorted(variables) if _is_reported(name) and name not in own},
    )


def gpus(nvidia_smi: str | None) -> tuple[str, ...]:
    """The driver's description of each GPU.

    Args:
      nvidia_smi: the program that asks it; None where there is none.
    """
    if nvidia_smi is None:
        return ()
    try:
        process = subprocess.run(
            [nvidia_smi, *ASKS_GPUS], capture_output=True, text=True, errors="replace", timeout=_ANSWERS_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return (f"nvidia-smi failed: {error}",)
    lines = (
        process.stdout.splitlines() if process.returncode == 0 else (process.stdout + process.stderr).splitlines()[:1]
    )
    return tuple(line.strip() for line in lines)


def _is_reported(name: str) -> bool:
    return bool(STEERING.fullmatch(name)) and not SECRET.fullmatch(name)


def memory_bytes(memory: Path = MEMORY) -> int | None:
    """The memory of the machine, by Linux's /proc/meminfo."""
    try:
        match = re.search(r"^MemTotal:\s+(\d+) kB$", memory.read_text(), re.MULTILINE)
    except OSError:
        return None
    return int(match[1]) * 1024 if match else None
