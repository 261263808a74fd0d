"""Bug reports, as folders and zips, and dump directories, damaged."""

from __future__ import annotations

import copy
import gzip
import io
import random
import re
import shutil
import struct
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from damaged import Case, as_bytes, damaged_bytes, damaged_json, replaced_by, scaled, zipped
from places import DATA


def bug_report(folder: Path) -> dict[str, Any]:
    """A bug report of SCALED; its index."""
    from compare.bundles import bundle

    for name in ("programs", "inputs", "outputs"):
        (folder / name).mkdir(parents=True)
    x = np.array([1, 2, 3, 4], np.float32)
    (folder / "programs/tf.mlirbc").write_bytes(scaled())
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
        good = bug_report(Path(name) / "b")
        program = (Path(name) / "b/programs/tf.mlirbc").read_bytes()

    def ask(folder: Path) -> list[str]:
        path = folder / "b.zip" if (folder / "b.zip").exists() else folder / "b"
        return ["replay", str(path), "--compilers", "here"]

    def case(said: str, damage: Callable[[Path], object]) -> Case:
        return Case("bundles", said, lambda folder: (bug_report(folder / "b"), damage(folder / "b")), ask)

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
    for said, data in as_bytes(iter(indexes)):
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
    def packed(folder: Path, change: Callable[[dict[str, bytes]], object] = lambda found: None) -> bytes:
        found = {each.relative_to(folder).as_posix(): each.read_bytes() for each in folder.rglob("*") if each.is_file()}
        change(found)
        return zipped(found)

    def written(data: Callable[[Path], bytes]) -> Callable[[Path], object]:
        return lambda folder: folder.with_suffix(".zip").write_bytes(data(folder))

    big = b"\0" * (420 << 20)
    yield "that is good", written(packed)
    yield (
        "with a bomb for a program",
        written(lambda folder: packed(folder, lambda found: found.update({"programs/tf.mlirbc": big}))),
    )
    yield (
        "with a bomb for arrays",
        written(lambda folder: packed(folder, lambda found: found.update({"inputs/tf.safetensors": big}))),
    )
    yield (
        "with a bomb that is not named",
        written(lambda folder: packed(folder, lambda found: found.update({"other": big}))),
    )
    yield (
        "with a bomb for an index",
        written(lambda folder: packed(folder, lambda found: found.update({"bundle.json": b"[" + b" " * (600 << 20)}))),
    )
    yield (
        "in a zip",
        written(lambda folder: packed(folder, lambda found: found.update({"programs/tf.mlirbc": packed(folder)}))),
    )
    yield (
        "of 100000 files",
        written(
            lambda folder: packed(
                folder, lambda found: found.update({f"f{number:06d}": b"" for number in range(100_000)})
            )
        ),
    )
    yield (
        "that climbs",
        written(
            lambda folder: packed(folder, lambda found: found.update({"../../escaped": b"x", "/tmp/escaped": b"x"}))
        ),
    )
    yield "without an index", written(lambda folder: packed(folder, lambda found: found.pop("bundle.json")))
    yield "without its program", written(lambda folder: packed(folder, lambda found: found.pop("programs/tf.mlirbc")))
    yield "with a link", written(_linked)
    yield "that is encrypted", written(lambda folder: _flagged(packed(folder), 1))
    yield "of another method", written(lambda folder: _flagged(packed(folder), 12, at=2))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "b"
        bug_report(folder)
        whole = packed(folder)
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
