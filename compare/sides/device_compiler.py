"""Compiles in a worker for devices that are not here: XLA, with the plugins that this interpreter has."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata, resources
from pathlib import Path
from typing import Annotated, Any, Literal

from compare.hlo import bindings, host_devices, sharded
from compare.sides._host import Host
from compare.sides.replies import Assembled, CompiledFor, Described, Packages, Platforms, Sharding
from compare.sides.xla import pack_calls, unpack_calls
from workloads.core.spec import Arrays
from workloads.protocol.framework import Scalar, Size, Unsupported

PROGRAM = "program"
PLUGINS = {"gpu": "cuda", "tpu": "tpu"}
"""By platform, the name of JAX's plugin."""

_CUDA = (("jax-cuda12-pjrt", "jax-cuda12-plugin"), ("jax-cuda13-pjrt", "jax-cuda13-plugin"))
_ASSEMBLERS = (("nvidia.cuda_nvcc", "bin/ptxas"), ("nvidia.cu13", "bin/ptxas"))
_ASSEMBLE_S = 300
_FORCED = "--xla_force_host_platform_device_count=8"
_LIBTPU = {"TPU_SKIP_MDS_QUERY": "1", "ALLOW_MULTIPLE_LIBTPU_LOAD": "1", "TPU_LOG_DIR": "disabled"}


def create() -> Host:
    """XLA with plugins, of which none is loaded yet."""
    # JAX must choose no plugin for itself; libtpu must neither ask the network where it runs, nor refuse a second
    # process, nor write logs.
    os.environ["JAX_PLATFORMS"] = "cpu"
    for name, value in _LIBTPU.items():
        os.environ.setdefault(name, value)
    # What is sharded runs on devices of this processor.
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_FORCED}".strip()
    assembler = _assembler()
    if assembler is not None:
        # XLA takes the first ptxas on PATH: a toolkit's there may be too new for a GPU, or older than the plugin.
        os.environ["PATH"] = os.pathsep.join([str(assembler.parent), os.environ.get("PATH", os.defpath)])
    return DeviceCompiler()


class DeviceCompiler(Host):
    """XLA of jaxlib and its plugins, which compiles for devices that are not here; nothing is kept."""

    host = "devices"

    def platforms(self) -> Platforms:
        """List by platform the packages that compile for it, or the reason why none does."""
        return {"gpu": _gpu_packages(), "tpu": _tpu_packages()}

    def compile_for(
        self,
        platform: Literal["gpu", "tpu"],
        topology: dict[str, str | tuple[Size, ...]],
        options: dict[str, Scalar],
        arrays: Arrays,
        dump: Path | None = None,
        sharding: Sharding | None = None,
    ) -> tuple[CompiledFor, Annotated[bytes, "module"]]:
        """Compile a program for a device, and dump what XLA compiles it to.

        Args:
          options: XLA's debug options by name.
          arrays: the program as bytes.
          sharding: over all devices of the topology; None compiles for the first.
        """
        dumping = {"xla_dump_to": str(dump)} if platform == "gpu" and dump else {}
        start = time.perf_counter()
        try:
            compilation = bindings.compile_elsewhere(
                arrays[PROGRAM].tobytes(),
                PLUGINS[platform],
                topology,
                dumping | options,
                _annotating(sharding) if sharding else None,
            )
        except bindings.UnreadableProgram as error:
            raise Unsupported(str(error)) from error
        takes = CompiledFor(
            **{f"{use}_bytes": size for use, size in compilation.memory.items()},
            compile_s=time.perf_counter() - start,
            hosts=compilation.hosts,
        )
        return takes, compilation.optimized

    def run_sharded(
        self, sharding: Sharding, arguments: tuple[Described, ...], arrays: Arrays
    ) -> tuple[list[Described], Arrays]:
        """Run a program on several CPU devices, its arrays split over a mesh.

        Args:
          arrays: the program as bytes, and the arguments.
        """
        (call,) = unpack_calls([arguments], arrays)
        try:
            results = host_devices.run_partitioned(
                arrays[PROGRAM].tobytes(),
                _annotating(sharding),
                sharding.axes,
                sharding.parameters,
                sharding.results,
                call,
            )
        except bindings.UnreadableProgram as error:
            raise Unsupported(str(error)) from error
        (description,), result_arrays = pack_calls([results])
        return description, result_arrays

    def assemble(self, dump: Path) -> dict[str, Assembled]:
        """Assemble each PTX file of a dump.

        XLA assembles them itself and keeps neither report nor machine code: each is assembled once more, as XLA does,
        with `-O3`.
        """
        assembler = _assembler()
        if assembler is None:
            raise Unsupported("expected ptxas beside the plugin, found none: install nvidia-cuda-nvcc-cu12")
        ptx = [file for file in sorted(dump.glob("*.ptx")) if file.stat().st_size]
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            results = list(threads.map(lambda file: _assemble(assembler, file), ptx))
        return {file.name: result for file, result in zip(ptx, results, strict=True)}


def _annotating(sharding: Sharding) -> Callable[[Any], None]:
    return lambda module: sharded.annotate(module, sharding.axes, sharding.parameters, sharding.results)


def _assemble(assembler: Path, file: Path) -> Assembled:
    target = next((line.split()[1] for line in file.read_text().splitlines() if line.startswith(".target")), "")
    with tempfile.NamedTemporaryFile(suffix=".cubin") as binary:
        arguments = ["-v", "-O3", f"-arch={target.rstrip(',')}", str(file), "-o", binary.name]
        ran = _ran([str(assembler), *arguments])
        if ran.returncode:
            raise Unsupported(f"expected {assembler.name} to assemble {file.name}, found {ran.stderr.strip()[:200]}")
        disassembler = shutil.which("nvdisasm")
        code = _ran([disassembler, "-c", binary.name]).stdout if disassembler else ""
    return Assembled(ran.stderr, code)


def _ran(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=_ASSEMBLE_S, check=False)


def _assembler() -> Path | None:
    for package, inside in _ASSEMBLERS:
        try:
            assembler = Path(str(resources.files(package).joinpath(inside)))
        except ModuleNotFoundError:
            continue
        if assembler.exists():
            return assembler
    on_path = shutil.which("ptxas")
    return Path(on_path) if on_path else None


def _gpu_packages() -> Packages:
    for names in _CUDA:
        versions = _versions((*names, "jaxlib"))
        if names[0] not in versions:
            continue
        missing = [name for name in names if name not in versions]
        if missing:
            return Packages(reason=f"found no package {missing[0]}")
        if _assembler() is None:
            return Packages(reason="found no ptxas")
        if versions[names[0]] != versions["jaxlib"]:
            return Packages(reason=f"found {names[0]} {versions[names[0]]} beside jaxlib {versions['jaxlib']}")
        return Packages(versions | _versions(("nvidia-cuda-nvcc-cu12", "nvidia-cuda-nvcc")))
    return Packages(reason=f"found no package {_CUDA[0][0]}")


def _tpu_packages() -> Packages:
    versions = _versions(("libtpu", "jaxlib"))
    return Packages(versions) if "libtpu" in versions else Packages(reason="found no package libtpu")


def _versions(names: Sequence[str]) -> dict[str, str]:
    versions = {}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions
