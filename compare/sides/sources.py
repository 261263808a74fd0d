"""Where each side comes from, checked before anything is started."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from compare.errors import RequestError
from compare.sides import processes
from compare.sides._side import NoDevice
from compare.sides.client import LiveSide
from compare.sides.pool import Source
from compare.sides.settings import Settings
from compare.sides.workers import WorkerSet
from workloads.core.device import CPU, ON_CPU, Device

QUICKEST_FIRST = ("jax", "tf")
"""The order in which sides are asked for a device: JAX is imported in a third of TensorFlow's time."""


def source(
    side: str,
    python: str | None,
    recording: Path | None,
    prefix: str = "--",
    device: Device = ON_CPU,
) -> Source:
    """A live side, or a recorded one.

    Args:
      side: "tf" or "jax".
      python: its interpreter; None is this one.
      recording: the file that is replayed in its place.
      prefix: what the options begin with that the user gave, such as "--jaxport-".

    Raises:
      RequestError: two places for one side, or an interpreter that does not exist.
    """
    if python and recording:
        raise RequestError(f"expected {prefix}{side}-python or {prefix}{side}-recorded, found both: choose one")
    check_interpreter(python, f"{prefix}{side}-python")
    return Source(python, recording, device)


def require_device(sources: Mapping[str, Source], timeout_s: float) -> None:
    """Let a device pass that every live side finds; the second side is not started where the first finds none.

    Args:
      sources: by side.
      timeout_s: seconds that a side may take to start.

    Raises:
      RequestError: a side finds no such device, in one line that says what to install.
      SideError: a side does not come up.
    """
    for name in sorted(sources, key=QUICKEST_FIRST.index):
        source = sources[name]
        if source.recorded is None and source.device.kind != CPU:
            _require(name, source, timeout_s)


def _require(name: str, source: Source, timeout_s: float) -> None:
    with processes.scratch_folder() as scratch:
        settings = Settings(device=source.device)
        try:
            with WorkerSet(lambda name: LiveSide(name, scratch, source.python, timeout_s, settings)) as workers:
                workers.get(name)
        except NoDevice as error:
            raise RequestError(error.reason) from error


def interpreter_of(python: str | None) -> str:
    """The path of the interpreter that runs a side; None is this one."""
    return (shutil.which(python) if python else None) or python or sys.executable


def check_interpreter(python: str | None, option: str) -> None:
    """Raise RequestError where there is no such interpreter."""
    if python and shutil.which(python) is None:
        raise RequestError(f"expected a Python interpreter at {python}, found no executable: check {option}")
