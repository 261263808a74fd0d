"""Programs damaged: bytecode, protos and text; and protos that parse and mean nothing."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from damaged import Case, damaged_bytes, every_damage, scaled
from places import DATA


def programs(seed: int = 7, count: int = 48) -> Iterator[Case]:
    """Programs by themselves: bytecode, protos and text."""
    generator = random.Random(seed)
    good = {
        "p.mlirbc": (DATA / "running_example_tf.mlirbc").read_bytes(),
        "q.mlirbc": scaled(),
        "p.hlo.pb": next((DATA / "dumps/jax_proto").glob("*before*")).read_bytes(),
        "q.hlo.pb": next((DATA / "dumps/jax_proto").glob("*after*.pb")).read_bytes(),
        "p.txt": next((DATA / "dumps/jax").glob("*steps.before*.txt")).read_bytes(),
        "q.txt": next((DATA / "dumps/tf_jit").glob("*cpu_after_optimizations.txt")).read_bytes(),
    }
    for name, data in good.items():
        asks: tuple[Callable[[Path], list[str]], ...] = (
            lambda folder, name=name: ["replay", str(folder / name), "--compilers", "here", "--without-pass", "fusion"],
            lambda folder, name=name: ["hlo", str(folder / name), str(folder / name), "-o", str(folder / "out")],
        )
        for number, case in enumerate(every_damage("programs", name, damaged_bytes(data, generator, count), asks[0])):
            yield Case(f"programs {name[1:]}", f"{name} {case.damage}", case.write, asks[number % 2])


def messages(seed: int = 8, count: int = 120) -> Iterator[Case]:
    """HLO protos that parse and mean nothing: one field of one message changed."""
    from compare.hlo import proto

    generator = random.Random(seed)
    for path in sorted((DATA / "dumps/jax_proto").iterdir()):
        for _ in range(count):
            module = proto.read_module(path.read_bytes())
            said = changed_field(module, generator)
            data = module.SerializeToString()
            command = generator.choice(["replay", "hlo", "dump"])

            def write(folder: Path, data: bytes = data, command: str = command) -> None:
                (folder / "d").mkdir()
                (folder / "d/module_0000.jit_f.before_optimizations.hlo.pb").write_bytes(data)

            def ask(folder: Path, command: str = command) -> list[str]:
                file = str(folder / "d/module_0000.jit_f.before_optimizations.hlo.pb")
                if command == "replay":
                    return ["replay", file, "--compilers", "here", "--without-pass", "fusion"]
                asked = [file, file] if command == "hlo" else [str(folder / "d")]
                return [command, *asked, "-o", str(folder / "out")]

            yield Case(f"protos {command}", said, write, ask)


def changed_field(message: Any, generator: random.Random) -> str:
    """Change one scalar somewhere in a message; what was changed."""
    places: list[tuple[Any, Any, Any]] = []

    def visit(found: Any) -> None:
        for field, value in found.ListFields():
            repeated = hasattr(value, "append") or hasattr(value, "add")
            for at, each in enumerate(value if repeated else [value]):
                if field.message_type is not None:
                    visit(each)
                elif not isinstance(each, (str, bytes)):
                    places.append((found, field, at if repeated else None))
            if field.name == "opcode":
                places.append((found, field, None))

    visit(message)
    found, field, at = generator.choice(places)
    value: Any = generator.choice([0, 1, 2, 5, 7, 16, -1, 10**6, 2**31 - 1])
    if field.name == "opcode":
        value = generator.choice(["add", "dot", "while", "custom-call", "nonsense", "tuple", "conditional", "fusion"])
    said = f"{field.containing_type.name}.{field.name} = {value}"
    with contextlib.suppress(ValueError, TypeError):
        if at is None:
            setattr(found, field.name, bool(value) if isinstance(getattr(found, field.name), bool) else value)
        else:
            getattr(found, field.name)[at] = value
    return said
