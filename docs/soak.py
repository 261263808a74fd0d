"""Judges many small ports in one run, and prints how much memory the coordinator and each worker hold meanwhile.

usage: make soak, or python docs/soak.py [PORTS]; 300 by default, which take some 15 minutes on two processors
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from compare.inputs import functions
from compare.inputs.request import Request
from compare.progress import Silent
from compare.run import whole_run
from compare.sides._side import SIDES
from workloads._spec import Workload

PORTS = 300
EVERY = 20

TF = """import tensorflow as tf

def port{n}(x):
    return tf.tanh(x) * {n}.5 + tf.reduce_sum(x, axis=-1, keepdims=True)
"""
JAX = """import jax.numpy as jnp

def port{n}(x):
    return jnp.tanh(x) * {n}.5 + jnp.sum(x, axis=-1, keepdims=True)
"""


def small_ports(count: int, folder: Path) -> list[Workload]:
    """Ports of their own shape and constant: nothing that was compiled for one serves another."""
    found = []
    for n in range(count):
        (folder / f"tf{n}.py").write_text(TF.format(n=n))
        (folder / f"jax{n}.py").write_text(JAX.format(n=n))
        references = (f"{folder}/{side}{n}.py:port{n}" for side in SIDES)
        found.append(functions.from_functions(*references, [f"x=f32[4,{n + 2}]"]))
    return found


def held_mib(process: Path) -> int:
    """MiB of physical memory that a process holds."""
    lines = (process / "status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) // 1024


def workers() -> dict[str, Path]:
    """By side, the worker of this process."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
            words = (process / "cmdline").read_bytes().decode().split("\0")
        except OSError:  # it ended meanwhile
            continue
        if parent == os.getpid() and "compare.sides.worker" in words:
            found[words[words.index("compare.sides.worker") + 1]] = process
    return found


class Memory(Silent):
    """Prints a row of the table at every so many ports."""

    def __init__(self) -> None:
        self._ports = 0

    def stage(self, text: str, steps: int) -> None:
        """A port begins; before it, what the ones before left."""
        if self._ports % EVERY == 0:
            self.row()
        self._ports += 1

    def row(self) -> None:
        """MiB and process of each, by number of ports."""
        now = workers()
        held = [f"{held_mib(now[side]):6d} ({now[side].name})" if side in now else "     -" for side in SIDES]
        print(f"| {self._ports:5d} | {held_mib(Path('/proc/self')):11d} | {' | '.join(held)} |", flush=True)


def main() -> None:
    """Judge them, by parity alone; every port must pass."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else PORTS
    memory = Memory()
    with tempfile.TemporaryDirectory() as folder:
        print(f"| ports | coordinator | {' | '.join(f'{side} (process)' for side in SIDES)} |   MiB")
        print("|---|---|---|---|")
        asked = Request(small_ports(count, Path(folder)), plans=(), parity_only=True, modes=("tf/jit", "jax/jit"))
        found = whole_run.run(asked, memory)
    failed = [name for name, each in found["workloads"].items() if each["parity"].verdict != "pass"]
    print(f"{count - len(failed)} of {count} ports pass {' '.join(failed)}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
