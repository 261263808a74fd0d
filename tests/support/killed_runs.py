"""What it costs when a whole run is killed, at random moments, and gone on with: a row for each kill. Asserts it too.

`python tests/support/killed_runs.py [--tensorflow] [KILLS [SEED]]`; 50 by default, some minutes. JAX stands in
TensorFlow's place but with --tensorflow. docs/environments.md counts its rows.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interpreters import JAX_AS_TF, interpreter
from places import ROOT

from compare.arrays import load_arrays

PORTS = 3
GONE_S = 30.0
KEPT = ".judged"
FUNCTIONS = """
import jax.numpy as jnp

def port{n}(x):
    return jnp.tanh(x) * {n}.5 + jnp.sum(x)
"""
ORIGINAL = """
import tensorflow as tf

def port{n}(x):
    return tf.tanh(x) * {n}.5 + tf.reduce_sum(x)
"""
PORT = """
from workloads import ArraySpec, Workload
port = Workload(
    name="port{n}", tf="{tf}{n}.py:port{n}", jax="functions{n}.py:port{n}", inputs={{"x": ArraySpec(({n} + 2,))}},
    builds=False,
)
"""
STAGE, RESUMED = ": parity and programs", ": judged before, and nothing changed"


@dataclass(frozen=True)
class Killed:
    """What one kill left.

    Attributes:
      after_s: when it struck; None where the run came to its end before.
      whole: whether the record was written by then: what was kept for it is removed, and nothing is lost.
      begun: workloads that were begun, those that were taken as judged among them.
      taken: those that were taken as judged.
      kept: files of judgements, each read whole.
      wrong: what should not be there.
      doing: what it said last.
      result: what was judged, where the record was written.
    """

    after_s: float | None
    whole: bool
    begun: int
    taken: int
    kept: int
    wrong: tuple[str, ...]
    doing: str = ""
    result: Any = None


class Trial:
    """A folder of ports whose run is killed again and again."""

    def __init__(self, folder: Path, ports: int = PORTS, tensorflow: bool = False) -> None:
        """Write the ports.

        Args:
          folder: empty.
          ports: how many.
          tensorflow: whether their originals are TensorFlow's; else JAX stands in its place, which starts sooner.
        """
        self.folder, self.temporary, self.out = folder, folder / "temporary", folder / "results" / "out"
        self.temporary.mkdir()
        self.names = [f"port{n}.py" for n in range(ports)]
        self._tools = folder / "tools"
        self._tools.mkdir()
        self._tf = sys.executable if tensorflow else interpreter(self._tools, JAX_AS_TF)
        for n in range(ports):
            self.change(n, PORT.format(n=n, tf="originals" if tensorflow else "functions"))
            (folder / "ports" / f"functions{n}.py").write_text(FUNCTIONS.format(n=n))
            (folder / "ports" / f"originals{n}.py").write_text(ORIGINAL.format(n=n))

    def change(self, n: int, text: str) -> None:
        """Write a port's file anew."""
        (self.folder / "ports").mkdir(exist_ok=True)
        (self.folder / "ports" / f"port{n}.py").write_text(text)

    def run(self, kill_after_s: float | None = None) -> tuple[Killed, str]:
        """Go on with the run; kill its process after so long, and look at what is left. Also what it said."""
        command = [sys.executable, "-P", "-m", "compare", "run", *self.names, "--tf-python", self._tf, "--parity-only"]
        told = self.folder / "told"
        (self.out / "results.json").unlink(missing_ok=True)
        with told.open("wb") as log:
            process = subprocess.Popen(
                [*command, "--resume", "-o", str(self.out)], cwd=self.folder / "ports", stdout=subprocess.DEVNULL,
                stderr=log, env=os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(self.temporary)},
            )  # fmt: skip
            try:
                process.wait(timeout=kill_after_s)
                struck = None
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
                struck = kill_after_s
        said = told.read_text()
        kept = list((self.out / KEPT).glob("*.safetensors"))
        wrong = tuple(self._wrong(kept, struck is not None))
        record = self.out / "results.json"
        result = json.loads(record.read_text())["workloads"] if record.is_file() else None
        doing = said.splitlines()[-1].strip() if said else "starting"
        found = Killed(
            struck, result is not None, said.count(STAGE), said.count(RESUMED), len(kept), wrong, doing, result
        )
        return found, said

    def _wrong(self, kept: list[Path], was_killed: bool) -> Iterator[str]:
        deadline = time.monotonic() + GONE_S
        while (left := self._left()) and time.monotonic() < deadline:
            time.sleep(0.05)
        yield from left
        for path in kept:
            json.loads(load_arrays(path)[0]["json"].tobytes())
        for path in self.out.rglob("*.json"):
            json.loads(path.read_text())
        if not was_killed and not (self.out / "results.json").is_file():
            yield "no record"

    def _left(self) -> list[str]:
        ours = f"TMPDIR={self.temporary}".encode()
        found = [f"scratch {path.name}" for path in self.temporary.iterdir()]
        for process in Path("/proc").glob("[0-9]*"):
            try:
                inside = ours in (process / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            found += [f"process {process.name}"] * inside
        return found


def killed_in_turn(trial: Trial, kills: int, generator: random.Random, within_s: float) -> Iterator[Killed]:
    """So many kills, each at a random moment of a run that goes on with what is there; one that ends begins anew."""
    struck = 0
    while struck < kills:
        found, _ = trial.run(generator.uniform(0, within_s))
        struck += found.after_s is not None
        yield found


def main(kills: int, seed: int, tensorflow: bool) -> int:
    """Print a row for each; 1 where a kill cost more than the workload that it hit, or left something."""
    bad = 0
    with tempfile.TemporaryDirectory() as name:
        trial = Trial(Path(name), tensorflow=tensorflow)
        began = time.monotonic()
        unharmed = trial.run()[0].result
        whole_s = time.monotonic() - began
        print(f"Unharmed, {PORTS} ports take {whole_s:.1f} s.\n")
        print("| killed after | doing | begun | taken as judged | kept | lost | left behind | result |")
        print("|---|---|---|---|---|---|---|---|", flush=True)
        before = 0
        for found in killed_in_turn(trial, kills, random.Random(seed), whole_s):
            ended = found.whole
            lost = 0 if ended else max(before, found.begun) - found.kept
            differs = ended and found.result != unharmed
            bad += lost > 1 or found.taken < min(before, found.begun - 1) or bool(found.wrong) or differs
            before = 0 if ended else found.kept
            when = "came to its end" if found.after_s is None else f"{found.after_s:.2f} s"
            left = ", ".join(found.wrong) or "nothing"
            told = "differs" if differs else "identical" if ended else ""
            counts = f"{found.begun} | {found.taken} | {found.kept} | {lost}"
            print(f"| {when} | {found.doing} | {counts} | {left} | {told} |", flush=True)
        resumed = trial.run()[0].result
        bad += resumed != unharmed
        print(f"\nGone on with to the end: {'identical' if resumed == unharmed else 'differs'}.")
    print(f"\n{bad} rows with more lost than the workload that was hit, another result, or something left behind.")
    return int(bool(bad))


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    asked = [int(each) for each in sys.argv[1:] if each != "--tensorflow"]
    sys.exit(main(*(asked + [50, 0][len(asked) :]), "--tensorflow" in sys.argv))
