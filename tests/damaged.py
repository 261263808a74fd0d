"""Good files damaged in every way that there is: the source of test_damaged.py, and a check of all of them by hand.

`python tests/damaged.py SIDES 400` runs jaxport on that many of each kind, every one in a process of its own, and
counts what became of them. SIDES holds tf.side and jax.side: `jaxport record add --size smoke --side tf -o tf.side`.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import os
import random
import re
import resource
import shutil
import signal
import struct
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

MOST_MEMORY = 3 << 30
"""Of a process that reads a damaged file."""

DATA = Path(__file__).parent / "data"
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
        if "Traceback" in self.said or re.search(r"expected no \w+ here", self.said):
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


def _every(
    kind: str, name: str, damages: Iterator[tuple[str, bytes]], ask: Callable[[Path], list[str]]
) -> Iterator[Case]:
    for said, data in damages:
        yield Case(kind, said, lambda folder, data=data: (folder / name).write_bytes(data), ask)
    for said, write in replaced_by(name):
        yield Case(kind, said, write, ask)


def _as_bytes(damages: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, bytes]]:
    for said, value in damages:
        yield said, json.dumps(value).encode()
    for text in TEXTS:
        yield f"the text {text[:30]!r}", text


def records(seed: int = 0) -> Iterator[Case]:
    """results.json, read by every command that reads it."""
    generator = random.Random(seed)
    good = json.loads((DATA / "record_full.json").read_text())
    asks: list[Callable[[Path], list[str]]] = [
        lambda folder: ["report", str(folder / "r.json"), "-o", str(folder / "out")],
        lambda folder: ["results", str(folder / "r.json"), "-o", str(folder / "out" / "r.md")],
        lambda folder: ["compare", str(DATA / "record_full.json"), str(folder / "r.json")],
        lambda folder: ["report", str(folder / "r.json"), "--json"],
    ]
    for number, case in enumerate(_every("records", "r.json", _as_bytes(damaged_json(good, generator)), asks[0])):
        yield Case(case.kind, case.damage, case.write, asks[number % len(asks)])


def histories(seed: int = 1) -> Iterator[Case]:
    """One run of a history, among good ones."""
    generator = random.Random(seed)
    good = json.loads((DATA / "record_small.json").read_text())
    name = "hist/0002-20261120T100100Z.json"

    def ask(folder: Path) -> list[str]:
        return ["history", str(folder / "hist"), "-o", str(folder / "out" / "t.html")]

    for case in _every("histories", name, _as_bytes(damaged_json(good, generator)), ask):

        def write(folder: Path, case: Case = case) -> None:
            (folder / "hist").mkdir()
            for number in (1, 3):
                shutil.copy(DATA / "record_small.json", folder / f"hist/000{number}-20261120T100000Z.json")
            case.write(folder)

        yield Case(case.kind, case.damage, write, ask)


def safetensors(head: Any, data: bytes = b"") -> bytes:
    """A safetensors file with any head."""
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    return struct.pack("<Q", len(text)) + text + data


def arrays(seed: int = 2) -> Iterator[Case]:
    """What --inputs names."""
    generator = random.Random(seed)
    head = {
        "0": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]},
        "1": {"dtype": "I32", "shape": [4], "data_offsets": [16, 32]},
    }
    data = np.arange(8, dtype=np.float32).tobytes()
    whole = safetensors(head, data)
    damages = [(said, safetensors(changed, data)) for said, changed in damaged_json(head, generator)]
    damages += [
        (f"dtype {each}", safetensors({"0": head["0"] | {"dtype": each}}, data[:16])) for each in ("F8_E5M2", "F4")
    ]
    damages += [(f"head {text[:20]!r}", safetensors(text, data)) for text in TEXTS]

    def ask(folder: Path) -> list[str]:
        module = str(folder / "m.mlirbc")
        return ["replay", module, "--inputs", str(folder / "x"), "--compilers", "here", "--without-pass", "fusion"]

    for case in _every("arrays", "x", iter([*damages, *damaged_bytes(whole, generator, 24)]), ask):

        def write(folder: Path, case: Case = case) -> None:
            (folder / "m.mlirbc").write_bytes(_scaled())
            case.write(folder)

        yield Case(case.kind, case.damage, write, ask)


def _scaled() -> bytes:
    from compare.hlo import bindings

    return bindings.artifact(SCALED)


def data_sets(seed: int = 3) -> Iterator[Case]:
    """What --data names."""
    generator = random.Random(seed)

    def npz(**found: Any) -> bytes:
        file = io.BytesIO()
        np.savez_compressed(file, **found)
        return file.getvalue()

    images, labels = np.ones((3, 2, 2), np.uint8), np.zeros(3, int)
    damages = [
        *damaged_bytes(npz(x_train=images, y_train=labels), generator, 24),
        ("objects", npz(x_train=np.array([{}], object), y_train=labels)),
        ("no labels", npz(x_train=images)),
        ("another shape", npz(x_train=images[0], y_train=labels)),
        ("an empty axis", npz(x_train=np.ones((3, 0, 2), np.uint8), y_train=labels)),
        ("complex images", npz(x_train=images * 1j, y_train=labels)),
        ("text for labels", npz(x_train=images, y_train=np.array(["a", "b", "c"]))),
        ("a structure", npz(x_train=np.zeros((3, 2, 2), "u1,u1"), y_train=labels)),
        ("a bomb", npz(x_train=np.zeros((400_000, 28, 28), np.uint8), y_train=labels)),
        ("a head that lies", _zipped({"x_train.npy": _npy("(99999999999, 9, 9)"), "y_train.npy": _npy("(3,)")})),
        ("a head that is a program", _zipped({"x_train.npy": _npy("__import__('os')"), "y_train.npy": b""})),
    ]

    def ask(folder: Path) -> list[str]:
        return [
            "run",
            "mnist_mlp",
            "--size",
            "smoke",
            "--no-timing",
            "--data",
            str(folder / "d.npz"),
            *_replayed(folder),
        ]

    yield from _with_sides(_every("data sets", "d.npz", iter(damages), ask))


def _npy(shape: str) -> bytes:
    head = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}}}".encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + b"\0" * 12


def _zipped(found: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in found.items():
            archive.writestr(name, data)
    return file.getvalue()


def _replayed(folder: Path) -> list[str]:
    sides = [part for side in ("tf", "jax") for part in (f"--{side}-recorded", str(folder / f"{side}.side"))]
    return [*sides, "-o", str(folder / "out")]


def _with_sides(cases: Iterator[Case]) -> Iterator[Case]:
    """Both sides of nothing, so that no worker is started."""
    for case in cases:

        def write(folder: Path, case: Case = case) -> None:
            for side in ("tf", "jax"):
                head = {"format": 1, "side": side, "replies": {}}
                save_file({"0/x": np.ones(1)}, folder / f"{side}.side", {"jaxport.side": json.dumps(head)})
            case.write(folder)

        yield Case(case.kind, case.damage, write, case.ask)


def sides(recorded: Path, seed: int = 4, every: int = 1) -> Iterator[Case]:
    """A recorded TensorFlow, replayed beside a recorded JAX; `every` thins out what is damaged alike."""
    from compare.sides.wire import load_arrays

    generator = random.Random(seed)
    found, metadata = load_arrays(recorded / "tf.side")
    whole = (recorded / "tf.side").read_bytes()
    good = json.loads(metadata["jaxport.side"])
    heads = [(said, json.dumps(head)) for said, head in damaged_json(good, generator)]
    # Replies to other requests of a kind are damaged alike: those of outputs are half of the file.
    kept = [each for number, each in enumerate(heads) if number % every == 0]
    heads = kept + [(f"the head {text[:20]!r}", text.decode("latin-1")) for text in TEXTS]

    def ask(folder: Path) -> list[str]:
        return ["run", "add", "--size", "smoke", "--no-timing", *_replayed(folder)]

    def case(said: str, write: Callable[[Path], object]) -> Case:
        def both(folder: Path) -> None:
            shutil.copy(recorded / "jax.side", folder)
            write(folder)

        return Case("recorded sides", said, both, ask)

    for said, head in heads:
        yield case(said, lambda folder, head=head: save_file(found, folder / "tf.side", {"jaxport.side": head}))
    for said, data in damaged_bytes(whole, generator, 48 // every):
        yield case(said, lambda folder, data=data: (folder / "tf.side").write_bytes(data))
    for said, changed in _other_arrays(found):
        yield case(said, lambda folder, changed=changed: save_file(changed, folder / "tf.side", metadata))
    for said, write in replaced_by("tf.side"):
        yield case(said, write)


def _other_arrays(found: dict[str, np.ndarray]) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    for name in (*list(found)[:2], *(each for each in found if each.endswith(("/artifact", "/module")))):
        for said, other in (
            ("gone", None), ("a scalar", np.ones(())), ("of integers", np.ones((3, 3), np.int64)),
            ("empty", np.ones((0, 2))),
            ("not finite", np.full(found[name].shape, np.nan)), ("bytes", np.ones(9, np.uint8)),
        ):  # fmt: skip
            changed = {key: array for key, array in found.items() if key != name}
            yield f"{name} {said}", changed if other is None else changed | {name: other}


def _bundle(folder: Path) -> dict[str, Any]:
    """A bug report of SCALED; its index."""
    from compare.run import bundle

    for name in ("programs", "inputs", "outputs"):
        (folder / name).mkdir(parents=True)
    x = np.array([1, 2, 3, 4], np.float32)
    (folder / "programs/tf.mlirbc").write_bytes(_scaled())
    bundle.save_arrays([x, x.astype(np.int32)], folder / "inputs/tf.safetensors")
    bundle.save_arrays([2 * x, 2 * x.astype(np.int32)], folder / "outputs/tf@tf.safetensors")
    entry = {
        "name": "tf", "kind": "program", "file": "programs/tf.mlirbc", "inputs": "inputs/tf.safetensors",
        "parameters": [{"name": "x"}, {"name": "n"}], "results": [{"name": "scaled"}, {"name": "doubled"}],
        "outputs": {"tf@tf": "outputs/tf@tf.safetensors"},
    }  # fmt: skip
    index = {"schema": bundle.SCHEMA, "modules": [entry]}
    bundle.save_index(index, folder)
    return index


def bundles(seed: int = 5) -> Iterator[Case]:
    """Bug reports: their index, their files, links, and zips."""
    generator = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        good = _bundle(Path(name) / "b")
        program = (Path(name) / "b/programs/tf.mlirbc").read_bytes()

    def ask(folder: Path) -> list[str]:
        path = folder / "b.zip" if (folder / "b.zip").exists() else folder / "b"
        return ["replay", str(path), "--compilers", "here"]

    def case(said: str, damage: Callable[[Path], object]) -> Case:
        return Case("bundles", said, lambda folder: (_bundle(folder / "b"), damage(folder / "b")), ask)

    def named(key: str, path: str) -> Any:
        changed = copy.deepcopy(good)
        changed["modules"][0][key] = {"tf@tf": path} if key == "outputs" else path
        return changed

    paths = (
        "/etc/passwd",
        "../../etc/passwd",
        "",
        ".",
        "programs",
        "a" * 300,
        "bundle.json",
        "x\0y",
        "programs/../../b/x",
        "absent",
    )
    indexes = [*damaged_json(good, generator)]
    indexes += [
        (f"{key} is {path[:20]!r}", named(key, path)) for key in ("file", "inputs", "outputs") for path in paths
    ]
    for said, data in _as_bytes(iter(indexes)):
        yield case(said, lambda folder, data=data: (folder / "bundle.json").write_bytes(data))
    for file in ("bundle.json", "programs/tf.mlirbc", "inputs/tf.safetensors", "outputs/tf@tf.safetensors"):
        for said, write in (
            *replaced_by(file),
            ("a link outside", lambda folder, file=file: (folder / file).symlink_to("/etc/passwd")),
        ):
            yield case(
                f"{file} {said}", lambda folder, file=file, write=write: ((folder / file).unlink(), write(folder))
            )
    for said, data in damaged_bytes(program, generator, 12):
        yield case(f"program {said}", lambda folder, data=data: (folder / "programs/tf.mlirbc").write_bytes(data))
    for said, write in _zips(good, generator):
        yield case(f"zip {said}", lambda folder, write=write: write(folder))


def _zips(good: Any, generator: random.Random) -> Iterator[tuple[str, Callable[[Path], object]]]:
    def zipped(folder: Path, change: Callable[[dict[str, bytes]], object] = lambda found: None) -> bytes:
        found = {each.relative_to(folder).as_posix(): each.read_bytes() for each in folder.rglob("*") if each.is_file()}
        change(found)
        return _zipped(found)

    def written(data: Callable[[Path], bytes]) -> Callable[[Path], object]:
        return lambda folder: folder.with_suffix(".zip").write_bytes(data(folder))

    big = b"\0" * (420 << 20)
    yield "that is good", written(zipped)
    yield (
        "with a bomb for a program",
        written(lambda folder: zipped(folder, lambda found: found.update({"programs/tf.mlirbc": big}))),
    )
    yield (
        "with a bomb for arrays",
        written(lambda folder: zipped(folder, lambda found: found.update({"inputs/tf.safetensors": big}))),
    )
    yield (
        "with a bomb that is not named",
        written(lambda folder: zipped(folder, lambda found: found.update({"other": big}))),
    )
    yield (
        "with a bomb for an index",
        written(lambda folder: zipped(folder, lambda found: found.update({"bundle.json": b"[" + b" " * (600 << 20)}))),
    )
    yield (
        "in a zip",
        written(lambda folder: zipped(folder, lambda found: found.update({"programs/tf.mlirbc": zipped(folder)}))),
    )
    yield (
        "of 100000 files",
        written(
            lambda folder: zipped(
                folder, lambda found: found.update({f"f{number:06d}": b"" for number in range(100_000)})
            )
        ),
    )
    yield (
        "that climbs",
        written(
            lambda folder: zipped(folder, lambda found: found.update({"../../escaped": b"x", "/tmp/escaped": b"x"}))
        ),
    )
    yield "without an index", written(lambda folder: zipped(folder, lambda found: found.pop("bundle.json")))
    yield "without its program", written(lambda folder: zipped(folder, lambda found: found.pop("programs/tf.mlirbc")))
    yield "with a link", written(_linked)
    yield "that is encrypted", written(lambda folder: _flagged(zipped(folder), 1))
    yield "of another method", written(lambda folder: _flagged(zipped(folder), 12, at=2))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "b"
        _bundle(folder)
        whole = zipped(folder)
    for said, data in damaged_bytes(whole, generator, 36):
        yield said, written(lambda folder, data=data: data)


def _linked(folder: Path) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.write(folder / "bundle.json", "bundle.json")
        link = zipfile.ZipInfo("programs/tf.mlirbc")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    return file.getvalue()


def _flagged(data: bytes, value: int, at: int = 0) -> bytes:
    """Every entry's flags, or its method, changed in both places."""
    changed = bytearray(data)
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        for match in re.finditer(re.escape(mark), data):
            struct.pack_into("<H", changed, match.start() + offset + at, value)
    return bytes(changed)


