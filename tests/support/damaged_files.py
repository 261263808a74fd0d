"""Files of arrays and of JSON, damaged: records, histories, what --inputs and --data name, recorded sides."""

from __future__ import annotations

import io
import json
import random
import shutil
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from damaged import TEXTS, Case, as_bytes, damaged_bytes, damaged_json, every_damage, replaced_by, scaled, zipped
from places import DATA
from safetensors.numpy import save_file


def records(seed: int = 0) -> Iterator[Case]:
    """results.json, read by every command that reads it."""
    generator = random.Random(seed)
    good = json.loads((DATA / "record_full.json").read_text())
    asks: list[Callable[[Path], list[str]]] = [
        lambda folder: ["report", str(folder / "r.json"), "-o", str(folder / "out")],
        lambda folder: ["report", "markdown", str(folder / "r.json"), "-o", str(folder / "out" / "r.md")],
        lambda folder: ["history", "compare", str(DATA / "record_full.json"), str(folder / "r.json")],
        lambda folder: ["report", str(folder / "r.json"), "--json"],
    ]
    for number, case in enumerate(every_damage("records", "r.json", as_bytes(damaged_json(good, generator)), asks[0])):
        yield Case(case.kind, case.damage, case.write, asks[number % len(asks)])


def histories(seed: int = 1) -> Iterator[Case]:
    """One run of a history, among good ones."""
    generator = random.Random(seed)
    good = json.loads((DATA / "record_small.json").read_text())
    name = "hist/0002-20261120T100100Z.json"

    def ask(folder: Path) -> list[str]:
        return ["history", str(folder / "hist"), "-o", str(folder / "out" / "t.html")]

    for case in every_damage("histories", name, as_bytes(damaged_json(good, generator)), ask):

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

    for case in every_damage("arrays", "x", iter([*damages, *damaged_bytes(whole, generator, 24)]), ask):

        def write(folder: Path, case: Case = case) -> None:
            (folder / "m.mlirbc").write_bytes(scaled())
            case.write(folder)

        yield Case(case.kind, case.damage, write, ask)


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
        ("a head that lies", zipped({"x_train.npy": _npy("(99999999999, 9, 9)"), "y_train.npy": _npy("(3,)")})),
        ("a head that is a program", zipped({"x_train.npy": _npy("__import__('os')"), "y_train.npy": b""})),
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

    yield from _with_sides(every_damage("data sets", "d.npz", iter(damages), ask))


def _npy(shape: str) -> bytes:
    head = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}}}".encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + b"\0" * 12


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
