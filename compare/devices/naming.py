"""Devices by the names that users give."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path

from compare.devices import gpus, tpus
from compare.devices.device import Device, UnknownDevice

NAMES = (*gpus.GPUS, *tpus.GENERATIONS)
"""Every GPU, and every generation of TPU."""


def device(name: str) -> Device:
    """The device of a name: a GPU ("H100"), a slice of a TPU ("v5e:2x2"), or a file that describes a GPU.

    Raises:
      UnknownDevice: none of these.
    """
    match = gpus.find(name) or tpus.find(name)
    if match is not None:
        return match
    path = Path(name)
    if path.suffix or "/" in name:
        return gpus.of_file(path)
    near = difflib.get_close_matches(
        name.partition(":")[0].lower(), [device_name.lower() for device_name in NAMES], 3, 0.4
    )
    nearest = [device_name for device_name in NAMES if device_name.lower() in near] or NAMES
    raise UnknownDevice(
        f"expected a target such as {', '.join(nearest)}, or a file with a GpuTargetConfigProto, found {name!r}: "
        "`jaxport list targets` lists them"
    )


def devices(names: Sequence[str]) -> tuple[Device, ...]:
    """The devices of several names, each once.

    Raises:
      UnknownDevice: as `device`.
    """
    return tuple({one.name: one for one in map(device, names)}.values())
