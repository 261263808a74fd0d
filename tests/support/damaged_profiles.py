"""Profiles damaged: bytes cut, flipped and replaced, and messages that parse with one number changed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from damaged import Case, damaged_bytes, every_damage
from damaged_programs import changed_field
from places import DATA
from recorded_profiles import Event, instruction, space

from compare import xspace

MODULE = next((DATA / "dumps/jax_proto").glob("*after*.pb"))
NAME = "h.xplane.pb"


def profile() -> bytes:
    """A small one: instructions of a module, a node, an eager operation, and what the host did."""
    runs = [instruction("broadcast_add_fusion", 10.0 * at, 8.0, "jit__lambda") for at in range(3)]
    nodes = [Event("dense/MatMul:MatMul", 40, 5), Event("gradient_tape/dense/MatMul:MatMul", 45, 5)]
    host = [Event("EagerLocalExecute: Mul", 52, 5), Event("$data.py:3 load", 0, 60)]
    made = space({"tf_a": runs, "tf_b": nodes, "python": host}, {"jit__lambda(7)": MODULE.read_bytes()})
    return made.SerializeToString()


def ask(folder: Path) -> list[str]:
    """How jaxport is asked of it."""
    return ["explain", "profile", str(folder / NAME), "-o", str(folder / "out")]


def profiles(seed: int = 9, count: int = 60) -> Iterator[Case]:
    """Every way to damage a profile."""
    generator = random.Random(seed)
    good = profile()
    yield from every_damage("profiles", NAME, damaged_bytes(good, generator, count), ask)
    for _ in range(2 * count):
        message = xspace.new()
        message.ParseFromString(good)
        said = changed_field(message, generator)
        data = message.SerializeToString()
        yield Case("profiles", said, lambda folder, data=data: (folder / NAME).write_bytes(data), ask)
