"""Judges many small ports through one pool, and prints what the coordinator and each worker hold meanwhile.

usage: make soak, or python docs/soak.py [PORTS]; 300 by default, which take some 15 minutes on two processors

Memory may rise and fall, since workers are replaced; open files, threads, processes and temporary files must stay what
they are once the first ports were judged: else the exit code is 1.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from compare.inputs import functions
from compare.inputs.foreign_code import foreign_code_apart
from compare.inputs.request import Request
from compare.progress import Silent
from compare.run import whole_run
from compare.sides._side import SIDES
from workloads.core.spec import Workload

PORTS = 300
EVERY = 20
SLACK = 8
"""Files or threads more that are no growth: thread pools are filled when they are first used."""

TF = """import tensorflow as tf

def port{n}(x):
    return tf.tanh(x) * {n}.5 + tf.reduce_sum(x, axis=-1, keepdims=True)
"""
JAX = """import jax.numpy as jnp

def port{n}(x):
    return jnp.tanh(x) * {n}.5 + jnp.sum(x, axis=-1, keepdims=True)
"""


@dataclass(frozen=True)
class Held:
    """What one process holds."""

    mib: int
    files: int
    threads: int
    process: str

    @property
    def row(self) -> str:
        """A cell of the table."""
        return f"{self.mib} MiB, {self.files}, {self.threads} ({self.process})"


def small_ports(count: int, folder: Path) -> list[Workload]:
    """Ports of their own shape and constant: nothing that was compiled for one serves another."""
    ports = []
    for n in range(count):
        (folder / f"tf{n}.py").write_text(TF.format(n=n))
        (folder / f"jax{n}.py").write_text(JAX.format(n=n))
        references = (f"{folder}/{side}{n}.py:port{n}" for side in SIDES)
        ports.append(functions.from_functions(*references, [f"x=f32[4,{n + 2}]"]))
    return ports


def held(process: Path) -> Held:
    """What a process holds: physical memory, open files, threads."""
    lines = dict(line.partition(":")[::2] for line in (process / "status").read_text().splitlines())
    files = len(list((process / "fd").iterdir()))
    return Held(int(lines["VmRSS"].split()[0]) // 1024, files, int(lines["Threads"]), lines["Pid"].strip())


def children() -> dict[Path, list[str]]:
    """The processes that this one or its own started, with their words."""
    parents: dict[int, tuple[int, Path]] = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(process.name)] = int((process / "stat").read_text().rpartition(")")[2].split()[1]), process
        except OSError:  # it ended meanwhile
            continue
    ours, words = {os.getpid()}, {}
    while new := {number for number, (parent, _) in parents.items() if parent in ours} - ours:
        ours |= new
        for number in new:
            with contextlib.suppress(OSError):
                process = parents[number][1]
                words[process] = (process / "cmdline").read_bytes().decode().split("\0")
    return words


def workers(running: Mapping[Path, Sequence[str]]) -> dict[str, Path]:
    """By side, the worker of this process."""
    hosts = {process: words for process, words in running.items() if "compare.sides.worker" in words}
    return {words[words.index("compare.sides.worker") + 1]: process for process, words in hosts.items()}


class Meanwhile(Silent):
    """Prints a row of the table at every so many ports."""

    def __init__(self, temporary: Path) -> None:
        self._ports = 0
        self._temporary = temporary
        self.rows: list[dict[str, int]] = []

    def stage(self, text: str, steps: int) -> None:
        """A port begins; before it, what the ones before left."""
        if self._ports % EVERY == 0:
            self.row()
        self._ports += 1

    def row(self) -> None:
        """What each holds, by number of ports."""
        running = children()
        sides = {name: held(process) for name, process in workers(running).items() if name in SIDES}
        own = held(Path("/proc/self"))
        left = sum(1 for _ in self._temporary.rglob("*"))
        cells = [sides[name].row if name in sides else "-" for name in SIDES]
        print(f"| {self._ports} | {own.row} | {' | '.join(cells)} | {len(running)} | {left} |", flush=True)
        self.rows.append(
            {"processes": len(running), "temporary files": left}
            | {f"files of {name}": holding.files for name, holding in {"coordinator": own, **sides}.items()}
            | {f"threads of {name}": holding.threads for name, holding in {"coordinator": own, **sides}.items()}
        )


def grown(rows: Sequence[Mapping[str, int]]) -> list[str]:
    """What grew from the second and third row, when every worker is warm, to the last two."""
    early, late = rows[1:3], rows[-2:]
    growth = []
    for what in sorted({name for row in late for name in row}):
        before, after = (max((row[what] for row in part if what in row), default=0) for part in (early, late))
        if after > before + SLACK:
            growth.append(f"{what}: {before} to {after}")
    return growth


def main() -> None:
    """Judge them, by parity alone; every port must pass, and nothing grow."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else PORTS
    with tempfile.TemporaryDirectory() as name:
        folder, temporary = Path(name, "ports"), Path(name, "temporary")
        folder.mkdir()
        temporary.mkdir()
        tempfile.tempdir = str(temporary)
        meanwhile = Meanwhile(temporary)
        print("Of each: memory, open files, threads (process).\n")
        print(f"| ports | coordinator | {' | '.join(SIDES)} | processes | temporary files |")
        print("|---|---|---|---|---|---|")
        with foreign_code_apart():
            asked = Request(small_ports(count, folder), plans=(), parity_only=True, modes=("tf/jit", "jax/jit"))
            results = whole_run.run(asked, meanwhile).record.workloads
        meanwhile.row()
    failed = [name for name, result in results.items() if result.parity is None or result.parity.verdict != "pass"]
    for name in failed[:3]:
        print(f"{name}: {results[name].failures or results[name].parity}", file=sys.stderr)
    growth = grown(meanwhile.rows)
    print(f"\n{count - len(failed)} of {count} ports pass {' '.join(failed)}")
    print(f"grew: {', '.join(growth) or 'nothing'}")
    sys.exit(bool(failed or growth))


if __name__ == "__main__":
    main()
