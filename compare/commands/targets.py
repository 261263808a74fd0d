"""`jaxport list targets`: the devices that programs can be compiled for, and whether they can be here."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any

from compare.commands import _arguments
from compare.commands._parser import Help
from compare.devices import naming
from compare.devices.device import Device, DevicePlatform
from compare.plain_json import to_json
from compare.report import numbers, terminal
from compare.report.page_console import print_rows
from compare.report.pages import Table, columns
from compare.sides._side import SideError
from compare.sides.device_worker import DeviceWorker, advice, interpreter
from compare.sides.replies import Packages

HELP = Help(
    description="""\
List the devices that --target takes, with their published figures, and say which can be compiled for here. None of
them needs to be here: XLA compiles for them, and nothing runs.

A slice of a TPU is written v5e:2x2, with the chips along each axis. A GPU that is not listed can be described in a file
with XLA's GpuTargetConfigProto in text form, which XLA dumps beside each module as *.gpu_target_config.pbtxt.
""",
    operands="",
    examples="""\
  jaxport list targets
  jaxport list targets --json
  jaxport hlo running_example --target H100 --target v5e:2x2
  jaxport hlo running_example --target my_gpu.pbtxt
""",
    holds="the devices were listed",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    _arguments.add_target_python(command)
    _arguments.add_timeout(command)
    _arguments.add_json(command.add_argument_group("output"))


def main(options: argparse.Namespace) -> None:
    """Ask what compiles here, print the table."""
    with ExitStack() as stack:
        worker = DeviceWorker(interpreter(options.target_python), options.timeout, stack)
        packages = _packages(worker)
    devices = [naming.device(name) for name in naming.NAMES]
    if options.json:
        terminal.print_json(to_json({"targets": {device.name: _entry(device, packages) for device in devices}}))
        return
    titles = columns("target", "device", "memory", "bandwidth", "peaks", "here")
    print_rows(Table(titles, [_row(device, packages) for device in devices]), terminal.console())
    terminal.say(*_lines(packages), *dict.fromkeys(f"source of {device.name}: {device.source}" for device in devices))


def _packages(worker: DeviceWorker) -> Mapping[DevicePlatform, Packages]:
    try:
        return worker.platforms()
    except SideError as error:
        return {platform: Packages(reason=error.reason) for platform in ("gpu", "tpu")}


def _entry(device: Device, packages: Mapping[DevicePlatform, Packages]) -> dict[str, Any]:
    of_platform = packages[device.platform]
    return {
        "platform": device.platform,
        "description": device.description,
        "memory_bytes": device.memory_bytes,
        "bandwidth": device.bandwidth,
        "peaks": device.peaks,
        "source": device.source,
        "packages": of_platform.versions,
        "reason": of_platform.reason,
    }


def _row(device: Device, packages: Mapping[DevicePlatform, Packages]) -> tuple[str, ...]:
    peaks = ", ".join(f"{type_} {peak / 1e12:g}" for type_, peak in device.peaks.items())
    return (
        device.name,
        device.description,
        numbers.binary_bytes(device.memory_bytes),
        f"{(device.bandwidth or 0) / 1e9:,.0f} GB/s",
        f"{peaks} Tflop/s",
        "no" if packages[device.platform].reason else "yes",
    )


def _lines(packages: Mapping[DevicePlatform, Packages]) -> Iterator[str]:
    for platform, of_platform in packages.items():
        if of_platform.reason:
            yield f"{platform.upper()}: {of_platform.reason}; {advice(platform)}"
        else:
            versions = ", ".join(f"{name} {version}" for name, version in of_platform.versions.items())
            yield f"{platform.upper()}: compiled for by {versions}"
