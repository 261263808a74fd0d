"""The least time that a program can take on a device by its bytes and operations: a bound, and never a time."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from compare.devices.device import Device

MEMORY = "memory"


@dataclass(frozen=True)
class Bound:
    """Seconds that a call takes at least, and by what: "memory", or the peak of a type such as "tf32"."""

    seconds: float
    by: str


def bound(device: Device, bytes_: float | None, flops: float | None, types: Collection[str]) -> Bound | None:
    """The larger of bytes over bandwidth and operations over the peak; None where neither is known.

    Args:
      bytes_: that kernels read and write; None where they are not known.
      flops: floating-point operations; None where they are not known.
    """
    bounds = []
    if bytes_ is not None and device.bandwidth:
        bounds.append(Bound(bytes_ / device.bandwidth, MEMORY))
    fastest = peak(device, types)
    if flops is not None and fastest:
        bounds.append(Bound(flops / device.peaks[fastest], f"{fastest} peak"))
    return max(bounds, key=lambda candidate: candidate.seconds, default=None)


def peak(device: Device, types: Collection[str]) -> str:
    """The fastest unit that products of these types may run on, so that the bound holds for all; "" of none known."""
    units = {unit for type_ in types or ("f32",) for unit in _units(device, type_)}
    return max(units & device.peaks.keys(), key=lambda unit: device.peaks[unit], default="")


def _units(device: Device, type_: str) -> tuple[str, ...]:
    if device.platform == "tpu":
        # Products of float32 are made of bfloat16 ones, by default of a single one.
        return ("bf16",)
    if type_ == "f32":
        return ("f32", "tf32")
    # What has no units of its own is computed in float32.
    return (type_,) if type_ in device.peaks else ("f32",)
