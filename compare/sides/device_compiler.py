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
from typing import Any

import msgspec
import numpy as np

from compare.hlo import bindings, host_devices, sharded
from compare.sides._host import Host
from compare.sides._side import Reply
from compare.sides.host_parameters import Assemble, CompileFor, RunSharded, Sharding
from compare.sides.parameters import Nothing
from compare.sides.replies import Assembled, CompiledFor, Packages
from compare.sides.xla import pack_calls, unpack_calls
from workloads._framework import Unsupported
from workloads._spec import Arrays

PROGRAM, MODULE = "program", "module"
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
    """Compiles programs one after the other; nothing is kept."""

    host = "devices"

    def platforms(self, parameters: Nothing, arrays: Arrays) -> Reply:
        """What each platform is compiled for with."""
        return Reply(msgspec.to_builtins({"gpu": _gpu_packages(), "tpu": _tpu_packages()}))

    def compile_for(self, parameters: CompileFor, arrays: Arrays) -> Reply:
        """Compile a program, and dump what XLA makes of it where its plugin does."""
        dumping = {"xla_dump_to": str(parameters.dump)} if parameters.platform == "gpu" and parameters.dump else {}
        options = dumping | parameters.options
        start = time.perf_counter()
        try:
            made = bindings.compile_elsewhere(
                arrays[PROGRAM].tobytes(),
                PLUGINS[parameters.platform],
                parameters.topology,
                options,
                _annotating(parameters.sharding) if parameters.sharding else None,
            )
        except bindings.UnreadableProgram as error:
            raise Unsupported(str(error)) from error
        value = CompiledFor(
            **{f"{use}_bytes": size for use, size in made.memory.items()},
            compile_s=time.perf_counter() - start,
            hosts=made.hosts,
        )
        return Reply(msgspec.to_builtins(value), {MODULE: np.frombuffer(made.optimized, np.uint8)})

    def run_sharded(self, parameters: RunSharded, arrays: Arrays) -> Reply:
        """Run a program on several devices that this host makes of its processors."""
        (given,) = unpack_calls([parameters.arguments], arrays)
        sharding = parameters.sharding
        try:
            results = host_devices.run_partitioned(
                arrays[PROGRAM].tobytes(),
                _annotating(sharding),
                sharding.axes,
                sharding.parameters,
                sharding.results,
                given,
            )
        except bindings.UnreadableProgram as error:
            raise Unsupported(str(error)) from error
        (described,), packed = pack_calls([results])
        return Reply(described, packed)

    def assemble(self, parameters: Assemble, arrays: Arrays) -> Reply:
        """By PTX file, what the assembler reports of the kernels in it, and their machine code.

        XLA assembles them itself and keeps neither: each is assembled once more, as XLA does, with `-O3`.
        """
        assembler = _assembler()
        if assembler is None:
            raise Unsupported("expected ptxas beside the plugin, found none: install nvidia-cuda-nvcc-cu12")
        files = [file for file in sorted(parameters.dump.glob("*.ptx")) if file.stat().st_size]
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            made = list(threads.map(lambda file: _assembled(assembler, file), files))
        return Reply({file.name: msgspec.to_builtins(one) for file, one in zip(files, made, strict=True)})


def _annotating(sharding: Sharding) -> Callable[[Any], None]:
    return lambda module: sharded.annotate(module, sharding.axes, sharding.parameters, sharding.results)


def _assembled(assembler: Path, file: Path) -> Assembled:
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
