"""The largest batch of a training step that fits into the memory of a device which need not be on this machine."""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from compare.devices.device import Device
from compare.devices.largest import largest
from compare.errors import RequestError
from compare.hlo.artifacts import hlo_of_artifact
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.levels import Subject
from compare.hlo.portable import portable
from compare.inputs.at_size import Prepared
from compare.inputs.port_files import prepare_batch
from compare.progress import Reporter
from compare.prove.on_targets import Given, compile_alike, lower_program
from compare.record.target_part import OnTarget, Target
from compare.sides import requests
from compare.sides._side import SIDES, SideError
from compare.sides.device_worker import DeviceWorker, Targets
from compare.sides.pool import Pool
from workloads.core.modes import JAX, TF
from workloads.protocol.framework import STEP, Platform

MOST_INPUT_BYTES = 1 << 28
"""The most bytes of inputs of a batch to try: they are drawn here, however much memory the device has."""

USUALLY_TRIED = 4
"""The usual number of batches to try, for progress: the memory of most programs grows linearly."""

_TOO_LARGE = "RESOURCE_EXHAUSTED"
"""XLA's error for a program that does not fit into the memory of a TPU."""


class Batches:
    """A workload's training step at any batch, as both frontends lower it.

    Args:
      data: a file of training data; None takes the workload's own.
    """

    def __init__(self, pool: Pool, instance: Prepared, data: Path | None, scratch: Path) -> None:
        assert instance.workload.training is not None, "checked before"
        self._pool, self._instance, self._data, self._scratch = pool, instance, data, scratch
        self._programs: dict[tuple[str, Platform, int], Given] = {}
        self.first = instance.dimensions[instance.workload.training.batch]

    @property
    def most(self) -> int:
        """The largest batch whose inputs may be drawn here."""
        specs = self._instance.inputs.values()
        bytes_ = sum(math.prod(spec.shape) * np.dtype(spec.dtype).itemsize for spec in specs)
        return max(self.first, MOST_INPUT_BYTES * self.first // max(bytes_, 1))

    def program(self, side: str, platform: Platform, batch: int) -> Given:
        """The training step of a side.

        Args:
          side: "tf" or "jax".

        Raises:
          RequestError: the workload refuses the batch.
          SideError: the side does not deliver it.
          UnreadableProgram: XLA does not take it.
        """
        key = (side, platform, batch)
        if key not in self._programs:
            self._lower(platform, batch)
        return self._programs[key]

    def _lower(self, platform: Platform, batch: int) -> None:
        folder = self._scratch / f"batch-{batch}"
        folder.mkdir(exist_ok=True)
        instance = prepare_batch(self._instance.workload, self._instance.size, batch, self._data, folder)
        for name in SIDES:
            side = self._pool.get(name)
            requests.load(side, instance.loading)
            program = lower_program(side, STEP, platform).program
            source = Given(portable(program.artifact), Subject(name, hlo_of_artifact(program.artifact)))
            self._programs[name, platform, batch] = source
        shutil.rmtree(folder)


def with_largest(
    targets: Targets, parts: Mapping[str, Target], batches: Batches, scratch: Path, reporter: Reporter
) -> dict[str, Target]:
    """By device, both programs with the largest batch of each that fits; without where a side or XLA fails.

    Args:
      parts: by device, both programs.
    """
    return {
        device.name: _both(targets.worker, device, parts[device.name], batches, scratch, reporter)
        for device in targets.devices
    }


def _both(
    worker: DeviceWorker, device: Device, part: Target, batches: Batches, scratch: Path, reporter: Reporter
) -> Target:
    def find_largest(side: str, cell: OnTarget | None) -> OnTarget | None:
        if cell is None or cell.reason:
            return cell
        return _with_largest(worker, device, side, cell, batches, scratch, reporter)

    return replace(part, tf=find_largest(TF, part.tf), jax=find_largest(JAX, part.jax))


def _with_largest(
    worker: DeviceWorker,
    device: Device,
    side: str,
    cell: OnTarget,
    batches: Batches,
    scratch: Path,
    reporter: Reporter,
) -> OnTarget:
    def peak_at(batch: int) -> float | None:
        reporter.step(f"{device.name}: {side} batch {batch:,}")
        source = batches.program(side, device.platform, batch)
        dumps = Path(tempfile.mkdtemp(dir=scratch)) / device.name.replace(":", "-")
        compiled, _ = compile_alike(worker, device, {side: source}, dumps, assembling=False)[side]
        shutil.rmtree(dumps.parent)
        if compiled.reason and _TOO_LARGE not in compiled.reason:
            raise SideError(side, f"compile batch {batch}", compiled.reason)
        return compiled.peak_bytes

    if not device.memory_bytes:
        return replace(cell, notes=(*cell.notes, "no largest batch: the memory of the device is not known"))
    try:
        bounds = largest(peak_at, device.memory_bytes, batches.first, batches.most)
    except (SideError, RequestError, UnreadableProgram) as error:
        reason = error.reason if isinstance(error, SideError) else str(error)
        return replace(cell, notes=(*cell.notes, f"no largest batch: {reason}"))
    return replace(cell, largest_batch=bounds.fits, too_large_batch=bounds.too_large)