def dumps(seed: int = 6) -> Iterator[Case]:
    """Directories that XLA dumped: every file damaged in turn."""
    generator = random.Random(seed)
    import gzip

    def ask(folder: Path) -> list[str]:
        return ["dump", str(folder / "d"), "-o", str(folder / "out")]

    def case(said: str, sample: str, damage: Callable[[Path], object]) -> Case:
        return Case(
            "dumps",
            said,
            lambda folder: (shutil.copytree(DATA / "dumps" / sample, folder / "d"), damage(folder / "d")),
            ask,
        )

    for sample in ("jax", "jax_proto", "tf_jit"):
        for path in sorted((DATA / "dumps" / sample).iterdir()):
            if path.is_dir():
                continue
            name = path.name
            for said, data in (
                *damaged_bytes(path.read_bytes(), generator, 6),
                ("digits", b"9" * 9000 + path.read_bytes()),
            ):
                yield case(
                    f"{name[-40:]} {said}",
                    sample,
                    lambda folder, name=name, data=data: (folder / name).write_bytes(data),
                )
            for said, write in replaced_by(name):
                yield case(
                    f"{name[-40:]} {said}",
                    sample,
                    lambda folder, name=name, write=write: ((folder / name).unlink(), write(folder)),
                )
    bomb = gzip.compress(b"\0" * (300 << 20))
    name = "module_0009.jit_f.before_optimizations.hlo.pb.gz"
    yield case("a bomb", "jax_proto", lambda folder: (folder / name).write_bytes(bomb))

    def endless(folder: Path) -> None:
        for each in folder.glob("*.txt"):
            each.write_text(re.sub(r"\d+", "9" * 5000, each.read_text()))

    yield case("a report with endless numbers", "jax", endless)


