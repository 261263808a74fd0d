"""GPUs by name: their descriptions for XLA's GPU compiler, and their published peaks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compare import files
from compare.devices.device import Device, Multiprocessor, UnknownDevice

KIBI = 1 << 10


@dataclass(frozen=True)
class Gpu:
    """The fields of XLA's GpuTargetConfigProto that differ between GPUs, and what a roofline needs.

    Attributes:
      capability: the compute capability, such as (9, 0).
      cores: streaming multiprocessors.
      fpus: units for float32 in each of them.
      shared_memory: bytes of one of them.
      block_shared_memory: bytes that one block may opt in to.
      bandwidth: of the memory, in bytes a second.
      peaks: floating-point operations a second, dense, by type of the operands.
    """

    description: str
    capability: tuple[int, int]
    cores: int
    fpus: int
    shared_memory: int
    block_shared_memory: int
    bandwidth: int
    l2_cache: int
    clock_ghz: float
    memory: int
    peaks: Mapping[str, float]
    source: str


_XLA = "xla/backends/gpu/target_config/specs in XLA"

GPUS: Mapping[str, Gpu] = {
    "H100": Gpu(
        "NVIDIA H100 80GB HBM3", (9, 0), 132, 128, 228 * KIBI, 227 * KIBI, 3_352_320_000_000, 52_428_800, 1.98,
        84_942_979_072, {"f64": 33.5e12, "f32": 66.9e12, "tf32": 494.7e12, "bf16": 989.4e12, "f16": 989.4e12},
        f"{_XLA}; peaks: NVIDIA H100 Tensor Core GPU Architecture, table 2 (SXM5, dense)",
    ),
    "A100": Gpu(
        "NVIDIA A100-SXM4-80GB", (8, 0), 108, 64, 164 * KIBI, 163 * KIBI, 2_039_040_000_000, 41_943_040, 1.41,
        85_100_068_864, {"f64": 9.7e12, "f32": 19.5e12, "tf32": 156e12, "bf16": 312e12, "f16": 312e12},
        f"{_XLA}; peaks: NVIDIA A100 Tensor Core GPU Architecture, table 1 (dense)",
    ),
    "V100": Gpu(
        "Tesla V100-SXM2-16GB", (7, 0), 80, 64, 96 * KIBI, 96 * KIBI, 898_048_000_000, 6_291_456, 1.53,
        16_935_682_048, {"f64": 7.8e12, "f32": 15.7e12, "f16": 125e12},
        f"{_XLA}; peaks: NVIDIA Tesla V100 GPU Architecture, table 1",
    ),
    "T4": Gpu(
        "Tesla T4", (7, 5), 40, 64, 64 * KIBI, 64 * KIBI, 320_064_000_000, 4_194_304, 1.59,
        15_828_320_256, {"f64": 0.25e12, "f32": 8.1e12, "f16": 65e12},
        "NVIDIA T4 Tensor Core GPU data sheet; NVIDIA Turing GPU Architecture",
    ),
}  # fmt: skip
"""By the name that `--target` takes."""

# Threads, blocks and the unit of shared memory by compute capability; all have 65536 registers.
_MULTIPROCESSORS: Mapping[tuple[int, int], tuple[int, int, int, int]] = {
    (6, 0): (2048, 32, 256, 0),
    (7, 0): (2048, 32, 256, 0),
    (7, 5): (1024, 16, 256, 0),
    (8, 0): (2048, 32, 128, KIBI),
    (8, 6): (1536, 16, 128, KIBI),
    (8, 9): (1536, 24, 128, KIBI),
    (9, 0): (2048, 32, 128, KIBI),
    (10, 0): (2048, 32, 128, KIBI),
}
_REGISTERS = 65536

_NUMBERS = (
    *("core_count", "fpus_per_core", "shared_memory_per_core", "shared_memory_per_block_optin"),
    *("memory_bandwidth", "l2_cache_size", "clock_rate_ghz", "device_memory_size"),
)
_MOST = 1 << 62
_CONFIG = files.Expected("a GpuTargetConfigProto in text form", "pass one that XLA dumped", UnknownDevice)
_LONGEST_CONFIG = 1 << 20
_FIELD = re.compile(r"\b(\w+)\s*:\s*(\"[^\"\n]*\"|'[^'\n]*'|[-+.\w]+)")
_CAPABILITY = re.compile(r"\bcuda_compute_capability\s*\{([^{}]*)\}")


def find(name: str) -> Device | None:
    """The GPU of a name, whatever its case; None where there is none."""
    gpu = GPUS.get(name.upper())
    return _device(name.upper(), gpu, config(gpu)) if gpu else None


def of_file(path: Path) -> Device:
    """The GPU that a file describes, as XLA dumps it beside a module (`*.gpu_target_config.pbtxt`).

    Raises:
      UnknownDevice: the file cannot be read, or is no such description.
    """
    text = files.read(path, _CONFIG, _LONGEST_CONFIG).decode(errors="replace")
    try:
        return _device(path.name, _parse(text, path.name), text)
    except KeyError as error:
        _CONFIG.refuse(path, f"none of the field {error.args[0]}")
    except ValueError as error:
        _CONFIG.refuse(path, error)


def config(gpu: Gpu) -> str:
    """The GpuTargetConfigProto of a GPU, in text form, for CUDA 12.9 and cuDNN 9.10."""
    major, minor = gpu.capability
    threads = _MULTIPROCESSORS[gpu.capability][0]
    return (
        "gpu_device_info{threads_per_block_limit:1024 threads_per_warp:32 shared_memory_per_block:49152 "
        f"threads_per_core_limit:{threads} block_dim_limit_x:2147483647 block_dim_limit_y:65535 "
        f"block_dim_limit_z:65535 registers_per_core_limit:{_REGISTERS} registers_per_block_limit:{_REGISTERS} "
        f"cuda_compute_capability{{major:{major} minor:{minor}}} core_count:{gpu.cores} fpus_per_core:{gpu.fpus} "
        f"shared_memory_per_core:{gpu.shared_memory} shared_memory_per_block_optin:{gpu.block_shared_memory} "
        f"memory_bandwidth:{gpu.bandwidth} l2_cache_size:{gpu.l2_cache} clock_rate_ghz:{gpu.clock_ghz} "
        f"device_memory_size:{gpu.memory}}} platform_name:'CUDA' dnn_version_info{{major:9 minor:10}} "
        f"runtime_version{{major:12 minor:9}} device_description_str:'{gpu.description}'"
    )


def _parse(text: str, source: str) -> Gpu:
    """Parse a description; KeyError for a field that it lacks."""
    fields = {name: value.strip("\"'") for name, value in _FIELD.findall(text)}
    capability_match = _CAPABILITY.search(text)
    if capability_match is None:
        raise KeyError("cuda_compute_capability")
    capability = dict(_FIELD.findall(capability_match[1]))
    numbers = {name: _positive(name, fields[name], float if name == "clock_rate_ghz" else int) for name in _NUMBERS}
    return Gpu(
        description=fields.get("device_description_str", source),
        capability=(int(capability["major"]), int(capability.get("minor", "0"))),
        cores=numbers["core_count"],
        fpus=numbers["fpus_per_core"],
        shared_memory=numbers["shared_memory_per_core"],
        block_shared_memory=numbers["shared_memory_per_block_optin"],
        bandwidth=numbers["memory_bandwidth"],
        l2_cache=numbers["l2_cache_size"],
        clock_ghz=numbers["clock_rate_ghz"],
        memory=numbers["device_memory_size"],
        # A fused multiply-add in every unit at every cycle. Of other units the description says nothing.
        peaks={"f32": 2 * numbers["core_count"] * numbers["fpus_per_core"] * numbers["clock_rate_ghz"] * 1e9},
        source=source,
    )


def _positive(name: str, text: str, kind: Callable[[str], Any]) -> Any:
    number = kind(text)
    if not 0 < number < _MOST:
        raise ValueError(f"{name} {text}")
    return number


def _device(name: str, gpu: Gpu, text: str) -> Device:
    return Device(
        name=name,
        platform="gpu",
        description=gpu.description,
        source=gpu.source,
        topology={"target_config": text, "topology": "1x1x1"},
        memory_bytes=gpu.memory,
        bandwidth=gpu.bandwidth,
        peaks=gpu.peaks,
        cores=gpu.cores,
        cache_bytes=gpu.l2_cache,
        multiprocessor=_multiprocessor(gpu),
    )


def _multiprocessor(gpu: Gpu) -> Multiprocessor | None:
    if gpu.capability not in _MULTIPROCESSORS:
        return None
    threads, blocks, unit, reserve = _MULTIPROCESSORS[gpu.capability]
    return Multiprocessor(threads, blocks, _REGISTERS, gpu.shared_memory, unit, reserve)
