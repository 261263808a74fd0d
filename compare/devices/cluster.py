"""Several devices that one program runs on, the links between them, and how a user names them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from compare.devices import gpus, naming
from compare.devices.device import Device, UnknownDevice

_SHAPE = re.compile(r"(\d{1,3})x(\d{1,3})")
_DGX = "NVIDIA DGX {} data sheet, one adapter of {} Gb/s a GPU (from memory, not looked up)"
_ICI = "https://docs.cloud.google.com/tpu/docs/{}, half of the bidirectional bandwidth"


@dataclass(frozen=True)
class Link:
    """A link between devices.

    Attributes:
      name: "NVLink", "PCIe", "network" or "ICI".
      bandwidth: bytes a second that one device sends at most, all its ports together; None where none is published.
      source: where that is published.
    """

    name: str
    bandwidth: float | None
    source: str


_GPU_LINKS: Mapping[str, tuple[Link, Link]] = {
    "H100": (
        Link("NVLink", 450e9, "https://en.wikipedia.org/wiki/NVLink: 18 links of an H100, 900 GB/s in both directions"),
        Link("network", 50e9, _DGX.format("H100", 400)),
    ),
    "A100": (
        Link(
            "NVLink", 300e9, "https://www.nvidia.com/en-us/data-center/nvlink/: 600 GB/s of an A100 in both directions"
        ),
        Link("network", 25e9, _DGX.format("A100", 200)),
    ),
    "V100": (
        Link("NVLink", 150e9, "https://en.wikipedia.org/wiki/NVLink: six links of a V100, 300 GB/s in both directions"),
        Link("network", None, ""),
    ),
    "T4": (
        Link("PCIe", 15.75e9, "NVIDIA T4 product brief: PCIe 3.0 x16; 16 lanes of 8 GT/s, 128 bits in 130"),
        Link("network", None, ""),
    ),
}
"""By GPU, what is inside a host and what is between hosts."""

_ICI_BANDWIDTH = {"v5e": 200e9, "v5p": 600e9, "v6e": 400e9}
"""By generation of TPU, of one chip in one direction."""


@dataclass(frozen=True)
class Cluster:
    """Devices of one kind under one program.

    Attributes:
      name: as a user asks for it: "H100:2x8", "v5e:16x16".
      device: one of them; its topology is that of all.
      hosts: by number of a device, which island of the faster link it is in.
      inside: the link in an island: a GPU's host, or the whole slice of a TPU.
      between: the link between islands; None where there is one island.
    """

    name: str
    device: Device
    hosts: Sequence[int]
    inside: Link
    between: Link | None

    @property
    def size(self) -> int:
        """How many devices."""
        return len(self.hosts)


def cluster(name: str) -> Cluster:
    """The devices of a name: GPUs as "H100:2x8", hosts x GPUs of each; a slice of a TPU as "v5e:2x4".

    Raises:
      UnknownDevice: none of these, or a single device.
    """
    kind, _, shape = name.partition(":")
    gpu = gpus.find(kind)
    devices = _of_gpus(name, gpu, shape) if gpu else _of_tpus(name)
    if devices.size < 2:
        raise UnknownDevice(
            f"expected several devices, found {name!r}: name hosts and GPUs of each, as in H100:2x8, or a slice of a "
            "TPU, as in v5e:2x4"
        )
    return devices


def _of_gpus(name: str, gpu: Device, shape: str) -> Cluster:
    match = _SHAPE.fullmatch(shape)
    if match is None or not int(match[1]) * int(match[2]):
        raise UnknownDevice(f"expected hosts x GPUs of each, as in {gpu.name}:2x8, found {name!r}: correct --target")
    hosts, per_host = int(match[1]), int(match[2])
    inside, between = _GPU_LINKS[gpu.name]
    full_name = f"{gpu.name}:{hosts}x{per_host}"
    device = replace(gpu, name=full_name, topology=dict(gpu.topology) | {"topology": f"1x{hosts}x{per_host}"})
    hosts_of_devices = tuple(number // per_host for number in range(hosts * per_host))
    return Cluster(full_name, device, hosts_of_devices, inside, between if hosts > 1 else None)


def _of_tpus(name: str) -> Cluster:
    device = naming.device(name)
    if device.platform != "tpu":
        raise UnknownDevice(f"expected hosts x GPUs of a GPU by its name, as in H100:2x8, found {name!r}: name one")
    generation, _, shape = device.name.partition(":")
    bandwidth = _ICI_BANDWIDTH.get(generation)
    link = Link("ICI", bandwidth, _ICI.format(generation) if bandwidth else "")
    # The chips of a slice are one network, whichever hosts they are plugged into.
    return Cluster(device.name, device, (0,) * math.prod(map(int, shape.split("x"))), link, None)