def programs(seed: int = 7, count: int = 48) -> Iterator[Case]:
    """Programs by themselves: bytecode, protos and text."""
    generator = random.Random(seed)
    good = {
        "p.mlirbc": (DATA / "running_example_tf.mlirbc").read_bytes(),
        "q.mlirbc": _scaled(),
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
        for number, case in enumerate(_every("programs", name, damaged_bytes(data, generator, count), asks[0])):
            yield Case(f"programs {name[1:]}", f"{name} {case.damage}", case.write, asks[number % 2])


def messages(seed: int = 8, count: int = 120) -> Iterator[Case]:
    """HLO protos that parse and mean nothing: one field of one message changed."""
    from compare.hlo import proto

    generator = random.Random(seed)
    for path in sorted((DATA / "dumps/jax_proto").iterdir()):
        for _ in range(count):
            module = proto.read_module(path.read_bytes())
            said = _changed_field(module, generator)
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


def _changed_field(message: Any, generator: random.Random) -> str:
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


def makers(recorded: Path) -> dict[str, Callable[[], Iterator[Case]]]:
    """By name, what makes the cases of one kind of file."""
    return {
        "records": records, "histories": histories, "arrays": arrays, "data_sets": data_sets,
        "sides": lambda: sides(recorded), "bundles": bundles, "dumps": dumps, "programs": programs,
        "messages": messages,
    }  # fmt: skip


def main(recorded: Path, most: int, chosen: list[str]) -> int:
    """Some cases of every kind, and a row of a table for each; what is neither refused nor accepted in full."""
    import compare.cli  # noqa: F401 - before the first fork: each would take seconds to import it
    from compare.hlo import bindings

    bindings.artifact(SCALED)
    wrong = 0
    for maker, make in makers(recorded).items():
        if chosen and maker not in chosen:
            continue
        counts: Counter[str] = Counter()
        slowest = 0.0
        for case in some(make(), most):
            with tempfile.TemporaryDirectory(prefix="damaged-") as name:
                start = time.monotonic()
                found = in_fork(case, Path(name))
            counts[found.verdict] += 1
            slowest = max(slowest, time.monotonic() - start)
            if found.verdict not in ("refused", "accepted"):
                said = found.said.strip()[-400:]
                print(
                    f"{case.kind}: {case.damage}: {found.verdict} {found.code} {found.written}\n    {said}", flush=True
                )
        print(f"{maker}: {counts.total()} files, {dict(counts)}, slowest {slowest:.1f} s", flush=True)
        wrong += len(set(counts) - {"refused", "accepted"})
    return int(bool(wrong))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
