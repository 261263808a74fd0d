"""Good files damaged in every way: how, and what jaxport makes of one; damaged_all.py runs all of them."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import re
import resource
import signal
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MOST_MEMORY = 3 << 30
"""Of a process that reads a damaged file."""

WRONG: tuple[Any, ...] = (None, True, -1, 7, 1e308, "", "\x1b[31m<b>\ud800", [], [[]], {}, {"": None})
TEXTS = (
    b"", b"[]", b"null", b"{", b'{"schema": 1e999}', b'{"schema": 1' + b"0" * 400 + b"}", b'{"schema": NaN}',
    b'{"schema": 1, "schema": 1}', b'{"a": ' + b"[" * 3000 + b"]" * 3000 + b"}", b"[" * 200_000, b'{"schema": "\xff"}',
    b"\xef\xbb\xbf{}", b"\x00" * 64, b'"' + b'\\"' * 100_000,
)  # fmt: skip
SCALED = """
func.func @main(%x: tensor<4xf32>, %n: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %two = stablehlo.constant dense<2.0> : tensor<4xf32>
  %0 = stablehlo.multiply %x, %two : tensor<4xf32>
  %1 = stablehlo.add %n, %n : tensor<4xi32>
  return %0, %1 : tensor<4xf32>, tensor<4xi32>
}
"""


@dataclass(frozen=True)
class Case:
    """A damaged file: what it is of, what was done to it, and what is asked of jaxport beside it."""

    kind: str
    damage: str
    write: Callable[[Path], object]
    ask: Callable[[Path], list[str]]


@dataclass(frozen=True)
class Outcome:
    """What became of it: the exit code, None where a signal ended the process; standard error; files left behind."""

    code: int | None
    said: str
    written: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """Of "refused", "accepted" and what is wrong."""
        lines = [line for line in self.said.splitlines() if line.startswith("jaxport:")]
        if self.code is None or self.code < 0:
            return "crashed"
        if "Traceback" in self.said or re.search(r"expected no (?:\w+ here|internal error)", self.said):
            return "a bug of its own"
        if self.code in (0, 1):
            return "accepted"
        if self.code != 2 or len(lines) != 1 or not lines[0].startswith("jaxport: expected"):
            return "not one line"
        return "wrote something" if self.written else "refused"


def damaged_json(value: Any, generator: random.Random, place: str = "$") -> Iterator[tuple[str, Any]]:
    """Copies with one key gone, renamed or of another type; of a list, its first item alone is damaged."""
    if isinstance(value, dict):
        for key in list(value):
            rest = {other: item for other, item in value.items() if other != key}
            yield f"{place}.{key} gone", rest
            yield f"{place}.{key} renamed", rest | {f"{key}2": value[key]}
            yield from _replaced(value, key, generator, place)
    elif isinstance(value, list) and value:
        yield from _replaced(value, 0, generator, place)


def _replaced(value: Any, key: Any, generator: random.Random, place: str) -> Iterator[tuple[str, Any]]:
    wrong = generator.sample(WRONG, 3)
    inner = damaged_json(value[key], generator, f"{place}.{key}")
    for said, item in (*((f"{place}.{key} is {each!a}", each) for each in wrong), *inner):
        changed = value.copy()
        changed[key] = item
        yield said, changed


def damaged_bytes(data: bytes, generator: random.Random, count: int) -> Iterator[tuple[str, bytes]]:
    """Copies cut short, with bytes flipped, a part zeroed, doubled or left out."""
    for number in range(count):
        at = generator.randrange(len(data))
        end = min(len(data), at + generator.randrange(1, 40))
        changed = bytearray(data)
        match number % 6:
            case 0:
                yield f"cut at {at}", data[:at]
            case 1 | 2:
                changed[at] ^= 1 << generator.randrange(8)
                yield f"a bit of {at} flipped", bytes(changed)
            case 3:
                yield f"{at} to {end} zeroed", data[:at] + bytes(end - at) + data[end:]
            case 4:
                yield f"{at} to {end} gone", data[:at] + data[end:]
            case _:
                yield f"{at} to {end} doubled", data[:end] + data[at:]


def replaced_by(name: str) -> Iterator[tuple[str, Callable[[Path], object]]]:
    """A file of that name replaced by what is no regular file, or by a large one."""

    def sparse(folder: Path) -> None:
        with (folder / name).open("wb") as file:
            file.truncate(1 << 40)

    yield "a folder", lambda folder: (folder / name).mkdir()
    yield "a pipe", lambda folder: os.mkfifo(folder / name)
    yield "a device", lambda folder: (folder / name).symlink_to("/dev/zero")
    yield "a dangling link", lambda folder: (folder / name).symlink_to("nowhere")
    yield "a terabyte of nothing", sparse


def every_damage(
    kind: str, name: str, damages: Iterator[tuple[str, bytes]], ask: Callable[[Path], list[str]]
) -> Iterator[Case]:
    for said, data in damages:
        yield Case(kind, said, lambda folder, data=data: (folder / name).write_bytes(data), ask)
    for said, write in replaced_by(name):
        yield Case(kind, said, write, ask)


def as_bytes(damages: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, bytes]]:
    for said, value in damages:
        yield said, json.dumps(value).encode()
    for text in TEXTS:
        yield f"the text {text[:30]!r}", text


def scaled() -> bytes:
    from compare.hlo import bindings

    return bindings.artifact(SCALED)


def zipped(found: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in found.items():
            archive.writestr(name, data)
    return file.getvalue()


def left_behind(folder: Path) -> tuple[str, ...]:
    """What a command wrote into a folder that holds what it was given."""
    out = folder / "out"
    return tuple(sorted(each.relative_to(folder).as_posix() for each in (out, *out.rglob("*")) if each.exists()))


def in_process(case: Case, folder: Path) -> Outcome:
    """The command in this process."""
    from compare.cli import main

    case.write(folder)
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        code = main(case.ask(folder))
    return Outcome(code, said.getvalue(), left_behind(folder))


def in_fork(case: Case, folder: Path, limit_s: int = 60) -> Outcome:
    """The command in a copy of this process, which must have run no program yet: a crash costs only that."""
    case.write(folder)
    log = folder / "stderr"
    child = os.fork()
    if not child:
        with log.open("wb", buffering=0) as file:
            os.dup2(file.fileno(), 2)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w", errors="backslashreplace")
            signal.alarm(limit_s)
            resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
            from compare.cli import main

            code = 99
            try:
                code = main(case.ask(folder))
            finally:
                sys.stderr.flush()
                os._exit(code)
    _, status = os.waitpid(child, 0)
    said = log.read_text(errors="replace")
    if os.WIFSIGNALED(status):
        return Outcome(None, f"signal {signal.Signals(os.WTERMSIG(status)).name}\n{said}", left_behind(folder))
    return Outcome(os.WEXITSTATUS(status), said, left_behind(folder))


def some(cases: Iterator[Case], most: int, seed: int = 9) -> list[Case]:
    """So many of them, the same every time."""
    found = list(cases)
    return random.Random(seed).sample(found, most) if len(found) > most else found
