"""The device that both sides compute on, its common settings, and the variables that pass them to a worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workloads.core.errors import Foreseen

CPU, GPU = "cpu", "gpu"

HIGHEST, TF32 = "highest", "tf32"
"""Precision of float32 products: all 24 bits of the factors, or the 11 of TensorFloat-32."""

PRECISIONS = (HIGHEST, TF32)

DEVICE, LOWERS_FOR = "JAXPORT_DEVICE", "JAXPORT_LOWERS_FOR"
PRECISION, DETERMINISTIC = "JAXPORT_MATMUL_PRECISION", "JAXPORT_DETERMINISTIC"
"""Environment variables of a worker."""

SYNCHRONOUS = "JAXPORT_SYNCHRONOUS_DISPATCH"
"""Set in the environment of a worker of JAX's without asynchronous dispatch."""


class DeviceAbsent(Foreseen):
    """The device that was asked for is not there for this framework: one line that says what to do."""


@dataclass(frozen=True)
class Device:
    """Where a side computes.

    Attributes:
      kind: "cpu" or "gpu".
      index: of the GPU, among those that the user's CUDA_VISIBLE_DEVICES names.
      precision: of float32 products, one of PRECISIONS; None leaves it to the frameworks, as on a CPU.
      deterministic: whether a result may not depend on the order in which threads add.
      lowers_for: the kind of device that programs are lowered for, where they are to run elsewhere.
    """

    kind: str = CPU
    index: int = 0
    precision: str | None = None
    deterministic: bool = False
    lowers_for: str | None = None

    def __str__(self) -> str:
        return self.kind if self.kind == CPU else f"{self.kind}:{self.index}"

    def to_environment(self) -> dict[str, str]:
        """The environment variables that describe the device to a worker."""
        return {
            DEVICE: str(self),
            PRECISION: self.precision or "",
            DETERMINISTIC: "1" if self.deterministic else "",
            LOWERS_FOR: self.lowers_for or "",
        }


ON_CPU = Device()


def device_asked_for(environment: Mapping[str, str]) -> Device:
    """The device that the environment of this process names; by default the CPU with no settings."""
    kind, _, index = environment.get(DEVICE, CPU).partition(":")
    return Device(
        kind=kind,
        index=int(index or 0),
        precision=environment.get(PRECISION) or None,
        deterministic=bool(environment.get(DETERMINISTIC)),
        lowers_for=environment.get(LOWERS_FOR) or None,
    )
