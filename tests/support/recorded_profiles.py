"""Profiles by hand: an XSpace with the module of a training step, and runs whose times a test decides."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from hlo_programs import exported

from compare import xspace
from compare.hlo import compiled, executing, read_module

US = 10**6
"""Picoseconds of a microsecond."""

MODULE = "jit_step"
PROGRAM = 7
FILE = Path(__file__).name


def step(weight: jax.Array, x: jax.Array) -> jax.Array:
    def loss(weight: jax.Array) -> jax.Array:
        hidden = jnp.tanh(x @ weight)
        return jnp.sum(hidden * hidden)

    gradient = jax.grad(loss)(weight)
    return jnp.sort(weight - 0.1 * gradient)


LINES = inspect.getsourcelines(step)
TANH, UPDATE = (
    next(LINES[1] + at for at, line in enumerate(LINES[0]) if word in line) for word in ("jnp.tanh", "jnp.sort")
)


@functools.cache
def step_module() -> bytes:
    """The optimized module of a training step."""
    return executing.compile_bytecode(
        exported(step, np.ones((8, 8), np.float32), np.ones((4, 8), np.float32))
    ).optimized_module


def step_kernels() -> list[str]:
    """Its kernels, in order."""
    return [node.name for node in compiled.kernels(read_module.read(step_module()))]


@dataclass(frozen=True)
class Event:
    """An event; `told` are its statistics, times are microseconds."""

    name: str
    start: float
    length: float
    told: Mapping[str, str | int] | None = None


def instruction(name: str, start: float, length: float, module: str = MODULE) -> Event:
    """A run of an HLO instruction, as XLA's runtime for CPUs writes it."""
    return Event(name, start, length, {"hlo_op": name, "hlo_module": module, "program_id": PROGRAM})


def space(lines: Mapping[str, Sequence[Event]], modules: Mapping[str, bytes] | None = None) -> Any:
    """An XSpace of what threads of the host did.

    Args:
      lines: events by the thread's name.
      modules: HLO protos by name and number, "jit_step(7)".
    """
    made = xspace.new()
    host = made.planes.add(name=xspace.HOST)
    names, statistics = Numbers(host.event_metadata), Numbers(host.stat_metadata)
    for thread, events in lines.items():
        line = host.lines.add(name=thread, timestamp_ns=1)
        for event in events:
            times = {"offset_ps": round(event.start * US), "duration_ps": round(event.length * US)}
            added = line.events.add(metadata_id=names.of(event.name), **times)
            for name, value in (event.told or {}).items():
                kind = {"uint64_value": value} if isinstance(value, int) else {"ref_value": statistics.of(value)}
                added.stats.add(metadata_id=statistics.of(name), **kind)
    metadata = made.planes.add(name="/host:metadata")
    metadata.stat_metadata.add(key=1).value.name = "Hlo Proto"
    for number, (name, module) in enumerate((modules or {}).items()):
        entry = metadata.event_metadata.add(key=number)
        entry.value.name = name
        entry.value.stats.add(metadata_id=1, bytes_value=module)
    return made


class Numbers:
    """Numbers of names within a plane."""

    def __init__(self, entries: Any) -> None:
        self._entries = entries
        self._known: dict[str, int] = {}

    def of(self, name: str) -> int:
        if name not in self._known:
            self._known[name] = len(self._known) + 1
            self._entries.add(key=self._known[name]).value.name = name
        return self._known[name]


def step_profile(slow: str = "", runs: int = 3, host: Sequence[Event] = ()) -> Any:
    """A profile of a training step: every kernel takes 10 microseconds a run, and `slow` a hundred.

    Args:
      slow: a kernel.
      runs: how often the step ran.
      host: what the program's own thread did meanwhile.
    """
    at, events = 0.0, []
    for _ in range(runs):
        for name in step_kernels():
            length = 100.0 if name == slow else 10.0
            events.append(instruction(name, at, length))
            at += length
    return space({"tf_XLAEigen/1": events, "python": host}, {f"{MODULE}({PROGRAM})": step_module()})


def written(folder: Path, made: Any, run: str = "2026_01_01") -> Path:
    """The file of a profile below a folder, where the profilers put it."""
    path = folder / "plugins" / "profile" / run / "host.xplane.pb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(made.SerializeToString())
    return path


def pool(what: str, at: float, number: int) -> Event:
    """What a pool of threads writes of a task: it is handed over ("Record"), begins ("StartRegion") or ends."""
    told: Mapping[str, str | int] = {"Record": {"_p": number}, "StartRegion": {"_c": number}}.get(what, {})
    return Event(f"ThreadpoolListener::{what}", at, 0, told)
