"""The worker that compiles for devices which are not here: which interpreter runs it, and what it is asked."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from compare.devices.device import Device, DevicePlatform
from compare.sides import device_compiler
from compare.sides._side import SideError
from compare.sides.device_compiler import DeviceCompiler
from compare.sides.methods import request
from compare.sides.replaceable import Replaceable
from compare.sides.replies import Assembled, CompiledFor, Packages, Sharding
from compare.sides.sources import check_interpreter
from compare.sides.xla import pack_calls, unpack_calls
from workloads.protocol.framework import CompilerOptions

VARIABLE = "JAXPORT_TARGET_PYTHON"
"""Names the interpreter where no option does."""

FOLDER = ".targets"
"""The environment that `make targets` builds, beside the one that jaxport runs in."""

EXTRAS = {"gpu": "gpu-target", "tpu": "tpu-target"}


@dataclass(frozen=True)
class Compiled:
    """A program as XLA compiled it for a device: the optimized module, and what it takes there."""

    module: bytes
    takes: CompiledFor


class DeviceWorker:
    """One worker, started when it is first asked, and replaced after a program has ended it.

    Args:
      python: its interpreter; None is this one.
      timeout_s: how long a request may take.
    """

    def __init__(self, python: str | None, timeout_s: float, stack: ExitStack) -> None:
        self._worker = Replaceable("devices", timeout_s, stack, python)

    def platforms(self) -> Mapping[DevicePlatform, Packages]:
        """By platform, the packages that compile for it, or why none does.

        Raises:
          SideError: the worker cannot be started.
        """
        return request(DeviceCompiler.platforms)(self._worker)

    def compile(
        self,
        device: Device,
        program: bytes,
        dump: Path | None,
        options: CompilerOptions,
        sharding: Sharding | None = None,
    ) -> Compiled:
        """Compile a program for a device, or for all of its topology.

        Args:
          dump: a new folder, where XLA writes what it makes of it; for a GPU only. None writes nothing.
          options: XLA's debug options by name.
          sharding: of parameters and results over all devices of the topology; None compiles for one.

        Raises:
          SideError: XLA refuses the program or an option, or the worker is lost.
        """
        arrays = {device_compiler.PROGRAM: np.frombuffer(program, np.uint8)}
        takes, module = request(DeviceCompiler.compile_for)(
            self._worker, device.platform, dict(device.topology), dict(options), arrays, dump, sharding
        )
        return Compiled(module, takes)

    def run_sharded(self, program: bytes, sharding: Sharding, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The whole results of a program that runs on several CPU devices, its arrays split over a mesh.

        Raises:
          SideError: XLA refuses the program, or the worker is lost.
        """
        (description,), call_arrays = pack_calls([arguments])
        request_arrays = {device_compiler.PROGRAM: np.frombuffer(program, np.uint8), **call_arrays}
        description, arrays = request(DeviceCompiler.run_sharded)(
            self._worker, sharding, tuple(description), request_arrays
        )
        (results,) = unpack_calls([description], arrays)
        return results

    def assemble(self, dump: Path) -> dict[str, Assembled]:
        """By PTX file of a dump, the assembler's report and the machine code.

        Raises:
          SideError: there is no assembler, it refuses a file, or the worker is lost.
        """
        return request(DeviceCompiler.assemble)(self._worker, dump)


@dataclass(frozen=True)
class Targets:
    """Devices that programs are compiled for, and the worker that does."""

    devices: Sequence[Device]
    worker: DeviceWorker


def missing(worker: DeviceWorker, device: Device) -> str:
    """Why a device cannot be compiled for here, and what to do; "" where it can."""
    try:
        packages = worker.platforms()[device.platform]
    except SideError as error:
        return error.reason
    if not packages.reason:
        return ""
    platform = device.platform
    return f"expected packages that compile for a {platform.upper()}, {packages.reason}: {advice(platform)}"


def advice(platform: DevicePlatform) -> str:
    """Advice on how to compile for a platform: a checkout has a second environment for it."""
    checkout = Path(__file__).parents[2] / "Makefile"
    if checkout.exists():
        return f"run `make targets` in {checkout.parent}"
    return f"pip install 'jaxport[{EXTRAS[platform]}]'"


def interpreter(option: str | None) -> str | None:
    """The interpreter of an option, or else of the environment, or else of `make targets`; None is this one.

    Raises:
      RequestError: there is no such interpreter.
    """
    check_interpreter(option, "--target-python")
    variable = os.environ.get(VARIABLE)
    check_interpreter(variable, VARIABLE)
    default = Path(sys.prefix).parent / FOLDER / "bin" / "python"
    return option or variable or (str(default) if default.exists() else None)
